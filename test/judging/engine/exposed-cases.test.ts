import { beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type Ask, lookup } from '../../../src/contracts/facts/ask.ts'
import type { Library } from '../../../src/contracts/ports/library.ts'
import type { Memo } from '../../../src/contracts/ports/memo.ts'
import type { StagedAsk } from '../../../src/contracts/ports/stage-queues.ts'
import { erasureLoop } from '../../../src/judging/engine/erasure-loop.ts'
import { shownCaseCleaner } from '../../../src/judging/engine/exposed-cases.ts'
import { judge } from '../../../src/judging/engine/judge.ts'
import { type Protocol, round, type Script } from '../../../src/judging/engine/script.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { inspectCases } from '../../../src/recovery/inspection/cases.ts'
import { listCases } from '../../../src/recovery/inspection/open-cases.ts'
import { memoryLibrary } from '../../../src/shelves/memory.ts'
import { ownerOf } from '../../../src/shelves/names.ts'
import { memoryMemo } from '../../../src/store/memo/memory.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { item, signal, wordEmbedder } from '../../contracts/library.ts'
import { ARRIVAL, HOUR, MINUTE, postOf, RULES, recordOf, retractionOf, T0, thread } from '../../contracts/samples.ts'
import { hookVerdicts, sentToReceiver } from '../../contracts/stores.ts'
import { asksIn, GATEWAY, memoryParts, noImages, protocolNamed } from '../../support/parts.ts'
import { WRITES } from '../../support/verdicts.ts'

const SECRET = 'zebra in the fountain'
const OTHER = 'giraffe in the fountain'

const ask = (stage: string, content: string): Ask<{ word: string }> => ({
  stage,
  role: 'speaker',
  messages: [{ role: 'user', content }],
  answer: z.object({ word: z.string() }),
  temperature: 0,
  maxTokens: 10,
})

/** As `safety`: something about the post alone, then a brief on what a lookup found, then a word on the brief. */
function* briefed(): Script {
  const [alone] = yield* round([ask('alone', 'what stands alone')])
  const [found] = yield* round([lookup('look', { text: 'in the fountain', shelves: ['precedents'], k: 3 })])
  const near = found.ok ? found.answer.shelves.flatMap(({ neighbours }) => neighbours.map(({ text }) => text)) : []
  const [brief] = yield* round([ask('brief', `brief on ${near.toSorted().join(', ') || 'nothing'}`)])
  const [last] = yield* round([ask('last', `last on ${brief.ok ? brief.answer.word : 'none'}`)])
  return {
    ruling: {
      label: 'good',
      scores: {},
      rationale: [alone, brief, last].map((one) => (one.ok ? one.answer.word : '?')).join('; '),
      decidedBy: 'judge',
      rounds: 1,
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: [],
    },
    carry: { said: brief.ok ? brief.answer.word : '' },
  }
}
const protocol: Protocol = protocolNamed('talk', { script: briefed, prepare: () => preparing() })

const [p1, p3] = [thread('p1'), thread('p3')]
let stores: ReturnType<typeof memoryStores>
let memo: Memo
let library: Library
let clock: { now: number }
/** What the model was asked, and the ids that got a job. */
let asked: string[]
let pushed: string[]
/** What happens while a subject is prepared. */
let preparing: () => Iterable<number>

beforeEach(async () => {
  clock = { now: T0 }
  stores = memoryStores(() => clock.now)
  memo = memoryMemo(() => clock.now)
  ;[asked, pushed] = [[], []]
  preparing = () => []
  library = memoryLibrary(wordEmbedder(), { now: () => clock.now, deletedAmong: stores.erasures.deletedAmong })
  const of = (ref: typeof p1) => ({ tenant: ref.tenant, id: ref.postId, kind: ref.kind })
  await library.add('precedents', [item(SECRET, 'bad', { subject: of(p1) })], 'ann', signal)
  await library.add('precedents', [item(OTHER, 'bad', { subject: of(p3) })], 'ann', signal)
  await library.add('precedents', [item(IMPORTED, 'good', { subject: null })], 'ann', signal, undefined, 'default')
})

const remove = (ref = p1) => stores.threads.deletePost(ref, retractionOf(ref))

async function open(postId: string): Promise<string> {
  const ref = thread(postId)
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  const record = recordOf(state, 'talk', { openedAt: clock.now, deadline: clock.now + 10 * MINUTE })
  const nothing = { waiting: [], dormant: [], nextDue: null, final: true }
  await stores.threads.open(state, { cases: [{ record, seen: state.version }], ...nothing })
  return record.id
}

/** A judging process; `find` in place of its library's. */
function worker(find: Library['find'] = library.find) {
  const judged = judge({
    protocols: new Map([['talk', protocol]]),
    cases: stores.cases,
    gateway: gateway({
      model: {
        async complete({ messages }) {
          const [question = ''] = messages.at(-1)?.content.split('\n', 1) ?? []
          asked.push(question)
          const tokens = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
          return { text: JSON.stringify({ word: `said of ${question}` }), finish: 'stop', model: 'm', ...tokens }
        },
      },
      loadImage: noImages,
      ...memoryParts(() => clock.now),
      memo,
      settings: { ...GATEWAY, memo: { enabled: true, keep: HOUR, lease: MINUTE, patience: MINUTE, maxBytes: 10_000 } },
      clock: () => clock.now,
      report: () => {},
    }),
    library: { embedder: library.embedder, find },
    clock: () => clock.now,
    report: () => {},
    settings: { maxTakeovers: 20, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
  })
  const attempt = { number: 1, last: false, waitSeconds: 0, heldMs: 0, signal }
  return {
    ...judged,
    answerOne: (staged: StagedAsk) => judged.answer({ ...staged, ...attempt }),
    /** Goes on for so many rounds, or to the end. */
    async go(id: string, rounds = 9): Promise<string> {
      for (let round = 0; round < rounds; round++) {
        const step = await judged.advance(id)
        if (step.next !== 'asks') return step.next
        for (const staged of asksIn(step)) await judged.answer({ ...staged, ...attempt })
      }
      return 'asks'
    },
  }
}

function erasing(restartsPerSecond = 1_000, shelves: Pick<Library, 'forget' | 'holdsAnything'> = library) {
  return erasureLoop({
    erasures: stores.erasures,
    library: shelves,
    clean: shownCaseCleaner({
      threads: stores.threads,
      cases: stores.cases,
      memo,
      owners: stores.erasures,
      protocols: [protocol],
      clock: () => clock.now,
      settings: { cases: { deadline: 10 * MINUTE } },
    }),
    queues: {
      async push(ids) {
        pushed.push(...ids)
      },
    },
    report: () => {},
    settings: { name: 'one', restartsPerSecond, keepTombstone: HOUR },
  })
}

async function published() {
  const entries = await stores.outbox.next('test', 100, 1)
  await stores.outbox.done(entries)
  return entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry] : []))
}

/** What nobody can take back. */
const IMPORTED = 'a fountain in a park'
const BRIEF = `brief on ${IMPORTED}, ${OTHER}, ${SECRET}`
const BRIEF_LEFT = `brief on ${IMPORTED}`

describe('a case that was shown a subject that is deleted', () => {
  it('asks nothing more with its words, goes back to the brief without them, and asks nothing else again', async () => {
    const id = await open('p2')
    const mine = worker()
    await mine.go(id, 2)
    const step = await mine.advance(id)
    const [brief] = asksIn(step)
    if (brief === undefined) throw new Error('no brief')
    await remove()
    // Here it is known from memory, elsewhere it is read from the store.
    for (const one of [mine, worker()])
      expect(await one.answerOne(brief)).toMatchObject({ end: 'deferred', delayMs: expect.any(Number) })
    expect(await mine.go(id)).toBe('later')
    expect(asked).toEqual(['what stands alone'])

    await erasing().cases()
    expect(pushed).toEqual([id])
    expect(await mine.answerOne(brief)).toMatchObject({ end: 'done' })
    expect(await mine.go(id)).toBe('done')
    expect(asked).toEqual(['what stands alone', BRIEF_LEFT, `last on said of ${BRIEF_LEFT}`])
    const [entry] = await published()
    expect(entry?.caseId).toBe(id)
    expect(JSON.stringify(entry)).not.toContain(SECRET)
    expect(JSON.stringify(entry)).toContain(IMPORTED)
    // The transcript says that something was taken back.
    expect(entry?.transcript).toContain('"withdrawn":2')
  })

  describe.each(['of a precedent', 'of its own post'])('asks nothing with words %s', (whose) => {
    it.each(['this process', 'another'])('that were erased while %s waited to send the question', async (who) => {
      const id = await open('p2')
      const first = worker()
      await first.go(id, 2)
      const [brief] = asksIn(await first.advance(id))
      if (brief === undefined) throw new Error('no brief')
      // Here the question is known from memory, elsewhere it is read from the store.
      const asker = who === 'another' ? worker() : first
      const look = vi.spyOn(memo, 'lookUp').mockImplementationOnce(async (keys) => {
        await remove(whose === 'of a precedent' ? p1 : thread('p2'))
        await erasing().cases()
        clock.now += 1_000
        return keys.map(() => ({ state: 'leased' }))
      })
      expect(await asker.answerOne(brief)).toMatchObject({ end: 'done' })
      expect(look).toHaveBeenCalledOnce()
      expect(asked).toEqual(['what stands alone'])
    })
  })

  it('asks nothing about a post that was deleted while its case was read and prepared for the question', async () => {
    const id = await open('p2')
    const [alone] = asksIn(await worker().advance(id))
    if (alone === undefined) throw new Error('no question')
    preparing = function* () {
      void remove(thread('p2'))
      clock.now += 3_000
      yield 25_000
    }
    expect(await worker().answerOne(alone)).toMatchObject({ end: 'done' })
    expect(asked).toEqual([])
  })

  it('keeps no answer of a question with its words, neither in the journal nor in the memo', async () => {
    const id = await open('p2')
    await worker().go(id, 3)
    expect(asked).toEqual(['what stands alone', BRIEF])
    await remove()
    await erasing().cases()
    expect([...((await stores.cases.unpublished(id))?.journal.keys() ?? [])]).toEqual(['0.0', '1.0'])
    expect(JSON.stringify([...((await stores.cases.unpublished(id))?.journal.values() ?? [])])).not.toContain(SECRET)
    // The answers were paid for all the same.
    expect((await stores.cases.unpublished(id))?.lostCalls).toMatchObject([{ key: '2.0', outcome: 'answered' }])
    expect(await memo.forget(thread('p2'), 0)).toBe(0)
    await worker().go(id)
    expect(asked).toEqual(['what stands alone', BRIEF, BRIEF_LEFT, `last on said of ${BRIEF_LEFT}`])
    expect(JSON.stringify(await published())).not.toContain(SECRET)
  })

  it.each(['no publisher', 'a publisher that asks before it is clean'])(
    'is judged again under the same number where %s took its verdict',
    async (who) => {
      const id = await open('p2')
      await worker().go(id)
      await remove()
      if (who !== 'no publisher') expect(await published()).toEqual([])
      await erasing().cases()
      expect(await published()).toEqual([])
      expect(await worker().go(id)).toBe('done')
      const [entry, ...more] = await published()
      expect([entry?.caseId, more]).toEqual([id, []])
      expect(JSON.stringify(entry)).not.toContain(SECRET)
      expect((await stores.threads.read(thread('p2')))?.revisions.get('talk')).toMatchObject({
        revision: 1,
        carry: { said: `said of ${BRIEF_LEFT}` },
      })
    },
  )

  it('stays as it is once it is published, and leaves neither carry nor remembered answers', async () => {
    const carried = async () => (await stores.threads.read(thread('p2')))?.revisions.get('talk')?.carry
    const id = await open('p2')
    await worker().go(id)
    expect(await published()).toHaveLength(1)
    // The next revision may be under way when it is deleted.
    expect(await carried()).toBeNull()
    await remove()
    await erasing().cases()
    expect(pushed).toEqual([])
    expect(await carried()).toBeNull()
    expect(await memo.forget(thread('p2'), 0)).toBe(0)
    expect((await stores.erasures.waiting()).cases.count).toBe(0)
  })

  it('goes on to receivers without its words where its publisher has not finished with it', async () => {
    const id = await open('p2')
    await worker().go(id)
    const entries = await stores.outbox.next('one', 9, 0)
    expect(entries).toMatchObject([{ kind: 'verdict', caseId: id }])
    const shared = { ...stores, pass: async () => {}, close: async () => {} }
    await hookVerdicts(shared, thread('p2'), entries, SECRET)
    await remove()
    await erasing().cases()
    expect(await sentToReceiver(shared)).toEqual(['1: bare'])
  })

  it('does not see what is deleted while it looks: the lookup is made again', async () => {
    const id = await open('p2')
    const looks: number[] = []
    const mine = worker(async (...wanted) => {
      const found = await library.find(...wanted)
      looks.push(found.shelves[0]?.neighbours.length ?? 0)
      if (looks.length === 1) await remove()
      return found
    })
    await mine.go(id, 1)
    const [look] = asksIn(await mine.advance(id))
    if (look === undefined) throw new Error('no lookup')
    expect(await mine.answerOne(look)).toMatchObject({ end: 'deferred' })
    expect(await mine.go(id)).toBe('done')
    expect(looks).toEqual([3, 2])
    expect(asked).not.toContain(BRIEF)
    expect(JSON.stringify(await published())).not.toContain(SECRET)
  })

  it('begins again once where two that it was shown go at the same time', async () => {
    const id = await open('p2')
    await worker().go(id, 3)
    await remove(p1)
    await remove(p3)
    await erasing().cases()
    expect((await stores.cases.unpublished(id))?.run).toBe(1)
    await worker().go(id)
    expect(asked).toEqual(['what stands alone', BRIEF, BRIEF_LEFT, `last on said of ${BRIEF_LEFT}`])
    expect(pushed).toEqual([id])
  })

  it('begins again once where another that it was shown goes later', async () => {
    const id = await open('p2')
    await worker().go(id, 3)
    await remove(p1)
    await erasing().cases()
    const mine = worker()
    const step = await mine.advance(id)
    await remove(p3)
    await erasing().cases()
    expect(pushed).toEqual([id])
    for (const one of asksIn(step)) expect(await mine.answerOne(one)).toMatchObject({ end: 'done' })
    expect(await mine.go(id)).toBe('done')
    expect((await stores.cases.unpublished(id))?.run).toBe(1)
    expect(asked).toEqual(['what stands alone', BRIEF, BRIEF_LEFT, `last on said of ${BRIEF_LEFT}`])
    expect(JSON.stringify(await published())).not.toMatch(/zebra|giraffe/)
  })

  it('begins again at a rate, but is clean at once', async () => {
    const ids: string[] = []
    for (let nth = 0; nth < 60; nth++) ids.push(await open(`case-${nth}`))
    const mine = worker()
    for (const id of ids) await mine.go(id, 3)
    await remove()
    const erase = erasing(7)
    await erase.cases()
    expect((await stores.erasures.waiting()).cases.count).toBe(0)
    for (const id of ids)
      expect(JSON.stringify([...((await stores.cases.unpublished(id))?.journal.values() ?? [])])).not.toContain(SECRET)
    expect(pushed).toHaveLength(7)
    // Whoever else gives it a job (the reconciler does) has it wait too.
    expect(await worker().advance(ids.at(-1) ?? '')).toMatchObject({ next: 'later' })
    await erase.cases()
    expect(pushed.length).toBeLessThan(60)
  })

  it('is left alone where only others were shown it', async () => {
    const id = await open('p2')
    const mine = worker()
    await mine.go(id, 3)
    await remove(thread('p9'))
    await erasing().cases()
    expect(await mine.go(id)).toBe('done')
    expect(asked).toEqual(['what stands alone', BRIEF, `last on said of ${BRIEF}`])
  })
})

describe('the shelves', () => {
  it('lose what was deleted, and the queue those who owned nothing, by a process that has the library', async () => {
    for (let nth = 0; nth < 2_500; nth++) await remove(thread(`nobody-${nth}`))
    await remove()
    await erasing().shelves()
    expect((await stores.erasures.waiting()).shelves.count).toBe(0)
    const { shelves } = await library.find({ text: SECRET, shelves: ['precedents'], k: 9 }, { ...of('x') }, signal)
    expect(shelves[0]?.neighbours.map(({ text }) => text).sort()).toEqual([IMPORTED, OTHER].sort())
  })

  it('are left to others by a process that finds no library where another has found one', async () => {
    await erasing().shelves()
    await remove()
    const folder = library
    library = memoryLibrary(wordEmbedder())
    await erasing().shelves()
    expect((await stores.erasures.waiting()).shelves.count).toBe(1)
    library = folder
    await erasing().shelves()
    expect((await stores.erasures.waiting()).shelves.count).toBe(0)
  })

  it('are left to others for a minute where nobody has found one: after Redis was emptied another may look next', async () => {
    const minutes = vi.spyOn(performance, 'now')
    const without = erasing(1_000, memoryLibrary(wordEmbedder()))
    const waiting = async () => (await stores.erasures.waiting()).shelves.count
    await remove()
    for (const [now, left] of [
      [0, 1],
      [59_000, 1],
      [60_000, 0],
    ] as const) {
      minutes.mockReturnValue(now)
      await without.shelves()
      expect(await waiting()).toBe(left)
    }
    await remove(p3)
    await erasing().shelves()
    expect(await waiting()).toBe(0)
    minutes.mockRestore()
  })

  it('lose it also where a process starts with a copy from before, which shows nothing of it meanwhile', async () => {
    const copy = memoryLibrary(wordEmbedder(), { now: () => clock.now, deletedAmong: stores.erasures.deletedAmong })
    await copy.add('precedents', [item(SECRET, 'bad', { subject: of('p1') })], 'ann', signal)
    await remove()
    await erasing().shelves()
    clock.now += MINUTE
    // It is deleted again, as a producer may say it twice.
    await remove()
    await erasing().shelves()
    const { shelves } = await copy.find({ text: SECRET, shelves: ['precedents'], k: 9 }, of('x'), signal)
    expect(shelves[0]?.neighbours).toEqual([])
    const owner = ownerOf(of('p1'))
    await erasing(1_000, copy).shelves()
    expect(await copy.forget([owner])).toMatchObject({ erased: 0, owned: new Set() })
  })

  it('wait in the queue while they can’t be written, and hold up no case', async () => {
    const id = await open('p2')
    await worker().go(id, 3)
    await remove()
    const readable = library
    library = {
      ...readable,
      forget: async () => {
        throw new Error('read-only')
      },
    }
    const erase = erasing()
    await expect(erase.shelves()).rejects.toThrow('read-only')
    await erase.cases()
    expect(pushed).toEqual([id])
    library = readable
    await erasing().shelves()
    expect((await stores.erasures.waiting()).shelves.count).toBe(0)
  })

  const of = (id: string) => ({ tenant: 'default', id, kind: 'post' as const })
})

describe('what is told of a case that was shown something', () => {
  const parts = () => ({
    cases: stores.cases,
    protocols: new Map([['talk', protocol]]),
    waits: async () => [],
    clock: () => clock.now,
    desk: { stranded: async () => [] },
    deadlineSettings: { deadline: 10 * MINUTE, mostHeld: HOUR },
  })
  const list = () =>
    listCases(parts(), {}, { most: 10, signal, progress() {} }).then(({ cases }) => cases.map(({ state }) => state))

  it('is, from the deletion on, that it is withheld, and nothing that may hold the words', async () => {
    const id = await open('c1')
    await worker().go(id, 3)
    expect(JSON.stringify(await inspectCases(parts(), [id]))).toContain(SECRET)
    expect(await list()).toEqual(['advancing'])
    await remove()
    const told = await inspectCases(parts(), [id])
    expect(told).toMatchObject([
      { withheld: true, answers: [{ stage: 'alone' }, { stage: 'look' }, { stage: 'brief' }] },
    ])
    expect(JSON.stringify(told)).not.toContain(SECRET)
    expect(await list()).toEqual(['withheld'])
    await erasing().cases()
    await erasing().cases()
    expect((await inspectCases(parts(), [id])).map(({ withheld }) => withheld)).toEqual([false])
  })
})

describe('a damaged shelf', () => {
  it('holds up the erasure of its own items alone, is named, and is not tried again with each look', async () => {
    const damage = new Error('the shelf is damaged')
    const tried: number[] = []
    const eraser = erasing(1_000, {
      holdsAnything: async () => true,
      async forget(owners) {
        tried.push(owners.length)
        return { erased: 0, owned: new Set(), damaged: [damage] }
      },
    })
    const deleted = async (from: number, to: number) => {
      for (let nth = from; nth < to; nth++) await stores.erasures.note(thread(`d${nth}`))
    }
    await deleted(0, 1_500)
    await expect(eraser.shelves()).rejects.toThrow(damage)
    expect(tried).toEqual([1_000, 500])
    await eraser.shelves()
    expect(tried).toHaveLength(2)
    await deleted(1_500, 1_502)
    await expect(eraser.shelves()).rejects.toThrow(damage)
    expect(tried).toEqual([1_000, 500, 2])
    expect((await stores.erasures.waiting()).shelves.count).toBe(1_502)
  })
})
