import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Answered, failure } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import type { Comment, Snapshot } from '../../domain/thread.ts'
import { type ChatMessage, type Ruling, ruling } from '../../domain/verdict.ts'
import { type Conclusion, type Part, round, type Script } from '../../engine/script.ts'
import type { Prompts } from '../prompts.ts'
import type { View } from './answers.ts'
import { type Weighed, weigh } from './brigading.ts'
import { type Depth, depthOf } from './depth.ts'
import { claimOf, type PromptKind, type Questions, questions, type Side } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import { draw, halve, type Sides, separate } from './sides.ts'

const decision = ruling.pick({ label: true, rationale: true, decidedBy: true, rounds: true }).extend({
  /** What went wrong on the way to this decision, in words. */
  degraded: z.array(z.string()),
  /** Load ended the debate before its time: it is held again once the load has gone. */
  cutShort: z.boolean(),
})
type Decision = z.infer<typeof decision>
/** A decision, its last two fields where there is something to say. */
type Reached = Omit<Decision, 'degraded' | 'cutShort'> & Partial<Pick<Decision, 'degraded' | 'cutShort'>>

/** What a revision leaves to the next: scores by comment and text, and the decision with the evidence it rests on. */
export const rumorCarry = z.object({
  /** Script, prompts and settings that this was made under. */
  under: z.string(),
  claim: z.string(),
  /** Null where nobody could tell. */
  kind: z.enum(['subjective', 'objective']).nullable(),
  /** Comment, hash of its text, score. */
  scores: z.array(z.tuple([z.string(), z.string(), z.number()])),
  evidence: z.string(),
  decision,
})
type RumorCarry = z.infer<typeof rumorCarry>

/** A snapshot of the comments that count. */
type Judged = Omit<Snapshot, 'comments'> & Pick<Weighed, 'comments'>

/**
 * S2MAD, Algorithm 1: separates the comments by stance, has two debaters form their first opinion on one side each, lets
 * them debate for at most M rounds, and asks a judge where they still differ. Fake is `rumor`, Real is `non-rumor`.
 */
export function* s2mad(
  given: Snapshot,
  before: RumorCarry | null,
  parts: { settings: RumorSettings; prompts: Prompts; fence: Fence; under: string; pressed: boolean },
): Script {
  const { settings } = parts
  const weighed = weigh(given.comments, settings)
  const thread: Judged = { ...given, comments: weighed.comments }
  const depth = depthOf(settings, parts.pressed)
  const ask = questions(thread.post, parts)
  const degraded: string[] = []
  const lostTurns: string[] = []
  if (thread.comments.length === 0) degraded.push('no comments: judged on the claim alone')
  if ((thread.post.media ?? []).some(({ alt }) => alt === undefined))
    degraded.push('images without a description left out: this protocol reads words only')
  if (thread.leftOut > 0) degraded.push(`${thread.leftOut} comments beyond the cap left out, by a fixed sample`)
  degraded.push(...weighed.folded)

  if (claimOf(thread.post) === '') return nothingToJudge()

  // Stance separation (lines 2–7) and the claim's subjectivity (line 9): neither waits for the other.
  const known = remembered(thread, before, settings)
  const unscored = settings.stance ? thread.comments.filter((comment) => !known.scores.has(comment.id)) : []
  const toScore = draw(unscored, depth.comments, thread.post.id)
  if (toScore.length < unscored.length)
    degraded.push(`under load: ${toScore.length} of ${unscored.length} comments scored, by a fixed sample`)
  const batches = chunks(toScore, settings.batchSize)
  const stances = batches.map((batch, index) =>
    settings.batchSize === 1 ? ask.stance(only(batch)) : ask.stanceBatch(batch, `batch ${index + 1}`),
  )
  const askKind = settings.promptKind === 'auto' && known.kind === null
  const answers = yield* round([...stances, ...(askKind ? [ask.subjectivity()] : [])])
  const scores = new Map([...known.scores, ...readScores(batches, answers, degraded)])
  const kind = askKind ? readKind(answers.at(-1), degraded) : (known.kind ?? fixedKind(settings))
  const sidesOf = ({ k, sampleSize }: Pick<Depth, 'k' | 'sampleSize'>) =>
    settings.stance ? separate(thread.comments, scores, k) : halve(thread.comments, sampleSize, thread.post.id)
  const holds = (sides: Sides) =>
    before !== null && settings.keepUnlessEvidenceChanged && sameEvidence(before, thread, sides, kind, parts.pressed)
  // A decision that still holds costs nothing, whatever the load.
  const full = sidesOf(settings)
  const sides = holds(full) ? full : sidesOf(depth)
  if (sizeOf(sides) < sizeOf(full))
    degraded.push(`under load: ${sizeOf(sides)} of ${sizeOf(full)} comments debated, the strongest of each side`)

  const conclude = (reached: Reached): Conclusion =>
    conclusion(
      thread,
      { sides, scores, kind, kindKnown: !askKind || answers.at(-1)?.ok === true, under: parts.under, degraded },
      { cutShort: false, ...reached, degraded: [...lostTurns, ...(reached.degraded ?? [])] },
    )
  if (before !== null && holds(sides)) return conclude(before.decision)

  if (!settings.debate) return conclude(yield* alone(ask, sides, kind, settings))

  // Initial opinions (lines 10–11, equation 3).
  const debaters = [
    debater('support', ask.opening(kind, ask.comments(heading('support', settings), sides.support))),
    debater('oppose', ask.opening(kind, ask.comments(heading('oppose', settings), sides.oppose))),
  ] as const
  const opinions = yield* round([
    ask.opinion('support', debaters[0].conversation),
    ask.opinion('oppose', debaters[1].conversation),
  ])
  const failed = opinions.flatMap((opinion, index) =>
    opinion.ok ? [] : [`opinion (${debaters[index]?.side}) failed: ${failure(opinion)}`],
  )
  if (failed.length > 0) return conclude(undecided(...failed))
  let views = [hear(debaters[0], opinions[0], lostTurns), hear(debaters[1], opinions[1], lostTurns)] as const

  // Debate (lines 13–16, equation 4): both turns of a round answer the other's previous reply.
  let rounds = 0
  while (rounds < depth.rounds && !(settings.stopAtConsensus && agreed(views))) {
    const heard = [ask.rebuttal(views[1]), ask.rebuttal(views[0])] as const
    const turns = yield* round([
      ask.turn('support', [...debaters[0].conversation, ...heard[0]]),
      ask.turn('oppose', [...debaters[1].conversation, ...heard[1]]),
    ])
    rounds++
    views = [hear(debaters[0], turns[0], lostTurns, heard[0]), hear(debaters[1], turns[1], lostTurns, heard[1])]
  }

  const cutShort = rounds < settings.rounds && !(settings.stopAtConsensus && agreed(views))
  const shortened = cutShort ? [`under load: ${rounds} of ${settings.rounds} rounds of debate`] : []

  // Consensus or judge (lines 17–21, equation 5).
  if (agreed(views)) {
    const rationale = `Both debaters: ${views[0].answer}. On the supporting side: ${views[0].reasoning} On the opposing side: ${views[1].reasoning}`
    return conclude({
      label: labelOf(views[0]),
      rationale,
      decidedBy: 'consensus',
      rounds,
      cutShort,
      degraded: shortened,
    })
  }
  const [judged] = yield* round([ask.judge(views[0], views[1])])
  if (!judged.ok) return conclude({ ...undecided(...shortened, `judge failed: ${failure(judged)}`), rounds })
  return conclude({
    label: labelOf(judged.answer),
    rationale: judged.answer.reasoning,
    decidedBy: 'judge',
    rounds,
    cutShort,
    degraded: shortened,
  })
}

/** A post of undescribed images alone claims nothing that could be read. */
function nothingToJudge(): Conclusion {
  const decided = undecided('no words to judge: images without a description are left out')
  return {
    ruling: { ...decided, scores: { support: 0, oppose: 0 }, evidence: { support: [], oppose: [], precedents: [] } },
  }
}

/** A debater and its conversation so far: its opening, its replies, what it was told of the other's. */
interface Debater {
  readonly side: Side
  conversation: ChatMessage[]
  view: View | null
}

function debater(side: Side, conversation: ChatMessage[]): Debater {
  return { side, conversation, view: null }
}

/** Takes a reply into the conversation. A failed reply leaves the debater at its last readable view, and is named. */
function hear(speaker: Debater, reply: Answered<View>, lost: string[], told: readonly ChatMessage[] = []): View {
  if (reply.ok) {
    const said: ChatMessage = { role: 'assistant', content: JSON.stringify(reply.answer) }
    speaker.conversation = [...speaker.conversation, ...told, said]
    speaker.view = reply.answer
  } else lost.push(`a debate turn (${speaker.side}) failed: ${failure(reply)}; the last readable view stands`)
  if (speaker.view === null) throw new Error('a debater without an opinion entered the debate')
  return speaker.view
}

function agreed([a, b]: readonly [View, View]): boolean {
  return a.answer === b.answer
}

function labelOf(of: View): 'rumor' | 'non-rumor' {
  return of.answer === 'Fake' ? 'rumor' : 'non-rumor'
}

function undecided(...why: string[]): Reached & { degraded: string[] } {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, degraded: why }
}

/** Table 2, "w/o Debate": one agent, one call, over the comments of both sides. */
function* alone(ask: Questions, sides: Sides, kind: PromptKind, settings: RumorSettings): Part<Reached> {
  const comments = [
    ask.comments(heading('support', settings), sides.support),
    ask.comments(heading('oppose', settings), sides.oppose),
  ].join('\n\n')
  const [only] = yield* round([ask.opinion('alone', ask.opening(kind, comments))])
  if (!only.ok) return undecided(`opinion failed: ${failure(only)}`)
  return { label: labelOf(only.answer), rationale: only.answer.reasoning, decidedBy: 'judge', rounds: 0, degraded: [] }
}

function heading(side: Side, settings: RumorSettings): string {
  if (!settings.stance) return 'Comments'
  return side === 'support' ? 'Comments that support the claim' : 'Comments that oppose the claim'
}

function readScores(
  batches: readonly (readonly Comment[])[],
  answers: readonly Answered<unknown>[],
  degraded: string[],
): Map<string, number> {
  const scores = new Map<string, number>()
  const failures = new Map<string, number>()
  for (const [index, batch] of batches.entries()) {
    const reply = answers[index] as Answered<{ score: number } | { scores: { comment: number; score: number }[] }>
    if (!reply.ok) {
      failures.set(reply.code, (failures.get(reply.code) ?? 0) + batch.length)
      continue
    }
    const given = 'scores' in reply.answer ? reply.answer.scores : [{ comment: 1, score: reply.answer.score }]
    for (const { comment, score } of given) scores.set(at(batch, comment - 1).id, score)
    if (given.length < batch.length)
      failures.set('left out', (failures.get('left out') ?? 0) + batch.length - given.length)
  }
  for (const [why, count] of failures) degraded.push(`stance: ${count} comments without a score (${why})`)
  return scores
}

/** Without a readable answer the three points for claims of facts are asked for, which name all comments; it is said. */
function readKind(reply: unknown, degraded: string[]): PromptKind {
  const subjectivity = reply as Answered<{ answer: 'Yes' | 'No' }>
  if (subjectivity.ok) return subjectivity.answer.answer === 'Yes' ? 'subjective' : 'objective'
  degraded.push(`subjectivity failed: ${failure(subjectivity)}; the prompt for claims of facts was used`)
  return 'objective'
}

function fixedKind(settings: RumorSettings): PromptKind {
  return settings.promptKind === 'subjective' ? 'subjective' : 'objective'
}

/** Scores and kind from the revision before, where the claim is the same and the comment's text too. */
function remembered(thread: Judged, before: RumorCarry | null, settings: RumorSettings) {
  const scores = new Map<string, number>()
  if (before === null || !settings.reuseScores || before.claim !== digest(claimOf(thread.post)))
    return { scores, kind: settings.promptKind === 'auto' ? null : settings.promptKind }
  const own = new Map(before.scores.map(([id, hash, score]) => [`${hash} ${id}`, score]))
  // A score is of the words, whoever says them: another copy may stand for its group now.
  const ofText = new Map(before.scores.map(([, hash, score]) => [hash, score]))
  for (const { id, text } of thread.comments) {
    const hash = digest(text)
    const score = own.get(`${hash} ${id}`) ?? ofText.get(hash)
    if (score !== undefined) scores.set(id, score)
  }
  return { scores, kind: settings.promptKind === 'auto' ? before.kind : settings.promptKind }
}

function sameEvidence(
  { decision: { label, cutShort }, evidence }: RumorCarry,
  thread: Judged,
  sides: Sides,
  kind: PromptKind,
  pressed: boolean,
): boolean {
  return label !== null && (pressed || !cutShort) && evidence === evidenceHash(thread, sides, kind)
}

function sizeOf({ support, oppose }: Sides): number {
  return support.length + oppose.length
}

/** What the debaters are shown, as one hash. */
function evidenceHash(thread: Judged, sides: Sides, kind: PromptKind): string {
  const shown = (comments: readonly Comment[]) => comments.map(({ text }) => text)
  return digest(JSON.stringify([claimOf(thread.post), kind, shown(sides.support), shown(sides.oppose)]))
}

function conclusion(
  thread: Judged,
  grounds: {
    sides: Sides
    scores: Map<string, number>
    kind: PromptKind
    kindKnown: boolean
    under: string
    degraded: readonly string[]
  },
  reached: Decision,
): Conclusion {
  const { sides, scores, kind, kindKnown, under } = grounds
  const counted = [...scores.values()]
  const decided: Ruling = {
    label: reached.label,
    scores: {
      support: counted.filter((score) => score > 0).length,
      oppose: counted.filter((score) => score < 0).length,
    },
    rationale: reached.rationale,
    decidedBy: reached.decidedBy,
    rounds: reached.rounds,
    evidence: {
      support: sides.support.map(({ id }) => id),
      oppose: sides.oppose.map(({ id }) => id),
      precedents: [],
    },
    degraded: [...grounds.degraded, ...reached.degraded],
  }
  const texts = new Map(thread.comments.map(({ id, text }) => [id, digest(text)]))
  const carry: RumorCarry = {
    under,
    claim: digest(claimOf(thread.post)),
    kind: kindKnown ? kind : null,
    scores: [...scores].map(([id, score]) => [id, texts.get(id) ?? '', score]),
    evidence: evidenceHash(thread, sides, kind),
    decision: reached,
  }
  return { ruling: decided, carry }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

function only<Item>(items: readonly Item[]): Item {
  return at(items, 0)
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index]
  if (item === undefined) throw new Error(`nothing at ${index}`)
  return item
}
