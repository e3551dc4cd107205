import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { sumOf } from '../../src/operations/metrics/samples.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, send, verdictsOf } from '../support/pipeline.ts'

/** All that a platform writes for a protocol of its own: one folder… */
const FOLDER = `
import { z } from 'zod'
import { snapshot } from '../../contracts/facts/thread.ts'
import { round, type Script } from '../../judging/engine/script.ts'
import type { ProtocolKind } from '../kind.ts'

const answer = z.object({ reason: z.string(), loud: z.boolean() })

export const volume: ProtocolKind = {
  name: 'volume',
  settings: z.strictObject({ temperature: z.number().default(0) }),
  make: ({ settings, fence }) => ({
    name: 'volume',
    version: 1,
    stages: ['listen'],
    subject: 'post',
    accepts: ({ text }) => text !== '',
    mostCalls: () => 1,
    paper: { calls: 1, depth: 1, of: 'no paper' },
    labels: ['loud', 'quiet'],
    promptsHash: 'one question',
    settingsHash: JSON.stringify(settings),
    *script(subject): Script {
      const { post } = snapshot.parse(subject)
      const content = 'Is this text loud?\\n' + fence('text', post.text)
      const [heard] = yield* round([
        { stage: 'listen', role: 'listener', messages: [{ role: 'user', content }], answer, temperature: 0, maxTokens: 50 },
      ])
      const evidence = { support: [], oppose: [], precedents: [] }
      const rest = { scores: {}, rounds: 0, evidence }
      if (!heard.ok) return { ruling: { ...rest, label: null, rationale: '', decidedBy: 'none', degraded: [heard.code] } }
      const { loud, reason } = heard.answer
      return { ruling: { ...rest, label: loud ? 'loud' : 'quiet', rationale: reason, decidedBy: 'judge', degraded: [] } }
    },
  }),
}
`
/** …and one line. */
const LINE = "export { volume } from './volume/index.ts'\n"

const project = ownFolder('fifth')
const it = onServers({ latencyMs: 0 }, 'memory')

it('a fifth protocol is one folder and one line; queues, metrics and settings follow from it', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  for (const part of ['src', 'config', 'consumers', 'producers', 'package.json'])
    cpSync(join(PROJECT, part), join(project, part), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(project, 'node_modules'))
  mkdirSync(join(project, 'src', 'protocols', 'volume'))
  writeFileSync(join(project, 'src', 'protocols', 'volume', 'index.ts'), FOLDER)
  const all = join(project, 'src', 'protocols', 'all.ts')
  writeFileSync(all, `${readFileSync(all, 'utf8')}${LINE}`)

  const environment = environmentOn(stack, protocolsOn())
  const service = await start(environment, 'intake,judge,publish', project)
  const file = join(project, 'posts.jsonl')
  const posts = Array.from({ length: 5 }, (_, n) => ({
    type: 'post',
    id: `p${n}`,
    text: `words ${n}`,
    createdAt: '2026-01-01T00:00:00Z',
  }))
  writeFileSync(file, posts.map((post) => `${JSON.stringify(post)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => (await verdictsOf(environment)).length >= posts.length, 60_000)
  const verdicts = await verdictsOf(environment)
  expect(verdicts.map(({ id }) => id).sort()).toEqual(posts.map(({ id }) => `volume~${id}~r1`))
  for (const { label, final, usage } of verdicts) {
    expect(['loud', 'quiet']).toContain(label)
    expect(final).toBe(true)
    expect(usage.calls).toBe(1)
  }

  const stage = { stage: 'listen', protocol: 'volume' }
  await eventually(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${service?.httpPort}/metrics`)).text()
    return (
      sumOf(metrics, 'gavel_stage_jobs', { ...stage, state: 'waiting' }) === 0 &&
      sumOf(metrics, 'gavel_verdict_latency_seconds_count', { protocol: 'volume' }) === 5 &&
      sumOf(metrics, 'gavel_stage_run_seconds_count', { ...stage, outcome: 'answered' }) === 5 &&
      sumOf(metrics, 'gavel_llm_calls_total', { ...stage, model: 'gpt-6-luna', outcome: 'answered' }) === 5
    )
  }, 10_000)
  const redis = connect(environment.REDIS_URL ?? '', () => {}, 'fail-fast')
  try {
    expect(await redis.keys(`*${environment.GAVEL_REDIS_PREFIX}*:bull:volume.listen:*`)).not.toEqual([])
  } finally {
    redis.disconnect()
  }
})
