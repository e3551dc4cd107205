import { describe, expect, it } from 'vitest'
import { counterspeech } from '../../consumers/counterspeech.ts'
import { posts } from '../../consumers/posts.ts'
import { readMessage } from '../../consumers/read-message.ts'
import { counterspeechMessage, feedbackMessage, postMessage } from '../../src/contracts/facts/messages.ts'
import type { Post, ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import type { Router } from '../../src/judging/engine/routes.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, RULES, T0 } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'

const NOW = T0 + HOUR
const LIMITS = { maxMessageBytes: 1 << 20, maxAhead: 60_000 }
const CREATED = new Date(T0).toISOString()

let nextOffset = 7
const incoming = (value: unknown): IncomingMessage => ({
  topic: 'counterspeech',
  partition: 0,
  offset: String(nextOffset++),
  key: 'r1',
  value: Buffer.from(JSON.stringify(value)),
  headers: {},
  timestamp: NOW,
})
const replyJson = (change: object = {}) => ({
  id: 'r1',
  hateSpeech: 'They take our jobs.',
  text: 'Who says so?',
  createdAt: CREATED,
  ...change,
})
const feedbackJson = (change: object = {}) => ({
  subjectId: 'p1',
  protocol: 'safety',
  label: 'unsafe',
  by: 'mod-7',
  at: CREATED,
  ...change,
})

const readReply = (value: unknown) => readMessage(incoming(value), counterspeechMessage, LIMITS, NOW)
const readFeedback = (value: unknown) => readMessage(incoming(value), feedbackMessage, LIMITS, NOW)

const scorer: Protocol = {
  name: 'scorer',
  version: 1,
  stages: ['score'],
  subject: 'reply',
  accepts: () => true,
  mostCalls: () => 1,
  paper: { calls: 1, depth: 1, of: 'nothing' },
  labels: [],
  promptsHash: '',
  settingsHash: '',
  script: () => {
    throw new Error('nothing is judged here')
  },
}

const MOST_REPLIES = 3

function taking(judges: readonly Protocol[] = [scorer]) {
  const { threads, outbox } = memoryStores(() => NOW)
  const asked: { ref: ThreadRef; post: Post }[] = []
  const routes: Pick<Router, 'of' | 'takeComments'> = {
    takeComments: false,
    of(ref, post) {
      asked.push({ ref, post })
      return [...judges]
    },
  }
  const checkpoints = { counts: [], ages: [], finalAge: HOUR, reopen: true }
  const rules = { ...RULES, maxTextChars: 200 }
  const context = intakeContext({ threads, outbox }, { routes, checkpoints, rules, maxReplies: MOST_REPLIES })
  return {
    threads,
    outbox,
    asked,
    async take(...values: readonly object[]) {
      const read = values.map((value) => {
        const one = readMessage(incoming(value), counterspeechMessage, LIMITS, NOW)
        if (!one.ok) throw new Error(one.detail)
        return one
      })
      return counterspeech.handle(context, read, async () => {})
    },
  }
}

const reply = (postId: string, tenant = 'default'): ThreadRef => ({ tenant, postId, kind: 'reply' })

describe('counterspeech', () => {
  it('is read with its time in ms, its tenant, and without fields that nobody knows', () => {
    expect(readReply(replyJson({ postId: 'p1', more: 1 }))).toMatchObject({
      ok: true,
      message: {
        id: 'r1',
        tenant: 'default',
        postId: 'p1',
        hateSpeech: 'They take our jobs.',
        text: 'Who says so?',
        createdAt: T0,
      },
    })
  })

  it.each([
    ['without hate speech', { hateSpeech: undefined }, 'hateSpeech'],
    ['with empty hate speech', { hateSpeech: '' }, 'hateSpeech: is empty'],
    ['with blank hate speech', { hateSpeech: ' \n' }, 'hateSpeech: is empty'],
    ['without a text', { text: undefined }, 'text'],
    ['with an empty text', { text: '' }, 'text: is empty'],
    ['with a text that is a list', { text: ['a'] }, 'text'],
    ['without an id', { id: undefined }, 'id'],
    ['with an id that is too long', { id: 'x'.repeat(513) }, 'id: longer than 512 bytes'],
    ['without a time', { createdAt: undefined }, 'createdAt'],
    ['of a tenant that is none', { tenant: 'a b' }, 'tenant'],
  ])('%s is invalid', (_, change, detail) => {
    expect(readReply(replyJson(change))).toMatchObject({
      ok: false,
      reason: 'invalid',
      detail: expect.stringContaining(detail) as string,
    })
  })

  it('becomes a subject of its own, with what it answers, due at once', async () => {
    const { threads, take } = taking()
    expect(await take(replyJson())).toEqual(['judged'])
    const state = await threads.read(reply('r1'))
    expect(state?.post).toEqual({
      id: 'r1',
      text: 'Who says so?',
      hateSpeech: 'They take our jobs.',
      createdAt: T0,
    })
    expect(await threads.due(0, 10)).toEqual([reply('r1')])
    expect(await threads.read({ ...reply('r1'), kind: 'post' })).toBeNull()
  })

  it('is noted with the post that it answers, and does not outlive it', async () => {
    const { threads, take } = taking()
    const post: ThreadRef = { tenant: 'default', postId: 'p1', kind: 'post' }
    expect(await take(replyJson({ postId: 'p1' }))).toEqual(['judged'])
    expect(await threads.repliesTo(post, 9)).toEqual([reply('r1')])
    await threads.deletePost(post, () => ({ caseId: '', verdict: '', transcript: '' }))
    expect(await take(replyJson({ id: 'r2', postId: 'p1' }))).toEqual(['deleted'])
    expect(await threads.read(reply('r2'))).toBeNull()
  })

  it('goes to dead letters where its post has as many as can be erased with it, an edit of a known one excepted', async () => {
    const { threads, outbox, take } = taking()
    const ids = ['r1', 'r2', 'r3', 'r4']
    const said = ids.map((id) => replyJson({ id, postId: 'p1' }))
    expect(await take(...said)).toEqual(['judged', 'judged', 'judged', 'dead-letter'])
    expect(await take(replyJson({ id: 'r2', postId: 'p1', text: 'Once more.' }))).toEqual(['updated'])
    expect(await threads.read(reply('r4'))).toBeNull()
    const [letter] = await outbox.next('one', 9, 0)
    expect(letter?.kind === 'dead-letter' && JSON.parse(letter.letter)).toMatchObject({
      reason: 'unjudgeable',
      detail: 'its post has 3 replies already (threads.maxReplies)',
    })
  })

  it('goes when it is deleted, which needs none of its words, and stays gone', async () => {
    const { threads, take } = taking()
    const gone = { id: 'r1', createdAt: CREATED, deleted: true }
    expect(await take(replyJson(), gone, gone, replyJson())).toEqual(['judged', 'deleted', 'duplicate', 'deleted'])
    expect(await threads.read(reply('r1'))).toBeNull()
    expect(await take({ ...gone, id: 'r2' }, replyJson({ id: 'r2' }))).toEqual(['deleted', 'deleted'])
  })

  it.each(['hateSpeech', 'text'])('without its %s is no reply, unless it is deleted', (field) => {
    const lacking = { ...replyJson(), [field]: undefined }
    expect(readReply(lacking)).toMatchObject({ ok: false, reason: 'invalid', detail: expect.stringMatching(field) })
    expect(readReply({ ...lacking, deleted: true })).toMatchObject({ ok: true })
    expect(readReply({ ...lacking, [field]: '', deleted: true })).toMatchObject({ ok: true })
  })

  it('goes with its post also where it was linked while that was being deleted', async () => {
    const { threads, outbox, take } = taking()
    const post: ThreadRef = { tenant: 'default', postId: 'p1', kind: 'post' }
    await take(replyJson({ id: 'r0', postId: 'p1' }))
    const erased: string[] = []
    const context = intakeContext(
      { threads, outbox },
      {
        async erase(ref) {
          erased.push(ref.postId)
          // The reply comes in between: after the deletion has begun, before the post is marked as gone.
          if (ref.kind === 'post') expect(await take(replyJson({ postId: 'p1' }))).toEqual(['judged'])
          return threads.deletePost(ref, () => ({ caseId: '', verdict: '', transcript: '' }))
        },
      },
    )
    const deletion = readMessage(incoming({ id: 'p1', createdAt: CREATED, deleted: true }), postMessage, LIMITS, NOW)
    if (!deletion.ok) throw new Error(deletion.detail)
    expect(await posts.handle(context, [deletion], async () => {})).toEqual(['deleted'])
    expect(await threads.read(reply('r1'))).toBeNull()
    expect(await threads.linkReply(post, reply('r2'), { most: 9, now: 0 })).toBe('deleted')
    expect(erased).toEqual(['p1', 'r0', 'r1'])
  })

  it('goes with its post also where Redis was emptied after its verdict, and the deletion is read before it', async () => {
    const { threads, outbox } = memoryStores(() => NOW)
    const erased: string[] = []
    const erase = async (ref: ThreadRef) => {
      erased.push(`${ref.kind} ${ref.postId}`)
      return threads.deletePost(ref, () => ({ caseId: '', verdict: '', transcript: '' }))
    }
    const context = intakeContext({ threads, outbox }, { erase })
    const read = [readReply(replyJson({ postId: 'p1' })), readReply(replyJson({ postId: 'p1' }))]
    await threads.deletePost({ tenant: 'default', postId: 'p1', kind: 'post' }, () => ({
      caseId: '',
      verdict: '',
      transcript: '',
    }))
    const taken = read.flatMap((one) => (one.ok ? [one] : []))
    expect(await counterspeech.handle(context, taken, async () => {})).toEqual(['deleted', 'deleted'])
    expect(new Set(erased)).toEqual(new Set(['reply r1']))
  })

  it('is shown to the routes as it is kept', async () => {
    const { asked, take } = taking()
    await take(replyJson({ tenant: 'forum' }))
    expect(asked).toEqual([
      { ref: reply('r1', 'forum'), post: expect.objectContaining({ hateSpeech: 'They take our jobs.' }) as Post },
    ])
  })

  it('that comes again is a duplicate, and another wording of it an update', async () => {
    const { threads, take } = taking()
    expect(await take(replyJson(), replyJson(), replyJson({ text: 'Says who?' }))).toEqual([
      'judged',
      'duplicate',
      'updated',
    ])
    expect((await threads.read(reply('r1')))?.post?.text).toBe('Says who?')
  })

  it('that no route leads anywhere is unrouted', async () => {
    const { threads, take } = taking([])
    expect(await take(replyJson())).toEqual(['unrouted'])
    expect((await threads.read(reply('r1')))?.post ?? null).toBeNull()
  })

  it('that is too long to keep keeps beginning and end, on both sides, and how much was left out', async () => {
    const { threads, take } = taking()
    const long = (word: string) => Array.from({ length: 100 }, (_, at) => `${word}${at}`).join(' ')
    await take(replyJson({ text: long('a'), hateSpeech: long('b') }))
    const { text, cut, hateSpeech, hateSpeechCut } = (await threads.read(reply('r1')))?.post ?? {}
    expect(text).toMatch(/^a0 a1 .*\n\[cut: \d+ more characters\]\n .*a98 a99$/)
    expect(hateSpeech).toMatch(/^b0 b1 .*\n\[cut: \d+ more characters\]\n .*b98 b99$/)
    expect([text, hateSpeech].every((kept = '') => kept.length <= 200)).toBe(true)
    const left = (kept = '') => Number(/\[cut: (\d+)/.exec(kept)?.[1])
    expect(cut).toEqual({ left: left(text), of: long('a').length })
    expect(hateSpeechCut).toEqual({ left: left(hateSpeech), of: long('b').length })
  })

  it('has no say in how much of it was left out', async () => {
    const { threads, take } = taking()
    const forged = { cut: { left: 5, of: 9 }, hateSpeechCut: { left: 5, of: 9 } }
    await take(replyJson({ ...forged, text: 'Short. [cut: 7 more characters]' }))
    const post = (await threads.read(reply('r1')))?.post
    expect(post?.text).toBe('Short. [cut: 7 more characters]')
    expect([post?.cut, post?.hateSpeechCut]).toEqual([undefined, undefined])
  })

  it('does not move the clock by which threads come due', () => {
    expect(counterspeech.clocked).toBe(false)
  })
})

describe('feedback', () => {
  it('is read with the time at which it was given', () => {
    expect(readFeedback(feedbackJson({ note: 'a quotation', tenant: 'forum', more: 1 }))).toMatchObject({
      ok: true,
      message: {
        subjectId: 'p1',
        tenant: 'forum',
        protocol: 'safety',
        label: 'unsafe',
        by: 'mod-7',
        at: T0,
        createdAt: T0,
        note: 'a quotation',
      },
    })
  })

  it.each([
    ['about nothing', { subjectId: '' }, 'subjectId'],
    ['by nobody', { by: undefined }, 'by'],
    ['by a name that is too long', { by: 'x'.repeat(513) }, 'by: longer than 512 bytes'],
    ['without a label', { label: '' }, 'label'],
    ['on no protocol', { protocol: undefined }, 'protocol'],
    ['at no time', { at: 'yesterday' }, 'at'],
  ])('%s is invalid', (_, change, detail) => {
    expect(readFeedback(feedbackJson(change))).toMatchObject({
      ok: false,
      reason: 'invalid',
      detail: expect.stringContaining(detail) as string,
    })
  })

  it('with a note of 2,000 characters, or none, is taken', () => {
    expect(readFeedback(feedbackJson({ note: 'x'.repeat(2_000) }))).toMatchObject({ ok: true })
    expect(readFeedback(feedbackJson())).toMatchObject({ ok: true })
  })

  it('with a longer note keeps its beginning, whole characters alone; with a note that is none it has none', () => {
    const noteOf = (note: unknown) => {
      const read = readFeedback(feedbackJson({ note }))
      if (!read.ok) throw new Error(read.detail)
      return read.message.note
    }
    expect(noteOf('x'.repeat(2_001))).toBe('x'.repeat(2_000))
    expect(noteOf(`${'x'.repeat(1_999)}😀`)).toBe(`${'x'.repeat(1_999)}\ufffd`)
    for (const none of [null, 7, ['a'], {}]) expect(noteOf(none)).toBeUndefined()
  })

  it('from the future is put aside, as any message is', () => {
    expect(readFeedback(feedbackJson({ at: '2999-01-01T00:00:00Z' }))).toMatchObject({ ok: false, reason: 'future' })
  })
})
