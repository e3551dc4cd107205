import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { afterAll, expect } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { performWords } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  send,
  settingsOf,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { everythingIn } from '../support/stored.ts'

const [POST, PARENT, CHILD] = ['ZEBRA-POST-WORDS', 'ZEBRA-PARENT-WORDS', 'ZEBRA-CHILD-WORDS']

const folder = ownFolder('comments')
let redis: Redis
const it = onServers({ latencyMs: 0 }, 'memory')
it.beforeAll(async ({ stack }) => {
  redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
})
afterAll(async () => {
  redis?.disconnect()
})

const wordsLeft = async () =>
  [...new Set((await everythingIn(redis)).join('\n').match(/ZEBRA-[A-Z]+-WORDS/g) ?? [])].sort()

it('a comment is judged by itself, beside what it stands under and answers, and goes with each of them', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    ...protocolsOn('hate', 'safety'),
    GAVEL_ROUTES: '{hate: [{subjects: [post, comment]}], safety: [{subjects: [comment]}]}',
    GAVEL_CASES_KEEP_JOURNAL: '1h',
  })
  const createdAt = '2026-01-01T00:00:00Z'
  const sendAll = (...lines: object[]) => {
    const file = join(folder, 'lines.jsonl')
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
    return send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  let verdicts: Verdict[] = []
  const published = (...ids: string[]) =>
    eventually(
      async () => {
        verdicts = await verdictsOf(environment)
        return ids.every((id) => verdicts.some((one) => one.id === id))
      },
      30_000,
      () => `${ids.join(', ')} of ${verdicts.map(({ id }) => id).join(', ')}`,
    )
  const of = (id: string) => verdicts.find((one) => one.id === id)
  await start(environment)
  await sendAll({ type: 'post', id: 'p~1', text: POST })
  await published('hate~p~1~r1')
  await sendAll({ type: 'comment', id: 'c1', postId: 'p~1', text: PARENT })
  await published('hate/comment~p%7E1~c1~r1', 'safety/comment~p%7E1~c1~r1')
  await sendAll(
    { type: 'comment', id: 'c2', postId: 'p~1', parentId: 'c1', text: `${CHILD}, those people are vermin` },
    // Of a post that nobody knows, of which it is said, and one that answers itself.
    { type: 'comment', id: 'c1', postId: 'unknown', parentId: 'gone', text: 'Nobody knows what I speak of' },
    { type: 'comment', id: 'c3', postId: 'p~1', parentId: 'c3', text: 'I answer myself' },
  )
  const child = 'hate/comment~p%7E1~c2~r1'
  await published(child, 'hate/comment~unknown~c1~r1', 'hate/comment~p%7E1~c3~r1')
  expect(of(child)).toMatchObject({
    subjectKind: 'comment',
    subjectId: 'c2',
    postId: 'p~1',
    label: 'hate',
    degraded: [],
  })
  expect(of('hate/comment~p%7E1~c3~r1')?.degraded).toEqual([])
  expect(of('hate/comment~unknown~c1~r1')?.degraded).toEqual([
    'judged without the post that it stands under, which is not known',
    'judged without the comment that it answers, which is not known',
  ])
  const asked = (await transcriptsOf(environment)).find(({ verdictId }) => verdictId === child)
  const question = asked?.turns[0]?.messages.map((one) => ('content' in one ? one.content : '')).join('\n') ?? ''
  expect(
    [...question.matchAll(/<<(\w+):\d+>>\n(ZEBRA-[A-Z]+-WORDS)/g)].map(([, kind, words]) => [kind, words]),
  ).toEqual([
    ['thread', POST],
    ['parent', PARENT],
    ['text', CHILD],
  ])

  // The same again changes nothing; an edit is the next revision.
  await sendAll(
    { type: 'comment', id: 'c3', postId: 'p~1', parentId: 'c3', text: 'I answer myself' },
    { type: 'comment', id: 'c2', postId: 'p~1', parentId: 'c1', text: `${CHILD}, those people are my friends` },
  )
  await published('hate/comment~p%7E1~c2~r2')
  expect(of('hate/comment~p%7E1~c3~r2')).toBeUndefined()

  // People see and decide it beside its post.
  const settings = settingsOf(environment)
  const shown = await performWords(['show', 'c2', '--post', 'p~1'], settings)
  expect(shown.out.join('\n')).toContain('comment c2 (of p~1) of tenant default')
  const deciding = 'decide c3 --post p~1 --protocol hate --label hate --by ann --why ticket'.split(' ')
  expect((await performWords(deciding, settings)).out).toEqual(['hate/comment~p%7E1~c3~r2 stands.'])
  await published('hate/comment~p%7E1~c3~r2')
  expect(of('hate/comment~p%7E1~c3~r2')).toMatchObject({ decidedBy: 'human', subjectKind: 'comment', postId: 'p~1' })

  // Without what it answers it stands; without its post it goes.
  expect(await wordsLeft()).toEqual([CHILD, PARENT, POST])
  await sendAll({ type: 'comment', id: 'c1', postId: 'p~1', deleted: true })
  await published('hate/comment~p%7E1~c1~r2', 'safety/comment~p%7E1~c1~r2')
  expect(of('hate/comment~p%7E1~c1~r2')).toMatchObject({ decidedBy: 'deleted', subjectId: 'c1', postId: 'p~1' })
  await eventually(async () => !(await wordsLeft()).includes(PARENT), 20_000)
  await sendAll({ type: 'comment', id: 'c4', postId: 'p~1', parentId: 'c1', text: 'I answer what is gone' })
  await published('hate/comment~p%7E1~c4~r1')
  expect(of('hate/comment~p%7E1~c4~r1')?.degraded).toEqual([
    'judged without the comment that it answers, which is not known',
  ])
  expect(of('hate/comment~p%7E1~c2~r3')).toBeUndefined()
  await sendAll({ type: 'post', id: 'p~1', deleted: true })
  await published('hate~p~1~r2', 'hate/comment~p%7E1~c2~r3', 'safety/comment~p%7E1~c2~r3')
  await eventually(
    async () => (await wordsLeft()).length === 0,
    20_000,
    () => 'words are left',
  )
  await sendAll(
    { type: 'comment', id: 'c5', postId: 'p~1', text: `${CHILD} under a post that is gone` },
    { type: 'comment', id: 'c2', postId: 'unknown', text: 'The last one' },
  )
  await published('hate/comment~unknown~c2~r1')
  expect([of('hate/comment~p%7E1~c5~r1'), await wordsLeft()]).toEqual([undefined, []])
})
