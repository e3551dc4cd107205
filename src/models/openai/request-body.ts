import { hash } from 'node:crypto'
import type OpenAI from 'openai'
import type { Dialect } from '../../contracts/facts/dialect.ts'
import type { ChatMessage, Remark } from '../../contracts/facts/verdict.ts'
import type { ModelRequest } from '../../contracts/ports/model.ts'

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming

/** A request in a model's dialect, and what of the question the dialect has no words for. */
export function requestBody(
  request: ModelRequest,
  model: string,
  dialect: Dialect,
): { readonly body: Body; readonly remarks: readonly Remark[]; readonly most: number } {
  const { maxTokens, thinkingTokens = 0 } = request
  const { effort } = dialect
  const most = Math.min(maxTokens + thinkingTokens, dialect.mostTokens ?? Number.POSITIVE_INFINITY)
  const heat = temperatureOf(request, dialect)
  const logprobs = request.probabilities === true && hasLogprobs(dialect)
  const body: Body = {
    model,
    messages: messagesOf(request, dialect),
    ...(heat === undefined ? {} : { temperature: heat }),
    [dialect.maxTokens]: most,
    ...responseFormat(request, dialect),
    // The interface grows faster than its types.
    ...(effort === null ? {} : { reasoning_effort: effort as NonNullable<Body['reasoning_effort']> }),
    ...(request.tier === undefined || !dialect.tiers ? {} : { service_tier: request.tier }),
    ...cacheFields(request, dialect),
    ...(logprobs ? { logprobs: true, top_logprobs: dialect.logprobs } : {}),
  }
  return {
    body,
    most,
    remarks: [
      ...(heat === request.temperature ? [] : (['temperature'] as const)),
      ...(request.probabilities === true && !logprobs ? (['log-probabilities'] as const) : []),
      ...(request.tier !== undefined && !dialect.tiers ? (['tier'] as const) : []),
    ],
  }
}

/** The temperature that is sent; undefined for none. */
function temperatureOf({ temperature }: ModelRequest, dialect: Dialect): number | undefined {
  if (!isTaken(dialect.temperature, dialect)) return undefined
  return Math.min(temperature, dialect.highestTemperature)
}

function hasLogprobs(dialect: Dialect): boolean {
  return dialect.logprobs > 0 && isTaken(dialect.logprobsWhen, dialect)
}

function isTaken(when: Dialect['temperature'], { effort }: Dialect): boolean {
  return when === 'always' || (when === 'without-effort' && effort === 'none')
}

/** The messages in the roles that the model knows. Of instructions that have no role, the user's first message holds them first. */
function messagesOf(request: ModelRequest, dialect: Dialect): Body['messages'] {
  const { messages } = request
  const { system, form } = dialect
  const instructions = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  const rest = messages.filter(({ role }) => role !== 'system')
  const first = rest.findIndex(({ role }) => role === 'user')
  const folded =
    system !== 'user' || instructions.length === 0
      ? messages
      : rest.map((message, at) =>
          at === first ? { ...message, content: [...instructions, message.content].join('\n\n') } : message,
        )
  const marks = breakpointsOf(request, dialect)
  return withJson(folded, form).map((message, at) => messageOf(message, dialect, marks.get(at)))
}

/** By message, up to which of its characters the prompt is worth keeping. Messages that are folded into one have no such place. */
function breakpointsOf({ breakpoints = [] }: ModelRequest, dialect: Dialect): ReadonlyMap<number, number> {
  if (dialect.breakpoints === null || dialect.system === 'user') return new Map()
  return new Map(breakpoints.map(({ message, characters }) => [message, characters]))
}

/** A server that keeps only what it is asked to keep; all calls of one conversation go to the machine that kept it. */
function cacheFields(request: ModelRequest, dialect: Dialect): object {
  if (dialect.breakpoints !== 'prompt_cache_breakpoint') return {}
  const options = { prompt_cache_options: { mode: 'explicit' } }
  const marks = breakpointsOf(request, dialect)
  if (marks.size === 0) return options
  const first = request.messages.findIndex(({ role }) => role === 'user')
  const begin = request.messages
    .slice(0, first + 1)
    .map(({ content }, at) => (at === first ? content.slice(0, marks.get(at)) : content))
  return { ...options, prompt_cache_key: hash('sha256', JSON.stringify(begin), 'base64url').slice(0, KEY_CHARS) }
}

/** Length of a cache key: enough that no two conversations have the same. */
const KEY_CHARS = 22

/** `json_object` is refused unless a message has the word. */
function withJson(messages: readonly ChatMessage[], form: Dialect['form']): readonly ChatMessage[] {
  if (form !== 'json_object' || messages.some(({ content }) => /json/i.test(content))) return messages
  const last = messages.findLastIndex(({ role }) => role === 'user')
  return messages.map((message, at) =>
    at === last ? { ...message, content: `${message.content}\n\nAnswer as JSON.` } : message,
  )
}

/** Plain text stays a string, which every compatible server accepts; with images or a breakpoint it becomes a list of parts. */
function messageOf(
  { role, content, images = [] }: ChatMessage,
  { system, breakpoints }: Dialect,
  mark: number | undefined,
): OpenAI.Chat.Completions.ChatCompletionMessageParam {
  if (role === 'system') return { role: system === 'developer' ? 'developer' : 'system', content }
  if (role !== 'user' || (images.length === 0 && mark === undefined)) return { role, content }
  const text = (words: string) => (words === '' ? [] : [{ type: 'text' as const, text: words }])
  const kept = text(content.slice(0, mark ?? 0)).map((part) => ({ ...part, ...KEPT[breakpoints ?? 'cache_control'] }))
  const shown = images.map((url) => ({ type: 'image_url' as const, image_url: { url } }))
  return { role, content: [...kept, ...text(content.slice(mark ?? 0)), ...shown] }
}

/** What a part has that ends what is worth keeping. */
const KEPT = {
  prompt_cache_breakpoint: { prompt_cache_breakpoint: { mode: 'explicit' as const } },
  cache_control: { cache_control: { type: 'ephemeral' as const } },
}

/**
 * What every answer's schema is called: name and schema are the beginning of a prompt to caches, and asks of several stages that
 * have one form, as a debate's have, find each other's.
 */
export const FORM_NAME = 'answer'

function responseFormat({ answer }: ModelRequest, { form, withoutKeywords }: Dialect): Partial<Body> {
  switch (form) {
    case 'json_schema': {
      const schema = without(withoutKeywords, answer.schema) as Record<string, unknown>
      return { response_format: { type: 'json_schema', json_schema: { name: FORM_NAME, schema, strict: true } } }
    }
    case 'json_object':
      return { response_format: { type: 'json_object' } }
    case 'text':
      return {}
  }
}

/** A schema without some keywords; names of properties are none. */
function without(keywords: readonly string[], schema: unknown): unknown {
  if (keywords.length === 0) return schema
  const clean = (value: unknown, { areNames }: { readonly areNames: boolean }): unknown => {
    if (Array.isArray(value)) return value.map((one) => clean(one, { areNames: false }))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) =>
        !areNames && keywords.includes(key)
          ? []
          : [[key, clean(inner, { areNames: !areNames && (key === 'properties' || key === '$defs') })]],
      ),
    )
  }
  return clean(schema, { areNames: false })
}
