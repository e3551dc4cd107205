import { z } from 'zod'
import { hash } from './hash.ts'
import { isSchema, type LooseSchema, resolved } from './json-schema.ts'

/** Faults in which no proper response arrives, or a late one. */
const TRANSPORT = ['429', '500', '503', 'timeout', 'reset', 'html', 'slow'] as const
/** Faults in the answer's text; they do not befall embeddings. */
const CONTENT = [
  'empty',
  'truncated',
  'fenced',
  'chatty',
  'refusal',
  'content-filter',
  'out-of-range',
  'string-number',
] as const

/** Everything the understudy can do wrong. */
export const FAULTS = [...TRANSPORT, ...CONTENT] as const

/** What its operator would have to mend: no fault of a call, so it comes only where it is named. */
export const REFUSALS = ['quota', 'key', 'no-model'] as const

export type UnderstudyFault = (typeof FAULTS)[number] | (typeof REFUSALS)[number]

const faults = z.strictObject({
  /** Share of the calls that go wrong. */
  rate: z.number().min(0).max(1),
  /** What goes wrong, each kind as often; every kind of fault when none is named. */
  kinds: z.array(z.enum([...FAULTS, ...REFUSALS])).default([]),
  /** Only calls to these models go wrong; all calls when none is named. */
  models: z.array(z.string()).default([]),
  /** The Retry-After header of a 429. */
  retryAfterSeconds: z.int().min(0).max(3600).default(1),
})

/** How the understudy behaves; each field may be changed by itself while it runs. */
export const behaviour = z.strictObject({
  /** Time from a question's arrival to its answer; the faults that are errors come at once. */
  latencyMs: z.number().min(0).max(600_000).default(0),
  faults: faults.default({ rate: 0, kinds: [], models: [], retryAfterSeconds: 1 }),
  /** Decides, with a call's sequence number, whether and how it goes wrong. */
  seed: z.int().default(1),
})

/** A change of behaviour: what it leaves out stays. */
export const behaviourChange = z.strictObject({
  latencyMs: behaviour.shape.latencyMs.unwrap().optional(),
  faults: faults.optional(),
  seed: z.int().optional(),
})

export type Behaviour = z.infer<typeof behaviour>
export type BehaviourChange = z.input<typeof behaviourChange>

/** The fault that befalls a call, decided by its model, the seed and its sequence number alone. */
export function faultOf(
  { faults: { rate, kinds, models }, seed }: Behaviour,
  seq: number,
  { content, model }: { readonly content: boolean; readonly model: string },
): UnderstudyFault | null {
  if (models.length > 0 && !models.includes(model)) return null
  const chosen: readonly UnderstudyFault[] = kinds.length > 0 ? kinds : FAULTS
  const possible = content ? chosen : chosen.filter((kind) => !CONTENT.some((name) => name === kind))
  const strikes = hash(`strike ${seq}`, seed) / 2 ** 32 < rate
  return (strikes && possible[hash(`kind ${seq}`, seed) % possible.length]) || null
}

/** A choice of a Chat Completions response: the message, and why it ended. */
type Choice = {
  readonly message: { readonly role: 'assistant'; readonly content: string | null; readonly refusal: string | null }
  readonly finish_reason: 'stop' | 'length' | 'content_filter'
}

/** The choice that carries an answer, spoilt by the fault that befell the call, if one did. */
export function choiceOf(content: string, fault: UnderstudyFault | null, schema: LooseSchema | undefined): Choice {
  switch (fault) {
    case 'empty':
      return choice('')
    case 'truncated':
      return choice(content.slice(0, Math.ceil(content.length / 2)), 'length')
    case 'fenced':
      return choice(`\`\`\`json\n${content}\n\`\`\``)
    case 'chatty':
      return choice(`Certainly! I have read it all, {with care}:\n\n${content}\n\nDo ask if anything is unclear.`)
    case 'refusal':
      return {
        message: { role: 'assistant', content: null, refusal: 'I can’t help with that.' },
        finish_reason: 'stop',
      }
    case 'content-filter':
      return choice(null, 'content_filter')
    case 'out-of-range':
      return choice(reworked(content, schema, (value) => (typeof value === 'number' ? 7 : 'Perhaps')))
    case 'string-number':
      return choice(reworked(content, schema, (value) => (typeof value === 'number' ? String(value) : value)))
    default:
      return choice(content)
  }
}

function choice(content: string | null, finish_reason: Choice['finish_reason'] = 'stop'): Choice {
  return { message: { role: 'assistant', content, refusal: null }, finish_reason }
}

/** The answer with every number but an item's own, and every enumerated word, put through `change`. */
function reworked(content: string, schema: LooseSchema | undefined, change: (value: unknown) => unknown): string {
  if (!schema) return content
  return JSON.stringify(walked(JSON.parse(content), resolved(schema, schema), schema, change))
}

function walked(value: unknown, schema: LooseSchema, root: LooseSchema, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => walked(item, resolved(schema.items, root), root, change))
  if (isSchema(value)) {
    const properties = isSchema(schema.properties) ? schema.properties : {}
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        name === 'comment' ? inner : walked(inner, resolved(properties[name], root), root, change),
      ]),
    )
  }
  return typeof value === 'number' || Array.isArray(schema.enum) ? change(value) : value
}
