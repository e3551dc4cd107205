import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { commandHere } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, transcriptsOf, verdictsOf } from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

const it = onServers({ latencyMs: 5 }, 'memory')

it('a list is read anew at a hangup, a broken one leaves it as it was, and what was judged before is compared by a command', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('listed')
  const [config, list] = [join(folder, 'gavel.yaml'), join(folder, 'spam.txt')]
  writeFileSync(config, `vetoes: { spam: { kind: pattern, list: ${JSON.stringify(list)} } }\n`)
  writeFileSync(list, 'buy gold\n')
  const environment = environmentOn(stack, { ...protocolsOn('hate'), GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'never' })
  const service = await start(environment, undefined, undefined, ['--config', config])
  const judged = async (id: string, text: string) => {
    const value = JSON.stringify({ id, text, createdAt: new Date(Date.now() - 60_000).toISOString() })
    await sendPosts(environment, [{ key: id, value }])
    await eventually(
      async () => (await last(id)) !== undefined,
      30_000,
      () => service.log.slice(-20).join('\n'),
    )
    return (await last(id))?.decidedBy
  }
  const last = async (id: string) => (await verdictsOf(environment)).findLast(({ subjectId }) => subjectId === id)
  const reloaded = async (entries: string, event: string) => {
    writeFileSync(list, entries)
    const before = service.log.length
    await eventually(async () => {
      // Two hangups within half a second are one: it is sent until it is heard.
      service.process.kill('SIGHUP')
      return service.log.slice(before).some((line) => line.includes(event))
    }, 20_000)
    return service.log.slice(before).find((line) => line.includes(event))
  }

  expect(await judged('gold', 'Buy gold now. buy gold')).toBe('veto')
  expect(await judged('pills', 'These are cheap pills.')).not.toBe('veto')
  expect(await judged('plain', 'A plain day.')).not.toBe('veto')
  await reloaded('buy gold\ncheap pills\n', 'vetoes:loaded')
  expect(await judged('more', 'More cheap pills.')).toBe('veto')
  expect(await reloaded('buy gold\n(\n', 'vetoes:refused')).toContain(list)
  expect(await judged('still', 'Still cheap pills.')).toBe('veto')

  writeFileSync(list, 'buy gold\ncheap pills\n')
  const again = async (...more: string[]) => {
    const { code, out, said } = await commandHere(['judge-again', '--listed', '--config', config, ...more], environment)
    expect(code, said).toBe(0)
    return out
  }
  expect(await again('--dry-run')).toContain('1 verdict of what is on a list, of 1 subject')
  expect(await again()).toContain('1 verdict asked for')
  await eventually(async () => (await last('pills'))?.revision === 2, 30_000)
  expect(await last('pills')).toMatchObject({ decidedBy: 'veto', veto: { list: 'spam' }, label: null })
  expect((await last('plain'))?.revision).toBe(1)
  const seen = (await transcriptsOf(environment)).find(({ verdictId }) => verdictId === 'hate~pills~r2')
  expect(JSON.stringify(seen)).not.toContain('cheap')
  expect(await again()).toContain('No last verdict of what is on a list fits')
})
