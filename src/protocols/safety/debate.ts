import { type AnswerOrFailure, failure } from '../../contracts/facts/ask.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import type { VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import type { Assessment } from './answers.ts'
import { historyIn, type Opponent, type SafetySide, type SafetyTurn } from './log.ts'
import { aloneIn, type Grounds, opponentIn, type SafetyQuestions } from './questions.ts'
import { isByCode, type SafetySettings } from './settings.ts'

/** The score that neither label has. */
export const MIDDLE = 0.5

/** Whether the debaters answered one another in a second round, and why. */
export function debateIn(log: readonly SafetyTurn[], { rounds, debateWhen }: SafetySettings): VerdictDebate {
  if (log.length === 0 || rounds < 2) return { held: false, why: 'off' }
  const held = (log.at(-1)?.round ?? 0) > 1
  if (debateWhen === 'always') return { held, why: 'always' }
  if (!held) return { held, why: 'unanimous' }
  const scores = log.flatMap(({ round, said }) => (round === 1 && said !== null ? [said.score] : []))
  const differ = scores.some((score) => score < MIDDLE) && scores.some((score) => score > MIDDLE)
  return { held, why: differ ? 'contested' : 'close' }
}

interface DebateParts {
  readonly settings: SafetySettings
  readonly fence: Fence
}

/** The strict and the loose debater, and what they have said, in order. */
export class SafetyDebate {
  readonly log: SafetyTurn[] = []
  readonly #grounds: Grounds
  readonly #ask: SafetyQuestions
  readonly #parts: DebateParts
  readonly #degraded: string[]
  readonly #conversations: Record<SafetySide, ChatMessage[]> = { strict: [], loose: [] }

  constructor(grounds: Grounds, ask: SafetyQuestions, parts: DebateParts, degraded: string[]) {
    this.#grounds = grounds
    this.#ask = ask
    this.#parts = parts
    this.#degraded = degraded
  }

  /** The rounds that are left, what fails in them into `degraded`; `untilOneSided`: none follows one after which both debaters are on the same side of 0.5. */
  *argues(untilOneSided: boolean, degraded = this.#degraded): SubScript<void> {
    const { settings } = this.#parts
    const sides = (['strict', 'loose'] as const).filter((side) => settings[side])
    for (let n = (this.log.at(-1)?.round ?? 0) + 1; n <= settings.rounds; n++) {
      // Mostly nothing follows then: to have the opening cached would cost more than it saves.
      for (const side of sides) yield* this.#turn(n, side, { isLast: n === settings.rounds || untilOneSided, degraded })
      if (untilOneSided && isOneSided(lastRound(this.log))) break
    }
  }

  /** One turn. A debater hears the other's last readable one. */
  *#turn(
    n: number,
    side: SafetySide,
    { isLast, degraded }: { readonly isLast: boolean; readonly degraded: string[] },
  ): SubScript<void> {
    const { settings, fence } = this.#parts
    const byCode = isByCode(settings)
    const heard = byCode ? historyIn(this.log, fence) : opponent(side, this.log, settings, fence)
    // By the code each turn is one question about all that was said.
    const before = byCode ? [] : this.#conversations[side]
    const asked =
      before.length === 0 ? this.#ask.opening(side, this.#grounds, heard) : [...before, ...this.#ask.next(heard)]
    const [reply] = yield* round([this.#ask.turn(side, asked, isLast)])
    if (reply.ok) this.#conversations[side] = [...asked, { role: 'assistant', content: JSON.stringify(reply.answer) }]
    this.log.push(turnOf(n, side, reply, this.log, settings, degraded))
  }
}

export function lastRound(log: readonly SafetyTurn[]): readonly SafetyTurn[] {
  return log.filter(({ round }) => round === log.at(-1)?.round)
}

/** Whether both debaters spoke, and both scores lie on the same side of the middle. One at the middle lies on neither. */
export function isOneSided(round: readonly SafetyTurn[]): boolean {
  const scores = round.flatMap(({ said }) => said?.score ?? [])
  if (scores.length < 2) return false
  return scores.every((score) => score < MIDDLE) || scores.every((score) => score > MIDDLE)
}

/** The last readable score of each debater; a debater without one is left out. */
export function lastScores(log: readonly SafetyTurn[]): Record<string, number> {
  return Object.fromEntries(log.flatMap(({ side, said }) => (said === null ? [] : [[side, said.score]])))
}

function turnOf(
  n: number,
  side: SafetySide,
  reply: AnswerOrFailure<Assessment>,
  log: readonly SafetyTurn[],
  settings: SafetySettings,
  degraded: string[],
): SafetyTurn {
  if (reply.ok) return { round: n, side, said: reply.answer, standIn: null }
  const standIn = settings.scoreFallback === 'paper' && reply.code === 'unreadable' ? lastScore(side, log) : null
  const instead = standIn === null ? 'it has no score' : `${standIn} stands in for its score`
  degraded.push(`round ${n} (${side}) failed: ${failure(reply)}; ${instead}`)
  return { round: n, side, said: null, standIn }
}

/** The paper's fallback: 0.5 in the first round, then the previous score. */
function lastScore(side: SafetySide, log: readonly SafetyTurn[]): number {
  const scores = log.flatMap((turn) => (turn.side === side ? [turn.said?.score ?? turn.standIn] : []))
  return scores.findLast((score) => score !== null) ?? 0.5
}

function opponent(side: SafetySide, log: readonly SafetyTurn[], settings: SafetySettings, fence: Fence): Opponent {
  const other = side === 'strict' ? 'loose' : 'strict'
  const silent = (words: string): Opponent => ({ words, spoken: false })
  if (!settings[other]) return silent(aloneIn(other, settings))
  const turns = log.filter((turn) => turn.side === other)
  const last = turns.findLast(({ said }) => said !== null)?.said
  const isKnown = settings.preset !== 'paper' && turns.at(-1)?.said === null
  if (last) return { words: opponentIn(other, last, fence, isKnown), spoken: true }
  if (turns.length === 0) return silent(`The ${other} debater has not spoken yet: you open the debate.`)
  return silent(
    settings.preset === 'paper'
      ? `What the ${other} debater said could not be had.`
      : `What the ${other} debater said did not arrive.`,
  )
}
