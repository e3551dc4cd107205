import { fill } from '../json-schema.ts'
import type { ReceivedQuestion } from '../question.ts'
import type { ServerDialect } from './dialect.ts'

type Written = {
  readonly text: string
  readonly question: ReceivedQuestion
  /** Tokens of thought that there was room for, and that there would have been. */
  readonly thought: number
  readonly wanted: number
}

/** A message with answer and thoughts where the dialect puts them. */
export function messageIn(dialect: ServerDialect, written: Written): Readonly<Record<string, unknown>> {
  const { text, question } = written
  const said = { role: 'assistant', refusal: null }
  const thoughts = thoughtsOf(dialect, written)
  if (dialect.answer === 'tool-call') {
    const call = { name: question.stage ?? 'answer', arguments: text }
    return { ...said, content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
  }
  const body = `${thoughts.before}${text}`
  const parts = [...thoughts.parts, { type: 'text', text }]
  const content = dialect.answer === 'parts' || thoughts.parts.length > 0 ? parts : body
  return { ...said, content, ...thoughts.fields }
}

type Thoughts = {
  /** Fields of the message, parts of its content, and text before the answer. */
  readonly fields: Readonly<Record<string, string>>
  readonly parts: readonly unknown[]
  readonly before: string
}

function thoughtsOf({ thinking }: ServerDialect, { question, thought, wanted }: Written): Thoughts {
  const none = { fields: {}, parts: [], before: '' }
  if (thinking === null || thought === 0) return none
  const text = thoughtOf(question)
  const isCut = thought < wanted
  const tagged = (start: string, end: string) => ({
    ...none,
    before: isCut ? start + text : `${start}${text}${end}\n\n`,
  })
  switch (thinking.where) {
    case 'hidden':
      return none
    case 'reasoning':
    case 'reasoning_content':
      return { ...none, fields: { [thinking.where]: text } }
    case 'parts':
      return { ...none, parts: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }
    case '<think>':
      return tagged('<think>\n', '\n</think>')
    case '[THINK]':
      return tagged('[THINK]', '[/THINK]')
    case '◁think▷':
      return tagged('◁think▷', '◁/think▷')
    case '</think>':
      return tagged('', '\n</think>')
  }
}

/** What it thinks: it considers another answer, in the form asked for, and drops it. */
function thoughtOf({ schema }: ReceivedQuestion): string {
  const other = schema === undefined ? 'nothing' : JSON.stringify(fill(schema, { seed: 77 }))
  return `At first sight I would say ${other}\nBut no: the words must be counted.`
}

const PIECES = /\d+|[^\d]+/g

/** Each number is a token, and what stands between numbers; all of them certain. */
export function logProbabilities(text: string) {
  const content = [...text.matchAll(PIECES)].map(([token]) => {
    const certain = { token, logprob: 0, bytes: null }
    return { ...certain, top_logprobs: [certain] }
  })
  return { content, refusal: null }
}
