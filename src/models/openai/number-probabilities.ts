import { z } from 'zod'
import { firstOf } from '../../contracts/facts/first-of.ts'
import type { BeginningProbabilities, NumberProbabilities } from '../../contracts/ports/model.ts'

const token = z.object({ token: z.string(), logprob: z.number() })

/** Tokens of an answer, twice the most that one is asked for, and likeliest others of one, four times what is asked for. */
const MOST = { tokens: 8_192, others: 80 }

/** Log probabilities as the endpoint gives them, token by token, with the likeliest others; null where it gives none. */
export const logprobs = z
  .object({
    content: firstOf(MOST.tokens, token.extend({ top_logprobs: firstOf(MOST.others, token).catch([]) })).nullish(),
  })
  .nullish()
  .catch(null)

const WHOLE_NUMBER = /^\s*(\d{1,6})\s*$/
/** The end of a JSON text whose next value is that of a key. */
const AT_VALUE = /"([^"\\]{1,64})"\s*:\s*$/
/** What a number's token must be followed by: otherwise it was only the beginning of one. */
const GOES_ON = /^[\d.eE]/
/** As much of what was written before is looked at. */
const TAIL_CHARS = 100

/**
 * By key the probabilities of the whole numbers that the model might have written as its value, where that was one token. Of a key
 * that occurs several times, the last.
 */
export function numberProbabilities(read: z.infer<typeof logprobs>): NumberProbabilities | undefined {
  const tokens = read?.content ?? []
  const found = new Map<string, (readonly [number: number, probability: number])[]>()
  let tail = ''
  for (const [at, { token: written, logprob, top_logprobs: others }] of tokens.entries()) {
    const key = AT_VALUE.exec(tail)?.[1]
    tail = (tail + written).slice(-TAIL_CHARS)
    if (key === undefined || !WHOLE_NUMBER.test(written) || GOES_ON.test(tokens[at + 1]?.token ?? '')) continue
    const likeliest = others.some((other) => other.token === written)
      ? others
      : [{ token: written, logprob }, ...others]
    found.set(
      key,
      likeliest.flatMap((one) => {
        const number = WHOLE_NUMBER.exec(one.token)?.[1]
        return number === undefined ? [] : [[Number(number), Math.exp(one.logprob)] as const]
      }),
    )
  }
  return found.size === 0 ? undefined : Object.fromEntries(found)
}

/** The end of a JSON text within whose next value, a text, nothing is written yet. */
const IN_TEXT = /"([^"\\]{1,64})"\s*:\s*"$/
const OPENS_TEXT = /^\s*"/

/** By key what the model might have begun a text with, where that is its value. Of a key that occurs several times, the last. */
export function beginningProbabilities(read: z.infer<typeof logprobs>): BeginningProbabilities | undefined {
  const found = new Map<string, (readonly [beginning: string, probability: number])[]>()
  let tail = ''
  for (const { token: written, logprob, top_logprobs: others } of read?.content ?? []) {
    const within = IN_TEXT.exec(tail)?.[1]
    const before = within === undefined ? AT_VALUE.exec(tail)?.[1] : undefined
    tail = (tail + written).slice(-TAIL_CHARS)
    const key = within ?? before
    // A quote by itself begins no text.
    if (key === undefined || written.trim() === (within === undefined ? '"' : '')) continue
    const likeliest = others.some((other) => other.token === written)
      ? others
      : [{ token: written, logprob }, ...others]
    found.set(
      key,
      likeliest.flatMap((one) => {
        if (within === undefined && !OPENS_TEXT.test(one.token)) return []
        const beginning = within === undefined ? one.token.replace(OPENS_TEXT, '') : one.token
        return beginning === '' ? [] : [[beginning, Math.exp(one.logprob)] as const]
      }),
    )
  }
  return found.size === 0 ? undefined : Object.fromEntries(found)
}
