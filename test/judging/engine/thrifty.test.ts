import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { makeProtocols } from '../../../src/app/composition/make-protocols.ts'
import type { Post } from '../../../src/contracts/facts/thread.ts'
import { type Verdict, verdict } from '../../../src/contracts/facts/verdict.ts'
import type { Budgets } from '../../../src/contracts/ports/budgets.ts'
import type { CaseStore } from '../../../src/contracts/ports/cases.ts'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'
import { judge } from '../../../src/judging/engine/judge.ts'
import { snapshotOf } from '../../../src/judging/engine/new-case.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { versionsOf } from '../../../src/judging/engine/versions.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { memoryMemo } from '../../../src/store/memo/memory.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, HOUR, MINUTE, postOf, RULES, recordOf, said, T0, thread } from '../../contracts/samples.ts'
import { plainFence, plainRank } from '../../protocols/drive.ts'
import { asksIn, GATEWAY, memoryParts, noLibrary } from '../../support/parts.ts'
import { WRITES } from '../../support/verdicts.ts'

// What the engine promises of every ask, for those of `preset: thrifty`: killed at any step, a case is judged as if nothing had
// happened and pays for no answer twice; no tenant is answered with another's; a spent budget is never a benign label; a
// revision rests on its own evidence. What of a deleted comment stays nowhere is in comment-erasure.test.ts.

const IMAGE = [{ kind: 'image' as const, url: 'https://images.example/1.png' }]
const AGREED = ['Not hateful', 'Not hateful', 'Not hateful']
const ruling = (score: number, label = 'safe') => ({
  probability: 1 - score,
  reasoning: 'r',
  evidence: [],
  rule: 'exoneration',
  categories: [],
  score,
  label,
})

/** What models answer, which is harmless in the end. */
interface Answers {
  readonly labels?: readonly string[]
  readonly scores?: Readonly<Record<'strict' | 'loose', number>>
  readonly small?: object
}

interface Way {
  readonly protocol: string
  readonly post?: Partial<Post>
  readonly comments?: readonly string[]
  readonly answers?: Answers
  /** Every question, by stage and model, in the order in which they are asked. */
  readonly asks: readonly string[]
  /** Of these, counted from 0, the verdict can do without: another is asked in their place. */
  readonly spared?: readonly number[]
}

const DEBATE = ['debate small', 'debate small', 'debate small', 'debate small']
const WAYS: Readonly<Record<string, Way>> = {
  'hate, all perspectives agree': { protocol: 'hate', asks: ['perspective small'] },
  'hate, one differs': {
    protocol: 'hate',
    answers: { labels: ['Not hateful', 'Hateful', 'Not hateful'] },
    asks: ['perspective small', ...DEBATE, 'judge small'],
  },
  'safety, a text on which both debaters agree': {
    protocol: 'safety',
    asks: ['strict small', 'loose small', 'arbitrate small'],
  },
  'safety, a text whose scores straddle 0.5': {
    protocol: 'safety',
    answers: { scores: { strict: 0.6, loose: 0.4 } },
    asks: [...['strict', 'loose', 'strict', 'loose', 'arbitrate'].map((stage) => `${stage} small`)],
  },
  'safety, an image of which the small arbiter is sure': {
    protocol: 'safety',
    post: { media: IMAGE },
    asks: ['describe large', 'strict small', 'loose small', 'arbitrate small'],
    spared: [3],
  },
  'safety, an image of which it is not': {
    protocol: 'safety',
    post: { media: IMAGE },
    answers: { small: ruling(0.4) },
    asks: ['describe large', 'strict small', 'loose small', 'arbitrate small', 'arbitrate large'],
    spared: [3],
  },
  'counterspeech, four aspects': {
    protocol: 'counterspeech',
    post: { hateSpeech: 'They lie.' },
    asks: ['score small'],
  },
  'rumor, of comments that take one side': {
    protocol: 'rumor',
    comments: ['yes 1', 'yes 2'],
    asks: ['stance small', 'opinion small'],
  },
  'rumor, of comments that take both': {
    protocol: 'rumor',
    comments: ['yes 1', 'yes 2', 'no 3', 'no 4'],
    asks: ['stance small', 'opinion small', 'opinion small', ...DEBATE, 'judge small'],
  },
}
const ways = Object.entries(WAYS)

function answerTo({ model, messages }: ModelRequest, { labels = AGREED, scores, small }: Answers): unknown {
  const asked = messages.at(-1)?.content ?? ''
  const shown = [...asked.matchAll(/<comment \d+\|([^>]*)>/g)].map(([, text = '']) => text)
  switch (stageOf(messages)) {
    case 'perspective':
      return Object.fromEntries(labels.map((label, at) => [`annotator${at + 1}`, { reason: `r${at}`, label }]))
    case 'debate':
      return asked.includes('"argument"')
        ? { argument: unlike(messages), holds: 'yes' }
        : { reasoning: unlike(messages), answer: sideIn(messages) }
    case 'judge':
      return asked.includes('"Real"')
        ? { reasoning: 'j', answer: 'Real', probability: 0.8 }
        : { reason: 'j', label: 'non-hate' }
    case 'describe':
      return { seen: 'yes', description: 'A river.' }
    case 'brief':
      return { summary: 's', precedents: [], patterns: 'p' }
    case 'strict':
    case 'loose':
      return { reasoning: 'r', score: scores?.[stageOf(messages) as 'strict'] ?? 0.1 }
    case 'arbitrate':
      return model === 'small' ? (small ?? ruling(0.1)) : ruling(0.2)
    case 'score': {
      const one = { reasoning: 'r', score: 2 }
      return { relevance: one, aggressiveness: one, coherence: one, suitableness: one }
    }
    case 'stance': {
      // No two are as strong: ties are broken by lot, for each post another.
      const strength = (text: string) => 0.5 + Number(text.replace(/\D/g, '')) / 100
      const value = (text: string) => strength(text) * (text.startsWith('yes') ? 1 : -1)
      return {
        subjectivity: { reason: 'r', answer: 'No' },
        scores: shown.map((text, at) => ({ comment: at + 1, score: value(text) })),
      }
    }
    case 'subjectivity':
      return { reason: 'r', answer: 'No' }
    default:
      return { reasoning: unlike(messages), answer: sideIn(messages) }
  }
}

/** Words that are no echo of another turn's. */
const unlike = (messages: ModelRequest['messages']) => 'word '.repeat(JSON.stringify(messages).length % 97)

/** Debaters never agree. */
const sideIn = (messages: ModelRequest['messages']) =>
  messages.some(({ content }) => content.includes('Comments that oppose')) ? 'Fake' : 'Real'

const stageOf = (messages: ModelRequest['messages']) =>
  /Answer format \((\w+)\)/.exec(messages.at(-1)?.content ?? '')?.[1] ?? ''

function protocolOf(name: string): Protocol {
  const { protocols } = loadSettings({})
  // By default hate's judge and safety's arbiter are alone, and one model rules.
  const debates = name === 'safety' || name === 'hate' ? { debateWhen: 'contested' } : {}
  const given = { [name]: { ...protocols[name], enabled: true, preset: 'thrifty', ...debates } } as typeof protocols
  const [protocol] = makeProtocols(given, plainFence, plainRank)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}
const PROTOCOLS = new Map(['rumor', 'hate', 'safety', 'counterspeech'].map((name) => [name, protocolOf(name)]))

const ATTEMPT = { number: 1, last: true, waitSeconds: 0, heldMs: 0, signal: new AbortController().signal }

/** Stores of their own, a model that many processes ask, and what they have asked. */
function world(answers: Answers = {}, refuses: (nth: number) => boolean = () => false) {
  const clock = () => T0
  const stores = memoryStores(clock)
  const requests: ModelRequest[] = []
  const parts = { ...memoryParts(clock), memo: memoryMemo(clock) }
  /** Which question to a model is being answered, from 0 on. */
  let nth = -1
  const budgets: Budgets = {
    ...parts.budgets,
    reserve: async (purchase) =>
      refuses(nth)
        ? { granted: false, scope: 'verdict', unit: 'tokens', why: 'spent', renewsInMs: null }
        : parts.budgets.reserve(purchase),
  }
  /** A worker of a process of its own. */
  const worker = (remembers: boolean, cases: CaseStore = stores.cases) =>
    judge({
      protocols: PROTOCOLS,
      cases,
      library: noLibrary,
      clock,
      report: () => {},
      gateway: gateway({
        model: {
          async complete(request) {
            requests.push(request)
            const used = { promptTokens: 100, cachedTokens: 0, completionTokens: 10 }
            return { text: JSON.stringify(answerTo(request, answers)), finish: 'stop', model: request.model, ...used }
          },
        },
        loadImage: async () => 'data:image/png;base64,AAAA',
        ...parts,
        budgets,
        clock,
        report: () => {},
        settings: {
          ...GATEWAY,
          roles: { default: ['small'], arbiter: ['large'], describer: ['large'] },
          memo: { enabled: remembers, keep: HOUR, lease: MINUTE, patience: MINUTE, maxBytes: 10_000 },
        },
      }),
      settings: { maxTakeovers: 100, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
    })

  async function open(
    { protocol: name, post = {}, comments = [] }: Way,
    tenant = 'default',
    id = 'P',
  ): Promise<string> {
    const ref = thread(id, tenant, name === 'counterspeech' ? 'reply' : 'post')
    await stores.threads.putPost(ref, postOf(ref, { text: 'It is so.', ...post }), ARRIVAL, RULES)
    const all = comments.map((text, at) => said(`c-${text}`, { text, createdAt: T0 + at }))
    await stores.threads.putComments(ref, all, T0, RULES)
    const state = await stores.threads.read(ref)
    const protocol = PROTOCOLS.get(name)
    if (state?.post == null || protocol === undefined) throw new Error('no thread')
    const times = { checkpoints: { counts: [], ages: [], finalAge: HOUR }, cases: { deadline: HOUR } }
    const versions = versionsOf(protocol)
    const record = recordOf(state, name, { ...snapshotOf(protocol, state, state.post, times), versions })
    const cases = [{ record, seen: state.version }]
    const [opened] = await stores.threads.open(state, { cases, waiting: [], dormant: [], nextDue: null, final: false })
    if (opened === undefined) throw new Error('not opened')
    return opened
  }

  /** Judges it, each step by a worker that is chosen for it; an answer that is lost on its way is asked for again. */
  async function judged(id: string, workerFor = () => worker(false)) {
    for (let steps = 0; steps < 50; steps++) {
      const step = await workerFor().advance(id)
      if (step.next === 'done') return published()
      for (const ask of asksIn(step)) {
        if (ask.stage !== 'retrieve') nth++
        for (let tries = 0; tries < 2; tries++)
          await workerFor()
            .answer({ ...ask, ...ATTEMPT })
            .catch(() => {})
      }
    }
    throw new Error('no end')
  }

  async function published(): Promise<Verdict> {
    const [entry] = await stores.outbox.next('test', 1, 1)
    if (entry?.kind !== 'verdict') throw new Error('no verdict')
    await stores.outbox.done([entry])
    return verdict.parse(JSON.parse(entry.verdict))
  }

  const asked = () => requests.map(({ model, messages }) => `${stageOf(messages)} ${model}`)
  return { stores, requests, asked, worker, open, judged }
}

/** What of a verdict does not tell how it came about. */
const endOf = ({ label, scores, rationale, decidedBy, rounds, evidence, degraded, models }: Verdict) => ({
  label,
  scores,
  rationale,
  decidedBy,
  rounds,
  evidence,
  degraded,
  models,
})
const HARMLESS = ['non-hate', 'safe', 'non-rumor']

describe.each(ways)('%s', (_, way) => {
  const { asks, answers, protocol, spared = [] } = way

  /** One worker from beginning to end. */
  async function undisturbed() {
    const { open, judged, asked, worker, requests } = world(answers)
    const one = worker(false)
    const ended = await judged(await open(way), () => one)
    return { ended, asked: asked(), requests }
  }

  test('asks what it says, and comes to a harmless end', async () => {
    const { ended, asked } = await undisturbed()
    expect(asked).toEqual(asks)
    if (protocol === 'counterspeech') expect(ended.scores.unified).toBeGreaterThan(0)
    else expect(HARMLESS).toContain(ended.label)
  })

  test('is judged alike where a process dies at every step, and no ask is paid for twice', async () => {
    const { ended, requests: before } = await undisturbed()
    const { open, judged, worker, requests, stores } = world(answers)
    const died = new Set<string>()
    // It dies with the answer that it has paid for: the next one finds it in the memo.
    const dying: CaseStore = {
      ...stores.cases,
      async answer(id, run, key, ...rest) {
        if (died.has(key)) return stores.cases.answer(id, run, key, ...rest)
        died.add(key)
        throw new Error('killed')
      },
    }
    const again = await judged(await open(way), () => worker(true, dying))
    expect(died.size).toBeGreaterThan(0)
    expect(requests.map(({ messages }) => messages)).toEqual(before.map(({ messages }) => messages))
    expect(endOf(again)).toEqual(endOf(ended))
  })

  test('is paid for by each tenant, and by each once', async () => {
    const { open, judged, asked, worker } = world(answers)
    const remembering = () => worker(true)
    const first = await judged(await open(way, 'acme'), remembering)
    await judged(await open(way, 'other'), remembering)
    expect(asked()).toEqual([...asks, ...asks])
    const second = await judged(await open(way, 'acme', 'copy'), remembering)
    expect(asked()).toEqual([...asks, ...asks])
    expect(second.usage).toMatchObject({ calls: 0 })
    expect([second.label, second.scores]).toEqual([first.label, first.scores])
  })

  test.each(asks.map((ask, nth) => [`${nth}: ${ask}`, nth] as const))(
    'has no harmless label where the budget is spent before, or has no room for, call %s',
    async (_name, nth) => {
      for (const refuses of [(at: number) => at >= nth, (at: number) => at === nth]) {
        const { open, judged } = world(answers, refuses)
        const ended = await judged(await open(way))
        expect(ended.degraded.join()).toContain('budget')
        const isSpent = refuses(nth + 1)
        // A rumor's debate goes on without a turn, and says so.
        if (protocol !== 'rumor' || isSpent)
          expect(HARMLESS.includes(String(ended.label))).toBe(!isSpent && spared.includes(nth))
        if (protocol === 'counterspeech') expect([ended.decidedBy, ended.scores]).toEqual(['none', {}])
      }
    },
  )
})

test('a late comment: a next revision that rests on what was debated, or on a new debate with it', async () => {
  const { open, judged, asked, requests } = world()
  const comments = ['yes 1', 'yes 2', 'yes 3', 'yes 4', 'no 5', 'no 6']
  const revision = async (...late: string[]) => {
    comments.push(...late)
    requests.length = 0
    const ended = await judged(await open({ protocol: 'rumor', comments, asks: [] }))
    return { ended, shown: requests.map(({ messages }) => JSON.stringify(messages)) }
  }
  const { ended: first } = await revision()
  const { ended: second, shown } = await revision('no 7')
  expect(asked()).toEqual(['stance small'])
  expect(shown.join().match(/<comment \d+\|[^>]*>/g)).toEqual(['<comment 1|no 7>'])
  expect(second).toMatchObject({ revision: 2, label: first.label, scores: { support: 4, oppose: 3 } })
  expect(second.evidence).toEqual(first.evidence)
  expect(second.degraded.at(-1)).toContain('the debate of an earlier revision stands')
  const { ended: third } = await revision('yes 8')
  expect(asked().filter((one) => one.startsWith('opinion'))).toHaveLength(2)
  expect(third.revision).toBe(3)
  for (const late of ['c-no 7', 'c-yes 8'])
    expect([...third.evidence.support, ...third.evidence.oppose]).toContain(late)
  expect(third.degraded).toEqual([])
})
