import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import type { Finding } from '../../src/contracts/facts/finding.ts'
import { commandIn } from '../support/command-in.ts'
import { startMisbehaving } from '../support/misbehaving.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, send, verdictsOf } from '../support/pipeline.ts'

const SCORE = /"score":(-?[\d.]+)/g
const TEXT = 'I know where you live, and I will hit you with a knife tonight.'

const folder = ownFolder('kept-scales')
const it = onServers({})
let server: Awaited<ReturnType<typeof startMisbehaving>> | undefined
afterAll(() => server?.close())

it('no label rests on scores of a model that doctor met on another scale: at once, from the memo and after a restart; settings win', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  // Nought where one is meant, and the other way round: no answer shows it, the order of two plain ones does.
  server = await startMisbehaving(() => ({ choices }) => {
    for (const { message } of choices)
      message.content = String(message.content).replace(SCORE, (_, score) => `"score":${1 - Number(score)}`)
  })
  const environment = environmentOn(stack, {
    ...protocolsOn('safety'),
    ...server.settings,
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_FENCES_KEY: 'one key for all of them',
    GAVEL_MODELS_ROLES: '{"default": ["small"]}',
  })
  const judged = async (id: string, text = TEXT) => {
    const file = join(folder, `${id}.jsonl`)
    writeFileSync(file, `${JSON.stringify({ type: 'post', id, text, createdAt: '2025-03-01T10:00:00Z' })}\n`)
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    const mine = async () => (await verdictsOf(environment)).find(({ subjectId }) => subjectId === id)
    await eventually(async () => (await mine()) !== undefined, 30_000)
    return mine()
  }
  const refused = {
    label: null,
    degraded: expect.arrayContaining([expect.stringContaining('scores on another scale')]),
  }

  const service = await start(environment)
  expect(await judged('before')).toMatchObject({ label: 'safe' })

  const { code, out } = await commandIn(folder, ['doctor', '--json'], environment)
  expect(code).not.toBe(0)
  const findings = (JSON.parse(out) as Finding[]).filter(({ detail }) => detail.includes('on another scale'))
  // One for the model of the judge, and one for that of the others.
  const kept = { state: 'broken', todo: expect.stringContaining('This is kept in Redis') }
  expect(findings).toMatchObject([kept, kept])
  let nth = 0
  await eventually(async () => (await judged(`same-words-${++nth}`))?.label === null, 30_000)
  expect(await judged('same-words')).toMatchObject(refused)
  const calls = server.asked.length
  await service.kill('SIGTERM')

  const again = await start(environment)
  expect(await judged('other-words', `${TEXT} Be afraid.`)).toMatchObject(refused)
  // No model was paid for what would count for nothing.
  expect(server.asked.slice(calls).filter(({ text }) => text.includes('"score"'))).toEqual([])
  await again.kill('SIGTERM')

  await start({ ...environment, GAVEL_MODELS_DIALECTS: '{"*": {"withoutScales": []}}' })
  expect(await judged('settings')).toMatchObject({ label: 'safe' })
})
