import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import {
  answerBytes,
  askedThread,
  KEEP_REQUESTS_MS,
  requestBytes,
  trailBytes,
  wholeBytes,
} from '../../src/judging/threads/asked.ts'
import { ARRIVAL, endOf, HOUR, postOf, RULES, recordOf, retractionOf, said, T0, thread } from './samples.ts'
import {
  concludeCase,
  hookVerdicts,
  type MakeStores,
  openCase,
  publishAll,
  readThread,
  type Stores,
  sentToReceiver,
  takeCase,
} from './stores.ts'

const AT_ONCE = 0
const ASKED = thread('q-1', 'acme', 'asked')
const PROTOCOLS = ['rumor', 'hate']

/** What any stores promise of requests to judge something apart from the stream. */
export function askedContract(name: string, make: MakeStores): void {
  describe(`requests ${name}`, () => {
    let stores: Stores
    /** Bytes of the question that was put last, of the room for each of its answers, and of both. */
    let [own, room, whole] = [0, 0, 0]
    /** By tenant, what is known of all that it asked when questions and answers are gone. */
    const trails = new Map<string, number>()
    beforeEach(async () => {
      stores = await make()
      trails.clear()
    })
    afterEach(() => stores.close())

    const put = async (
      ref: ThreadRef = ASKED,
      change: {
        subject?: ThreadRef
        webhook?: boolean
        rules?: object
        keep?: number
        most?: number
        now?: number
      } = {},
    ) => {
      const { subject = thread('p1', ref.tenant), webhook = false, rules = {}, keep = HOUR, most = null } = change
      const { now = T0 } = change
      const { comment: first } = said('c1', { createdAt: T0 + 90 * 24 * HOUR, text: 'the words of c1' })
      const { comment: second } = said('c2', { author: 'someone', createdAt: T0 - HOUR })
      const post = postOf(subject, { asked: ['rumor', 'hate'] })
      const given = { post, comments: [first, second], postOnly: false }
      const asked = askedThread(ref, given, T0, { ...RULES, ...rules })
      own = requestBytes(asked, PROTOCOLS)
      room = answerBytes(asked)
      whole = wholeBytes(asked, PROTOCOLS)
      const kept = { subject, protocols: PROTOCOLS, webhook, until: now + keep, most }
      const outcome = await stores.threads.putAsked({ thread: asked, ...kept }, now)
      if (outcome === 'asked') trails.set(ref.tenant, trailOf(ref.tenant) + trailBytes(asked))
      return outcome
    }
    const trailOf = (tenant: string) => trails.get(tenant) ?? 0
    const answer = (protocol: string, words = 'so it is', ref = ASKED) =>
      stores.answers.put({
        tenant: ref.tenant,
        request: ref.postId,
        protocol,
        verdict: JSON.stringify({ words }),
        transcript: '{"turns":[]}',
      })
    const read = () => stores.answers.read('acme', 'q-1')
    const due = async () => (await stores.threads.due(AT_ONCE, 10)).map(({ postId, kind }) => `${kind} ${postId}`)

    it('makes a thread of one, due at once, with its comments whatever their age', async () => {
      expect(await put()).toBe('asked')
      expect(await due()).toEqual(['asked q-1'])
      const state = await readThread(stores, ASKED)
      expect(state.comments.map(({ id }) => id)).toEqual(['c2', 'c1'])
      expect(state.comments[1]?.text).toBe('the words of c1')
      expect(state).toMatchObject({ accepted: 2, late: 0, generation: 1, observedGeneration: 0, dueSince: T0 })
      expect(state.post).toMatchObject({ id: 'p1', asked: ['rumor', 'hate'] })
    })

    it('samples its comments by the rules of threads', async () => {
      await put(ASKED, { rules: { maxComments: 1 } })
      expect(await readThread(stores, ASKED)).toMatchObject({ accepted: 2, comments: [expect.anything()] })
    })

    it('has an answer that lacks verdicts at first, and then those that were put', async () => {
      await put()
      const begun = { subjectId: 'p1', protocols: ['rumor', 'hate'], opened: T0, until: T0 + HOUR, erased: false }
      expect(await read()).toEqual({ ...begun, verdicts: new Map(), transcripts: new Map() })
      await answer('rumor')
      expect(await read()).toMatchObject({ verdicts: new Map([['rumor', '{"words":"so it is"}']]) })
      await answer('rumor')
      await answer('hate')
      expect([...((await read())?.verdicts.keys() ?? [])].sort()).toEqual(['hate', 'rumor'])
      expect((await read())?.transcripts.get('hate')).toBe('{"turns":[]}')
      const short = await stores.answers.read('acme', 'q-1', { transcripts: false })
      expect(short).toEqual({ ...(await read()), transcripts: new Map() })
    })

    it('shows an answer to its own tenant alone', async () => {
      await put()
      await answer('rumor')
      for (const tenant of ['default', 'acm', 'acme2']) expect(await stores.answers.read(tenant, 'q-1')).toBeNull()
      expect(await stores.answers.read('acme', 'q-2')).toBeNull()
    })

    it('keeps no answer to what nobody asked', async () => {
      await answer('rumor')
      expect(await read()).toBeNull()
    })

    it('wakes whoever waits when an answer came, or when the request was dropped', async () => {
      await put()
      for (const news of [() => answer('rumor'), () => stores.threads.dropAsked(ASKED)]) {
        const told = stores.answers.changed('q-1', new AbortController().signal)
        await news()
        await told
      }
      const left = AbortSignal.abort()
      await stores.answers.changed('q-1', left)
    })

    it('informs the workers of a request once that it was dropped, and wakes whoever waits for it', async () => {
      const heard: string[] = []
      const first = Promise.withResolvers<void>()
      stores.answers.onDropped('q-1', () => {
        heard.push('one')
        first.resolve()
      })
      stores.answers.onDropped('q-1', () => void heard.push('no more'))()
      stores.answers.onDropped('q-2', () => void heard.push('another request'))
      // Whoever listens first may not be heard yet: then it is told again.
      const telling = setInterval(() => void stores.answers.tellDropped('q-1'), 20)
      await first.promise
      clearInterval(telling)
      const told = stores.answers.changed('q-1', new AbortController().signal)
      await stores.answers.tellDropped('q-1')
      await told
      expect(heard).toEqual(['one'])
    })

    it('asks nothing under the id of a subject that was deleted', async () => {
      const subject = thread('p1', 'acme')
      await stores.threads.putPost(subject, postOf(subject), ARRIVAL, RULES)
      await stores.threads.deletePost(subject, retractionOf(subject))
      expect(await put()).toBe('deleted')
      expect(await stores.threads.read(ASKED)).toBeNull()
      expect([await due(), await read()]).toEqual([[], null])
      // Another tenant's subject of that id, or a reply, is none of it.
      expect(await put(thread('q-2', 'other'))).toBe('asked')
      expect(await put(ASKED, { subject: thread('p1', 'acme', 'reply') })).toBe('asked')
    })

    it('knows what was asked under the id of a subject, until that is dropped or unlinked', async () => {
      const others = [thread('q-2', 'acme', 'asked'), thread('q-3', 'acme', 'asked')] as const
      const subject = thread('p1', 'acme')
      for (const ref of [ASKED, ...others]) await put(ref)
      const ids = async (limit = 9) =>
        (await stores.threads.askedAbout(subject, limit)).map(({ postId, kind }) => `${kind} ${postId}`).sort()
      expect(await ids()).toEqual(['asked q-1', 'asked q-2', 'asked q-3'])
      expect(await ids(2)).toHaveLength(2)
      await stores.threads.dropAsked(ASKED)
      expect(await ids()).toEqual(['asked q-2', 'asked q-3'])
      await stores.threads.unlinkAsked(subject, [others[0]])
      await stores.threads.unlinkAsked(subject, [])
      expect(await ids()).toEqual(['asked q-3'])
      expect(await stores.threads.askedAbout(thread('p1', 'other'), 9)).toEqual([])
    })

    it('is no unknown subject under whose id something was asked', async () => {
      await put()
      expect(await stores.threads.deleteUnknown([thread('p1', 'acme'), thread('p1', 'other')], T0)).toEqual([
        false,
        true,
      ])
    })

    it('drops a request with its open case, and its answers that still come are kept nowhere', async () => {
      await put()
      const record = await openCase(stores, ASKED)
      expect(record.id).toBe('rumor/asked@acme~q-1~r1')
      const { run, epoch } = await takeCase(stores, record.id)
      await answer('hate', 'the words of a verdict')
      expect(await stores.threads.dropAsked(ASKED)).toBe(true)
      expect([await stores.cases.take(record.id), await stores.cases.countOpen(), await due()]).toEqual([null, 0, []])
      expect(await stores.cases.isOpen(record.id, run, '0.0')).toBe(false)
      expect(await stores.cases.conclude(record, epoch, endOf(record))).toBe(false)
      await answer('rumor')
      const nothing = { subjectId: '', verdicts: new Map(), transcripts: new Map(), erased: true }
      expect(await read()).toEqual({ protocols: ['rumor', 'hate'], opened: T0, until: T0 + HOUR, ...nothing })
      for (const words of ['what p1 says', 'the words of', 'someone', 'p1']) expect(await traces(words)).toEqual([])
      expect(await stores.threads.dropAsked(ASKED)).toBe(true)
      expect(await stores.threads.dropAsked(thread('q-9', 'acme', 'asked'))).toBe(false)
    })
    const traces = async (words: string) => (await stores.traces?.(words)) ?? []

    it('drops a verdict that no publisher has taken, and one that was published', async () => {
      await put()
      await concludeCase(stores, await openCase(stores, ASKED))
      expect(await stores.outbox.size()).toBe(1)
      await stores.threads.dropAsked(ASKED)
      expect(await stores.outbox.size()).toBe(0)
      await put()
      await concludeCase(stores, await openCase(stores, ASKED))
      await stores.outbox.done(await stores.outbox.next('one', 9, 0))
      await stores.threads.dropAsked(ASKED)
      for (const words of ['what p1 says', 'so it is', 'someone']) expect(await traces(words)).toEqual([])
    })

    it('drops a verdict that a publisher has, which may then say that it is done', async () => {
      await put()
      await concludeCase(stores, await openCase(stores, ASKED))
      const entries = await stores.outbox.next('one', 9, 0)
      expect(entries).toMatchObject([{ kind: 'verdict', caseId: 'rumor/asked@acme~q-1~r1' }])
      await stores.threads.dropAsked(ASKED)
      await answer('rumor')
      expect((await read())?.verdicts.size).toBe(0)
      // The request was dropped after its answer was taken.
      await hookVerdicts(stores, ASKED, entries, 'what p1 says')
      expect(await sentToReceiver(stores)).toEqual([])
      await stores.outbox.done(entries)
      expect([await stores.outbox.size(), await due(), await traces('what p1 says')]).toEqual([0, [], []])
    })

    it('says of each verdict whether its client wants it by webhook, until the request is dropped', async () => {
      await put(ASKED, { webhook: true })
      await put(thread('q-2', 'acme', 'asked'))
      // The publisher may put it again.
      for (const _ of [1, 2]) expect(await answer('rumor')).toBe(true)
      expect(await answer('rumor', 'no hook', thread('q-2', 'acme', 'asked'))).toBe(false)
      await stores.threads.dropAsked(ASKED)
      expect(await answer('hate')).toBe(false)
    })

    it('has no answer to be read after its time; a webhook hears of it all the same, until the request is dropped', async () => {
      await put(ASKED, { webhook: true, keep: 200 })
      await put(thread('q-2', 'acme', 'asked'), { keep: 200 })
      await stores.pass(250)
      expect(await read()).toBeNull()
      for (const _ of [1, 2]) expect(await answer('hate')).toBe(true)
      expect(await answer('hate', 'no hook', thread('q-2', 'acme', 'asked'))).toBe(false)
      expect(await read()).toBeNull()
      expect(await stores.threads.dropAsked(ASKED)).toBe(true)
      expect(await answer('hate')).toBe(false)
    })

    it('takes back what was to be sent of a subject when it is deleted or dropped, or loses comments', async () => {
      const p1 = thread('p1', 'acme')
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
      await put(ASKED, { subject: thread('p2', 'acme') })
      const deliver = async (ref: ThreadRef) => {
        const record = await openCase(stores, ref)
        await concludeCase(stores, record)
        const entries = await stores.outbox.next('one', 9, 0)
        const own = entries.filter((entry) => entry.kind === 'verdict' && entry.caseId === record.id)
        await hookVerdicts(stores, ref, own, 'words to be sent')
        await stores.outbox.done(entries)
      }
      const left = async () => (await stores.webhooks.take('shop', 9, 1)).map(({ body }) => body)
      await deliver(p1)
      await deliver(ASKED)
      await stores.threads.deletePost(p1, retractionOf(p1))
      await stores.threads.dropAsked(ASKED)
      expect(await left()).toEqual([])
      const p3 = thread('p3', 'acme')
      await stores.threads.putPost(p3, postOf(p3), ARRIVAL, RULES)
      await deliver(p3)
      await stores.threads.eraseLeft(p3, { openIds: [], without: () => null, caseId: () => 'none', now: T0 })
      expect(await left()).toEqual(['1: bare'])
      expect(await traces('words to be sent')).toEqual([])
    })

    /** Whether exactly so many bytes are held by the tenant beside trails: one more than fits is refused, and what fits is not. */
    async function expectHeld(bytes: number, { tenant = 'acme', now = T0 } = {}) {
      const probe = thread('probe', tenant, 'asked')
      const before = bytes + trailOf(tenant)
      expect(await put(probe, { most: before + whole - 1, now })).toBe('over-share')
      expect(await stores.threads.read(probe)).toBeNull()
      expect(await put(probe, { most: before + whole, now })).toBe('asked')
      await stores.threads.dropAsked(probe)
    }
    /** From its opening to its publication, with the answer in between, as a publisher does it. */
    async function judge(ref: ThreadRef, protocol: string, words: string) {
      const record = await openCase(stores, ref, { protocol, final: true })
      await concludeCase(stores, record)
      const entries = await stores.outbox.next('one', 9, 0)
      await answer(protocol, words, ref)
      await stores.outbox.done(entries)
    }
    const saidBytes = (words: string) => Buffer.byteLength(`${JSON.stringify({ words })}{"turns":[]}`)

    it('holds a question until its last verdict, and its answer for as long as that can be read', async () => {
      await put()
      // However short it is, its keys take room, and so will its answers.
      expect([own > 3_000, room > 16_000, whole]).toEqual([true, true, own + 2 * room + trailOf('acme')])
      await expectHeld(own + 2 * room)
      await expectHeld(0, { tenant: 'other' })
      await judge(ASKED, 'rumor', 'so it is')
      await expectHeld(own + saidBytes('so it is') + room)
      expect(await readThread(stores, ASKED)).toMatchObject({ post: { id: 'p1' } })
      await judge(ASKED, 'hate', 'ö')
      // Nobody reads the question again.
      expect(await stores.threads.read(ASKED)).toBeNull()
      expect(await traces('the words of c1')).toEqual([])
      await expectHeld(saidBytes('so it is') + saidBytes('ö'))
      await answer('hate', 'longer')
      await expectHeld(saidBytes('so it is') + saidBytes('longer'))
      expect((await read())?.verdicts.size).toBe(2)
      await expectHeld(saidBytes('so it is') + saidBytes('longer'), { now: T0 + HOUR - 1 })
      await expectHeld(0, { now: T0 + HOUR })
    })

    it('holds what is known of an erased question, so that who asks and erases without end is refused too', async () => {
      const most = 200_000
      let asked = 0
      while (asked < 1_000 && (await put(thread(`q-${asked}`, 'acme', 'asked'), { most })) === 'asked') {
        await stores.threads.dropAsked(thread(`q-${asked}`, 'acme', 'asked'))
        asked++
      }
      expect(asked).toBe(Math.floor((most - whole) / (trailOf('acme') / asked)) + 1)
      expect(await stores.threads.heldBy('acme', T0 + KEEP_REQUESTS_MS - 1)).toBe(trailOf('acme'))
      expect(await stores.threads.heldBy('acme', T0 + KEEP_REQUESTS_MS)).toBe(0)
    })

    it('leaves nothing of a question but its answer where two opened it at once', async () => {
      await put()
      const state = await readThread(stores, ASKED)
      const cases = PROTOCOLS.map((protocol) => ({
        record: recordOf(state, protocol, { final: true }),
        seen: state.version,
      }))
      const opening = { cases, waiting: [], dormant: [], nextDue: null, final: true }
      expect(await stores.threads.open(state, opening)).toHaveLength(2)
      // The other has read it before, and finds both cases open.
      expect(await stores.threads.open(state, opening)).toEqual([])
      for (const { record } of cases) await concludeCase(stores, record)
      await answer('rumor')
      await answer('hate')
      await publishAll(stores)
      expect(await due()).toEqual([])
      expect(await stores.threads.read(ASKED)).toBeNull()
      expect(await traces('the words of c1')).toEqual([])
    })

    it('holds as much as what is there, whatever happens', async () => {
      const step = fc.record({
        what: fc.constantFrom('ask', 'judge', 'answer', 'drop'),
        request: fc.integer({ min: 1, max: 3 }),
        protocol: fc.constantFrom(...PROTOCOLS),
        words: fc.string({ unit: 'grapheme', maxLength: 20 }),
      })
      let runs = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const tenant = `t${++runs}`
          const [questions, answers] = [new Map<number, Set<string>>(), new Map<number, Map<string, number>>()]
          let nth = 0
          const ids = new Map<number, string>()
          for (const { what, request, protocol, words } of steps) {
            const ref = thread(ids.get(request) ?? 'unknown', tenant, 'asked')
            if (what === 'ask') {
              ids.set(request, `q-${++nth}-${runs}`)
              // What was asked before is still held, under a name that nobody has.
              for (const [one, judged] of [...questions]) if (one === request) questions.set(-nth, judged)
              for (const [one, said] of [...answers]) if (one === request) answers.set(-nth, said)
              expect(await put(thread(ids.get(request) ?? '', tenant, 'asked'))).toBe('asked')
              questions.set(request, new Set())
              answers.set(request, new Map())
            } else if (what === 'judge' && questions.get(request)?.has(protocol) === false) {
              await judge(ref, protocol, words)
              questions.get(request)?.add(protocol)
              answers.get(request)?.set(protocol, saidBytes(words))
              const isLast = PROTOCOLS.every((one) => answers.get(request)?.has(one))
              if (isLast) questions.delete(request)
            } else if (what === 'answer' && answers.has(request)) {
              await answer(protocol, words, ref)
              answers.get(request)?.set(protocol, saidBytes(words))
            } else if (what === 'drop') {
              await stores.threads.dropAsked(ref)
              questions.delete(request)
              answers.delete(request)
            }
          }
          const answered = [...answers.values()].flatMap((said) => PROTOCOLS.map((one) => said.get(one) ?? room))
          const bytes = answered.reduce((sum, one) => sum + one, questions.size * own)
          expect(await stores.threads.heldBy(tenant, T0)).toBe(bytes + trailOf(tenant))
          await expectHeld(bytes, { tenant })
        }),
        { numRuns: 25 },
      )
    })

    it('counts its cases as those of its tenant, whose turn it takes', async () => {
      await put()
      await openCase(stores, ASKED, { final: true })
      await put(thread('q-2', 'acme', 'asked'))
      await put(thread('q-3', 'other', 'asked'))
      const due = async (most: number) => (await stores.threads.due(AT_ONCE, 9, most)).map(({ postId }) => postId)
      expect([await due(1), await due(2)]).toEqual([['q-3'], ['q-3', 'q-2']])
    })

    it('has those first for which somebody waits, in places of their own that its tenant’s other cases do not take', async () => {
      const [waited, second, third, others] = ['f1', 'f2', 'f3', 'f4'] as const
      await put(thread('0a', 'acme', 'asked'), { now: T0 })
      await openCase(stores, thread('0a', 'acme', 'asked'), { final: true })
      await put(thread('0b', 'acme', 'asked'), { now: T0 + 1 })
      for (const id of [waited, second, third]) await put(thread(id, 'acme', 'asked'), { now: T0 + 2 })
      await put(thread(others, 'other', 'asked'), { now: T0 + 3 })
      const due = async (maxOpen: number, maxWaiting: number, limit = 9) =>
        (await stores.threads.due(AT_ONCE, limit, maxOpen, maxWaiting)).map(({ postId }) => postId)
      // All places of the rest are taken; tenants take turns for those of `waiting`, and one has half of these at most.
      expect(await due(1, 4)).toEqual([waited, others, second])
      expect(await due(1, 100)).toEqual([waited, others, second, third])
      expect(await due(9, 100)).toEqual([waited, others, second, third, '0b'])
      expect(await due(9, 100, 2)).toEqual([waited, others])
      expect(await due(9, 0)).toEqual(['0b'])
      await openCase(stores, thread(waited, 'acme', 'asked'), { final: true })
      // Who has one open has no second of one place, who has none gets one, and the rest has all of its places.
      expect(await due(1, 1)).toEqual([others])
      expect(await due(2, 1)).toEqual([others, '0b'])
      await openCase(stores, thread('0b', 'acme', 'asked'), { final: true })
      expect(await due(2, 4)).toEqual([others, second])
    })
  })
}
