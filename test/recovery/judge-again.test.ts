import { beforeEach, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { verdictId } from '../../src/contracts/facts/verdict-id.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import type { Vetoes } from '../../src/contracts/ports/vetoes.ts'
import { newCase } from '../../src/judging/engine/new-case.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { type AgainFilter, type AgainPlan, nameOfRun } from '../../src/recovery/again-plan.ts'
import { type AgainRun, judgeAgain } from '../../src/recovery/judge-again.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { threadTable } from '../../src/store/thread/memory-table.ts'
import { ARRIVAL, HOUR, MINUTE, postOf, RULES, T0, thread } from '../contracts/samples.ts'
import { judgeOnce, readThread } from '../contracts/stores.ts'
import { inputOver, intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'
import { aVerdict } from '../support/verdicts.ts'

const NOW = T0 + 48 * HOUR
const TOPICS = {
  posts: 'posts',
  comments: 'comments',
  counterspeech: 'counterspeech',
  verdicts: 'verdicts',
  transcripts: 'transcripts',
  deadLetters: 'dead-letters',
  decisions: 'decisions',
  decisionOutcomes: 'outcomes',
  proposals: 'proposals',
  reviews: 'reviews',
  reach: 'reach',
}
const EVERYTHING: AgainFilter = { since: null, until: null, protocol: null, tenant: null, fault: null, reason: null }

let topics: Map<string, IncomingMessage[]>
let stores: ReturnType<typeof memoryStores>
let now: number
let plans: AgainPlan[]
let said: string[]

beforeEach(() => {
  topics = new Map(Object.values(TOPICS).map((topic) => [topic, []]))
  stores = memoryStores(() => NOW)
  now = NOW
  plans = []
  said = []
})

function put(topic: string, value: object): void {
  const messages = topics.get(topic) ?? []
  const place = { topic, partition: 0, offset: String(messages.length), key: 'k', headers: {}, timestamp: T0 }
  topics.set(topic, [...messages, { ...place, value: Buffer.from(JSON.stringify(value)) }])
}

function verdictOn(postId: string, change: Partial<Verdict> = {}, decidedAt = T0 + HOUR): Verdict {
  const { protocol = 'rumor', revision = 1, tenant = 'default' } = change
  const scope = tenant === 'default' ? protocol : `${protocol}@${tenant}`
  return aVerdict(new Date(decidedAt).toISOString(), {
    id: `${scope}~${postId}~r${revision}`,
    subjectId: postId,
    label: null,
    decidedBy: 'none',
    degraded: ['the model was away'],
    faults: ['model'],
    ...change,
  })
}

/** A post whose verdict has no label, on the topics and, unless it is forgotten, in the store. */
async function undecided(
  postId: string,
  { forgotten = false, ...change }: Partial<Verdict> & { forgotten?: boolean } = {},
) {
  const ref = thread(postId, change.tenant)
  put('posts', { id: postId, tenant: ref.tenant, text: `what ${postId} says`, createdAt: new Date(T0).toISOString() })
  put('comments', { id: 'c', postId, tenant: ref.tenant, text: 'so', createdAt: new Date(T0 + MINUTE).toISOString() })
  put('verdicts', verdictOn(postId, change))
  if (forgotten) return
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  await judgeOnce({ ...stores, pass: async () => {}, close: async () => {} }, ref, {
    protocol: change.protocol ?? 'rumor',
  })
}

function staging(change: Parameters<typeof intakeContext>[1] = {}) {
  const table = threadTable()
  const staged = memoryStores(() => NOW, table)
  const checkpoints = { counts: [], ages: [], finalAge: HOUR, reopen: true }
  return {
    input: inputOver(intakeContext(staged, { checkpoints, clock: () => NOW, ...change })),
    remembered(ref: ReturnType<typeof thread>) {
      const found = table.find(ref)
      return found === null || found.post === null ? null : { ...found, post: found.post, postOnly: false }
    },
  }
}

function runOf(filter: Partial<AgainFilter> = {}, change: Partial<AgainRun> = {}): AgainRun {
  return {
    topics: TOPICS,
    history: {
      rangesOf: async (topic) => new Map([[0, { from: 0n, to: BigInt(topics.get(topic)?.length ?? 0) }]]),
      async read(topic, _, take) {
        const messages = topics.get(topic) ?? []
        if (messages.length > 0) await take(messages)
      },
    },
    protocols: [protocolNamed('rumor', { subject: 'thread' }), protocolNamed('hate', { subject: 'post' })],
    clock: () => now,
    threads: stores.threads,
    cases: stores.cases,
    store: stores.judgeAgain,
    staging,
    dryRun: false,
    signal: new AbortController().signal,
    told: () => {},
    say: (line) => void said.push(line),
    filter: { ...EVERYTHING, ...filter },
    rate: 1e6,
    planned: (plan) => void plans.push(plan),
    progress: () => {},
    ...change,
  }
}
const due = async () => (await stores.threads.due(0, 100)).map(({ postId }) => postId).sort()

describe('what is on a list now', () => {
  const posts = ['listed', 'clean', 'odd', 'byPeople', 'vetoed', 'undecided']
  /** Posts with labels, of which transcripts tell the words; the first and those of people and lists are on a list. */
  async function planted(): Promise<void> {
    const decidedBy = { byPeople: 'human', vetoed: 'veto', undecided: 'none' } as const
    for (const id of posts) {
      await undecided(id, {
        label: id === 'undecided' ? null : 'rumor',
        decidedBy: id in decidedBy ? decidedBy[id as keyof typeof decidedBy] : 'judge', // it is one of these names
        degraded: [],
      })
      const post = { id, text: id === 'clean' || id === 'odd' ? id : 'spam', createdAt: T0 }
      const subject = { post, comments: [], leftOut: 0 }
      put('transcripts', { schema: 1, verdictId: `rumor~${id}~r1`, subject, turns: [], cut: [] })
    }
  }
  const checked: string[] = []
  const vetoes: Vetoes = {
    async check({ caseId, post, ref }) {
      checked.push(caseId)
      // The first answer may be that it is not known yet.
      if (checked.filter((one) => one === caseId).length === 1) return null
      expect(ref.postId).toBe(post.id)
      const hit = post.text === 'spam' ? { list: 'known', entry: 'spam', labels: {} } : null
      const unchecked = post.text === 'odd' ? [{ why: 'away', isClosed: true }] : []
      return { hit, unchecked, around: [], hashes: new Map() }
    },
  }

  it('is asked for whatever its label, but for what people or a list decided, and nothing else is', async () => {
    await planted()
    const { outcomes, plan, unchecked } = await judgeAgain(runOf({ listed: true }, { vetoes }))
    expect(await due()).toEqual(['listed', 'undecided'])
    expect(outcomes).toEqual({ due: 2 })
    expect(plan.byReason).toEqual([{ reason: 'on the list known', verdicts: 2 }])
    expect(unchecked).toBe(1)
    expect([...new Set(checked)].sort()).toEqual(['clean', 'listed', 'odd', 'undecided'].map((id) => `rumor~${id}~r1`))
  })

  it('is asked for within the times that were said alone', async () => {
    await planted()
    expect((await judgeAgain(runOf({ listed: true, since: T0 + 2 * HOUR }, { vetoes }))).outcomes).toEqual({})
  })
})

describe('judging again', () => {
  it('asks for the last verdicts without a label, and for nothing that has one, was deleted, or is off', async () => {
    await undecided('a')
    await undecided('b')
    await undecided('c')
    put('verdicts', verdictOn('b', { label: 'rumor', decidedBy: 'judge', revision: 2 }))
    put('verdicts', verdictOn('c', { decidedBy: 'deleted', degraded: ['deleted'], revision: 2 }))
    put('verdicts', verdictOn('c', { protocol: 'hate' }))
    put('verdicts', verdictOn('d', { protocol: 'gone' }))
    // A protocol of scores: no label is no failure.
    put('verdicts', verdictOn('e', { protocol: 'hate', decidedBy: 'scores' }))
    const { outcomes, plan } = await judgeAgain(runOf())
    expect(outcomes).toEqual({ due: 1 })
    expect(plan).toMatchObject({ subjects: 1, verdicts: 1, off: 1 })
    expect(await due()).toEqual(['a'])
  })

  it('changes nothing in a dry run, and prices by what was decided', async () => {
    await undecided('a')
    await undecided('b', { forgotten: true, degraded: ['no budget', 'the model was away'] })
    await undecided('h', { protocol: 'hate' })
    const usage = { ...verdictOn('x').usage, costUsd: 0.5 }
    put('verdicts', verdictOn('x', { label: 'rumor', decidedBy: 'judge', usage }))
    put(
      'verdicts',
      verdictOn('y', { label: null, decidedBy: 'deleted', degraded: ['deleted'], usage: { ...usage, costUsd: 9 } }),
    )
    const { plan, outcomes } = await judgeAgain(runOf({}, { dryRun: true }))
    expect(outcomes).toEqual({})
    expect(plan.byProtocol).toEqual([
      { protocol: 'hate', verdicts: 1, costUsd: null },
      { protocol: 'rumor', verdicts: 2, costUsd: 1 },
    ])
    expect(plan.byReason).toEqual([
      { reason: 'the model was away', verdicts: 3 },
      { reason: 'no budget', verdicts: 1 },
    ])
    expect(await due()).toEqual([])
    expect(await stores.judgeAgain.begin('any', 7)).toBe(7)
  })

  it.each<[string, Partial<AgainFilter>, string[]]>([
    ['a protocol', { protocol: 'hate' }, ['h']],
    ['a tenant', { tenant: 'other' }, ['t']],
    ['a fault', { fault: 'evidence' }, ['e']],
    ['a part of a reason, in any case', { reason: 'SPENT' }, ['e']],
    ['a beginning', { since: T0 + 2 * HOUR }, ['l']],
    ['an end', { until: T0 + 90 * MINUTE, protocol: 'rumor', tenant: 'default', fault: 'model' }, ['a']],
    ['a protocol that nobody has', { protocol: '__proto__' }, []],
  ])('goes by %s', async (_, filter, wanted) => {
    await undecided('a')
    await undecided('h', { protocol: 'hate' })
    await undecided('t', { tenant: 'other' })
    await undecided('e', { faults: ['evidence'], degraded: ['it was Spent'] })
    await undecided('l', { timing: verdictOn('l', {}, T0 + 3 * HOUR).timing })
    await judgeAgain(runOf(filter))
    expect(await due()).toEqual(wanted)
  })

  it('brings back from the topics what the store has forgotten, with its comments, and says what is nowhere', async () => {
    await undecided('kept')
    await undecided('old', { forgotten: true, revision: 4 })
    put('verdicts', verdictOn('nowhere'))
    await undecided('deleted', { forgotten: true })
    put('posts', { id: 'deleted', deleted: true, createdAt: new Date(T0).toISOString() })
    const { outcomes } = await judgeAgain(runOf())
    expect(outcomes).toEqual({ due: 2, gone: 2 })
    expect(await due()).toEqual(['kept', 'old'])
    const back = await readThread({ ...stores, pass: async () => {}, close: async () => {} }, thread('old'))
    expect(back.comments.map(({ id }) => id)).toEqual(['c'])
    expect(back.revisions.get('rumor')).toMatchObject({ revision: 4, seen: -1 })
  })

  it('brings back comments that were judged by themselves, linked to what they go with, and none of a deleted post', async () => {
    const protocols = [protocolNamed('hate', { subject: 'post' })]
    const routes = router(protocols, { hate: [{ subjects: ['post', 'comment'] }] }, () => 0)
    const say = (id: string, postId: string, more = {}) =>
      put('comments', { id, postId, text: `says ${id}`, createdAt: new Date(T0).toISOString(), ...more })
    const ofComment = (postId: string, subjectId: string) => {
      const of = { protocol: 'hate', subjectId, subjectKind: 'comment', postId } as const
      put('verdicts', verdictOn(subjectId, { ...of, id: verdictId({ ...of, tenant: 'default', revision: 1 }) }))
    }
    await undecided('p', { protocol: 'hate', forgotten: true })
    say('parent', 'p')
    say('a', 'p', { parentId: 'parent' })
    say('gone', 'p')
    say('gone', 'p', { deleted: true })
    say('b', 'away')
    put('posts', { id: 'away', deleted: true, createdAt: new Date(T0).toISOString() })
    for (const [postId, id] of [
      ['p', 'a'],
      ['p', 'gone'],
      ['away', 'b'],
    ] as const)
      ofComment(postId, id)
    const { outcomes } = await judgeAgain(runOf({}, { protocols, staging: () => staging({ routes }) }))
    expect([outcomes, await due()]).toEqual([{ due: 2, gone: 2 }, ['p', 'p~a']])
    const comment = (key: string) => thread(key, 'default', 'comment')
    const linked = async (to: ReturnType<typeof thread>) =>
      (await stores.threads.repliesTo(to, 9)).map(({ postId }) => postId)
    expect([await linked(thread('p')), await linked(comment('p~parent'))]).toEqual([['p~a', 'p~gone'], ['p~a']])
  })

  it('goes on after it was stopped, and leaves out what was decided since it began, without a label or with one', async () => {
    for (const id of ['a', 'b', 'c']) await undecided(id)
    const stop = new AbortController()
    const ask: typeof stores.judgeAgain.ask = async (...given) => {
      const outcomes = await stores.judgeAgain.ask(...given)
      stop.abort()
      return outcomes
    }
    const first = runOf({}, { signal: stop.signal, store: { ...stores.judgeAgain, ask } })
    await expect(judgeAgain(first)).rejects.toThrow()
    expect(await due()).toHaveLength(1)
    const [judged = ''] = await due()
    await judgeOnce({ ...stores, pass: async () => {}, close: async () => {} }, thread(judged), {})
    now += HOUR
    put('verdicts', verdictOn(judged, { revision: 2 }, now - MINUTE))
    let isContinued = false
    const planned: AgainRun['planned'] = (_, since) => {
      isContinued = since.isContinued
    }
    expect((await judgeAgain(runOf({}, { planned }))).outcomes).toEqual({ due: 2 })
    expect(isContinued).toBe(true)
    expect(await due()).toEqual(['a', 'b', 'c'].filter((id) => id !== judged))
    // That run has ended: the next one is a new one.
    expect((await judgeAgain(runOf({}, { dryRun: true }))).plan.verdicts).toBe(3)
  })

  it('waits while many threads are due: live ones go first', async () => {
    await undecided('a')
    const counts = [500, 300, 10]
    const threads = { ...stores.threads, countDue: async () => counts.shift() ?? 0 }
    await judgeAgain(runOf({}, { threads }))
    expect(counts).toEqual([])
    expect(said).toEqual(['500 subjects are due: waiting until at most 200 are …'])
  })

  it('waits while no model answers what the verdicts’ protocols ask, and not for other protocols', async () => {
    await undecided('a')
    await stores.cases.noteUnanswered('hate', now)
    await judgeAgain(runOf())
    expect(said).toEqual([])
    const held = [now - 1_000, now - 30_000, now - 60_000]
    await undecided('b')
    const unansweredUntil = async (protocol: string) => (protocol === 'rumor' ? (held.shift() ?? null) : now)
    await judgeAgain(runOf({}, { cases: { unansweredUntil } }))
    expect(held).toEqual([])
    expect(said).toEqual([expect.stringContaining('No model answers what rumor asks')])
    expect(await due()).toContain('b')
  })

  it('looks at what is due after some verdicts, however high the rate', async () => {
    for (let n = 0; n < 120; n++) await undecided(`p${n}`)
    let looks = 0
    const countDue = async () => {
      looks++
      return 0
    }
    await judgeAgain(runOf({}, { threads: { ...stores.threads, countDue } }))
    expect(looks).toBeGreaterThanOrEqual(3)
  })

  it('says of a thread that came back without comments which its verdict had, how many, here and in the next one', async () => {
    await undecided('a', { forgotten: true, counts: { ...verdictOn('a').counts, accepted: 4 } })
    put('comments', { id: 'x', postId: 'a', text: 'no', createdAt: new Date(T0 + MINUTE).toISOString() })
    put('comments', { id: 'x', postId: 'a', text: '', deleted: true, createdAt: new Date(T0 + MINUTE).toISOString() })
    await undecided('b', { forgotten: true, counts: { ...verdictOn('b').counts, accepted: 1 } })
    const { outcomes, shortened } = await judgeAgain(runOf())
    expect([outcomes, shortened]).toEqual([{ due: 2 }, { subjects: 1, comments: 2 }])
    const read = (id: string) => readThread({ ...stores, pass: async () => {}, close: async () => {} }, thread(id))
    const [a, b] = [await read('a'), await read('b')]
    expect([a.missing, b.missing]).toEqual([2, 0])
    const settings = { checkpoints: { counts: [], ages: [], finalAge: HOUR, reopen: true }, cases: { deadline: HOUR } }
    const opening = { openedAt: NOW, atFinalAge: true, step: 0, paused: new Set<string>(), settings }
    const made = newCase(protocolNamed('rumor', { subject: 'thread' }), a, postOf(a.ref), opening)
    expect(made.comments).toMatchObject({ accepted: 1, missing: 2 })
  })

  it('a dry run counts what the run that is gone on with would, and says how many were decided since it began', async () => {
    await undecided('a')
    await undecided('b')
    await stores.judgeAgain.begin(nameOfRun(EVERYTHING), now)
    now += HOUR
    put('verdicts', verdictOn('b', { revision: 2 }, now - MINUTE))
    const { plan, decidedSince } = await judgeAgain(runOf({}, { dryRun: true }))
    expect([plan.verdicts, decidedSince]).toEqual([1, 1])
    // One with an end of its own goes on with no other, and ends none.
    expect((await judgeAgain(runOf({ until: now }))).decidedSince).toBe(0)
    expect(await stores.judgeAgain.begun(nameOfRun(EVERYTHING))).toBe(now - HOUR)
  })

  it('tries again for a thread that changes while its messages are read, and at last says so', async () => {
    await undecided('a', { forgotten: true })
    let watched = 0
    const watch = async () => {
      watched++
    }
    const revive: typeof stores.judgeAgain.revive = async (...given) =>
      watched < 2 ? ['changed'] : stores.judgeAgain.revive(...given)
    expect((await judgeAgain(runOf({}, { store: { ...stores.judgeAgain, watch, revive } }))).outcomes).toEqual({
      due: 1,
    })
    await undecided('b', { forgotten: true })
    const never: typeof stores.judgeAgain.revive = async () => ['changed']
    const run = runOf({ since: null, tenant: 'default' }, { store: { ...stores.judgeAgain, revive: never } })
    expect((await judgeAgain(run)).outcomes).toEqual({ due: 1, changed: 1 })
  })
})
