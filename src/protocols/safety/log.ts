import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { Assessment } from './answers.ts'
import type { SafetySettings } from './settings.ts'

export type SafetySide = 'strict' | 'loose'

/** One turn of the debate, as it ended. */
export interface SafetyTurn {
  readonly round: number
  readonly side: SafetySide
  /** Null if the turn failed. */
  readonly said: Assessment | null
  /** The paper's stand-in for a score that could not be read, if the settings ask for it. */
  readonly standIn: number | null
}

/** The text that a debater sees of the other, and whether it holds words of the other. */
export interface Opponent {
  readonly words: string
  readonly spoken: boolean
}

/** What a debater hears by the code: all that was said, its own words among it. */
export function historyIn(log: readonly SafetyTurn[], fence: Fence): Opponent {
  if (log.length === 0) return { words: 'Nobody has spoken yet.', spoken: false }
  return { words: paperTurnsIn(log, fence).join('\n\n'), spoken: true }
}

/** In the paper's ablations a debater is missing, and the arbiter's prompt does not say what to do then. */
export function unlessPaper({ preset }: SafetySettings, fact: string, advice: string): string {
  return preset === 'paper' ? `${fact}.` : `${fact}${advice}`
}

/** The debate as the arbiter reads it. */
export function logIn(log: readonly SafetyTurn[], settings: SafetySettings, fence: Fence): string {
  if (log.length === 0)
    return unlessPaper(
      settings,
      'No debate was held',
      '. Look for benign contexts and for concrete violations yourself; that nobody argued for either is no evidence.',
    )
  const sides = new Set(log.map(({ side }) => side))
  const missing = (['strict', 'loose'] as const).filter((side) => !sides.has(side))
  return [
    ...(settings.preset === 'paper' ? paperTurnsIn(log, fence) : [turnsIn(log, fence)]),
    ...missing.map((side) =>
      unlessPaper(settings, `There was no ${side} debater`, ': look yourself for what it would have put forward.'),
    ),
  ].join('\n\n')
}

function turnsIn(log: readonly SafetyTurn[], fence: Fence): string {
  return fence.list(
    'turns',
    log.map(({ round, side, said }): ListItem => {
      const who = `Round ${round}, ${side} debater`
      if (said === null) return [`${who}: (this turn did not arrive)`]
      return [`${who}, risk score ${said.score}: `, { kind: 'argument', text: said.reasoning }]
    }),
  )
}

function paperTurnsIn(log: readonly SafetyTurn[], fence: Fence): string[] {
  return log.map(({ round, side, said }, index) =>
    said === null
      ? `Round ${round}, ${side} debater: this turn could not be had.`
      : `Round ${round}, ${side} debater, risk score ${said.score}:\n${fence('argument', said.reasoning, index + 1)}`,
  )
}

/** Both debaters' scores, round by round. */
export function trajectories(log: readonly SafetyTurn[], settings: SafetySettings): string {
  if (log.length === 0) return 'None.'
  return (['strict', 'loose'] as const)
    .filter((side) => settings[side])
    .map((side) => {
      const scores = log.filter((turn) => turn.side === side).map(scoreIn)
      return `${side} debater: ${scores.join(' → ')}`
    })
    .join('\n')
}

function scoreIn({ said, standIn }: SafetyTurn): string {
  if (said !== null) return String(said.score)
  return standIn === null ? 'no score' : `${standIn} (a stand-in: no score could be read)`
}

/** In the published code, the weight of the strict debater's score before the two differ (aetheria_simple/utils/voting.py). */
const STRICT_BIAS = 0.6

interface Panel {
  readonly votes: Readonly<Record<SafetySide, 'safe' | 'unsafe' | null>>
  /** Null if nobody voted, or both differ. */
  readonly majority: 'safe' | 'unsafe' | null
  /** The higher the strict score above the loose one, the more it weighs. */
  readonly weighted: number | null
}

/** The debaters' last scores as votes, from 0.5 on for unsafe, and as one number. A stand-in counts as a score. */
export function panelIn(log: readonly SafetyTurn[]): Panel {
  const [strict, loose] = (['strict', 'loose'] as const).map((side) => {
    const last = log.findLast((turn) => turn.side === side)
    return last === undefined ? null : (last.said?.score ?? last.standIn)
  })
  const votes = { strict: voteOf(strict), loose: voteOf(loose) }
  const cast = [votes.strict, votes.loose].filter((vote) => vote !== null)
  const [first = null, second = first] = cast
  return { votes, majority: first === second ? first : null, weighted: weightedOf(strict ?? null, loose ?? null) }
}

function voteOf(score: number | null | undefined): 'safe' | 'unsafe' | null {
  if (score === null || score === undefined) return null
  return score >= 0.5 ? 'unsafe' : 'safe'
}

function weightedOf(strict: number | null, loose: number | null): number | null {
  if (strict === null || loose === null) return strict ?? loose
  const weight = Math.min(1, Math.max(0, STRICT_BIAS + (strict - loose) / 2))
  return strict * weight + loose * (1 - weight)
}

/** The same in words, as the published code shows it to its arbiter beyond the paper. */
export function panelOf(log: readonly SafetyTurn[]): string {
  const { votes, majority, weighted } = panelIn(log)
  const isTie = votes.strict !== null && votes.loose !== null && majority === null
  return [
    `strict debater's vote: ${votes.strict ?? 'none'}`,
    `loose debater's vote: ${votes.loose ?? 'none'}`,
    `majority: ${isTie ? 'a tie' : (majority ?? 'none')}`,
    `weighted score: ${weighted === null ? 'none' : weighted.toFixed(2)}`,
  ].join('\n')
}
