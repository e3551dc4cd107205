import { beforeEach, expect, it } from 'vitest'
import { backgroundErasures } from '../../consumers/background-erasures.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Snapshot, ThreadRef } from '../../src/contracts/facts/thread.ts'
import { commentEraser } from '../../src/judging/engine/comment-erasure.ts'
import { elsewhereOf } from '../../src/judging/engine/elsewhere.ts'
import { snapshotOf } from '../../src/judging/engine/new-case.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, MINUTE, recordOf, T0, thread } from '../contracts/samples.ts'
import { inputOver, intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'

const SECRET = 'zebra in the fountain'
const SETTINGS = { checkpoints: { counts: [], ages: [], finalAge: HOUR }, cases: { deadline: HOUR } }
const rumor = { ...protocolNamed('rumor'), elsewhere: true as const }
const drawing = { rank: samplingRanks('the key of the settings'), maxReplies: 100 }

let stores: ReturnType<typeof memoryStores>
let send: (topic: 'posts' | 'comments', value: object) => Promise<void>
let forgotten: string[]
beforeEach(async () => {
  stores = memoryStores(() => T0)
  forgotten = []
  const eraser = commentEraser({
    threads: stores.threads,
    cases: stores.cases,
    memo: { forget: async ({ postId }) => forgotten.push(postId) },
    queues: null,
    protocols: [rumor],
    clock: () => T0,
    settings: SETTINGS,
  })
  const context = intakeContext(stores, { storyOf: () => 's', erasures: backgroundErasures(eraser) })
  const handlers = inputOver(context).handlers
  send = async (topic, value) => {
    const from = {
      topic,
      partition: 0,
      offset: String(sent++),
      timestamp: T0,
      key: 'k',
      value: Buffer.from('{}'),
      headers: {},
    }
    const handler = handlers.get(topic)
    const message = handler?.schema.parse({ createdAt: new Date(T0).toISOString(), ...value })
    await handler?.handle(context, [{ message, from }] as never, async () => {})
  }
  let sent = 0
})

/** A post with a comment, and a case that is open on it, as an opener opens it. */
async function judged(id: string, text: string): Promise<string> {
  await send('posts', { id, text: 'The dam has burst' })
  await send('comments', { id: 'c', postId: id, text, author: `author of ${id}` })
  const ref = thread(id)
  const state = await stores.threads.read(ref)
  if (state?.post == null) throw new Error('no thread')
  const around = { comments: [], elsewhere: await elsewhereOf(stores.threads, state, drawing, T0) }
  const record = recordOf(state, 'rumor', {
    ...snapshotOf(rumor, state, state.post, SETTINGS, around),
    deadline: T0 + MINUTE,
  })
  const nothing = { waiting: [], dormant: [], nextDue: null, final: false }
  const [opened] = await stores.threads.open(state, { cases: [{ record, seen: state.version }], ...nothing })
  return opened ?? ''
}
const subjectOf = async (caseId: string) =>
  (await stores.cases.unpublished(caseId))?.record.subject as Snapshot | undefined

it.each([
  ['comment', 'comments', { id: 'c', postId: 'twin', text: '', deleted: true }],
  ['post', 'posts', { id: 'twin', deleted: true }],
] as const)('a %s that is deleted leaves the cases of other posts that were shown it', async (_, topic, gone) => {
  await judged('twin', SECRET)
  const shown = await judged('p', 'own words')
  expect((await subjectOf(shown))?.elsewhere?.map(({ text }) => text)).toEqual([SECRET])
  await send(topic, gone)
  const after = await subjectOf(shown)
  expect(after?.comments.map(({ text }) => text)).toEqual(['own words'])
  expect(JSON.stringify(after)).not.toContain(SECRET)
  expect(forgotten).toContain('p')
})

it('what is read before a deletion opens no case after it', async () => {
  await judged('twin', SECRET)
  await send('posts', { id: 'p', text: 'The dam has burst' })
  await send('comments', { id: 'c', postId: 'p', text: 'own words', author: 'somebody' })
  const ref: ThreadRef = thread('p')
  const state = await stores.threads.read(ref)
  if (state?.post == null) throw new Error('no thread')
  const elsewhere = await elsewhereOf(stores.threads, state, drawing, T0)
  expect(elsewhere).toHaveLength(1)
  await send('comments', { id: 'c', postId: 'twin', text: '', deleted: true })
  const record = recordOf(state, 'rumor', snapshotOf(rumor, state, state.post, SETTINGS, { comments: [], elsewhere }))
  const nothing = { waiting: [], dormant: [], nextDue: null, final: false }
  expect(await stores.threads.open(state, { cases: [{ record, seen: state.version }], ...nothing })).toEqual([])
})
