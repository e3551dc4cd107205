import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, send, verdictsOf } from '../support/pipeline.ts'

/** A case of `hate` takes several of these, one after another: longer than a change takes to be noticed. */
const LATENCY_MS = 5_000
vi.setConfig({ testTimeout: 400_000 })

const inTurn = onServers({ latencyMs: LATENCY_MS }, 'memory')
const it = inTurn.concurrent

interface Line {
  readonly event: string
  readonly why?: string
  readonly changed?: readonly string[]
}
const saidBy = (lines: readonly string[], event: string) =>
  lines.map((line) => JSON.parse(line) as Line).filter((line) => line.event === event)

it('run --watch takes changed prompts, refuses bad ones and says why, and ends open cases by those they began with', async ({
  stack,
  start,
}) => {
  const folder = ownFolder('watched')
  const [file, prompts, messages] = ['gavel.yaml', 'prompts', 'posts.jsonl'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  cpSync(join(PROJECT, 'config', 'prompts', 'hate'), prompts, { recursive: true })
  writeFileSync(file, '')
  const settings = (path: string) => `protocols: { hate: { promptsPath: ${path} } }\n`
  const environment = environmentOn(stack, protocolsOn('hate'))
  const running = await start(environment, undefined, PROJECT, ['--watch', '--config', file])
  const log = () => running.log.join('\n')
  /** A reload after which this was changed, so many times by now. */
  const taken = (changed: string, times = 1) => {
    const those = () => saidBy(running.log, 'settings:reloaded').filter((line) => line.changed?.includes(changed))
    return eventually(async () => those().length === times, 60_000, log)
  }
  const post = async (id: string) => {
    writeFileSync(
      messages,
      `${JSON.stringify({ type: 'post', id, text: `They are all ${id}.`, createdAt: new Date().toISOString() })}\n`,
    )
    await send(environment, messages, 'gavel', { kind: 'flat-out' })
    // It is asked about: its case is open.
    const asked = () => stack.understudy?.calls().length ?? 0
    await eventually(async () => asked() > calls, 60_000, log)
    calls = asked()
  }
  let calls = 0
  const metrics = async () => (await fetch(`http://127.0.0.1:${running.httpPort}/metrics`)).text()

  // The folder is named by a change itself: it is watched from then on.
  writeFileSync(file, settings(prompts))
  await taken('protocols.hate.promptsPath')
  await post('old')
  const system = join(prompts, 'system.md')
  const good = readFileSync(system, 'utf8')
  writeFileSync(system, `${good}\nTake your time.\n`)
  await taken('prompts of hate')
  expect(await verdictsOf(environment)).toEqual([])
  await post('new')
  writeFileSync(system, `${good}\n{{nothing-of-this-name}}\n`)
  await eventually(async () => saidBy(running.log, 'settings:refused').length === 1, 60_000, log)
  expect(saidBy(running.log, 'settings:refused')[0]?.why).toContain('nothing-of-this-name')
  expect(await metrics()).toMatch(/^gavel_reload_refused\{.*\} 1$/m)
  await post('newer')
  stack.understudy?.behave({ latencyMs: 0 })
  await eventually(async () => (await verdictsOf(environment)).length === 3, 200_000, log)
  const hashes = new Map((await verdictsOf(environment)).map((one) => [one.subjectId, one.versions.prompts]))
  expect(hashes.get('old')).not.toBe(hashes.get('new'))
  expect(hashes.get('newer')).toBe(hashes.get('new'))
  writeFileSync(system, good)
  await taken('prompts of hate', 2)
  expect(await metrics()).toMatch(/^gavel_reload_refused\{.*\} 0$/m)
})

inTurn
  .runIf(IN_PROOF)
  .concurrent(
    'run --watch --wait-for-dependencies takes what changes while it waits, such as the address that was wrong',
    async ({ stack, start }) => {
      const file = join(ownFolder('watched'), 'gavel.yaml')
      const { KAFKA_BROKERS: brokers = '', ...environment } = environmentOn(stack)
      const settings = (at: string) => `kafka: { brokers: ["${at}"] }\n`
      writeFileSync(file, settings(`127.0.0.1:${await freePort()}`))
      const lines: string[] = []
      const started = start(
        environment,
        undefined,
        PROJECT,
        ['--watch', '--wait-for-dependencies', '--config', file],
        (child) => child.stderr?.on('data', (data) => lines.push(...String(data).split('\n').filter(Boolean))),
      )
      await eventually(async () => lines.some((line) => line.includes('"service:waiting"')), 60_000)
      writeFileSync(file, 'kafka: { brokers: 7 }\n')
      await eventually(async () => lines.some((line) => line.includes('"settings:refused"')), 60_000)
      writeFileSync(file, settings(brokers))
      await started
      expect(saidBy(lines, 'settings:reloaded')[0]?.changed).toEqual(['kafka.brokers'])
    },
  )
