import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import type { WhatIfReport } from '../../src/contracts/facts/what-if-report.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  settingsOf,
  startService,
  tell,
} from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { type Servers, startServers } from '../support/servers.ts'

/** Cases of `hate`, and threads of `rumor` with three revisions or more. */
const POSTS = Number(process.env.WHAT_IF_PROOF_POSTS ?? 1_800)
const THREADS = Math.ceil(POSTS / 9)
const KILLS = 3
const BEGUN = Date.now() - 3_600_000
const at = (seconds: number) => new Date(BEGUN + seconds * 1_000).toISOString()
const TEXTS = [
  (nth: number) => `The ferry number ${nth} leaves from the old quay.`,
  (nth: number) => `These immigrants are all lazy, says neighbour ${nth}.`,
  (nth: number) => `They are vermin and should leave our street ${nth}.`,
]
const postgres = await aPostgres({ password: 'canary4what-if' })

let stack: Servers
let environment: Record<string, string>
const services: Service[] = []
const folder = ownFolder('what-if-proof')
const ofPostgres = () => postgres?.variables() ?? {}

async function counted(changes: Record<string, string>): Promise<number> {
  const reader = await recordReaderOf(settingsOf({ ...environment, ...changes }))
  try {
    return (await reader.size()).rows.transcripts
  } finally {
    await reader.close()
  }
}

beforeAll(async () => {
  stack = await startServers({ latencyMs: 5 })
  environment = environmentOn(stack, {
    ...protocolsOn('hate', 'rumor'),
    GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_CHECKPOINTS_COUNTS: '3,7',
    GAVEL_CHECKPOINTS_REOPEN: 'true',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
  })
  const topics = topicsOf(settingsOf(environment))
  services.push(await startService(environment, 'intake,judge,publish,record'))
  const producer = clientOf(environment).producer()
  await producer.connect()
  const send = (topic: string, values: readonly { id: string; postId?: string }[]) =>
    producer.send({
      topic,
      messages: values.map((value) => ({ key: value.postId ?? value.id, value: JSON.stringify(value) })),
    })
  const rumors = () => settledOf('rumor')
  await send(
    topics.posts,
    Array.from({ length: POSTS }, (_, nth) => ({
      id: `p${nth}`,
      text: TEXTS[nth % 3]?.(nth),
      createdAt: at(nth / 10),
    })),
  )
  await eventually(async () => (await rumors()) >= POSTS && (await settledOf('hate')) >= POSTS, 900_000)
  for (const from of [0, 4]) {
    const before = await rumors()
    await send(
      topics.comments,
      Array.from({ length: THREADS }, (_, thread) =>
        Array.from({ length: 4 }, (_, n) => ({
          id: `c${thread}-${from + n}`,
          postId: `p${thread}`,
          author: `a${from + n}`,
          text: n % 2 === 0 ? `I saw it, it is ${from + n} true` : `No, that is false, number ${from + n}`,
          createdAt: at(400 + from + n),
        })),
      ).flat(),
    )
    await eventually(async () => (await rumors()) >= before + THREADS, 300_000)
  }
  await producer.disconnect()
  if (postgres !== null) {
    services.push(await startService({ ...environment, ...ofPostgres() }, 'record'))
    await eventually(async () => (await counted(ofPostgres())) >= (await counted({})), 300_000)
  }
}, 1_800_000)
afterAll(async () => {
  for (const service of services) await service.kill('SIGKILL')
  await stack.close()
  await postgres?.close()
})

/** Verdicts of a protocol in the record. */
async function settledOf(protocol: string): Promise<number> {
  const reader = await recordReaderOf(settingsOf(environment)).catch(() => null)
  try {
    return reader === null ? 0 : (await reader.find({ protocol }, 20_000)).length
  } finally {
    await reader?.close()
  }
}

/** The command as a process of its own; killed by SIGKILL once `until` holds. Its report, if it ended by itself. */
async function whatIf(words: readonly string[], changes: Record<string, string>, until?: () => boolean) {
  const child = spawn(process.execPath, [join(PROJECT, 'src', 'main.ts'), 'what-if', '--json', ...words], {
    env: bareEnvironment({ ...environment, ...changes }),
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  const ended = once(child, 'close')
  while (until !== undefined && child.exitCode === null && !until()) await sleep(20)
  if (until !== undefined) child.kill('SIGKILL')
  await ended
  return out === '' ? null : (JSON.parse(out) as WhatIfReport)
}

const callsOf = (from: number) =>
  (stack.understudy?.calls() ?? []).slice(from).filter(({ stage }) => stage !== 'answer')
const answersIn = (out: string) =>
  existsSync(join(out, 'answers.jsonl')) ? readFileSync(join(out, 'answers.jsonl'), 'utf8').split('\n').length - 1 : 0

for (const store of ['SQLite', 'PostgreSQL'] as const)
  it.skipIf(store === 'PostgreSQL' && postgres === null)(
    `replays ${POSTS} cases of the record in ${store} through kills, and asks no unchanged question and none twice`,
    { timeout: 1_800_000 },
    async () => {
      const changes = store === 'SQLite' ? {} : ofPostgres()
      const own = join(folder, store)
      mkdirSync(join(own, 'policies'), { recursive: true })
      const shipped = readFileSync(join(PROJECT, 'config', 'policies', 'hate.md'), 'utf8')
      const clause = '## H6 Insults of anybody\nCovers:\n- calling anybody an idiot\n\n# Allowed'
      writeFileSync(join(own, 'policies', 'house.md'), shipped.replace('# Allowed', clause))
      const out = join(own, 'out')
      const words = [
        '--protocol',
        'hate',
        '--policy',
        join(own, 'policies'),
        '--since',
        '1d',
        '--sample',
        '1000000',
        '--out',
        out,
      ]
      let from = stack.understudy?.calls().length ?? 0
      for (let kill = 1; kill <= KILLS; kill++) await whatIf(words, changes, () => answersIn(out) > kill * POSTS * 0.6)
      const report = await whatIf(words, changes)
      const asked = callsOf(from).length
      tell(
        `${store}: ${JSON.stringify(report?.cases)}, ${report?.flips.all.hits} flips, foretold ${report?.usd.drawn}, bill ${report?.usd.bill}; ${asked} calls for ${answersIn(out)} answers`,
      )
      expect(report?.cases).toMatchObject({ found: POSTS, leftOut: {}, replayed: POSTS })
      expect(asked).toBeLessThanOrEqual(answersIn(out) + KILLS * settingsOf(environment).models.slots)
      expect(Math.abs((report?.usd.drawn ?? 0) / (report?.usd.bill ?? 1) - 1)).toBeLessThan(0.1)

      mkdirSync(join(own, 'prompts'))
      const judge = readFileSync(join(PROJECT, 'config', 'prompts', 'rumor', 'judge.md'), 'utf8')
      writeFileSync(join(own, 'prompts', 'judge.md'), `${judge}\nThink twice.\n`)
      from = stack.understudy?.calls().length ?? 0
      const rumor = ['--protocol', 'rumor', '--prompts', join(own, 'prompts'), '--since', '1d', '--sample', '1000000']
      const sharper = await whatIf([...rumor, '--out', join(own, 'rumor')], changes)
      const stages = Map.groupBy(callsOf(from), ({ stage }) => stage)
      tell(
        `${store}: ${JSON.stringify(sharper?.cases)}, ${[...stages].map(([stage, of]) => `${of.length} ${stage}`).join(', ')}`,
      )
      expect(sharper?.cases).toMatchObject({ found: POSTS, leftOut: {}, replayed: POSTS })
      expect([...stages.keys()]).toEqual(['judge'])
    },
  )
