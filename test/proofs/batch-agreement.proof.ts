import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { gatewaySettings, memoryGatewayStores } from '../../src/app/composition/gateway.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { readPrompts } from '../../src/protocols/prompts.ts'
import { questions, RUMOR_PROMPTS } from '../../src/protocols/rumor/questions.ts'
import { rumorSettings } from '../../src/protocols/rumor/settings.ts'
import { dice } from '../chaos/dice.ts'
import { type Estimate, estimate, meanDifference, type Pair, rankCorrelation, sameSign } from '../support/agreement.ts'
import { tell } from '../support/pipeline.ts'

/** Threads in the sample, of those with at least LEAST comments; the first MOST comments of each. */
const THREADS = Number(process.env.GAVEL_PROOF_THREADS ?? 8)
const LEAST = 10
const MOST = 20
const SEED = 11

const FILE = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')
/** The longest that a call may take: a batch of a slow model is long. */
const PATIENCE_MS = 600_000

/** Comments in a question, by the way of asking. Single scores differ among themselves too: the yardstick. */
const WAYS = { single: 1, 'single again': 1, batch: Number(process.env.GAVEL_PROOF_BATCH ?? 20) }
type Way = keyof typeof WAYS
const ways = Object.keys(WAYS) as Way[]

interface Thread {
  readonly id: string
  readonly claim: string
  readonly comments: readonly { readonly id: string; readonly text: string; readonly stance: string }[]
}

/** What came of asking in one way: the score of each comment that got one, and how many asks ended how. */
interface Outcome {
  readonly scores: Map<string, number>
  readonly ends: Map<string, number>
  calls: number
}

it(
  'scores of a batch beside scores of single comments, on a model that is there',
  async (context) => {
    const missing = whatIsMissing()
    if (missing !== null) {
      tell(`SKIPPED: ${missing}; nobody measured how far scores of a batch agree with single ones.`)
      return context.skip(missing)
    }
    const threads = sample()
    const outcomes = new Map(ways.map((way) => [way, { scores: new Map(), ends: new Map(), calls: 0 } as Outcome]))
    const scored = stanceScorer()
    const began = Date.now()
    for (const [at, thread] of threads.entries()) {
      for (const [way, outcome] of outcomes) await scored(thread, WAYS[way], outcome)
      tell(`${at + 1} of ${threads.length} threads asked about, ${Math.round((Date.now() - began) / 1000)} s`)
    }
    const comments = threads.flatMap((thread) => thread.comments)
    for (const outcome of outcomes.values()) {
      expect(outcome.scores.size).toBeLessThanOrEqual(comments.length)
      for (const id of outcome.scores.keys()) expect(comments.map((comment) => comment.id)).toContain(id)
    }
    process.stdout.write(`${report(threads, outcomes)}\n`)
  },
  24 * 3_600_000,
)

function whatIsMissing(): string | null {
  if (!process.env.OPENAI_BASE_URL) return 'OPENAI_BASE_URL names no model'
  return existsSync(FILE) ? null : '../shared/data/rumoureval2017 is not there'
}

function sample(): Thread[] {
  const all = readFileSync(FILE, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Thread)
    .filter(({ comments }) => comments.length >= LEAST)
  return dice(SEED, 'threads')
    .shuffled(all)
    .slice(0, THREADS)
    .map((thread) => ({ ...thread, comments: thread.comments.slice(0, MOST) }))
}

/** Asks the questions of the rumor protocol through the gateway, with the settings as shipped; nothing is remembered. */
function stanceScorer() {
  const settings = loadSettings(
    Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GAVEL_PROOF_'))),
  )
  const { enabled: _, ...own } = settings.protocols.rumor ?? {}
  const parts = {
    settings: rumorSettings.parse(own),
    prompts: readPrompts(promptsOf('rumor'), RUMOR_PROMPTS),
    fence: fences('batch-agreement', settings.fences.maxChars),
  }
  const { baseUrl, answerFormat } = settings.openai
  const asking = gateway({
    ...memoryGatewayStores(settings, Date.now),
    model: openAiServer({ baseUrl, answerFormat, apiKey: settings.openai.apiKey || 'none' }),
    loadImage: async () => '',
    settings: { ...gatewaySettings(settings, 'batch-agreement'), callTimeout: PATIENCE_MS },
    clock: Date.now,
    report: () => {},
  })
  async function settled(ask: Ask, threadId: string) {
    return asking.ask(
      askContext({
        ask,
        protocol: 'rumor',
        subject: { tenant: 'default', postId: threadId, kind: 'post' },
        caseId: threadId,
        askId: threadId,
        attempt: 1,
        last: true,
        remember: false,
        signal: new AbortController().signal,
        deadline: Date.now() + 2 * PATIENCE_MS,
        calls: [],
      }),
    )
  }
  return async (thread: Thread, size: number, outcome: Outcome) => {
    const asked = questions({ id: thread.id, text: thread.claim, createdAt: 0 }, parts)
    const comments = thread.comments.map(({ id, text }) => ({ id, text, createdAt: 0 }))
    for (let from = 0; from < comments.length; from += size) {
      const batch = comments.slice(from, from + size)
      const [only] = batch
      const ask = size === 1 && only ? asked.stance(only) : asked.stanceBatch(batch, 'batch')
      const shown = ask.messages.at(-1)?.content ?? ''
      expect(shown.match(/^(?:<<comment:|\d+: ")/gm)).toHaveLength(batch.length)
      for (const { text } of batch) expect(shown).toContain(parts.fence('comment', text).split('\n').at(-1))
      const { answer, failed, usage } = await settled(ask, thread.id)
      const end = failed?.code ?? 'readable'
      outcome.ends.set(end, (outcome.ends.get(end) ?? 0) + 1)
      outcome.calls += usage.calls
      for (const [id, score] of scoresOf(answer, batch)) outcome.scores.set(id, score)
    }
  }
}

function scoresOf(answer: unknown, batch: readonly { id: string }[]): [string, number][] {
  const read = (answer ?? { scores: [] }) as { score: number } | { scores: { comment: number; score: number }[] }
  const given = 'scores' in read ? read.scores : [{ comment: 1, score: read.score }]
  return given.flatMap(({ comment, score }) => {
    const about = batch[comment - 1]
    return about === undefined ? [] : [[about.id, score] as [string, number]]
  })
}

function report(threads: readonly Thread[], outcomes: ReadonlyMap<Way, Outcome>): string {
  const comments = threads.flatMap((thread) => thread.comments.map((comment) => ({ ...comment, thread: thread.id })))
  const scoresIn = (way: Way) => outcomes.get(way)?.scores ?? new Map<string, number>()
  const between = (one: Way, other: Way) =>
    comments.flatMap(({ id, thread }): Pair[] => {
      const [first, second] = [scoresIn(one).get(id), scoresIn(other).get(id)]
      return first === undefined || second === undefined ? [] : [{ thread, first, second }]
    })
  const withGold = (way: Way) =>
    comments.flatMap(({ id, thread, stance }): Pair[] => {
      const first = scoresIn(way).get(id)
      const second = stance === 'support' ? 1 : stance === 'deny' ? -1 : 0
      return first === undefined || second === 0 ? [] : [{ thread, first, second }]
    })
  const gold = (stance: string) => comments.filter((comment) => comment.stance === stance).length
  const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]) =>
    [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  return [
    `${threads.length} threads, ${comments.length} comments, of these ${gold('support')} support and ${gold('deny')} deny by gold`,
    table(
      ['asked', 'asks', 'calls', 'ends', 'scores', 'above 0', '0', 'below 0', 'different values', 'sign as gold'],
      [...outcomes].map(([way, { scores, ends, calls }]) => {
        const signs = [...scores.values()].map(Math.sign)
        const asks = [...ends.values()].reduce((sum, count) => sum + count, 0)
        const count = (sign: number) => signs.filter((one) => one === sign).length
        return [
          way,
          asks,
          calls,
          [...ends].map(([end, times]) => `${end} ${times}`).join(', '),
          `${scores.size} of ${comments.length}`,
          count(1),
          count(0),
          count(-1),
          new Set(scores.values()).size,
          said(estimate(withGold(way), sameSign)),
        ]
      }),
    ),
    table(
      ['compared', 'comments', 'same sign', 'mean difference', 'rank correlation'],
      (
        [
          ['single', 'single again'],
          ['single', 'batch'],
          ['single again', 'batch'],
        ] as const
      ).map(([one, other]) => {
        const pairs = between(one, other)
        const measured = [sameSign, meanDifference, rankCorrelation].map((measure) => said(estimate(pairs, measure)))
        return [`${one}, ${other}`, pairs.length, ...measured]
      }),
    ),
  ].join('\n\n')
}

function said({ n, value, low, high }: Estimate): string {
  const number = (given: number | null) => given?.toFixed(2) ?? '?'
  return value === null ? `none (n ${n})` : `${number(value)} [${number(low)}, ${number(high)}] (n ${n})`
}
