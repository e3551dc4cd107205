import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { describe, expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { command as replay } from '../../src/app/commands/dead-letters/replay.ts'
import { command as erase } from '../../src/app/commands/erase.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import type { Command } from '../../src/cli/command.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { aTranscript } from '../contracts/record.ts'
import { perform } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  send,
  settingsOf,
  silent,
  verdictsOf,
} from '../support/pipeline.ts'
import { everythingIn, filesWith } from '../support/stored.ts'
import { aVerdict } from '../support/verdicts.ts'

const ROLES = 'intake,judge,publish,record'
const it = onServers({ latencyMs: 0 })

/** An author of twenty subjects is erased from Redis and a record, while the service is killed; `place`: where the record is. */
export function erasesAuthors(what: string, place: (folder: string) => Record<string, string>): void {
  // Both stores' tests run beside each other in one Redis.
  const [zebra, giraffe] = [`ZEBRA${what}`, `GIRAFFE${what}`]
  const [author, other] = [`${zebra}-PERSON`, `${giraffe}-PERSON`]

  describe.concurrent(`with the record in ${what}`, () => {
    it('erases all that a person wrote, though it is killed on the way; what others wrote stays', {
      timeout: 120_000,
    }, async ({ stack, start }) => {
      const folder = ownFolder(`authors-${what}`)
      const environment = environmentOn(stack, {
        ...protocolsOn('rumor', 'hate', 'counterspeech'),
        GAVEL_ROUTES: 'hate: [{subjects: [post, comment]}]',
        GAVEL_FENCES_KEY: 'a key of the test',
        GAVEL_CASES_KEEP_JOURNAL: '1h',
        GAVEL_CLOCK_IDLE_AFTER: '1s',
        GAVEL_LIBRARY_PATH: join(folder, 'library'),
        ...place(folder),
      })
      const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
      const service = await start(environment, ROLES)
      const createdAt = '2026-01-01T00:00:00Z'
      const lines = (all: readonly object[]) => {
        const file = join(folder, 'lines.jsonl')
        writeFileSync(file, all.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
        return send(environment, file, 'gavel', { kind: 'flat-out' })
      }
      const words = (nth: number) => `${zebra} words ${nth}`
      await lines([
        ...many(4, (n) => ({ type: 'post', id: `p${n}`, text: words(n), author })),
        ...many(3, (n) => ({ type: 'post', id: `q${n}`, text: `${giraffe} ${n}`, author: other })),
        ...many(9, (n) => ({ type: 'comment', id: `c${n}`, postId: `q${n % 3}`, text: words(n), author })),
        ...many(9, (n) => ({
          type: 'comment',
          id: `d${n}`,
          postId: `q${n % 3}`,
          text: `${giraffe} ${n}`,
          author: other,
        })),
        ...many(3, (n) => ({ type: 'counterspeech', id: `r${n}`, hateSpeech: 'they', text: words(n), author })),
        // A letter, which is not stored.
        { type: 'post', id: 'later', text: words(0), author, createdAt: '2099-01-01T00:00:00Z' },
      ])
      // What the record alone has: a thread of another person, which Redis has forgotten.
      const old = aVerdict(new Date().toISOString(), { subjectId: 'old', rationale: `${giraffe} and ${zebra} words` })
      const told = aTranscript(old.id, giraffe, { c1: `${zebra} words`, c2: giraffe })
      await publish(environment, 'verdicts', 'old', old)
      await publish(environment, 'transcripts', 'old', withAuthor(told, 'c1', author))
      let finals: readonly string[] = []
      await eventually(
        async () => {
          finals = (await verdictsOf(environment)).filter(({ final }) => final).map(({ id }) => id)
          return new Set(finals).size >= 4 * 2 + 3 * 2 + 18 + 3 + 1
        },
        60_000,
        () => finals.join(', '),
      )
      const found = () => searched(environment, zebra)
      let hits: readonly string[] = []
      await eventually(
        async () => {
          hits = await found()
          return hits.includes(old.id)
        },
        30_000,
        () => hits.join(', '),
      )
      expect(await keysWith(redis, zebra)).not.toEqual([])
      // What was learnt stands on a shelf.
      const shelves = libraryOf(settingsOf(environment), Date.now)
      const learnt = ['p1', 'q1'].map((id) => ({
        label: 'hate',
        metadata: {},
        text: id === 'p1' ? `learnt: ${zebra} words` : `learnt: ${giraffe} words`,
        subject: { tenant: 'default', id, kind: 'post' as const },
      }))
      await shelves.add('precedents', learnt, 'ana', new AbortController().signal)
      await shelves.close()
      expect(filesWith(zebra, join(folder, 'library'))).not.toEqual([])

      const asked = { author, tenant: 'default', by: 'ann' }
      const stopped = new AbortController()
      const first = printed(environment, erase, asked, stopped.signal)
      await sleep(600)
      stopped.abort()
      expect(await first).toContain('goes on in the service')
      await service.kill('SIGKILL')
      await start(environment, ROLES)
      const report = JSON.parse(await printed(environment, erase, asked, new AbortController().signal, true))
      expect(report).toMatchObject({ state: 'done', waitsFor: null, tenant: 'default' })

      expect(await keysWith(redis, zebra)).toEqual([])
      expect(await found()).toEqual([])
      expect(filesWith(zebra, join(folder, 'library'))).toEqual([])
      expect(filesWith(giraffe, join(folder, 'library'))).not.toEqual([])
      if (what === 'SQLite') expect(filesOf(environment)).not.toMatch(/zebra/i)
      // Every verdict on what they wrote is retracted, and no other.
      const ended = new Map((await verdictsOf(environment)).map((one) => [one.id.replace(/~r\d+$/, ''), one]))
      const gone = [...ended].filter(([, { degraded }]) => degraded.includes('deleted')).map(([scope]) => scope)
      expect(gone.sort()).toEqual(
        [
          ...many(4, (n) => `hate~p${n}`),
          ...many(4, (n) => `rumor~p${n}`),
          ...many(9, (n) => `hate/comment~q${n % 3}~c${n}`),
          ...many(3, (n) => `counterspeech~r${n}`),
        ].sort(),
      )
      expect(await keysWith(redis, giraffe)).not.toEqual([])
      expect((await searched(environment, giraffe)).length).toBeGreaterThan(3)
      // A replay does not bring the letter back.
      expect(await printed(environment, replay, {})).toContain('has been deleted')
      const audit = (await recordsOf(environment, 'audit')).map((entry) => JSON.parse(entry))
      // A process that dies between its word and its next step says it once more.
      const states = audit.map(({ by, asked }) => `${by} ${asked.state}`)
      expect(states.filter((state, at) => state !== states[at - 1])).toEqual(['ann begun', 'ann done'])
      expect(JSON.stringify(audit)).not.toContain(zebra)
      redis.disconnect()
    })
  })
}

const many = <One>(count: number, one: (nth: number) => One) => Array.from({ length: count }, (_, nth) => one(nth))

/** A transcript in which the person wrote this comment. */
function withAuthor(transcript: ReturnType<typeof aTranscript>, id: string, author: string) {
  const text = JSON.stringify(transcript)
  return JSON.parse(text, (_, value) => (value?.id === id ? { ...value, author } : value))
}

async function publish(
  environment: Record<string, string>,
  topic: 'verdicts' | 'transcripts',
  key: string,
  value: unknown,
): Promise<void> {
  const producer = clientOf(environment).producer()
  await producer.connect()
  await producer.send({
    topic: topicsOf(settingsOf(environment))[topic],
    messages: [{ key, value: JSON.stringify(value) }],
  })
  await producer.disconnect()
}

/** What a command prints, and what it says; its error's message, if it ends with one. */
async function printed<Options, Result>(
  environment: Record<string, string>,
  command: Command<Options, Result>,
  options: Options,
  signal = new AbortController().signal,
  json = false,
): Promise<string> {
  const lines: string[] = []
  const out = (line: unknown) => void lines.push(String(line))
  const terminal = { ...silent, out, ...(json ? {} : { say: out }) }
  await perform(command, settingsOf(environment), [], { ...options, json }, { terminal, signal }).catch(
    (error: Error) => lines.push(error.message),
  )
  return lines.join('\n')
}

async function searched(environment: Record<string, string>, words: string): Promise<string[]> {
  const lines = await printed(environment, verdicts, { record: true, search: words, last: 1_000 }, undefined, true)
  return lines.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).id] : []))
}

async function keysWith(redis: Redis, text: string): Promise<string[]> {
  return (await everythingIn(redis)).filter((content) => content.includes(text)).map((content) => content.slice(0, 200))
}

function filesOf(environment: Record<string, string>): string {
  const under = dirname(settingsOf(environment).record.path)
  return readdirSync(under)
    .filter((name) => name.startsWith('record'))
    .map((name) => readFileSync(join(under, name), 'latin1'))
    .join('')
}
