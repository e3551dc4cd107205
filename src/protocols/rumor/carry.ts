import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Comment, Post } from '../../contracts/facts/thread.ts'
import { ruling } from '../../contracts/facts/verdict.ts'
import { debated } from './material-change.ts'
import type { Utterance } from './near-identical.ts'
import type { ParentOf } from './parents.ts'
import { describePost, type PromptKind } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import type { Sides } from './sides.ts'
import type { StanceScore } from './stance.ts'
import type { TimeOf } from './times.ts'

const CARRIED = {
  label: true,
  rationale: true,
  decidedBy: true,
  rounds: true,
  confidence: true,
  unverified: true,
} as const
const decision = ruling.pick(CARRIED).extend({
  /** What went wrong before this decision, in words. */
  degraded: z.array(z.string()),
  /** Overload or a lost turn cut the debate short: it is repeated at the next revision without overload. */
  again: z.boolean(),
  /** By role: the models whose answers it rests on. */
  models: z.record(z.string(), z.string()),
})
export type RumorDecision = z.infer<typeof decision>

/** What a revision leaves to the next: scores by text, and the decision with the evidence that it rests on. */
export const rumorCarry = z.object({
  /** Script, prompts and settings that this was made under. */
  under: z.string(),
  /** What was claimed, and after a dot when and by whom. */
  claim: z.string(),
  /** Null if it could not be determined. */
  kind: z.enum(['subjective', 'objective']).nullable(),
  /** Hash of what was said ({@link keyOf}), its score, and the model that scored it. */
  scores: z.array(z.tuple([z.string(), z.number(), z.string()])),
  evidence: z.string(),
  /** Ids of the comments that the debaters were shown, and of those that these answer. */
  shown: z.array(z.string()),
  /** Those of them that stand under other posts in the same words. */
  elsewhere: z.array(z.string()).optional(),
  decision,
  /** What the debate was shown that the decision rests on; left out where any change of the evidence brings a new debate. */
  debated: debated.optional(),
})
export type RumorCarry = z.infer<typeof rumorCarry>

/** Scores and kind from the previous revision, if the claim's words are the same: no stance hangs on when it was posted. */
export function remembered(
  post: Post,
  utterances: readonly Utterance[],
  before: RumorCarry | null,
  {
    reuseScores,
    promptKind,
    foldNearIdentical,
  }: Pick<RumorSettings, 'reuseScores' | 'promptKind' | 'foldNearIdentical'>,
  parentOf: ParentOf,
): { scores: Map<Utterance, StanceScore>; kind: PromptKind | null } {
  const scores = new Map<Utterance, StanceScore>()
  const fixed = promptKind === 'auto' ? null : promptKind
  if (before === null || !reuseScores || wordsIn(before.claim) !== wordsIn(claimHash(post)))
    return { scores, kind: fixed }
  const known = new Map(before.scores.map(([text, value, model]) => [text, { value, model }]))
  for (const utterance of utterances) {
    const [first] = utterance.comments.flatMap(
      (comment) => known.get(keyOf(comment, foldNearIdentical, parentOf)) ?? [],
    )
    if (first !== undefined) scores.set(utterance, first)
  }
  return { scores, kind: fixed ?? before.kind }
}

/** The scores in the form in which they are carried. */
export function carriedScores(
  scores: ReadonlyMap<Utterance, StanceScore>,
  { foldNearIdentical }: Pick<RumorSettings, 'foldNearIdentical'>,
  parentOf: ParentOf,
): RumorCarry['scores'] {
  return [...scores].flatMap(([{ comments }, { value, model }]) =>
    comments
      .slice(0, 1)
      .map((comment): RumorCarry['scores'][number] => [keyOf(comment, foldNearIdentical, parentOf), value, model]),
  )
}

/**
 * What may be kept when comments are deleted: the scores, which contain no words, and a decision whose debaters were
 * shown none of these comments. Debaters may quote what they were shown.
 */
export function withoutComments(carry: unknown, deleted: ReadonlySet<string>): unknown {
  const read = rumorCarry.safeParse(carry)
  if (!read.success) return null
  const { shown } = read.data
  if (!shown.some((id) => deleted.has(id))) return carry
  const none: RumorDecision = {
    label: null,
    rationale: '',
    decidedBy: 'none',
    rounds: 0,
    degraded: [],
    again: true,
    models: {},
  }
  const { debated: _, elsewhere: __, ...kept } = read.data
  return { ...kept, evidence: '', shown: [], decision: none } satisfies RumorCarry
}

/**
 * With folding, a score belongs to the words and to those that they answer, by whichever author; without, to the comment
 * as it was written, and an edit loses it.
 */
function keyOf(comment: Comment, folded: boolean, parentOf: ParentOf): string {
  const { id, text } = comment
  return digest(JSON.stringify([folded ? null : id, text, parentOf(comment)?.text ?? null]))
}

/**
 * What debaters and judge are told, as one hash: the claim and its kind, each side's comments with what they answer and their
 * times, the band of the counts, and by what the gate lets them debate.
 */
export function evidenceHash(
  post: Post,
  { support, oppose }: Sides,
  told: {
    readonly kind: PromptKind
    readonly gate: string
    readonly band: string
    readonly elsewhere: readonly Comment[]
  },
  { parentOf, timeOf }: { readonly parentOf: ParentOf; readonly timeOf: TimeOf },
): string {
  const shown = [support, oppose].map((side) =>
    side.map((comment) => [comment.text, parentOf(comment)?.text ?? null, timeOf(comment) ?? null]),
  )
  const { words, posted } = describePost(post)
  const others = told.elsewhere.length === 0 ? [] : [told.elsewhere.map(({ text }) => text)]
  return digest(JSON.stringify([words + posted, told.kind, told.gate, told.band, ...shown, ...others]))
}

export function claimHash(post: Post): string {
  const { words, posted } = describePost(post)
  return `${digest(words)}.${digest(posted)}`
}

function wordsIn(claim: string): string {
  return claim.split('.', 1)[0] ?? ''
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16)
}
