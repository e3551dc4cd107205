import type { Settings } from '../../../config/schema.ts'
import { type AskedCase, StoppedAsking } from '../../app/composition/ask-anew.ts'
import { askedModelCheck, replayNotes } from '../../app/composition/judging.ts'
import { type ReplayableCase, replayable } from '../../app/composition/replayable.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { RANK_LIMIT, type SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { LeftOutReason } from '../../contracts/facts/what-if-report.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import {
  type CaseReplay,
  type NewAnswer,
  type NewQuestion,
  replayCase,
} from '../../judging/recorded/replay-recorded.ts'
import { chainOf } from '../../models/fallback.ts'
import { type RecordedCase, type RecordedCaseFilter, recordedCases } from '../../record/recorded-cases.ts'
import { type CaseDraw, drawCases, type PricedCase, withChance } from './case-sample.ts'
import { PriceForecast } from './foretold-price.ts'
import type { ReplayedCase } from './what-if-report.ts'

/** What cases are replayed with. */
export interface WhatIfParts {
  readonly settings: Settings
  readonly protocol: Protocol
  readonly samplingRank: SamplingRank
  readonly reader: Pick<RecordReader, 'find' | 'transcript'>
  readonly signal: AbortSignal
  readonly progress: (line: string) => void
}

interface PlannedCase extends PricedCase {
  readonly of: RecordedCase
}

/** The cases of the record, priced; and how many can't be replayed, by the reason. */
export interface WhatIfPlan {
  readonly cases: readonly PlannedCase[]
  readonly found: number
  readonly leftOut: Partial<Record<LeftOutReason, number>>
  /** What all their new questions cost, in US dollars. */
  readonly usd: number
}

/** The near things among verdicts are likelier to flip, and so are drawn so many times as often. */
const CONTESTED_WEIGHT = 3

/** Reads the cases, and foretells what each costs. Asks nobody. */
export async function planWhatIf(parts: WhatIfParts, filter: RecordedCaseFilter): Promise<WhatIfPlan> {
  const { settings, protocol, samplingRank, reader, signal, progress } = parts
  const { models } = settings
  const priceOf = (model: string) => entryOf(models.prices, model)
  const forecast = new PriceForecast(
    (role) => priceOf(chainOf(models.roles, protocol.name, role)[0] ?? ''),
    (asked) => priceOf(asked.replace(/ \(thinking .*$/, '')),
  )
  const isOurs = askedModelCheck(settings, protocol.name, samplingRank)
  const cases: PlannedCase[] = []
  const leftOut: WhatIfPlan['leftOut'] = {}
  let found = 0
  for await (const of of recordedCases(reader, filter)) {
    if (signal.aborted) throw new StoppedAsking()
    found++
    progress(`${found} cases read`)
    const recorded = await replayable(reader, of, wantedOf(parts))
    if (typeof recorded === 'string') leaveOut(leftOut, recorded)
    else
      try {
        const price = await forecast.of(protocol, recorded, isOurs)
        cases.push({ id: recorded.id, ...price, weight: of.contested ? CONTESTED_WEIGHT : 1, of })
      } catch {
        leaveOut(leftOut, 'unreadable')
      }
  }
  return { cases, found, leftOut, usd: cases.reduce((sum, { usd }) => sum + usd, 0) }
}

/** How many a run asks about, and for how much. */
export interface WhatIfLimits {
  readonly usd: number
  readonly cases: number
}

/** So much of the money is planned for, since what is foretold is not exact. */
const PLANNED_SHARE = 0.9

/** The cases to ask about; those without a new question are always among them. */
export function drawnOf(
  { cases }: WhatIfPlan,
  { usd, cases: most }: WhatIfLimits,
  { samplingRank }: WhatIfParts,
): CaseDraw<PlannedCase>[] {
  const lot = (id: string) => (samplingRank('what-if', id) + 1) / (RANK_LIMIT + 1)
  return drawCases(cases, { usd: usd * PLANNED_SHARE, cases: most }, lot)
}

export interface WhatIfOutcome {
  readonly replayed: readonly ReplayedCase[]
  readonly leftOut: WhatIfPlan['leftOut']
  /** Cases that were drawn, and for which the money did not last. */
  readonly unreached: number
  /** Why new questions had no answer: the failures' codes and words. */
  readonly failures: readonly string[]
  /** What new questions have cost, in this run and in earlier ones. */
  readonly bill: number
}

/**
 * Replays the drawn cases, some at once, and has their new questions answered. Ends where `anew` has no money left for a question (its
 * failure is `budget`). Throws `StoppedAsking` if it is stopped.
 */
export async function runWhatIf(
  parts: WhatIfParts,
  plan: WhatIfPlan,
  drawn: readonly CaseDraw<PlannedCase>[],
  limits: WhatIfLimits,
  anew: (of: AskedCase, question: NewQuestion) => Promise<NewAnswer>,
): Promise<WhatIfOutcome> {
  const { settings, protocol, samplingRank, reader, signal, progress } = parts
  const isOurs = askedModelCheck(settings, protocol.name, samplingRank)
  const leftOut = { ...plan.leftOut }
  const done = new Map<string, { readonly of: RecordedCase; readonly replay: CaseReplay }>()
  const failures = new Set<string>()
  const waiting = drawn.values()
  let [bill, unreached, settled, firstUnreached] = [0, 0, 0, Number.POSITIVE_INFINITY]
  async function answerTo(recorded: ReplayableCase, question: NewQuestion): Promise<NewAnswer> {
    const answer = await anew({ id: recorded.id, subject: recorded.of.subject }, question).catch((error: unknown) => {
      if (error instanceof StoppedAsking || error instanceof OperatorError || error instanceof CaseErased) throw error
      throw new NoAnswer(error instanceof Error ? error.message : String(error), { cause: error })
    })
    bill += answer.usage.costUsd
    if (answer.failed?.code === 'budget' && limits.usd < Number.POSITIVE_INFINITY) throw new MoneySpent()
    return answer
  }
  async function one({ of: { id, of, newQuestions }, rank }: CaseDraw<PlannedCase>): Promise<void> {
    if (newQuestions > 0 && rank > firstUnreached) {
      unreached++
      return
    }
    const recorded = await replayable(reader, of, wantedOf(parts))
    if (typeof recorded === 'string') return leaveOut(leftOut, recorded)
    const replay = await replayCase(protocol, recorded, isOurs, (question) => answerTo(recorded, question)).catch(
      (error: unknown) => {
        if (error instanceof StoppedAsking || error instanceof OperatorError) throw error
        if (error instanceof MoneySpent) return 'unreached'
        if (error instanceof NoAnswer) failures.add(error.message)
        return error instanceof NoAnswer ? 'failed' : error instanceof CaseErased ? 'erased' : 'unreadable'
      },
    )
    if (replay === 'unreached') {
      unreached++
      firstUnreached = Math.min(firstUnreached, rank)
    } else if (typeof replay === 'string') leaveOut(leftOut, replay)
    else if (replay.failed.length > 0) {
      leaveOut(leftOut, 'failed')
      for (const why of replay.failed) failures.add(why)
    } else done.set(id, { of, replay })
  }
  async function next(): Promise<void> {
    for (const draw of waiting) {
      if (signal.aborted) throw new StoppedAsking()
      await one(draw)
      settled++
      progress(`${settled} of ${drawn.length} cases replayed, $${bill.toFixed(4)}`)
    }
  }
  const atOnce = Math.max(1, Math.min(settings.models.slots, MOST_AT_ONCE))
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, next))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  const replayed: ReplayedCase[] = []
  for (const draw of drawn) {
    const { id } = draw.of
    const known = done.get(id)
    if (known === undefined) continue
    // Where the money did not last, the sample is the smaller one that was reached: a later case may have been cheaper.
    const { chance } = unreached === 0 ? draw : withChance(draw, firstUnreached)
    if (draw.rank > firstUnreached) unreached++
    // What was deleted meanwhile is shown to nobody.
    else if ((await reader.transcript(id)) === null) leaveOut(leftOut, 'erased')
    else replayed.push({ ...known, chance })
  }
  return { replayed, leftOut, unreached, failures: [...failures], bill }
}

const MOST_AT_ONCE = 32

/** A new question has no answer, for a reason that no model gave. */
class NoAnswer extends Error {}
/** There is no money for a new question. */
class MoneySpent extends Error {}

/** The case's words were deleted while it was replayed. */
export class CaseErased extends Error {}

function leaveOut(leftOut: WhatIfPlan['leftOut'], why: LeftOutReason): void {
  leftOut[why] = (leftOut[why] ?? 0) + 1
}

function wantedOf({ settings, protocol, samplingRank }: WhatIfParts) {
  return { key: replayNotes(settings, samplingRank).key, threads: protocol.subject === 'thread' }
}
