import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { isBlank } from '../contracts/facts/blank.ts'
import { pauses } from '../platform/pauses.ts'
import { jsonOf } from './body.ts'
import { noScore } from './no-score.ts'
import { headersOf, PROBLEMS, RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json, type Operation, type Schema } from './route.ts'
import { CATEGORIES, type Category } from './scoring/attributes.ts'
import { SCORING_VERSION, type TextScorer } from './scoring/score-text.ts'
import { unknownIn } from './unknown-fields.ts'

/** Most texts of one request, and the longest, in bytes. */
const [MOST_TEXTS, MOST_BYTES] = [32, 100_000]
/** Most images of one input. */
const MOST_IMAGES = 4

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
])
const request = z.object({
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(part).min(1)]),
  model: z.string().nullish(),
})

export interface ModerationParts {
  readonly scorer: TextScorer
  /** From which score on a category is flagged. */
  readonly flagAt: number
  /** What the prompts are, for the version in an answer. */
  readonly promptsHash: string
}

/** `POST /v1/moderations`, as OpenAI documents it. */
export function moderationsRoute({ scorer, flagAt, promptsHash }: ModerationParts): DoorRoute {
  const version = `gavel-${SCORING_VERSION}-${createHash('sha256').update(promptsHash).digest('hex').slice(0, 8)}`
  return {
    method: 'POST',
    path: '/v1/moderations',
    scope: 'judge',
    takesBody: true,
    operation: OPERATION,
    needs: { dependency: 'redis', withinMs: scorer.withinMs },
    problems: [
      'invalid',
      'image',
      'refused-content',
      'model-unreadable',
      'model-away',
      'budget',
      'limit',
      'back-pressure',
      'store-away',
    ],
    refuse,
    answer: (call) => call.unpacked(() => moderated(call)),
  }

  async function moderated(call: DoorCall): Promise<Response> {
    const { caller, gone, closing, waiting } = call
    const inputs = await call.reading(() => charged(call))
    const whose = { tenant: caller.tenant, part: caller.id, remember: true, gone: gone(), signal: closing }
    const imagePaths = inputs.flatMap(({ imagePaths = [] }) => imagePaths)
    const asked = inputs.map((input) => scorer.categories({ ...input, ...whose }))
    const scored = await waiting(Promise.all(asked)).catch((error: unknown) => noScore(error, imagePaths))
    const results = scored.map(({ scores }, nth) => {
      const { text = '', images } = inputs[nth] ?? {}
      const types = [...(text === '' ? [] : ['text']), ...(images === undefined ? [] : ['image'])]
      const of = <Value>(value: (name: Category) => Value) =>
        Object.fromEntries((Object.keys(CATEGORIES) as Category[]).map((name) => [name, value(name)]))
      const score = (name: Category) => scores[CATEGORIES[name]] / 100
      const categories = of((name) => score(name) >= flagAt)
      return {
        flagged: Object.values(categories).includes(true),
        categories,
        category_scores: of(score),
        category_applied_input_types: of(() => types),
      }
    })
    return json(200, {
      id: `modr-${randomBytes(12).toString('hex')}`,
      model: `${version}/${scored[0]?.model}`,
      results,
    })
  }

  /** What is to be scored, in the pieces for which the key is charged. */
  async function charged({ body, charge }: DoorCall): Promise<(Input & { readonly pieces: readonly string[] })[]> {
    const inputs: (Input & { readonly pieces: readonly string[] })[] = []
    const pause = pauses()
    let [calls, shown] = [0, 0]
    for (const input of inputsIn(body)) {
      const pieces = scorer.pieces(input.text)
      inputs.push({ ...input, pieces })
      calls += pieces.length
      shown += input.images?.length ?? 0
      await pause(Buffer.byteLength(input.text))
    }
    charge({ calls, images: shown })
    return inputs
  }
}

interface Input {
  readonly text: string
  readonly images?: readonly string[]
  /** Where in the request each of them is. */
  readonly imagePaths?: readonly string[]
}

function inputsIn(body: Buffer): Input[] {
  const given = jsonOf(body)
  const [unknown] = typeof given === 'object' && given !== null ? unknownIn(given, Object.keys(request.shape)) : []
  // As OpenAI: a field that nobody reads may be a wish.
  if (unknown !== undefined) throw new RequestRefused('invalid', `Unrecognized request argument supplied: ${unknown}`)
  const read = request.safeParse(given)
  if (!read.success)
    throw new RequestRefused(
      'invalid',
      "'input' is a string, a list of strings, or a list of parts of the types text and image_url, with no other fields",
    )
  const { input } = read.data
  const inputs = typeof input === 'string' ? [{ text: input }] : listed(input)
  if (inputs.length > MOST_TEXTS) throw new RequestRefused('invalid', `'input' has more than ${MOST_TEXTS} texts`)
  for (const { text, images = [], imagePaths = [] } of inputs) {
    if (isBlank(text) && images.length === 0) throw new RequestRefused('invalid', "'input' has an empty text")
    if (Buffer.byteLength(text) > MOST_BYTES) throw new RequestRefused('too-large', "'input' has too long a text")
    if (images.length > MOST_IMAGES) throw new RequestRefused('invalid', `'input' has more than ${MOST_IMAGES} images`)
    const path = imagePaths[images.findIndex((url) => !/^(?:https:\/\/|data:image\/)/i.test(url))]
    const message = 'an image needs an https or a data address'
    if (path !== undefined) throw new RequestRefused('image', `${path}: ${message}`, { errors: [{ path, message }] })
  }
  return inputs.map(({ text, ...more }) => ({ text: text.toWellFormed(), ...more }))
}

/** Strings are an input each; parts are one together. */
function listed(input: readonly (string | z.infer<typeof part>)[]): Input[] {
  const texts = input.filter((one) => typeof one === 'string')
  if (texts.length > 0) return texts.map((text) => ({ text }))
  const parts = input.filter((one) => typeof one !== 'string')
  const images = parts.flatMap((one) => (one.type === 'image_url' ? [one.image_url.url] : []))
  const imagePaths = parts.flatMap(({ type }, at) => (type === 'image_url' ? [`input[${at}]`] : []))
  const text = parts.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n')
  return [images.length === 0 ? { text } : { text, images, imagePaths }]
}

/** Refusals in the form of OpenAI's errors. */
function refuse(refused: RequestRefused, id: string): Response {
  const { status } = PROBLEMS[refused.problem]
  const type =
    status === 401
      ? 'authentication_error'
      : status === 429
        ? 'rate_limit_error'
        : status < 500
          ? 'invalid_request_error'
          : 'server_error'
  const error = { message: refused.message, type, param: refused.more.errors?.[0]?.path ?? null, code: refused.problem }
  return json(status, { error }, { 'x-request-id': id, ...headersOf(refused) })
}

const PART: Schema = {
  oneOf: [
    {
      type: 'object',
      required: ['type', 'text'],
      properties: { type: { const: 'text' }, text: { type: 'string' } },
    },
    {
      type: 'object',
      required: ['type', 'image_url'],
      properties: {
        type: { const: 'image_url' },
        image_url: {
          type: 'object',
          required: ['url'],
          properties: { url: { type: 'string', description: 'An https address that is public, or a data address.' } },
        },
      },
    },
  ],
}

const OPERATION: Operation = {
  operationId: 'moderate',
  summary: "OpenAI's moderations: categories of texts and images",
  request: {
    schema: {
      type: 'object',
      required: ['input'],
      properties: {
        input: {
          description: `A text; a list of at most ${MOST_TEXTS}; or parts, with at most ${MOST_IMAGES} images, as one input.`,
          anyOf: [
            { type: 'string' },
            { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_TEXTS },
            { type: 'array', items: PART, minItems: 1 },
          ],
        },
        model: { type: ['string', 'null'], description: 'Not read: the settings choose the model.' },
      },
    },
    example: { input: 'What a stupid idea.' },
  },
  response: {
    status: 200,
    description: 'A result for each text; one for all parts together.',
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
