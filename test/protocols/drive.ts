import { type AnswerOrFailure, type Ask, keptAnswer } from '../../src/contracts/facts/ask.ts'
import type { Fence, ListItem } from '../../src/contracts/facts/fence.ts'
import { type SamplingRank, samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { ChatMessage } from '../../src/contracts/facts/verdict.ts'
import type { Conclusion, Script } from '../../src/judging/engine/script.ts'

/** One ask as it was yielded: its round and its place in it, both from 0. */
export interface Asked {
  readonly round: number
  readonly order: number
  readonly ask: Ask
}

/** A reply of another model than {@link MODEL}. */
export class By {
  readonly model: string
  readonly reply: unknown
  constructor(model: string, reply: unknown) {
    this.model = model
    this.reply = reply
  }
}

/** Who answers, where a reply doesn't say. */
export const MODEL = 'the model'

/** A reply that is a failure and no answer. */
export class Failed {
  readonly code: string
  readonly detail: string
  constructor(code = 'unreadable', detail = 'no JSON object') {
    this.code = code
    this.detail = detail
  }
}

/** Replies in the order of the asks, or what says the reply to each; answers must fit the schema that the ask names. */
export type Replies = readonly unknown[] | ((asked: Asked) => unknown)

/**
 * Runs a script to its end. With a list, the script must take exactly as many replies as there are: an ask too many or
 * one too few is an error.
 */
export function drive(script: Script, replies: Replies): { asked: Asked[]; conclusion: Conclusion } {
  const asked: Asked[] = []
  let step = script.next()
  for (let round = 0; !step.done; round++) {
    const answers = step.value.map((ask, order): AnswerOrFailure<unknown> => {
      const one = { round, order, ask }
      asked.push(one)
      return answered(one, replyTo(one, replies, asked.length - 1))
    })
    step = script.next(answers)
  }
  if (typeof replies !== 'function' && replies.length !== asked.length)
    throw new Error(`${replies.length} replies for ${asked.length} asks: ${calls(asked).join(', ')}`)
  return { asked, conclusion: step.value }
}

function replyTo(asked: Asked, replies: Replies, index: number): unknown {
  if (typeof replies === 'function') return replies(asked)
  if (index >= replies.length) throw new Error(`no reply left for ${line(asked)}`)
  return replies[index]
}

function answered({ ask }: Asked, reply: unknown): AnswerOrFailure<unknown> {
  if (reply instanceof Failed) return { ok: false, code: reply.code, detail: reply.detail }
  const [model, said] = reply instanceof By ? [reply.model, reply.reply] : [MODEL, reply]
  return { ok: true, answer: keptAnswer(ask).parse(said), model }
}

/** `ROUND.ORDER stage role (part)` of every ask, in order. */
export function calls(asked: readonly Asked[]): string[] {
  return asked.map(line)
}

function line({ round, order, ask }: Asked): string {
  const part = ask.label === undefined ? '' : ` (${ask.label})`
  return `${round}.${order} ${ask.stage} ${ask.role}${part}`
}

/** By protocol, settings under which every debate is held and to its end, and nothing else, for tests of debates themselves. */
export const EVERY_DEBATE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  rumor: { debateWhen: 'always', controlShare: 0, endsAtEcho: false },
  hate: { debateWhen: 'always', controlShare: 0, opens: 'non-hate', exits: false, endsAtEcho: false, cites: false },
  safety: { debateWhen: 'always', controlShare: 0, brief: 'always', cites: false },
}

/** Draws under a key of the tests' own. */
export const plainRank: SamplingRank = samplingRanks('tests')

/** A line of a list as {@link plainFence} has it: its texts like blocks, with the number that the line begins with. */
function plainLine([first = '', ...rest]: ListItem): string {
  const [, number, more = ''] =
    typeof first === 'string' ? (/^(\d+)(?:: )?(.*)$/s.exec(first) ?? ['', undefined, first]) : []
  const shown = (part: ListItem[number], at?: string) =>
    typeof part === 'string' ? part : `<${at === undefined ? part.kind : `${part.kind} ${at}`}|${part.text}>`
  return `${more.trimStart()}${rest.map((part, nth) => shown(part, nth === 0 ? number : undefined)).join('')}`
}

/** A fence that can be read in an expectation: `<claim|text>`, `<comment 2|text>`; of a list each line so. */
export const plainFence: Fence = Object.assign(
  (kind: string, text: string, item?: number) => `<${item === undefined ? kind : `${kind} ${item}`}|${text}>`,
  {
    list: (_: string, items: readonly ListItem[]) => items.map(plainLine).join('\n'),
    unread: () => 0,
    most: () => Number.POSITIVE_INFINITY,
    paper: (): Fence => plainFence,
  },
)

/** A prompt's text with its sections decided and its places filled: read here by other means than the code's. */
export function filled(text: string, places: Readonly<Record<string, string>>): string {
  const decide = (_: string, kind: string, place: string, inner: string): string =>
    ((places[place] ?? '') !== '') === (kind === '#') ? filledSections(inner) : ''
  const filledSections = (body: string): string =>
    body
      .replace(/^\{\{([#^])(\w+)\}\}\n([\s\S]*?)^\{\{\/\2\}\}\n?/gm, decide)
      .replace(/\{\{([#^])(\w+)\}\}([\s\S]*?)\{\{\/\2\}\}/g, decide)
  const body = filledSections(text).trim()
  return Object.entries(places).reduce((so, [place, value]) => so.replaceAll(`{{${place}}}`, () => value), body)
}

/** Everything that is said in an ask, in one string. */
export function wordsOf(messages: readonly ChatMessage[]): string {
  return messages.map(({ content }) => content).join('\n')
}
