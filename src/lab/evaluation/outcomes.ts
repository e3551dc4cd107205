import { z } from 'zod'
import { found } from '../../contracts/facts/library.ts'
import { type CommentCounts, noComments, type Transcript, type Verdict } from '../../contracts/facts/verdict.ts'
import type { DebateOutcome } from './before-debate.ts'
import type { GoldItem } from './gold-item.ts'

/** One item of a data set, as people labelled it and as it was judged. */
export interface ItemOutcome {
  readonly id: string
  /** Which time the row was judged, from 2; left out for the first. */
  readonly repeat?: number
  /** What was sampled together with it. */
  readonly unit: string
  readonly slices: Readonly<Record<string, string>>
  /** By which chance it was drawn, where that is known. */
  readonly chance?: number
  /** What people say; null for items that have ratings and no label. */
  readonly gold: string | null
  /** The verdict's label; null where it does not decide. */
  readonly label: string | null
  readonly annotations?: readonly string[] | undefined
  /** The mean of people's ratings, and the verdict's score, by aspect. */
  readonly ratings?: Readonly<Record<string, number>>
  readonly scores: Readonly<Record<string, number>>
  /** How sure the verdict is of its label, 0 to 1; null where it does not say. */
  readonly confidence: number | null
  /** How many of the judging's voters chose each side, where it votes. */
  readonly votes?: readonly number[]
  /** What each of its voices said, by name, where it has several: perspectives their labels, aspects their scores. */
  readonly voices?: Readonly<Record<string, string>>
  /** `sequence`: rounds in which models were asked, each of which waits for the one before. */
  readonly usage: {
    readonly calls: number
    readonly tokens: number
    readonly costUsd: number
    readonly sequence: number
  }
  /** Calls that brought no answer, by how they ended; left out where there were none. */
  readonly unanswered?: Readonly<Record<string, number>>
  readonly rationale: string
  /** Who said what, of an item that is judged other than people say: the beginning of its debate, each turn cut. */
  readonly debate?: readonly { readonly who: string; readonly says: string }[]
  readonly degraded: readonly string[]
  /** What stood before its debate, and what the debate took; left out where its row has no debates. */
  readonly debated?: DebateOutcome
  /** What became of the thread's comments. */
  readonly comments: CommentCounts
  /** Items of shelves that were passed over because they are this item, or nearly its text. */
  readonly heldOut: { readonly own: number; readonly nearDuplicates: number }
  /** Shelves that were to give examples; and those of them that gave none, each with the reason. */
  readonly shelves: { readonly searched: number; readonly bare: Readonly<Record<string, string>> }
}

/** An item's outcome, from its verdict and the whole argument. Calls that failed count for nothing: no answer was paid for. */
export function outcomeOf(
  gold: GoldItem,
  verdict: Verdict,
  transcript: Transcript,
  {
    confidence,
    votes,
    voices = {},
    debated = null,
  }: {
    readonly confidence: number | null
    readonly votes: readonly number[] | null
    readonly voices?: Readonly<Record<string, string>>
    readonly debated?: DebateOutcome | null
  },
): ItemOutcome {
  const { label, scores, rationale, degraded, counts, usage } = verdict
  const calls = transcript.turns.flatMap((turn) => turn.calls)
  const unanswered = calls.filter(({ outcome }) => !ANSWERS.has(outcome))
  return {
    id: gold.id,
    unit: gold.unit,
    gold: gold.label,
    label,
    scores,
    rationale,
    degraded,
    slices: { ...gold.slices, ...firstOffered(transcript) },
    ...(gold.chance === undefined ? {} : { chance: gold.chance }),
    ...(gold.ratings === undefined ? {} : { ratings: meansOf(gold.ratings) }),
    annotations: gold.annotations,
    confidence: label === null ? null : confidence,
    ...(votes === null ? {} : { votes }),
    ...(Object.keys(voices).length === 0 ? {} : { voices }),
    ...(debated === null ? {} : { debated }),
    ...(gold.label === null || gold.label === label ? {} : { debate: debateOf(transcript) }),
    usage: {
      calls: calls.length - unanswered.length,
      tokens: usage.promptTokens + usage.completionTokens,
      costUsd: usage.costUsd,
      sequence: new Set(transcript.turns.filter(({ calls }) => calls.length > 0).map(({ round }) => round)).size,
    },
    ...(unanswered.length === 0 ? {} : { unanswered: countsOf(unanswered.map(({ outcome }) => outcome)) }),
    comments: counts,
    heldOut: heldOutOf(transcript),
    shelves: shelvesOf(transcript),
  }
}

function countsOf(words: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return Object.fromEntries(counts)
}

/**
 * Which label the form of the last question offers first, as a slice: small models take it, whatever they are asked about.
 * Empty where no question offers labels.
 */
function firstOffered({ turns }: Transcript): Record<string, string> {
  for (const { messages } of turns.toReversed()) {
    const last = messages.at(-1)
    const line = last !== undefined && 'content' in last ? last.content.slice(last.content.lastIndexOf('\n') + 1) : ''
    const [, schema] = /^Answer format \([^)]*\): (\{.*\})$/.exec(line) ?? []
    const read = schema === undefined ? undefined : offering.safeParse(JSON.parse(schema)).data?.properties
    const [first] = read?.label?.enum ?? read?.answer?.enum ?? []
    if (first !== undefined) return { 'first in the form': first }
  }
  return {}
}

const choice = z
  .object({ enum: z.array(z.string()) })
  .optional()
  .catch(undefined)
const offering = z.object({ properties: z.object({ label: choice, answer: choice }) })

/** Most turns that are kept of a debate, and characters of each. */
const MOST_TURNS = 12
const LONGEST_TURN = 500

/** The turns of a debate in order, without lookups and without the scores of single comments. */
function debateOf({ turns }: Transcript): NonNullable<ItemOutcome['debate']> {
  return turns
    .filter(({ role, about }) => role !== 'library' && about === undefined)
    .slice(0, MOST_TURNS)
    .map(({ role, stage, answer, failed }) => ({
      who: `${role} (${stage})`,
      says: (failed === undefined ? wordsOf(answer) : `failed: ${failed.code}`).slice(0, LONGEST_TURN).toWellFormed(),
    }))
}

/** An answer's texts and numbers in one line, as `reason: …; label: hate`. */
function wordsOf(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer)
  return Object.entries(answer)
    .filter(([, value]) => typeof value !== 'object')
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ')
}

/** How calls end that bring an answer, readable or not. */
const ANSWERS: ReadonlySet<string> = new Set(['answered', 'unreadable', 'refused'])

function heldOutOf({ turns }: Transcript): ItemOutcome['heldOut'] {
  const excluded = turns.flatMap(({ role, answer }) => {
    if (role !== 'library') return []
    const read = found.safeParse(answer)
    return read.success ? read.data.shelves.flatMap((shelf) => shelf.excluded ?? []) : []
  })
  return {
    own: excluded.reduce((sum, { own }) => sum + own, 0),
    nearDuplicates: excluded.reduce((sum, { nearDuplicates }) => sum + nearDuplicates, 0),
  }
}

function shelvesOf({ turns }: Transcript): ItemOutcome['shelves'] {
  const looked = turns.filter(({ role }) => role === 'library')
  const shelves = looked.flatMap(({ answer }) => {
    const read = found.safeParse(answer)
    return read.success ? read.data.shelves : []
  })
  const bare = shelves.flatMap(({ shelf, neighbours, problem }): [string, string][] =>
    neighbours.length > 0 ? [] : [[shelf, problem ?? `the shelf "${shelf}" gave none`]],
  )
  const failed = looked.flatMap(({ failed }): [string, string][] =>
    failed === undefined ? [] : [['(every shelf)', `the search failed: ${failed.code}`]],
  )
  return { searched: shelves.length + failed.length, bare: Object.fromEntries([...bare, ...failed]) }
}

/** Whether examples were wanted, and no shelf gave any. */
export function isWithoutExamples({ shelves: { searched, bare } }: Pick<ItemOutcome, 'shelves'>): boolean {
  return searched > 0 && Object.keys(bare).length >= searched
}

/** The `degraded` entry of an item that got no verdict. */
export const NO_VERDICT = 'no verdict'

/** The outcome of an item that got no verdict: refused, left out by the protocol, or not reached. */
export function unjudged({ id, unit, slices, label, annotations, ratings, chance }: GoldItem): ItemOutcome {
  return {
    id,
    unit,
    slices,
    gold: label,
    label: null,
    scores: {},
    confidence: null,
    annotations,
    ...(chance === undefined ? {} : { chance }),
    ...(ratings === undefined ? {} : { ratings: meansOf(ratings) }),
    usage: { calls: 0, tokens: 0, costUsd: 0, sequence: 0 },
    rationale: '',
    degraded: [NO_VERDICT],
    comments: noComments(),
    heldOut: { own: 0, nearDuplicates: 0 },
    shelves: { searched: 0, bare: {} },
  }
}

function meansOf(ratings: NonNullable<GoldItem['ratings']>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(ratings).map(([aspect, given]) => [
      aspect,
      given.reduce((sum, rating) => sum + rating, 0) / given.length,
    ]),
  )
}
