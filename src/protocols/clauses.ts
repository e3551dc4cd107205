import { z } from 'zod'
import { type AnswerOrFailure, type Ask, failure } from '../contracts/facts/ask.ts'
import { neutralized } from '../contracts/facts/neutralized.ts'
import type { Post } from '../contracts/facts/thread.ts'
import type { ChatMessage, Ruling } from '../contracts/facts/verdict.ts'
import { MAX_QUOTE_CHARS } from '../contracts/facts/verdict-fields.ts'
import { type CitablePolicy, round, type SubScript } from '../judging/engine/script.ts'
import { withClips } from './clips.ts'
import { nameOf, type Policy, renderPolicy } from './policy.ts'
import type { Prompts } from './prompts.ts'

// A harmful verdict cites the clauses that it rests on. What a model cites is checked here: nothing that is not in the policy, and no
// words that are not the post's, ever stand in a verdict.

/** A clause as a model cites it, and the words of the post that it says break it; empty where it quotes none. */
interface Citation {
  readonly id: string
  readonly quote: string
}

/** What is cited, all of an answer to who is asked for that alone. */
export interface Citations {
  readonly clauses: readonly Citation[]
}

/** An answer that may cite. */
export type CitingAnswer = Partial<Citations>

/** How answers under one policy cite: their field `clauses`, and the answer to the question that asks for it once more. */
export interface CitingForm {
  readonly field: z.ZodType<readonly Citation[]>
  readonly again: z.ZodType<Citations>
}

/** A policy, and how answers cite it where they do. */
export interface PolicyInForce {
  readonly policy: Policy
  readonly citing: CitingForm | undefined
}

/** Most clauses that are read of an answer. */
const MOST_CITATIONS = 10
const MOST_ID_CHARS = 40
const LIKE_AN_ID = /^\s*[a-z]{0,12}\.?\d[\w.]{0,12}\s*$/i

/**
 * The form that the policy's clauses are cited in. A list that is missing or odd makes no answer unreadable, since the label counts
 * without it: it is read as far as it goes, and checked after.
 */
export function citingForm({ clauses }: Pick<Policy, 'clauses'>): CitingForm {
  const ids = clauses.filter(({ allows }) => !allows).map(({ id }) => id)
  const { $schema: _, ...shown } = z.toJSONSchema(z.array(z.object({ id: z.enum(ids), quote: z.string() })))
  const field = z.preprocess(citationsIn, z.any().meta(shown))
  return { field, again: z.object({ clauses: field }) }
}

const citation = z.object({ id: z.string(), quote: z.string().catch('') })

function citationsIn(value: unknown): Citation[] {
  const listed: unknown[] = Array.isArray(value) ? value.slice(0, MOST_CITATIONS) : [value]
  return listed.flatMap((one) => citation.safeParse(typeof one === 'string' ? { id: one } : one).data ?? [])
}

/** Who cited, in words, what they said, and the question that asks them once more, told what is wrong. */
export interface CitedAnswer {
  readonly who: string
  readonly answer: CitingAnswer
  again(wrong: readonly string[]): Ask<Citations>
}

interface CitedRuling {
  readonly clauses: NonNullable<Ruling['clauses']>
  readonly wrong: readonly string[]
}

interface CheckedCitations extends CitedRuling {
  /** What is wrong, for the verdict: it outlives its post, whose words an id may be. */
  readonly noted: readonly string[]
}

/**
 * The clauses that these answers cite, each clause and quotation once. Whoever cites a clause that there is none of, words that are
 * not in the post, or nothing, is asked once more; what is still wrong then is left out, and named in `wrong`.
 */
export function* citedIn(policy: Policy, post: Post, answers: readonly CitedAnswer[]): SubScript<CitedRuling> {
  const texts = quotable(post)
  const first = answers.map((one) => ({ ...one, ...checkCitations(policy, texts, one.answer.clauses ?? []) }))
  const doubtful = first.filter(({ wrong }) => wrong.length > 0)
  const replies: readonly AnswerOrFailure<Citations>[] = yield* round(doubtful.map(({ again, wrong }) => again(wrong)))
  const second = doubtful.map(({ who, clauses, noted }, at) => {
    const reply = replies[at]
    if (reply?.ok !== true)
      return { clauses, wrong: [`${who} cites ${noted.join('; ')}${reply === undefined ? '' : `; ${failure(reply)}`}`] }
    const again = checkCitations(policy, texts, reply.answer.clauses)
    return {
      clauses: again.clauses.length > 0 ? again.clauses : clauses,
      wrong: again.noted.map((what) => `${who} cites ${what}`),
    }
  })
  const right = first.filter(({ wrong }) => wrong.length === 0)
  const all = [...right, ...second].flatMap(({ clauses }) => clauses)
  const clauses = [...new Map(all.map((one) => [JSON.stringify([one.id, one.quote]), one])).values()]
  return { clauses, wrong: second.flatMap(({ wrong }) => wrong) }
}

/** The words of a post that can be quoted: its author's. What a model says of a picture is not theirs. */
function quotable(post: Post): string[] {
  const { text, media = [] } = withClips(post)
  return [text, ...media.flatMap(({ alt }) => alt ?? [])].flatMap((one) => [one, neutralized(one)])
}

/** The citations that hold, and what is wrong with the others. */
export function checkCitations(
  { clauses }: Pick<Policy, 'clauses'>,
  texts: readonly string[],
  citations: readonly Citation[],
): CheckedCitations {
  if (citations.length === 0) return { clauses: [], wrong: ['no clause'], noted: ['no clause'] }
  const wrong: string[] = []
  const noted: string[] = []
  const note = (what: string, why: string, plain = what) => {
    wrong.push(`${what}${why}`)
    noted.push(`${plain}${why}`)
  }
  const cited = citations.flatMap(({ id, quote }) => {
    const clause = clauses.find((one) => one.id === id.trim())
    if (clause === undefined || clause.allows) {
      const shown = JSON.stringify(neutralized(id).slice(0, MOST_ID_CHARS))
      const plain = LIKE_AN_ID.test(id) ? shown : 'an id'
      note(shown, `, which ${clause === undefined ? 'is no clause of the policy' : 'forbids nothing'}`, plain)
      return []
    }
    const words = quote.length > MAX_QUOTE_CHARS ? quote : quote.replace(MARKS, '')
    if (words === '') return [{ id: clause.id }]
    const found = foundIn(texts, words)
    if (found !== null) return [{ id: clause.id, quote: found }]
    note(clause.id, ' with words that are not in the post')
    return [{ id: clause.id }]
  })
  return { clauses: cited, wrong, noted }
}

/** Most ids that a refusal names. */
const MOST_NAMED = 40

const UNCHECKED = 'quotations of the post, which is no longer here, are left out: they could not be checked'

/** A policy as people cite it, with this label alone. */
export function citable(policy: Policy, label: string): CitablePolicy {
  const clauses = policy.clauses.flatMap(({ id, title, allows }) => (allows ? [] : [{ id, title }]))
  const named = clauses.slice(0, MOST_NAMED).map(({ id }) => id)
  return {
    named: nameOf(policy),
    clauses,
    cite(cited, by, post) {
      if (by !== label) return { refused: `the label ${label} alone cites clauses` }
      const citations = cited.map(({ id, quote = '' }) => ({ id, quote }))
      const kept = post === null ? citations.map((one) => ({ ...one, quote: '' })) : citations
      const { clauses: checked, noted } = checkCitations(policy, post === null ? [] : quotable(post), kept)
      if (noted.length > 0) return { refused: `${noted.join('; ')}; ${policy.name} has ${named.join(', ')}` }
      const unchecked = kept.some(({ quote }, at) => quote !== citations[at]?.quote)
      return {
        policy: nameOf(policy),
        clauses: checked,
        ...(unchecked ? { degraded: [UNCHECKED], faults: ['evidence'] } : {}),
      }
    },
  }
}

/** The policy in force as the opening of questions has it, by the prompt `policy`; nothing where there is none. */
export function policyIn(prompts: Prompts, inForce: PolicyInForce | null): ChatMessage[] {
  if (inForce === null) return []
  const cite = inForce.citing === undefined ? '' : 'yes'
  return prompts.get('policy').render({ policy: renderPolicy(inForce.policy), cite })
}

/** The conversation so far, and what does not hold of what is cited in it, by the prompt `cite`. */
export function askedAgain(
  prompts: Prompts,
  inForce: PolicyInForce | null,
  of: { readonly question: Ask; readonly answer: CitingAnswer; readonly wrong: readonly string[] },
): Pick<Ask<Citations>, 'messages' | 'answer'> {
  if (inForce?.citing === undefined) throw new Error('a question that cites nothing')
  const said: ChatMessage = { role: 'assistant', content: JSON.stringify(of.answer) }
  const messages = [...of.question.messages, said, ...prompts.get('cite').render({ wrong: of.wrong.join('; ') })]
  return { messages, answer: inForce.citing.again }
}

/** What models put around words that they quote. */
const MARKS = /^[\s"“”„«»…]+|[\s"“”„«».…]+$/g

/** The words as they stand in a text, however wide its spaces and whichever its quotation marks and capitals; null where in none. */
function foundIn(texts: readonly string[], words: string): string | null {
  if (words.length > MAX_QUOTE_CHARS || !/[\p{L}\p{N}\p{So}]/u.test(words)) return null
  const parts = words.split(/\s+/).map((part) =>
    part
      .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
      .replace(/['’‘`´]/g, "['’‘`´]")
      .replace(/["“”„«»]/g, '["“”„«»]'),
  )
  const pattern = new RegExp(parts.join('\\s+'), 'iu')
  for (const text of texts) {
    const [found] = pattern.exec(text) ?? []
    if (found !== undefined) return found
  }
  return null
}
