import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Transcript } from '../../src/contracts/facts/verdict.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { repeats } from '../support/ledger.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { everythingIn, filesWith } from '../support/stored.ts'

const [THREADS, EACH] = [40, 50]
const ROLES = ['intake', 'judge', 'publish', 'record'] as const
const CREATED = '2026-01-01T00:00:00Z'

const folder = ownFolder('comments-proof')
const it = onServers({ latencyMs: 20 }, 'apache')

const wordsOf = (id: string) => `ZEBRA-${id}-WORDS`
const postId = (thread: number) => `p${thread}`
const commentId = (nth: number) => `c${nth}`
/** Every second comment answers the one before it. */
const isAnswer = (nth: number) => nth % 2 === 1

it('two thousand comments in forty threads are judged once each, though every role is killed, and deletions leave nothing of them', {
  timeout: 900_000,
}, async ({ stack, start }) => {
  const record = join(folder, 'record.sqlite')
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    GAVEL_ROUTES: 'hate: [{subjects: [post, comment]}]',
    GAVEL_RECORD_PATH: record,
    GAVEL_CASES_KEEP_JOURNAL: '1h',
  })
  const services = new Map<string, Service>()
  for (const role of ROLES) services.set(role, await start(environment, role))
  let kills = 0
  async function killEach(): Promise<void> {
    for (const role of ROLES) {
      await services.get(role)?.kill('SIGKILL')
      services.set(role, await start(environment, role))
      kills++
    }
  }
  let files = 0
  const sendAll = (lines: readonly object[]) => {
    const file = join(folder, `lines-${files++}.jsonl`)
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt: CREATED, ...line })}\n`).join(''))
    return send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  const threads = Array.from({ length: THREADS }, (_, thread) => thread)
  const all = threads.flatMap((thread) => Array.from({ length: EACH }, (_, nth) => ({ thread, nth })))
  const verdictOn = (thread: number, nth: number, revision = 1) =>
    `hate/comment~${postId(thread)}~${commentId(nth)}~r${revision}`
  const published = async (ids: readonly string[]) => {
    let missing = ids
    await eventually(
      async () => {
        const there = new Set((await verdictsOf(environment)).map(({ id }) => id))
        missing = ids.filter((id) => !there.has(id))
        return missing.length === 0
      },
      300_000,
      () => `${missing.length} are missing: ${missing.slice(0, 3).join(', ')}`,
    )
  }

  await sendAll(threads.map((thread) => ({ type: 'post', id: postId(thread), text: wordsOf(postId(thread)) })))
  await published(threads.map((thread) => `hate~${postId(thread)}~r1`))
  // What is answered comes first.
  for (const answers of [false, true]) {
    const some = all.filter(({ nth }) => isAnswer(nth) === answers)
    await sendAll(
      some.map(({ thread, nth }) => ({
        type: 'comment',
        id: commentId(nth),
        postId: postId(thread),
        author: `author ${nth}`,
        text: wordsOf(`${postId(thread)}-${commentId(nth)}`),
        ...(answers ? { parentId: commentId(nth - 1) } : {}),
      })),
    )
    await killEach()
    await published(some.map(({ thread, nth }) => verdictOn(thread, nth)))
  }
  expect(repeats(await recordsOf(environment, 'verdicts')).filter(({ identical }) => !identical)).toEqual([])
  const verdicts = await verdictsOf(environment)
  expect(verdicts.filter(({ revision }) => revision > 1)).toEqual([])
  const transcripts = new Map((await transcriptsOf(environment)).map((one) => [one.verdictId, one]))
  for (const { thread, nth } of all)
    expect(blocksIn(transcripts.get(verdictOn(thread, nth)))).toEqual([
      ['thread', wordsOf(postId(thread))],
      ...(isAnswer(nth) ? [['parent', wordsOf(`${postId(thread)}-${commentId(nth - 1)}`)]] : []),
      ['text', wordsOf(`${postId(thread)}-${commentId(nth)}`)],
    ])
  tell(`${all.length} comments judged, each once; ${kills} kills`)

  // A deletion at each of three levels: the comment, what it answers, the post of both.
  const [withoutParents, withoutPosts] = [threads.slice(0, 20), threads.slice(20, 30)]
  const gone = [
    ...withoutParents.flatMap((thread) => [0, 2, 4].map((nth) => wordsOf(`${postId(thread)}-${commentId(nth)}`))),
    ...withoutPosts.flatMap((thread) => [
      wordsOf(postId(thread)),
      ...Array.from({ length: EACH }, (_, nth) => wordsOf(`${postId(thread)}-${commentId(nth)}`)),
    ]),
  ]
  await sendAll([
    ...withoutParents.flatMap((thread) =>
      [0, 2, 4].map((nth) => ({ type: 'comment', id: commentId(nth), postId: postId(thread), deleted: true })),
    ),
    ...withoutPosts.map((thread) => ({ type: 'post', id: postId(thread), deleted: true })),
  ])
  await killEach()
  await published([
    ...withoutParents.flatMap((thread) => [0, 2, 4].map((nth) => verdictOn(thread, nth, 2))),
    ...withoutPosts.flatMap((thread) => Array.from({ length: EACH }, (_, nth) => verdictOn(thread, nth, 2))),
  ])
  const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
  try {
    let left: string[] = []
    await eventually(
      async () => {
        const stored = (await everythingIn(redis)).join('\n')
        left = gone.filter((words) => stored.includes(words))
        return left.length === 0
      },
      120_000,
      () => `${left.length} are left in Redis: ${left.slice(0, 3).join(', ')}`,
    )
    await eventually(
      async () => {
        left = gone.filter((words) => filesWith(words, folder).some((file) => file.startsWith(record)))
        return left.length === 0
      },
      120_000,
      () => `${left.length} are left in the record: ${left.slice(0, 3).join(', ')}`,
    )
    const stays = wordsOf(`${postId(35)}-${commentId(7)}`)
    expect((await everythingIn(redis)).join('\n')).toContain(stays)
  } finally {
    redis.disconnect()
  }
  await sleep(2_000)
  // What answered a deleted comment stands.
  const after = await verdictsOf(environment)
  for (const thread of withoutParents) expect(after.some(({ id }) => id === verdictOn(thread, 1, 2))).toBe(false)
  tell(`${gone.length} texts deleted, nothing left of them; ${kills} kills`)
})

/** The blocks of a question about a comment, each with its text. */
function blocksIn(transcript: Transcript | undefined): string[][] {
  const question = transcript?.turns[0]?.messages.map((one) => ('content' in one ? one.content : '')).join('\n') ?? ''
  return [...question.matchAll(/<<(\w+):\d+>>\n(ZEBRA-[a-zA-Z0-9-]+-WORDS)/g)].map(([, kind = '', words = '']) => [
    kind,
    words,
  ])
}
