import type { TextCut } from '../contracts/facts/cut.ts'
import type { FailureCode } from '../contracts/facts/errors.ts'
import type { Fence } from '../contracts/facts/fence.ts'
import { describeOddFields, isContent } from '../contracts/facts/odd-fields.ts'
import type { Comment, Post } from '../contracts/facts/thread.ts'
import type { Ruling } from '../contracts/facts/verdict.ts'
import type { Script } from '../judging/engine/script.ts'

/**
 * Which parts of a post were not read, in words for `degraded`: those that intake left out of its texts, and those that
 * the texts' blocks in prompts leave out.
 */
export function unreadParts(
  { cut, hateSpeechCut, media = [] }: Post,
  blocks: readonly { readonly kind: string; readonly text: string }[],
  fence: Fence,
): string[] {
  const cutText = (what: string, { left, of }: TextCut) => `${what}: ${left} of ${of} characters not read`
  return [
    ...(cut === undefined ? [] : [cutText('text', cut)]),
    ...(hateSpeechCut === undefined ? [] : [cutText('hate speech', hateSpeechCut)]),
    ...media.flatMap((medium, index) =>
      medium.cut === undefined ? [] : [cutText(`what the author says of image ${index + 1}`, medium.cut)],
    ),
    ...blocks.flatMap(({ kind, text }) => {
      const left = fence.unread(kind, text)
      return left === 0 ? [] : [cutText(`${kind} in prompts`, { left, of: text.length })]
    }),
  ]
}

/** Whether intake shortened a post's words; spread into a lookup of the library. */
export function cutIn({ cut, media = [] }: Post): { readonly cut?: true } {
  return [cut, ...media.map((medium) => medium.cut)].some((part) => part !== undefined) ? { cut: true } : {}
}

/** The same for comments, in one line; empty where all were read in full. */
export function partlyReadComments(comments: readonly Comment[], fence: Fence): string[] {
  const parts = comments.filter(({ cut, text }) => cut !== undefined || fence.unread('comment', text) > 0)
  return parts.length === 0 ? [] : [`${parts.length} comments: only parts of them read`]
}

/** Odd fields of the comments, in words: how many comments had each. */
export function oddInComments(comments: readonly Comment[]): string[] {
  const told = comments.flatMap(({ odd }) => [...new Set(describeOddFields(odd))])
  return [...Map.groupBy(told, (one) => one)].map(([one, all]) => `${all.length} comments: ${one}`)
}

/** Part of a message's content that intake left out, since it was odd; in words. */
export function leftOutParts({ odd = [] }: Post): string[] {
  return describeOddFields(odd.filter(isContent))
}

/**
 * The ruling, where its label is harmful or nothing is missing; else the same without a label. A benign label is true of
 * the whole post only if all that it rests on was there: what nobody saw may be the harm. `missing` names in words what
 * it needs and lacks.
 */
export function withheldUnlessHarmful(ruling: Ruling, harmful: string, missing: readonly string[]): Ruling {
  const { label, degraded } = ruling
  if (missing.length === 0 || label === null || label === harmful) return ruling
  const why = `no label: what was seen looks ${label}, but not all of it was: ${missing.join('; ')}`
  const { confidence: _, debated, ...rest } = ruling
  // Without the debate of a control it would have been withheld, too.
  const without = debated?.without === undefined || debated.without === harmful ? {} : { without: null }
  const withheld: Ruling = { ...rest, label: null, decidedBy: 'none', degraded: [...degraded, why] }
  return debated === undefined ? withheld : { ...withheld, debated: { ...debated, ...without } }
}

/** How many questions of a script an endpoint's filter has refused so far. */
export class FilterRefusals {
  count = 0
}

/**
 * The script, without its benign label if an endpoint's filter refused one of its questions, also where another model
 * answered it then. That refusal is evidence: it shows that something in the post may be harmful, and never which label
 * the post has. The script takes back from `refusals` those to questions on which its ruling does not rest.
 */
export function* withheldIfFiltered(script: Script, harmful: string, refusals: FilterRefusals): Script {
  let step = script.next()
  while (!step.done) {
    const answers = yield step.value
    refusals.count += answers.filter((answer) =>
      answer.ok ? answer.filtered === true : answer.code === FILTERED,
    ).length
    step = script.next(answers)
  }
  const { count } = refusals
  const missing = count === 0 ? [] : [`an endpoint's filter refused ${count} questions about it`]
  return { ...step.value, ruling: withheldUnlessHarmful(step.value.ruling, harmful, missing) }
}

const FILTERED: FailureCode = 'content-filter'
