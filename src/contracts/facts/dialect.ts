import { z } from 'zod'
import { DECISION_WIRES } from './ask.ts'

/** Words of a JSON Schema that only narrow a value down. A form without them is the same form: answers are checked by ours. */
export const NARROWING_KEYWORDS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minLength',
  'maxLength',
  'pattern',
  'format',
] as const

const tokens = z.int().min(0).max(1_000_000)

/** What a model's server takes of a question, and under which names. */
export const dialect = z.strictObject({
  /** The parameter for the longest answer. */
  maxTokens: z.enum(['max_tokens', 'max_completion_tokens']),
  /** Most tokens that may be asked for there; null: no limit is known. */
  mostTokens: tokens.min(1).nullable(),
  /** Whether a temperature may be sent: always, never, or only beside the effort `none`. */
  temperature: z.enum(['always', 'never', 'without-effort']),
  /** The highest temperature that is taken; a higher one is sent as this. */
  highestTemperature: z.number().min(0).max(2),
  /** What is sent as `reasoning_effort`; null: nothing is. */
  effort: z
    .string()
    .regex(/^[a-z]{1,20}$/)
    .nullable(),
  /** The role in which instructions are given; `user`: they stand at the beginning of the user's first message. */
  system: z.enum(['system', 'developer', 'user']),
  /** How an answer's form is asked for, beside the prompt. */
  form: z.enum(['json_schema', 'json_object', 'text']),
  /** Keywords that a schema may not have. */
  withoutKeywords: z.array(z.enum(NARROWING_KEYWORDS)),
  /** Scales that the model does not keep to: where an answer has a score on one of them, it is not asked. `0 to 1`. */
  withoutScales: z.array(z.string().regex(/^-?\d{1,4} to -?\d{1,4}$/)),
  /** Whether the model looks at images. */
  images: z.boolean(),
  /** How many likeliest tokens it tells beside each of the answer; 0: it gives no log-probabilities. */
  logprobs: z.int().min(0).max(20),
  /** Whether log-probabilities may be asked for: as for `temperature`. */
  logprobsWhen: z.enum(['always', 'without-effort']),
  /** Tokens that are set aside for the model's thoughts, beside the longest answer. */
  thinkingTokens: tokens,
  /** Whether a tier may be asked for. */
  tiers: z.boolean(),
  /**
   * How a request marks the end of the part of a prompt that is worth caching: by OpenAI's `prompt_cache_breakpoint`, with nothing else kept, or by
   * Anthropic's `cache_control`; null: it marks none.
   */
  breakpoints: z.enum(['prompt_cache_breakpoint', 'cache_control']).nullable(),
  /** How it is asked for a decision: over an interface for decision models, or in a chat; `auto`: over the first that it answers on. */
  decisions: z.enum(['auto', ...DECISION_WIRES]),
})
export type Dialect = z.infer<typeof dialect>

/** The part of a dialect that a row or a setting states. */
export const dialectPart = dialect.partial()
export type DialectPart = z.infer<typeof dialectPart>

/** What of a question a server may refuse, apart from what it asks. A closed list: these are values of a metric label. */
export const DIALECT_TRAITS = [
  'max-tokens',
  'temperature',
  'effort',
  'role',
  'form',
  'logprobs',
  'tier',
  'breakpoints',
  'images',
  'decisions',
] as const
export type DialectTrait = (typeof DIALECT_TRAITS)[number]
