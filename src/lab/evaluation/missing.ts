import { printableSentence } from '../../contracts/facts/printable.ts'
import type { EvaluationCell } from './evaluation.ts'
import { type ItemOutcome, isWithoutExamples } from './outcomes.ts'

/** Reasons that are named, of those for which verdicts are degraded. */
const MOST_REASONS = 3
const LONGEST_REASON = 120

/**
 * What the judges of a table lacked, in one sentence: examples, and what verdicts name in `degraded`. Null where nothing was
 * missing. Items are counted once, in however many rows they lacked something.
 */
export function whatIsMissing(cells: readonly EvaluationCell[]): string | null {
  const notes = [withoutExamples(cells), degradedShare(cells)].filter((one) => one !== null)
  return notes.length === 0 ? null : `Missing: ${notes.join('; ')}.`
}

/** `200 of 200 items without examples`; null where all had some, or none were wanted. */
export function itemsWithoutExamples(cells: readonly EvaluationCell[]): string | null {
  const wanted = idsOf(cells, ({ shelves }) => shelves.searched > 0)
  const without = idsOf(cells, isWithoutExamples)
  return without.size === 0 ? null : `${without.size} of ${wanted.size} items without examples`
}

function withoutExamples(cells: readonly EvaluationCell[]): string | null {
  const wanted = idsOf(cells, ({ shelves }) => shelves.searched > 0)
  const bare = cells.flatMap(({ outcomes }) => outcomes.flatMap(({ shelves }) => Object.entries(shelves.bare)))
  if (bare.length === 0) return null
  const shelves = new Map(bare)
  const fewer = idsOf(cells, (outcome) => Object.keys(outcome.shelves.bare).length > 0 && !isWithoutExamples(outcome))
  const none = itemsWithoutExamples(cells)
  const less = fewer.size === 0 ? null : `${fewer.size} of ${wanted.size} items with examples of some shelves alone`
  const why = [...new Set(shelves.values())].slice(0, MOST_REASONS).join(', ')
  const more = shelves.size > MOST_REASONS ? ` and ${shelves.size - MOST_REASONS} more` : ''
  return `${[none, less].filter((one) => one !== null).join(', ')}, because of ${shelves.size} ${shelves.size === 1 ? 'shelf' : 'shelves'}: ${why}${more}`
}

function idsOf(cells: readonly EvaluationCell[], which: (outcome: ItemOutcome) => boolean): Set<string> {
  return new Set(
    cells.flatMap(({ data, outcomes }) => outcomes.filter(which).map(({ id }) => JSON.stringify([data, id]))),
  )
}

function degradedShare(cells: readonly EvaluationCell[]): string | null {
  const outcomes = cells.flatMap((cell) => cell.outcomes)
  const degraded = outcomes.filter((outcome) => outcome.degraded.length > 0)
  if (degraded.length === 0) return null
  const reasons = Map.groupBy(
    degraded.flatMap((outcome) => [...new Set(outcome.degraded.map(kindOf))]),
    (why) => why,
  )
  const most = [...reasons].sort(([, one], [, other]) => other.length - one.length).slice(0, MOST_REASONS)
  const share = Math.round((degraded.length / outcomes.length) * 100)
  const named = most.map(([why, all]) => `“${why}” ${all.length}`).join(', ')
  return `${degraded.length} of ${outcomes.length} verdicts (${share} %) are degraded, most often ${named}`
}

/** A reason without its numbers, so that reasons of one kind count together. */
function kindOf(why: string): string {
  return printableSentence(why.replace(/\d+/g, 'N'), LONGEST_REASON)
}
