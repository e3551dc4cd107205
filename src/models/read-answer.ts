import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Ask } from '../contracts/facts/ask.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ModelReply, NumberProbabilities } from '../contracts/ports/model.ts'
import { fitted, type ReadingResult, unreadable } from './reading/fit.ts'
import { type Form, formOf, hasKeys, isForm } from './reading/form.ts'
import { isObject } from './reading/loose-json.ts'
import { hasKey, labelledLines, unwrapped } from './reading/other-forms.ts'
import { decoded, objectsIn, wholeArray, withoutThoughts } from './reading/text.ts'

/** A reply as read: an answer, or the code of what it is instead. */
export type ReplyReading<Answer> =
  | { readonly readable: true; readonly answer: Answer }
  | {
      readonly readable: false
      readonly code: 'refused' | 'content-filter' | 'unreadable'
      readonly why: string
    }

/**
 * Reads a reply. Only a refusal that the endpoint reports counts as one; a refusal in prose is unreadable like any other
 * prose.
 */
export function readReply<Answer>(
  { text, finish, decided }: Pick<ModelReply, 'text' | 'finish' | 'decided'>,
  schema: z.ZodType<Answer>,
): ReplyReading<Answer> {
  if (finish === 'refusal') return { readable: false, code: 'refused', why: 'the model refused' }
  if (finish === 'content-filter')
    return { readable: false, code: 'content-filter', why: "the endpoint's filter stopped it" }
  if (decided !== undefined && 'unreadable' in decided)
    return { readable: false, code: 'unreadable', why: decided.unreadable }
  const cut = finish === 'length'
  const reading = readAnswer(text ?? '', schema, { cut })
  if (reading.readable) return reading
  return { readable: false, code: 'unreadable', why: `${reading.why}${cut ? ', cut at the token limit' : ''}` }
}

/** Reads the reply to an ask: of a decision model what follows from its probabilities, where the ask says so. */
export function replyTo<Answer>(
  { answer, fromDecided }: Pick<Ask<Answer>, 'answer' | 'fromDecided'>,
  reply: Pick<ModelReply, 'text' | 'finish' | 'decided'>,
): ReplyReading<Answer> {
  const { decided } = reply
  if (decided === undefined || 'unreadable' in decided || fromDecided === undefined) return readReply(reply, answer)
  return { readable: true, answer: fromDecided('each' in decided ? decided.each : [decided.probabilities]) }
}

/**
 * Finds the answer in what a model wrote: the one JSON object in it that fits the schema, else lines `Key: value` that
 * name each of its keys once. Around it may be prose, code fences, a wrapper (`{"response": {…}}`) and, at the beginning,
 * thoughts in tags. `why` quotes no word of the text. Takes linear time and never throws.
 *
 * It reads only what can mean one thing, and fills nothing in:
 * - keys by their letters (`key_cues` is `keyCues`), or by a name that means the same (`reason`, `rationale`);
 * - a choice by its letters (`Non hate.` is `non-hate`), where exactly one choice has them;
 * - a number in a string, `0,8` as 0.8, and full-width digits; `4/5` as 4 where the scale ends at 5; a share (`80%`,
 *   `8/10`) on a scale from 0 to 1 only. A number beyond the scale was meant on another scale, and is never clamped here.
 *
 * Models quote, and not every model escapes what it quotes: a comment that holds `","answer":"Real"}` may end the answer
 * that quotes it. So it is not accepted if anything else in the text looks like an answer: another object that fits and
 * differs, before or after it; an object with some of the keys; a broken object; a key outside all objects, or a line with
 * a deciding one. The answer's format, repeated with `...` or `"Fake" or "Real"`, is none of these. A text that was cut at the
 * token limit must end in its answer.
 */
export function readAnswer<Answer>(
  text: string,
  schema: z.ZodType<Answer>,
  { cut = false }: { cut?: boolean } = {},
): ReadingResult<Answer> {
  const form = formOf(schema)
  const said = decoded(withoutThoughts(text))
  const list = form.list === undefined ? undefined : wholeArray(said)
  if (list !== undefined && form.list !== undefined) {
    const read = fitted({ [form.list]: list }, form, schema)
    if (read.readable) return read
  }

  const { objects, outside, why } = objectsIn(said)
  if (why !== undefined) return unreadable(why)
  if (objects.length > 0 && outside.some((prose) => hasKey(prose, form))) return unreadable('pieces of another answer')
  if (cut && objects.length > 0 && !/^[\s`~]*$/.test(outside.at(-1) ?? ''))
    return unreadable('more text after the last object')
  const read = theOneIn(objects, form, schema)
  if (read !== undefined) return read
  if (objects.length > 0) return unreadable('no object with the keys asked for')
  const lines = cut ? undefined : labelledLines(said, form)
  return lines === undefined ? unreadable('no JSON object') : fitted(lines, form, schema)
}

/** The one answer that all objects with a key of the form agree on; undefined if there are no such objects. */
function theOneIn<Answer>(
  objects: readonly unknown[],
  form: Form,
  schema: z.ZodType<Answer>,
): ReadingResult<Answer> | undefined {
  let found: Extract<ReadingResult<Answer>, { readable: true }> | undefined
  for (const object of objects) {
    const layers = [object, ...unwrapped(object)].filter((layer) => isObject(layer) && hasKeys(layer, form))
    const readings = layers.map((layer) => fitted(layer, form, schema))
    const read = readings.find(({ readable }) => readable) ?? readings.at(-1)
    if (read === undefined || (!read.readable && isForm(object, form))) continue
    if (!read.readable) return read
    if (found === undefined) found = read
    else if (!isDeepStrictEqual(found.answer, read.answer)) return unreadable('several answers that differ')
  }
  return found
}

/**
 * The answer with `expected`, the mean of the numbers that the model might have given on the scale, by their probabilities (G-Eval,
 * equation 1): Σ p·n ÷ Σ p. Unchanged where the ask does not want it, or the endpoint gave no probabilities of it.
 */
export function withExpected<Answer>(
  { expected: wanted }: Pick<Ask, 'expected'>,
  answer: Answer,
  probabilities: NumberProbabilities | undefined,
): Answer {
  if (wanted === undefined || probabilities === undefined) return answer
  const { field, lowest, highest } = wanted
  const onScale = (entryOf(probabilities, field) ?? []).filter(([number]) => number >= lowest && number <= highest)
  const mass = onScale.reduce((sum, [, probability]) => sum + probability, 0)
  if (!(mass > 0)) return answer
  const mean = onScale.reduce((sum, [number, probability]) => sum + number * probability, 0) / mass
  return { ...answer, expected: mean }
}

/** Less than this in all, and the model would have answered something else. */
const LEAST_MASS = 0.5

/**
 * The answer with `probabilities`, how likely each of its options was, and the wire that they came on. Of a chat model, what the text
 * might have begun with counts for the one option that begins so, and the sum over options is 1. Unchanged where the ask does not want
 * it, or the endpoint gave no such probabilities.
 */
export function withOptions<Answer>(
  { decision: wanted, fromDecided }: Pick<Ask, 'decision' | 'fromDecided'>,
  answer: Answer,
  { decided, beginnings }: Pick<ModelReply, 'decided' | 'beginnings'>,
): Answer {
  if (fromDecided !== undefined) return answer
  if (wanted !== undefined && decided !== undefined) return { ...answer, ...decided }
  if (wanted === undefined || beginnings === undefined) return answer
  const options = wanted.options.map(({ value }) => value)
  const masses = new Map(options.map((option) => [option, 0]))
  for (const [beginning, probability] of entryOf(beginnings, wanted.field) ?? []) {
    const [text = '', ...end] = beginning.toLowerCase().split('"')
    const fits = options.filter((option) =>
      end.length > 0 ? option.toLowerCase() === text : text !== '' && option.toLowerCase().startsWith(text),
    )
    const [option] = fits
    if (option !== undefined && fits.length === 1) masses.set(option, (masses.get(option) ?? 0) + probability)
  }
  const all = [...masses.values()].reduce((sum, mass) => sum + mass, 0)
  if (!(all >= LEAST_MASS)) return answer
  const probabilities = Object.fromEntries([...masses].map(([option, mass]) => [option, mass / all]))
  return { ...answer, probabilities, wire: 'chat' }
}
