import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, send, verdictsOf } from '../support/pipeline.ts'

const it = onServers({ latencyMs: 20 })

const folder = ownFolder('protocol-off')
async function sendPost(environment: Record<string, string>, id: string): Promise<void> {
  const file = join(folder, `${id}.jsonl`)
  const post = { type: 'post', id, text: `They are vermin, says ${id}.`, createdAt: '2025-03-01T10:00:00Z' }
  writeFileSync(file, `${JSON.stringify(post)}\n`)
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

it('a case of a protocol that was switched off takes nobody’s place, and ends with its deadline', {
  timeout: 90_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_CASES_MAX_OPEN: '1',
    GAVEL_CASES_DEADLINE: '15s',
    GAVEL_CASES_HAND_BACK: '1s',
    GAVEL_CASES_RECONCILE_AFTER: '1s',
  })
  // One that hangs: its case stays open when its process is gone.
  stack.understudy?.behave({ latencyMs: 60_000 })
  const before = await start({ ...environment, ...protocolsOn('hate') })
  const calls = stack.understudy?.calls().length ?? 0
  await sendPost(environment, 'first')
  await eventually(
    async () => (stack.understudy?.calls().length ?? 0) > calls,
    20_000,
    () => 'no call came',
  )
  await before.kill('SIGKILL')
  stack.understudy?.behave({ latencyMs: 20 })

  const after = await start({ ...environment, ...protocolsOn('rumor') })
  await sendPost(environment, 'second')
  const idsOf = async () => (await verdictsOf(environment)).map(({ id }) => id)
  const told = () => after.log.slice(-10).join('\n')
  await eventually(async () => (await idsOf()).includes('rumor~second~r1'), 12_000, told)
  expect(await idsOf()).not.toContain('hate~first~r1')
  await eventually(async () => (await idsOf()).includes('hate~first~r1'), 30_000, told)
  const [ended] = (await verdictsOf(environment)).filter(({ id }) => id === 'hate~first~r1')
  expect(ended).toMatchObject({ label: null, decidedBy: 'none', degraded: ['protocol-off'], final: true })
})
