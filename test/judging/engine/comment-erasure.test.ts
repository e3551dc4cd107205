import { beforeEach, describe, expect, it, vi } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { promptsOf } from '../../../src/app/composition/make-protocols.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { Snapshot } from '../../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import type { Memo } from '../../../src/contracts/ports/memo.ts'
import type { ModelReply, ModelRequest } from '../../../src/contracts/ports/model.ts'
import type { ThreadStore } from '../../../src/contracts/ports/threads.ts'
import { commentEraser } from '../../../src/judging/engine/comment-erasure.ts'
import { judge } from '../../../src/judging/engine/judge.ts'
import { snapshotOf, versionSeenBy } from '../../../src/judging/engine/new-case.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { rumor } from '../../../src/protocols/rumor/index.ts'
import { memoryMemo } from '../../../src/store/memo/memory.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, HOUR, MINUTE, postOf, RULES, recordOf, said, T0, thread, unsaid } from '../../contracts/samples.ts'
import { plainFence, plainRank } from '../../protocols/drive.ts'
import { asksIn, GATEWAY, memoryParts, noImages, noLibrary } from '../../support/parts.ts'
import { WRITES } from '../../support/verdicts.ts'

const { enabled: _, ...shipped } = loadSettings({}).protocols.rumor as { enabled: boolean }
const made = (settings: object = {}, samplingRank = plainRank): Protocol =>
  rumor.make({
    settings: { ...shipped, batchSize: 4, k: 4, rounds: 1, perAuthor: null, ...under, ...settings },
    prompts: promptsOf('rumor'),
    fence: plainFence,
    samplingRank,
    files: () => new Map(),
  })

const ref = thread('p1')
const CHECKPOINTS = { counts: [], ages: [], finalAge: HOUR }
const DEADLINE = 10 * MINUTE
/** Whom a case is about to be rid of, and its words. */
const GONE = 'c1'
const SECRET = 'zebra in the fountain'

let clock: { now: number }
let stores: ReturnType<typeof memoryStores>
let requests: ModelRequest[]
let pushed: string[]
let memo: Memo
/** What {@link SECRET} is scored. */
let secretScore: number
/** The model answers after this. */
let answering: Promise<unknown>

beforeEach(async () => {
  clock = { now: T0 }
  stores = memoryStores(() => clock.now)
  ;[requests, pushed] = [[], []]
  under = {}
  memo = memoryMemo(() => clock.now)
  answering = Promise.resolve()
  secretScore = 0.9
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  const words = (nth: number) => (nth === 1 ? SECRET : `words of number ${nth}`)
  const comments = Array.from({ length: 10 }, (_, at) =>
    said(`c${at + 1}`, { text: words(at + 1), createdAt: T0 + at }),
  )
  await stores.threads.putComments(ref, comments, T0, RULES)
})

/** What is changed of the shipped settings in a group of tests. */
let under: object = {}

/** Scores what it is shown, odd ones for the claim, and repeats all that it was shown wherever it speaks. */
function answerTo({ messages, stage }: ModelRequest & { stage?: string }): ModelReply {
  const asked = messages.at(-1)?.content ?? ''
  const shown = [...asked.matchAll(/<comment(?: \d+)?\|([^>]*)>/g)].map(([, text = '']) => text)
  const all = messages.map(({ content }) => content).join(' ')
  const value = (text: string) =>
    text === SECRET ? secretScore : Number(/\d+$/.exec(text)?.[0]) % 2 === 1 ? 0.9 : -0.9
  const read = [...asked.matchAll(/<(?:comment(?: \d+)?|parent)\|([^>]*)>/g)].map(([, text = '']) => text)
  const quoted = [...all.matchAll(/zebra in the fountain|words of number \d+/g)].join(', ')
  const scored = {
    scores: shown.map((text, at) => ({ comment: at + 1, reason: `of ${read.join(', ')}`, score: value(text) })),
  }
  const subjectivity = { reason: quoted, answer: 'No' }
  const said = asked.includes('(stance)')
    ? { ...scored, subjectivity }
    : asked.includes('(subjectivity)')
      ? subjectivity
      : { reasoning: quoted, answer: all.includes('that support the claim') ? 'Fake' : 'Real' }
  const tokens = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 }
  return { text: JSON.stringify(said), finish: 'stop', model: `m ${stage ?? ''}`.trim(), ...tokens }
}

function workerOf(protocol: Protocol | null, maxTakeovers = 20, remembers = false) {
  const report = () => {}
  const memoSettings = { enabled: remembers, keep: HOUR, lease: MINUTE, patience: MINUTE, maxBytes: 10_000 }
  return judge({
    protocols: new Map(protocol === null ? [] : [[protocol.name, protocol]]),
    cases: stores.cases,
    gateway: gateway({
      model: {
        async complete(request: ModelRequest) {
          requests.push(request)
          await answering
          return answerTo(request)
        },
      },
      loadImage: noImages,
      ...memoryParts(() => clock.now),
      memo,
      settings: { ...GATEWAY, memo: memoSettings },
      clock: () => clock.now,
      report,
    }),
    library: noLibrary,
    clock: () => clock.now,
    report,
    settings: { maxTakeovers, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
  })
}

const ATTEMPT = { number: 1, last: false, waitSeconds: 0, heldMs: 0, signal: new AbortController().signal }

/** Advances the case by so many rounds, every ask of each answered. */
async function advance(id: string, rounds: number, worker = workerOf(made())): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const step = await worker.advance(id)
    if (step.next !== 'asks') return
    for (const ask of asksIn(step)) await worker.answer({ ...ask, ...ATTEMPT })
  }
}

async function open(protocol = made(), change: { final?: boolean; overloaded?: boolean } = {}): Promise<string> {
  const state = await stateOf()
  if (state.post === null) throw new Error('no post')
  const record = recordOf(state, 'rumor', {
    ...change,
    ...snapshotOf(protocol, state, state.post, { checkpoints: CHECKPOINTS }),
    versions: { script: protocol.version, prompts: protocol.promptsHash, settings: protocol.settingsHash },
    deadline: clock.now + DEADLINE,
    openedAt: clock.now,
  })
  const seen = versionSeenBy(protocol, state)
  const nothing = { waiting: [], dormant: [], nextDue: null, final: change.final === true }
  const [id] = await stores.threads.open(state, { cases: [{ record, seen }], ...nothing })
  if (id === undefined) throw new Error('not opened')
  return id
}

async function stateOf() {
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  return state
}

/** A comment goes, as intake has it go. */
async function remove(
  id = GONE,
  protocols: readonly Protocol[] = [made()],
  threads: ThreadStore = stores.threads,
  restarted: (caseId: string) => Promise<void> = async () => {},
) {
  await stores.threads.putComments(ref, [unsaid(id)], clock.now, RULES)
  await commentEraser({
    threads,
    cases: stores.cases,
    memo,
    protocols,
    queues: {
      async push(ids) {
        pushed.push(...ids)
        for (const caseId of ids) await restarted(caseId)
      },
    },
    clock: () => clock.now,
    settings: { checkpoints: CHECKPOINTS, cases: { deadline: DEADLINE } },
  })(ref, new Set([id]))
}

async function unpublished(id: string) {
  const held = await stores.cases.unpublished(id)
  if (held === null) throw new Error('it is not there')
  return held
}

const expectNoWords = async (id: string) => {
  const { record, journal } = await unpublished(id)
  expect(JSON.stringify([record, ...journal])).not.toContain(SECRET)
}

const verdict = async (): Promise<{ verdict: Verdict; transcript: string }> => {
  const [entry] = await stores.outbox.next('test', 1, 1)
  if (entry?.kind !== 'verdict') throw new Error('no verdict')
  await stores.outbox.done([entry])
  return { verdict: JSON.parse(entry.verdict) as Verdict, transcript: entry.transcript }
}

const shown = () => requests.map(({ messages }) => messages.map(({ content }) => content).join('\n'))
const stancesAsked = () => shown().filter((text) => text.includes('"scores"')).length

/** As shipped, and where fewer calls ask as much: the settings, and the calls of two rounds. */
const WAYS = [
  ['by default', {}, 6],
  ['under preset thrifty', { preset: 'thrifty' }, 5],
] as const

describe.each(WAYS)('an open case, of which a comment is deleted, %s', (_, settings, asked) => {
  beforeEach(() => {
    under = settings
  })

  it('restarts without its words, and asks again only where they stood', async () => {
    const id = await open()
    await advance(id, 2)
    expect(JSON.stringify([...(await unpublished(id)).journal])).toContain(SECRET)
    // Three batches of stances, one subjectivity unless it is in the first of them, two opinions.
    expect(requests).toHaveLength(asked)
    const before = await unpublished(id)
    await remove()
    await expectNoWords(id)
    const after = await unpublished(id)
    expect(after).toMatchObject({ run: before.run + 1, epoch: before.epoch + 1 })
    expect((after.record.subject as Snapshot).comments.map(({ id }) => id)).toEqual(
      Array.from({ length: 9 }, (_, at) => `c${at + 2}`),
    )
    expect(after.record.comments).toEqual({ accepted: 9, cap: 0, late: 0, author: 0 })
    requests.length = 0
    await advance(id, 9)
    expect(shown().filter((text) => text.includes(SECRET))).toEqual([])
    // Of the batch that held the words the numbers of the others were kept.
    expect(stancesAsked()).toBe(0)
    expect(shown().filter((text) => text.includes('(subjectivity)'))).toEqual([])
    const { verdict: given, transcript } = await verdict()
    expect(transcript).not.toContain(SECRET)
    expect(given).toMatchObject({ id, counts: { accepted: 9, judged: 9 }, usage: { calls: asked + requests.length } })
    expect([...given.evidence.support, ...given.evidence.oppose]).not.toContain(GONE)
  })

  it('learns no words from the memo, however soon it asks again', async () => {
    const id = await open()
    const worker = workerOf(made(), 20, true)
    await advance(id, 2, worker)
    await remove(GONE, [made()], stores.threads, (caseId) => advance(caseId, 1, worker))
    await expectNoWords(id)
    expect((await unpublished(id)).journal.size, 'it was answered').toBeGreaterThan(0)
  })

  it('learns no words from a call that was under way', async () => {
    const id = await open()
    const worker = workerOf(made(), 20, true)
    const model = Promise.withResolvers<void>()
    answering = model.promise
    const first = advance(id, 1, worker)
    await vi.waitFor(() => expect(requests).not.toEqual([]))
    await remove()
    const asked = advance(id, 1, worker)
    await vi.waitFor(async () => expect((await unpublished(id)).epoch).toBe(3))
    model.resolve()
    await Promise.all([first, asked])
    await expectNoWords(id)
    expect((await unpublished(id)).journal.size, 'it was answered').toBeGreaterThan(0)
  })
})

describe('an open case of a thread, of which a comment is deleted', () => {
  it('lets others have their turn between the questions that it may keep', async () => {
    const id = await open()
    await advance(id, 2)
    let [turns, going] = [0, true]
    const count = () => {
      turns++
      if (going) setImmediate(count)
    }
    setImmediate(count)
    await remove()
    going = false
    // Six were asked, and of the new run four are.
    expect(turns).toBeGreaterThanOrEqual(10)
  })

  it('is read by no script before its texts were prepared', async () => {
    const steps: string[] = []
    const protocol = made()
    const noting: Protocol = {
      ...protocol,
      *prepare() {
        steps.push('prepared')
        yield 1
      },
      script(...given) {
        steps.push('read')
        return protocol.script(...given)
      },
    }
    const id = await open(noting)
    await advance(id, 1, workerOf(noting))
    steps.length = 0
    await remove(GONE, [noting])
    expect(steps).toEqual(['prepared', 'read', 'read'])
  })

  it('restarts at the second try, though an answer comes to it whenever it is read', async () => {
    const id = await open()
    await advance(id, 1)
    const { run } = await unpublished(id)
    let reads = 0
    const { unpublished: read } = stores.cases
    stores.cases = {
      ...stores.cases,
      async unpublished(caseId) {
        const found = await read(caseId)
        if (found !== null) {
          const answer = [...found.journal.values()][0]
          if (answer !== undefined) await stores.cases.answer(caseId, run, `late ${reads++}`, answer)
        }
        return found
      },
    }
    await remove()
    expect(reads).toBe(2)
    const { record } = (await read(id)) ?? {}
    expect(JSON.stringify(record)).not.toContain(SECRET)
    expect(await workerOf(made()).advance(id)).toMatchObject({ next: 'asks' })
  })

  it('leaves what else has come to its thread meanwhile to the next revision; where nothing has, none follows', async () => {
    const id = await open()
    await advance(id, 1)
    await stores.threads.putComments(ref, [said('c11', { text: 'words of number 11' })], T0, RULES)
    await remove()
    const { record } = await unpublished(id)
    expect((record.subject as Snapshot).comments.map(({ id }) => id)).not.toContain('c11')
    const state = await stateOf()
    expect(state.revisions.get('rumor')?.seen).toBeLessThan(state.version)
    await remove('c11')
    // Who has seen the post is nothing to judge.
    await stores.threads.putPost(ref, postOf(ref, { reach: 120 }), ARRIVAL, RULES)
    await remove('c2')
    const after = await stateOf()
    expect(after.revisions.get('rumor')?.seen).toBe(after.version)
  })

  it('is held up by one account a few times, and costs a few calls more, however often it comments and deletes', async () => {
    const mine = (nth: number) =>
      said(`m${nth}`, { text: `mine of number ${nth}`, author: 'mallory', createdAt: T0 + 100 })
    await stores.threads.putComments(ref, [mine(0), mine(1)], T0, RULES)
    const id = await open()
    const worker = workerOf(made())
    const alone = 3 + 1 + 2 + 2 + 1
    for (let nth = 1; nth <= 100; nth++) {
      await advance(id, 1, worker)
      clock.now += 2_000
      await stores.threads.putComments(ref, [mine(nth + 1)], clock.now, RULES)
      await remove(`m${nth - 1}`)
      if ((await stores.cases.unpublished(id))?.concluded === true) break
    }
    expect((await verdict()).verdict).toMatchObject({ id, label: expect.stringMatching(/rumor/) })
    expect(requests.length).toBeLessThanOrEqual(2 * alone)
  })

  it.each([
    ['leaves an author out who takes back more than three of its comments, and accounts for the others', ''],
    ['leaves it out by its name as it looks', '\u200b'],
  ])('%s', async (_, hidden) => {
    const mine = Array.from({ length: 6 }, (_, nth) =>
      said(`m${nth}`, {
        text: `mine of number ${nth}`,
        author: `mallory${hidden.repeat(nth)}`,
        createdAt: T0 + 100 + nth,
      }),
    )
    await stores.threads.putComments(ref, mine, T0, RULES)
    const id = await open()
    const left = async () => ((await unpublished(id)).record.subject as Snapshot).comments.length
    for (const [nth, expected] of [15, 14, 13, 10].entries()) {
      await remove(`m${nth}`)
      expect(await left()).toBe(expected)
    }
    const { record } = await unpublished(id)
    expect(record).toMatchObject({ comments: { accepted: 12, author: 2 }, takenBack: { restarts: 4 } })
    expect(JSON.stringify(record)).not.toContain('mallory')
    await remove('m4')
    expect((await unpublished(id)).record.takenBack?.restarts).toBe(4)
    clock.now = record.resumeAt ?? 0
    await advance(id, 9)
    const { counts, degraded } = (await verdict()).verdict
    expect(counts).toMatchObject({ accepted: 12, judged: 10, leftOut: { author: 2 } })
    expect(degraded).toContain('2 comments left out: their authors took back others of this case')
  })

  it('waits before it restarts again and again, longer each time', async () => {
    const id = await open()
    const worker = workerOf(made())
    const waits: number[] = []
    for (let nth = 1; nth <= 9; nth++) {
      await remove(`c${nth}`)
      const { resumeAt = clock.now } = (await unpublished(id)).record
      waits.push(resumeAt - clock.now)
      if (resumeAt > clock.now) expect(await worker.advance(id)).toMatchObject({ next: 'later' })
      clock.now = resumeAt
      expect(await worker.advance(id)).toMatchObject({ next: 'asks' })
    }
    expect(waits).toEqual([0, 0, 0, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000])
  })

  it('waits no longer where more is taken back meanwhile, and counts that as no restart', async () => {
    const id = await open()
    for (let nth = 1; nth <= 9; nth++) await remove(`c${nth}`)
    expect((await unpublished(id)).record).toMatchObject({ takenBack: { restarts: 4 }, resumeAt: clock.now + 2_000 })
    clock.now += 2_000
    await remove('c10')
    expect((await unpublished(id)).record).toMatchObject({ takenBack: { restarts: 5 }, resumeAt: clock.now + 4_000 })
  })

  it('waits for half of the time that it has left at most', async () => {
    const id = await open()
    for (let nth = 1; nth <= 9; nth++) {
      clock.now = Math.max(clock.now, (await unpublished(id)).record.deadline - 1_000)
      await remove(`c${nth}`)
      const { resumeAt = 0, deadline } = (await unpublished(id)).record
      expect(resumeAt - clock.now).toBeLessThanOrEqual((deadline - clock.now) / 2)
    }
  })

  it('ends without a label after twelve restarts, forgets its answers, and its thread is due again', async () => {
    const others = ['o1', 'o2', 'o3', 'o4', 'o5', 'o6']
    const text = (nth: number) => `words of number ${20 + nth}`
    await stores.threads.putComments(
      ref,
      others.map((id, nth) => said(id, { text: text(nth) })),
      T0,
      RULES,
    )
    const id = await open()
    const worker = workerOf(made())
    for (const gone of [...others.slice(0, 4), ...Array.from({ length: 9 }, (_, nth) => `c${nth + 1}`)]) {
      await advance(id, 2, worker)
      await remove(gone)
      clock.now = (await unpublished(id)).record.resumeAt ?? clock.now
    }
    expect((await unpublished(id)).journal.size).toBe(0)
    await expectNoWords(id)
    const asked = requests.length
    expect(await workerOf(made()).advance(id)).toEqual({ next: 'done' })
    expect(requests).toHaveLength(asked)
    const { verdict: given, transcript } = await verdict()
    expect(given).toMatchObject({ id, label: null, decidedBy: 'none', faults: ['evidence'], usage: { calls: asked } })
    expect(given.degraded).toEqual(['comments were taken back again and again; the thread is judged anew'])
    expect(transcript).not.toContain(SECRET)
    expect(await stores.threads.due(0, 10)).toEqual([ref])
    const { version, revisions } = await stateOf()
    expect(revisions.get('rumor')?.seen).not.toBe(version)
    await advance(await open(), 9)
    expect((await verdict()).verdict).toMatchObject({ id: 'rumor~p1~r2', label: expect.any(String) })
  })

  it('that has waited and ends at its deadline leaves its thread due again; one that has not does not', async () => {
    for (const [revision, times] of [3, 4].entries()) {
      const id = await open()
      for (let nth = 1; nth <= times; nth++) await remove(`c${revision * 3 + nth}`)
      clock.now = (await unpublished(id)).record.deadline
      await advance(id, 9)
      expect((await verdict()).verdict).toMatchObject({ id, label: null })
      expect(await stores.threads.due(0, 10)).toEqual(times > 3 ? [ref] : [])
    }
  })

  it('whose answers to the former run come too late, and are of no use', async () => {
    const id = await open()
    const worker = workerOf(made())
    const step = await worker.advance(id)
    if (step.next !== 'asks') throw new Error('nothing to ask')
    await remove()
    for (const ask of asksIn(step)) await worker.answer({ ...ask, ...ATTEMPT })
    expect(requests, 'nobody is asked about words that are gone').toEqual([])
    expect((await unpublished(id)).journal.size).toBe(0)
  })

  it('is not given up, however many go one by one, nor goes on for ever', async () => {
    const id = await open()
    const worker = workerOf(made(), 5)
    for (let nth = 1; nth <= 8; nth++) {
      clock.now += DEADLINE / 2 - 1
      await advance(id, 1, worker)
      await remove(`c${nth}`)
    }
    const { record } = await unpublished(id)
    expect(record.deadline - record.openedAt).toBe(4 * DEADLINE)
    clock.now = record.resumeAt ?? 0
    expect(clock.now).toBeLessThan(record.deadline)
    await advance(id, 9, worker)
    expect((await verdict()).verdict).toMatchObject({ id, degraded: [] })
  })

  it('stays as it is where it never held the comment', async () => {
    await stores.threads.putComments(ref, [said('c99', { createdAt: T0 + 2 * HOUR })], T0, RULES)
    const id = await open()
    await advance(id, 1)
    const before = await unpublished(id)
    await remove('c99')
    await remove('nobody’s')
    expect(await unpublished(id)).toEqual(before)
  })

  it.each([
    ['of another version', [made({ batchSize: 5 })]],
    ['of a protocol that is not at work here', []],
  ])('%s restarts from nothing', async (_, protocols) => {
    const id = await open()
    await advance(id, 2)
    await remove(GONE, protocols)
    await expectNoWords(id)
    const { record, journal, lostCalls } = await unpublished(id)
    expect(journal.size).toBe(0)
    expect(lostCalls).toHaveLength(requests.length)
    expect(record.comments.accepted).toBe(9)
    expect((record.subject as Snapshot).comments).toHaveLength(9)
    await advance(id, 9)
    expect((await verdict()).verdict).toMatchObject({ counts: { accepted: 9, judged: 9 } })
  })

  it.each(Array.from({ length: 10 }, (_, nth) => `key ${nth}`))(
    'that opened under load keeps no words either, whatever is drawn: under %s',
    async (key) => {
      const protocol = made({ overloadedComments: 4, batchSize: 2 }, samplingRanks(key))
      const id = await open(protocol, { overloaded: true })
      await advance(id, 1, workerOf(protocol))
      const asked = (await unpublished(id)).journal.size
      // Whose words were asked about: an answer gives them again.
      const [gone = ''] =
        JSON.stringify([...(await unpublished(id)).journal]).match(/zebra in the fountain|words of number \d+/) ?? []
      const victim = gone === SECRET ? GONE : `c${gone.split(' ').at(-1)}`
      await remove(victim, [protocol])
      const { record, journal } = await unpublished(id)
      expect(asked).toBeGreaterThan(1)
      expect(JSON.stringify([record, ...journal])).not.toMatch(new RegExp(`${gone}(?!\\d)`))
    },
  )

  it('tries again where another case is opened before what revisions left to it is erased', async () => {
    await advance(await open(), 9)
    await verdict()
    let second = ''
    await remove(GONE, [made()], {
      ...stores.threads,
      async eraseLeft(...how) {
        if (second === '') second = await open()
        return stores.threads.eraseLeft(...how)
      },
    })
    expect(second).toBe('rumor~p1~r2')
    await expectNoWords(second)
    expect(JSON.stringify((await stateOf()).revisions.get('rumor')?.carry)).not.toContain(SECRET)
  })

  it('tries again where it is concluded in the same moment', async () => {
    const id = await open()
    await advance(id, 3)
    const worker = workerOf(made())
    let concluded = false
    await remove(GONE, [made()], {
      ...stores.threads,
      async read(thread) {
        const state = await stores.threads.read(thread)
        if (!concluded) {
          const unpublishedThen = stores.cases.unpublished
          stores.cases.unpublished = async (caseId) => {
            const held = await unpublishedThen(caseId)
            stores.cases.unpublished = unpublishedThen
            await advance(id, 9, worker)
            return held
          }
          concluded = true
        }
        return state
      },
    })
    expect(pushed).toEqual([id])
    await expectNoWords(id)
  })
})

describe('a verdict that waits for Kafka, when one of its comments is deleted', () => {
  it('is taken back, and its case gets a job again', async () => {
    const id = await open()
    await advance(id, 9)
    await remove()
    expect(pushed).toEqual([id])
    await expectNoWords(id)
    expect(JSON.stringify((await stateOf()).revisions.get('rumor')?.carry)).not.toContain(SECRET)
    await advance(id, 9)
    const { verdict: given, transcript } = await verdict()
    expect(given).toMatchObject({ id, revision: 1, counts: { accepted: 9 } })
    expect(transcript).not.toContain(SECRET)
  })
})

describe.each(WAYS)('what a published revision left to the next, %s', (_, settings) => {
  beforeEach(() => {
    under = settings
  })

  /** One revision, published; then a comment goes and the next revision is made. */
  async function twice(gone: string) {
    await advance(await open(), 9)
    const first = await verdict()
    requests.length = 0
    await remove(gone)
    const { carry } = (await stateOf()).revisions.get('rumor') ?? {}
    await advance(await open(), 9)
    return { first, carry: JSON.stringify(carry), second: await verdict() }
  }

  it('holds no decision that rests on the comment: it is debated again, without a score asked for again', async () => {
    const { carry, second } = await twice(GONE)
    expect(carry).not.toContain(SECRET)
    expect(stancesAsked()).toBe(0)
    expect(requests.length).toBeGreaterThan(0)
    expect(shown().join()).not.toContain(SECRET)
    expect(second.transcript).not.toContain(SECRET)
    expect(second.verdict).toMatchObject({ revision: 2, counts: { accepted: 9 } })
  })

  it('keeps a decision of which the comment was no part', async () => {
    // More than are debated support the claim, before and after: seven to five, and six to five.
    const more = ['c13', 'c15'].map((id, at) =>
      said(id, { text: `words of number ${id.slice(1)}`, createdAt: T0 + 11 + at }),
    )
    await stores.threads.putComments(ref, more, T0, RULES)
    await advance(await open(), 9)
    const { evidence } = (await verdict()).verdict
    const debated = [...evidence.support, ...evidence.oppose]
    const [left = ''] = ['c1', 'c3', 'c5', 'c7', 'c9', 'c13', 'c15'].filter((id) => !debated.includes(id))
    requests.length = 0
    await remove(left)
    await advance(await open(), 9)
    expect(requests).toEqual([])
    expect((await verdict()).verdict).toMatchObject({ revision: 2, label: expect.any(String) })
  })
})

describe.each(WAYS)('a comment that others answer, which is deleted, %s', (_, settings) => {
  // It is on no side itself: where its words stand, they stand as what another comment answers.
  let all = made()
  beforeEach(async () => {
    under = settings
    all = made({ k: 20 })
    secretScore = 0
    const replies = ['c11', 'c12'].map((id, at) =>
      said(id, { text: 'words of number 11', parentId: at === 0 ? GONE : 'c2', createdAt: T0 + 11 + at }),
    )
    await stores.threads.putComments(ref, replies, T0, RULES)
  })
  const quoted = () => shown().filter((text) => text.includes(`in answer to <parent|${SECRET}>`))

  it('is gone from all that quotes it: journal, questions, transcript; its answer alone is scored again', async () => {
    const id = await open(all)
    const worker = workerOf(all)
    await advance(id, 2, worker)
    // Once where it is scored, once for the debater of its side.
    expect(quoted()).toHaveLength(2)
    expect(JSON.stringify([...(await unpublished(id)).journal])).toContain(SECRET)
    await remove(GONE, [all])
    await expectNoWords(id)
    requests.length = 0
    await advance(id, 9, worker)
    expect(shown().filter((text) => text.includes(SECRET))).toEqual([])
    // The same words in answer to another are another utterance, and keep their score.
    const asked = shown().filter((text) => text.includes('"scores"'))
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('<comment 2|words of number 11>')
    expect(asked[0]).toMatch(/words of number 11> in answer to <parent\|words of number 2>/)
    const { verdict: given, transcript } = await verdict()
    expect(transcript).not.toContain(SECRET)
    expect(given.rationale).not.toContain(SECRET)
    expect(given.evidence.support).toEqual(expect.arrayContaining(['c11']))
  })

  it('is no part of what the memo answers', async () => {
    const id = await open(all)
    const worker = workerOf(all, 20, true)
    await advance(id, 2, worker)
    await remove(GONE, [all], stores.threads, (caseId) => advance(caseId, 2, worker))
    await expectNoWords(id)
    expect((await unpublished(id)).journal.size, 'it was answered').toBeGreaterThan(0)
  })

  it('takes the decision with it that rests on an answer to it, and no score but that answer’s', async () => {
    await advance(await open(all), 9, workerOf(all))
    const first = await verdict()
    expect([...first.verdict.evidence.support, ...first.verdict.evidence.oppose]).not.toContain(GONE)
    expect(first.verdict.rationale).toContain(SECRET)
    const scoresIn = async () => {
      const { carry } = (await stateOf()).revisions.get('rumor') ?? {}
      return (carry as { scores: [string, number, string][] }).scores
    }
    const before = await scoresIn()
    expect(JSON.stringify((await stateOf()).revisions.get('rumor')?.carry)).toContain(SECRET)
    await remove(GONE, [all])
    expect(JSON.stringify((await stateOf()).revisions.get('rumor')?.carry)).not.toContain(SECRET)
    expect(await scoresIn()).toEqual(before)
    requests.length = 0
    await advance(await open(all), 9, workerOf(all))
    const second = await verdict()
    expect(second.verdict).toMatchObject({ revision: 2, label: expect.any(String) })
    expect(second.transcript).not.toContain(SECRET)
    expect(shown().join()).not.toContain(SECRET)
    const scored = shown().filter((text) => text.includes('"scores"'))
    expect(scored.map((text) => text.match(/<comment/g)?.length)).toEqual([1])
    expect(scored[0]).toContain('words of number 11')
  })

  it('is erased in turn by tenant, however many large threads one of them has', async () => {
    const begun: string[] = []
    const { threads, cases } = stores
    const erase = commentEraser({
      threads: { ...threads, weigh: async () => ({ weight: 1_000, share: '' }) },
      cases,
      memo: { forget: async ({ tenant }) => begun.push(tenant) },
      queues: null,
      protocols: [],
      clock: () => clock.now,
      settings: { checkpoints: CHECKPOINTS, cases: { deadline: DEADLINE } },
    })
    const many = Array.from({ length: 9 }, (_, nth) => erase(thread(`p${nth}`, 'big'), new Set([GONE])))
    await erase(thread('p', 'small'), new Set([GONE]))
    expect(begun.indexOf('small')).toBeLessThan(3)
    await Promise.all(many)
  })
})
