import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { afterAll, describe, expect } from 'vitest'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { dice } from '../chaos/dice.ts'
import { startEchoingModel } from '../support/echoing-model.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  send,
  settingsOf,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { everythingIn, filesWith } from '../support/stored.ts'

const SECRET = 'ZEBRA-SECRET-WORDS'
const OTHER = 'GIRAFFE-OTHER-WORDS'

const folder = ownFolder('erasure')
let redis: Redis
const it = onServers({ latencyMs: 0 }, 'memory')
it.beforeAll(async ({ stack }) => {
  redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
})
afterAll(async () => {
  redis?.disconnect()
})

/** Keys of Redis that hold the text, however they hold it. */
async function keysWith(text: string): Promise<string[]> {
  return (await everythingIn(redis))
    .filter((content) => content.includes(text))
    .map((content) => content.split(' ', 1)[0] ?? '')
}

it('deleting a post erases its words from Redis and from the shelves on disk', { timeout: 120_000 }, async ({
  stack,
  start,
}) => {
  const library = join(folder, 'library')
  const environment = environmentOn(stack, {
    ...protocolsOn(...PROTOCOLS.map(({ name }) => name)),
    GAVEL_LIBRARY_PATH: library,
    GAVEL_CASES_KEEP_JOURNAL: '1h',
  })
  const createdAt = '2026-01-01T00:00:00Z'
  const sendAll = (...lines: object[]) => {
    const file = join(folder, 'lines.jsonl')
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
    return send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  await start(environment)
  await sendAll(
    { type: 'post', id: 'p1', text: SECRET },
    { type: 'post', id: 'p2', text: OTHER },
    { type: 'comment', id: 'c1', postId: 'p1', text: `I quote: ${SECRET}` },
    { type: 'counterspeech', id: 's1', postId: 'p1', hateSpeech: SECRET, text: 'that is not so' },
  )
  let verdicts = await verdictsOf(environment)
  await eventually(
    async () => {
      verdicts = await verdictsOf(environment)
      return verdicts.filter(({ final }) => final).length >= 7
    },
    60_000,
    () => verdicts.map(({ id }) => id).join(', '),
  )
  // What was learnt from it stands on a shelf and in quarantine.
  const shelves = libraryOf(settingsOf(environment), Date.now)
  const signal = new AbortController().signal
  const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
  const provenance = {
    tenant: 'default',
    subjectId: 'p1',
    kind: 'post' as const,
    protocol: 'safety',
    verdictId: 'safety~p1~r1',
    by: 'ana',
    at: createdAt,
  }
  await shelves.add(
    'precedents',
    [{ text: `learnt: ${SECRET}`, label: 'unsafe', metadata: { keyCues: SECRET }, subject }],
    'ana',
    signal,
  )
  await shelves.add(
    'precedents',
    [{ text: `kept: ${OTHER}`, label: 'safe', metadata: {}, subject: null }],
    'ana',
    signal,
  )
  await shelves.propose([
    { shelf: 'precedents', text: `proposed: ${SECRET}`, label: 'unsafe', metadata: {}, provenance },
  ])
  await shelves.close()
  expect((await keysWith(SECRET)).length).toBeGreaterThan(3)
  expect(filesWith(SECRET, library).length).toBeGreaterThan(1)

  await sendAll({ type: 'post', id: 'p1', deleted: true })
  await eventually(
    async () => {
      verdicts = (await verdictsOf(environment)).filter(({ degraded }) => degraded.includes('deleted'))
      return verdicts.length >= 4
    },
    60_000,
    () => verdicts.map(({ id }) => id).join(', '),
  )
  // Every protocol takes its verdict back, that on the reply too.
  expect(verdicts.map(({ id, label }) => [id.replace(/\d+$/, ''), label]).sort()).toEqual([
    ['counterspeech~s1~r', null],
    ['hate~p1~r', null],
    ['rumor~p1~r', null],
    ['safety~p1~r', null],
  ])
  expect(await keysWith(SECRET)).toEqual([])
  // The shelves follow, by whoever has them.
  await eventually(async () => filesWith(SECRET, library).length === 0, 30_000)
  expect(await keysWith(OTHER)).not.toEqual([])
  expect(filesWith(OTHER, library)).not.toEqual([])

  // A deletion that comes again changes nothing, and the words stay gone when the post is sent once more.
  await sendAll({ type: 'post', id: 'p1', deleted: true }, { type: 'post', id: 'p1', text: SECRET })
  await sendAll({ type: 'post', id: 'p3', text: 'the last one' })
  await eventually(async () => (await verdictsOf(environment)).some(({ subjectId }) => subjectId === 'p3'), 60_000)
  expect(await keysWith(SECRET)).toEqual([])
})

describe('at random moments of their cases', () => {
  const SEED = 20260501
  const SUBJECTS = 10
  const wordsOf = (kind: string, nth: number) => `ZEBRA-${kind}-${nth}-WORDS`

  it('a deleted post, comment or reply is erased everywhere, and stays erased', {
    timeout: 240_000,
  }, async ({ stack, start }) => {
    const echo = await startEchoingModel(stack.settings.OPENAI_BASE_URL ?? '', /ZEBRA-[A-Z]+-\d+-WORDS/g)
    const library = join(folder, 'random')
    const environment = environmentOn(stack, {
      ...protocolsOn(...PROTOCOLS.map(({ name }) => name)),
      GAVEL_LIBRARY_PATH: library,
      GAVEL_CASES_KEEP_JOURNAL: '1h',
      // Threads are judged at once, and so comments are deleted while cases hold them.
      GAVEL_CLOCK_IDLE_AFTER: '200ms',
      OPENAI_BASE_URL: echo.url,
    })
    const { between } = dice(SEED, 'erasure')
    const createdAt = '2026-01-01T00:00:00Z'
    let files = 0
    const sendAll = (...lines: object[]) => {
      const file = join(folder, `random-${files++}.jsonl`)
      writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
      return send(environment, file, 'gavel', { kind: 'flat-out' })
    }
    const service = await start(environment)
    try {
      const there = new Set<string>()
      /** Where words stood: `COMMENT case`, `POST memo`, … */
      const places = new Set<string>()
      /** Words that have stood in a journal. */
      const answered = new Set<string>()
      const since = new Map<string, number>()
      const clear = new Map<string, number>()
      /** Words that came back, with where they stand. */
      const back = new Map<string, string[]>()
      let watching = true
      // Looks all the time: whose words are there before they go, when they are gone, and whether they come back.
      const watch = (async () => {
        while (watching) {
          const stored = await everythingIn(redis)
          const all = [...stored, ...filesWith('ZEBRA', library).map((file) => readFileSync(file, 'latin1'))]
          for (const one of all)
            for (const [words, kind] of one.matchAll(/ZEBRA-([A-Z]+)-\d+-WORDS/g)) {
              const [, place] = /^\{[^}]*\}:(\w+)/.exec(one) ?? []
              places.add(`${kind} ${place}`)
              if (place === 'journal') answered.add(words)
            }
          const found = new Set(all.join('\n').match(/ZEBRA-[A-Z]+-\d+-WORDS/g) ?? [])
          for (const words of found) {
            there.add(words)
            if (clear.has(words)) back.set(words, wherever(words, all))
          }
          // Words that were not even read yet are not gone.
          for (const words of since.keys())
            if (!found.has(words) && !clear.has(words) && isDeleted(words, stored)) clear.set(words, Date.now())
          await sleep(20)
        }
      })()
      const isAnswered = (words: string, waitMs: number) =>
        eventually(async () => answered.has(words), waitMs).catch(() => {})
      const deletions = Array.from({ length: SUBJECTS }, async (_, nth) => {
        const [post, reply] = [`p${nth}`, `s${nth}`]
        await sleep(between(0, 3_000))
        // The post first: on a slow machine the stream is over for comments that come long before it, and what is known of them goes.
        await sendAll({ type: 'post', id: post, text: wordsOf('POST', nth) })
        await sendAll(
          ...[0, 1, 2, 3, 4].map((at) => ({
            type: 'comment',
            id: `${post}-c${at}`,
            postId: post,
            author: `author ${at}`,
            text: at === 2 ? wordsOf('COMMENT', nth) : `${at} of ${post}: it is ${at % 2 === 0 ? 'true' : 'not true'}`,
          })),
          { type: 'counterspeech', id: reply, hateSpeech: 'They all lie.', text: wordsOf('REPLY', nth) },
        )
        const remove = async (words: string, line: object) => {
          // However slow the machine is, some go after answers about them were journaled, and the others at any moment.
          // Where the post stays, all of them are asked about some time.
          if (nth % 3 === 0) await isAnswered(words, nth % 2 === 0 ? 6_000 : 40_000)
          else await sleep(between(0, 2_500))
          await sendAll({ ...line, deleted: true })
          since.set(words, Date.now())
        }
        await Promise.all([
          remove(wordsOf('COMMENT', nth), { type: 'comment', id: `${post}-c2`, postId: post }),
          remove(wordsOf('REPLY', nth), { type: 'counterspeech', id: reply }),
          // Half of the posts stay, so that their comments are judged without the one that went.
          ...(nth % 2 === 0 ? [remove(wordsOf('POST', nth), { type: 'post', id: post })] : []),
        ])
      })
      await Promise.all(deletions)
      let [verdicts, transcripts] = [await verdictsOf(environment), await transcriptsOf(environment)]
      const lastOf = (id: string) => verdicts.filter(({ subjectId }) => subjectId === id)
      const isOver = () =>
        Array.from({ length: SUBJECTS }, (_, nth) => nth).every((nth) => {
          const [onPost, onReply] = [lastOf(`p${nth}`), lastOf(`s${nth}`)]
          const gone = (of: typeof onPost) => of.length === 0 || of.at(-1)?.degraded.includes('deleted') === true
          if (nth % 2 === 0) return gone(onReply) && gone(onPost)
          // What stands last on the topic about a post that stays does not know the comment.
          const last = onPost.findLast(({ protocol, final }) => protocol === 'rumor' && final)
          const argument = transcripts.find(({ verdictId }) => verdictId === last?.id)
          return gone(onReply) && argument !== undefined && !JSON.stringify(argument).includes(wordsOf('COMMENT', nth))
        })
      await eventually(
        async () => since.size === clear.size,
        60_000,
        () => [...since.keys()].filter((words) => !clear.has(words)).join(', '),
      )
      await eventually(
        async () => {
          verdicts = await verdictsOf(environment)
          transcripts = await transcriptsOf(environment)
          return isOver()
        },
        60_000,
        () => verdicts.map(({ id, decidedBy }) => `${id} ${decidedBy}`).join(', '),
      )
      // What was under way has ended.
      await sleep(2_000)
      watching = false
      await watch
      const waits = [...since].map(([words, at]) => (clear.get(words) ?? Number.POSITIVE_INFINITY) - at)
      tell(`erasure: ${waits.length} deleted, gone after ${Math.max(...waits)} ms at most, Kafka's way included`)
      expect(echo.repeated(), 'the model repeats what it was shown').toBeGreaterThan(0)
      // Some were deleted before they were read; most were there.
      expect([...since.keys()].filter((words) => there.has(words)).length).toBeGreaterThan(SUBJECTS)
      expect([...places]).toEqual(
        expect.arrayContaining(
          ['case', 'journal', 'memo'].flatMap((place) =>
            ['POST', 'COMMENT', 'REPLY'].map((kind) => `${kind} ${place}`),
          ),
        ),
      )
      expect([...back]).toEqual([])
      const left = (await everythingIn(redis)).join('\n').match(/ZEBRA-[A-Z]+-\d+-WORDS/g) ?? []
      expect(new Set(left)).toEqual(new Set([1, 3, 5, 7, 9].map((nth) => wordsOf('POST', nth))))
    } finally {
      await service.kill('SIGTERM')
      await echo.close()
    }
  })
})

/** The beginnings of what holds these words. */
function wherever(words: string, stored: readonly string[]): string[] {
  return stored.filter((one) => one.includes(words)).map((one) => one.slice(0, 120))
}

/** Whether what was stored at a moment says that the deletion of these words was accepted. */
function isDeleted(words: string, stored: readonly string[]): boolean {
  const [, kind, nth] = /^ZEBRA-([A-Z]+)-(\d+)-WORDS$/.exec(words) ?? []
  const has = (key: string, part: string) => stored.some((one) => one.includes(`:${key} `) && one.includes(part))
  const isGone = (subject: string) => has(`thread:${subject}`, '"deleted"')
  if (kind === 'REPLY') return isGone(`default/reply:s${nth}`)
  if (isGone(`default:p${nth}`)) return true
  return kind === 'COMMENT' && has(`comments:default:p${nth}`, `"p${nth}-c2","{}"`)
}
