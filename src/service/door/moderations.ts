import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { CATEGORIES, type Category } from '../scoring/attributes.ts'
import { SCORING_VERSION, type Scorer } from '../scoring/score-text.ts'
import { jsonOf } from './body.ts'
import { noScore } from './perspective.ts'
import { headersOf, PROBLEMS, Refused } from './problem.ts'
import { json, type Operation, type Route } from './route.ts'

/** Most texts of one request, and the longest, in bytes. */
const [MOST_TEXTS, MOST_BYTES] = [32, 100_000]

const part = z.object({ type: z.string(), text: z.string().optional() })
const request = z.object({
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(part).min(1)]),
  model: z.string().nullish(),
})

export interface ModerationParts {
  readonly scorer: Scorer
  /** From which score on a category is flagged. */
  readonly flagAt: number
  /** What the prompts are, for the version in an answer. */
  readonly promptsHash: string
}

/** `POST /v1/moderations`, as OpenAI documents it, for texts. */
export function moderationsRoute({ scorer, flagAt, promptsHash }: ModerationParts): Route {
  const version = `gavel-${SCORING_VERSION}-${createHash('sha256').update(promptsHash).digest('hex').slice(0, 8)}`
  return {
    method: 'POST',
    path: '/v1/moderations',
    scope: 'judge',
    takesBody: true,
    operation: OPERATION,
    problems: ['invalid', 'refused-content', 'model-unreadable', 'model-away', 'budget'],
    refuse,
    async answer({ body, caller, charge, gone, closing, waiting }) {
      const texts = textsIn(body)
      charge(texts.length - 1)
      const whose = { tenant: caller.tenant, part: caller.id, remember: true, gone, signal: closing }
      const scored = await waiting(Promise.all(texts.map((text) => scorer.categories({ text, ...whose })))).catch(
        noScore,
      )
      const results = scored.map(({ scores }) => {
        const of = <Value>(value: (name: Category) => Value) =>
          Object.fromEntries((Object.keys(CATEGORIES) as Category[]).map((name) => [name, value(name)]))
        const score = (name: Category) => scores[CATEGORIES[name]] / 100
        const categories = of((name) => score(name) >= flagAt)
        return {
          flagged: Object.values(categories).includes(true),
          categories,
          category_scores: of(score),
          category_applied_input_types: of(() => ['text']),
        }
      })
      return json(200, {
        id: `modr-${randomBytes(12).toString('hex')}`,
        model: `${version}/${scored[0]?.model}`,
        results,
      })
    },
  }
}

function textsIn(body: Buffer): string[] {
  const read = request.safeParse(jsonOf(body))
  if (!read.success) throw new Refused('invalid', "'input' is a string, a list of strings, or a list of parts")
  const { input } = read.data
  const texts = typeof input === 'string' ? [input] : partsIn(input)
  if (texts.length > MOST_TEXTS) throw new Refused('invalid', `'input' has more than ${MOST_TEXTS} texts`)
  if (texts.some((text) => text.trim() === '')) throw new Refused('invalid', "'input' has an empty text")
  if (texts.some((text) => Buffer.byteLength(text) > MOST_BYTES))
    throw new Refused('too-large', "'input' has too long a text")
  return texts.map((text) => text.toWellFormed())
}

/** Parts are one input together; a part that can't be scored refuses it: nothing unseen is called harmless. */
function partsIn(input: readonly (string | z.infer<typeof part>)[]): string[] {
  const texts = input.filter((one) => typeof one === 'string')
  if (texts.length > 0) return texts
  const parts = input.flatMap((one) => (typeof one === 'string' ? [] : [one]))
  if (parts.some(({ type }) => type !== 'text'))
    throw new Refused(
      'invalid',
      'only parts of the type text are scored; images are judged by POST /v1/judge (protocol safety)',
    )
  return [parts.map(({ text = '' }) => text).join('\n')]
}

/** Refusals in the form of OpenAI's errors. */
function refuse(refused: Refused, id: string): Response {
  const { status } = PROBLEMS[refused.problem]
  const type =
    status === 401
      ? 'authentication_error'
      : status === 429
        ? 'rate_limit_error'
        : status < 500
          ? 'invalid_request_error'
          : 'server_error'
  const error = { message: refused.message, type, param: null, code: refused.problem }
  return json(status, { error }, { 'x-request-id': id, ...headersOf(refused) })
}

const OPERATION: Operation = {
  operationId: 'moderate',
  summary: "OpenAI's moderations: categories of texts",
  request: {
    schema: { type: 'object', required: ['input'], properties: { input: {}, model: { type: 'string' } } },
    example: { input: 'What a stupid idea.' },
  },
  response: {
    status: 200,
    description: 'A result for each text.',
    schema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        model: { type: 'string' },
        results: { type: 'array', items: { type: 'object' } },
      },
    },
  },
}
