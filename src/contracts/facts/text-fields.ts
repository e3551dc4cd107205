import { isBlank } from './blank.ts'

/** A path to words in a message: `title`, `poll.options[].title`. Brackets stand behind a list. */
export const TEXT_PATH = /^[\w$@-]{1,64}(?:\[\])?(?:\.[\w$@-]{1,64}(?:\[\])?){0,7}$/

/** Most texts that are taken of one message. */
const MOST_TEXTS = 1_000

/**
 * The message with the words at these paths in its text, each path's below the one before and in the order of the paths; `text` itself
 * comes where it is named, else first. They are taken out of their places. Unchanged where its text is none, or there are no words.
 */
export function withTextFields(message: unknown, paths: readonly string[]): unknown {
  if (!isObject(message) || message.deleted === true || 'subjectId' in message) return message
  const { text = null, ...rest } = message
  // What a reply says stands in its text: others read its messages, too, and know nothing of these fields.
  if (typeof text !== 'string' && (text !== null || 'hateSpeech' in message)) return message
  const left = { value: structuredClone(rest) as unknown }
  const ordered = paths.includes('text') ? paths : ['text', ...paths]
  const parts = ordered.map((path) => (path === 'text' ? (text ?? '') : taken(left, path).join('\n')))
  const words = parts.filter((part) => !isBlank(part))
  if (words.length === 0 || (words.length === 1 && words[0] === text)) return message
  return { ...(isObject(left.value) ? left.value : {}), text: words.join('\n\n') }
}

/** Takes the texts at a path out of what `holder` has, which loses what is empty then. */
function taken(holder: { value: unknown }, path: string): string[] {
  const texts: string[] = []
  const steps = path.split(/\.|(?=\[\])/)
  /** What is left of a value. */
  const take = (value: unknown, depth: number): unknown => {
    const step = steps[depth]
    if (step === undefined) {
      if (typeof value !== 'string' || texts.length === MOST_TEXTS) return value
      texts.push(value)
      return undefined
    }
    if (step === '[]') {
      if (!Array.isArray(value)) return value
      const kept = value.map((one) => take(one, depth + 1)).filter((one) => one !== undefined)
      return kept.length === 0 ? undefined : kept
    }
    if (!isObject(value) || !Object.hasOwn(value, step)) return value
    const { [step]: inner, ...others } = value
    const kept = take(inner, depth + 1)
    if (kept !== undefined) return { ...others, [step]: kept }
    return Object.keys(others).length === 0 && depth > 0 ? undefined : others
  }
  holder.value = take(holder.value, 0)
  return texts
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
