import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Transcript, Verdict } from '../../contracts/facts/verdict.ts'
import { UNVERIFIED } from '../../contracts/facts/verdict-fields.ts'

type Turns = Transcript['turns']
type Scores = Verdict['scores']

/** A verdict's debate: the answer that stood before it, and what came after that answer. */
export interface DebateOutcome {
  /** Why there was a debate, or none, as the verdict says it. */
  readonly why: string
  /** The label that stood before the debate; null where nothing was decided then. */
  readonly before: string | null
  /** What was asked once that answer stood: everything that a verdict without a debate would have saved. */
  readonly usage: { readonly calls: number; readonly tokens: number; readonly costUsd: number }
}

type Turn = Turns[number]

/** How a protocol's turns are divided: which of them come before the debate, and which label these leave. */
interface Division {
  /** `isControl`: the answer before is a whole verdict, which the debate replaced. */
  isBefore(turn: Turn, turns: Turns, isControl: boolean): boolean
  answer(before: Turns, scores: Scores): string | null
}

const DIVISIONS: Readonly<Record<string, Division>> = {
  /** PREDICT, before DICT: the side that more than half of the perspectives took. */
  hate: {
    isBefore: ({ stage }) => stage !== 'debate' && stage !== 'judge',
    answer: (before, { hate = 0, nonHate = 0 }) =>
      Math.max(hate, nonHate) * 2 > perspectivesIn(before) ? leading([hate, 'hate'], [nonHate, 'non-hate']) : null,
  },
  /** S2MAD, before its rounds: the first opinions, or where they differ the side with more comments. Of a control: what one agent said. */
  rumor: {
    isBefore({ stage, role }, _, isControl) {
      if (stage === 'opinion') return !isControl || role.endsWith('(alone)')
      return stage !== 'debate' && stage !== 'judge'
    },
    answer(before, { support = 0, oppose = 0 }) {
      const opinions = new Set(before.flatMap(({ stage, answer }) => (stage === 'opinion' ? viewIn(answer) : [])))
      const [only] = opinions
      return opinions.size === 1 && only !== undefined ? only : leading([support, 'non-rumor'], [oppose, 'rumor'])
    },
  },
  /** Aetheria, before its second round and its arbiter: on which side of an even risk the first scores lie on average. */
  safety: {
    isBefore(turn, turns, isControl) {
      if (isScored(turn)) return turns.find(({ stage }) => stage === turn.stage) === turn
      return turn.stage !== 'arbitrate' || (isControl && turns.indexOf(turn) < turns.findIndex(isRepeated))
    },
    answer(before) {
      const scores = before.filter(isScored).flatMap(({ answer }) => scoreIn(answer))
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
      return scores.length === 0 ? null : leading([mean, 'unsafe'], [1 - mean, 'safe'])
    },
  },
}

function isScored({ stage }: Turn): boolean {
  return stage === 'strict' || stage === 'loose'
}

/** Whether a debater speaks again. */
function isRepeated(turn: Turn, at: number, turns: Turns): boolean {
  return isScored(turn) && turns.findIndex(({ stage }) => stage === turn.stage) < at
}

/**
 * The debate of a verdict. A verdict for which nothing was asked after the answer before a debate has that answer. Null for a protocol
 * without debates.
 */
export function debateOutcomeOf(
  { label, scores, debated }: Verdict,
  { turns }: Transcript,
  protocol: string,
): DebateOutcome | null {
  const division = entryOf(DIVISIONS, protocol)
  if (division === undefined) return null
  const isControl = debated?.why === 'control'
  const before = turns.filter((turn) => division.isBefore(turn, turns, isControl))
  const after = turns.filter((turn) => !before.includes(turn))
  // Of a control: the label that would have been published without the debate, which stands where the debate came to nothing.
  const without = debated?.without
  const stands = isControl || after.length === 0
  const sum = (of: (usage: Turn['usage']) => number) => after.reduce((total, { usage }) => total + of(usage), 0)
  return {
    why: debated?.why ?? 'unknown',
    before: without !== undefined ? without : stands ? label : division.answer(before, scores),
    usage: {
      calls: sum(({ calls }) => calls),
      tokens: sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
      costUsd: sum(({ costUsd }) => costUsd),
    },
  }
}

function leading(
  ...[[one, first], [other, second]]: readonly [readonly [number, string], readonly [number, string]]
): string | null {
  return one === other ? null : one > other ? first : second
}

/** How many perspectives were asked: a turn's role names them, one or several. */
function perspectivesIn(turns: Turns): number {
  const named = turns
    .filter(({ stage }) => stage === 'perspective')
    .flatMap(({ role }) => /\((.*)\)$/.exec(role)?.[1]?.split(', ') ?? [role])
  return new Set(named).size
}

const view = z.object({ answer: z.string() })
const VIEWS: Readonly<Record<string, string>> = { Fake: 'rumor', Real: 'non-rumor' }

/** The label of an opinion; none of one that failed. What is neither Fake nor Real leaves it open. */
function viewIn(answer: unknown): string[] {
  const read = view.safeParse(answer)
  return read.success ? [entryOf(VIEWS, read.data.answer) ?? UNVERIFIED] : []
}

const assessment = z.object({ score: z.number() })

function scoreIn(answer: unknown): number[] {
  const read = assessment.safeParse(answer)
  return read.success ? [read.data.score] : []
}
