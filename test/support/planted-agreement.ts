import type { Model, ModelRequest } from '../../src/contracts/ports/model.ts'
import { textIn } from './evaluating.ts'
import { drawn, labelIn } from './planted-debate.ts'

/**
 * The model, but that hate's perspectives agree on this share of texts, by a hash of each. On the others the perspective that is asked
 * first says otherwise.
 */
export function agreeingOn(share: number, inner: Model): Model {
  const asked = new Set<string>()
  return {
    async complete(request) {
      const reply = await inner.complete(request)
      if (request.answer.name !== 'perspective') return reply
      const text = judgedIn(request)
      const isHate = drawn(text, 'side') < 0.5
      const isOdd = () => {
        const first = !asked.has(text)
        asked.add(text)
        return first && drawn(text, 'agreement') >= share
      }
      const given = JSON.parse(reply.text ?? '{}')
      return { ...reply, text: JSON.stringify(labelled(given, request.answer.schema, () => isOdd() !== isHate)) }
    },
  }
}

/** The answer of one perspective, or of several by their numbers, with the labels that are planted. */
function labelled(given: Record<string, unknown>, form: unknown, isHate: () => boolean): Record<string, unknown> {
  const { properties } = form as { properties: Readonly<Record<string, unknown>> }
  if ('label' in properties) {
    const hateful = isHate()
    // Whoever cites no clause for hate is asked once more.
    const clauses = 'clauses' in properties && { clauses: hateful ? [{ id: 'H1', quote: '' }] : [] }
    return { ...given, label: labelIn(form, hateful), ...clauses }
  }
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [
      name,
      labelled(given[name] as Record<string, unknown>, one, isHate),
    ]),
  )
}

/** The text that a question is about. */
function judgedIn(request: ModelRequest): string {
  const [, text] = /<<text:[^>]*>>\n([\s\S]*?)\n<<end:/.exec(textIn(request)) ?? []
  if (text === undefined) throw new Error(`a question about no text: ${textIn(request)}`)
  return text
}
