import { z } from 'zod'
import type { OpenAiSettings } from './model.ts'

/** The programs with which one runs models oneself; each is recognized by the form in which it lists a model's context. */
export type LocalServerProgram = 'vLLM' | 'llama.cpp' | 'Ollama' | 'LM Studio'

/** How many tokens a question and its answer have room in, and the program that serves it, if that can be recognized. */
export interface ContextLength {
  readonly tokens: number
  readonly server: LocalServerProgram | null
}

/** A model of an endpoint's list, and its entry there. */
export interface ListedModel {
  readonly id: string
  /** The date on which it is switched off. */
  readonly shutdown: string | null
  readonly context: ContextLength | null
}

type At = Pick<OpenAiSettings, 'baseUrl' | 'apiKey' | 'headers' | 'query'>

const WAIT_MS = 10_000
const MAX_CHARS = 4 * 2 ** 20
const MAX_MODELS = 10_000

const tokens = z.int().min(1).nullish().catch(null)

const listed = z.object({
  id: z.string(),
  shutdown_date: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}/)
    .nullish()
    .catch(null),
  // Of vLLM, llama.cpp, OpenRouter and Groq.
  max_model_len: tokens,
  meta: z.object({ n_ctx: tokens }).nullish().catch(null),
  context_length: tokens,
  context_window: tokens,
})

const list = z.object({ data: z.array(listed).max(MAX_MODELS) })

/** The models that an endpoint lists (`GET /models`); none where it has no list that can be read. */
export async function listedModels(at: At, signal: AbortSignal): Promise<ListedModel[]> {
  const read = list.safeParse(await got(at, new URL(`${at.baseUrl.replace(/\/+$/, '')}/models`), signal))
  if (!read.success) return []
  return read.data.data.map((one) => ({ id: one.id, shutdown: one.shutdown_date ?? null, context: contextIn(one) }))
}

function contextIn({ max_model_len, meta, context_length, context_window }: z.infer<typeof listed>) {
  if (max_model_len != null) return { tokens: max_model_len, server: 'vLLM' } as const
  if (meta?.n_ctx != null) return { tokens: meta.n_ctx, server: 'llama.cpp' } as const
  const other = context_length ?? context_window
  return other == null ? null : { tokens: other, server: null }
}

/** What Ollama and LM Studio say beside OpenAI's interface of the models that they have loaded. */
const LOADED = [
  {
    server: 'Ollama',
    path: '/api/ps',
    said: z
      .object({ models: z.array(z.object({ name: z.string(), context_length: tokens })).max(MAX_MODELS) })
      .transform(({ models }) => models.map(({ name, context_length: length }) => ({ id: name, length }))),
  },
  {
    server: 'LM Studio',
    path: '/api/v0/models',
    said: z
      .object({ data: z.array(z.object({ id: z.string(), loaded_context_length: tokens })).max(MAX_MODELS) })
      .transform(({ data }) => data.map(({ id, loaded_context_length: length }) => ({ id, length }))),
  },
] as const

/** The context of a model that was just asked, at a server of one's own whose list of models does not say it. */
export async function loadedContext(at: At, model: string, signal: AbortSignal): Promise<ContextLength | null> {
  for (const { server, path, said } of LOADED) {
    const read = said.safeParse(await got(at, new URL(path, at.baseUrl), signal).catch(() => undefined))
    const found = read.data?.find(({ id }) => id === model || id === `${model}:latest`)
    if (found?.length != null) return { tokens: found.length, server }
  }
  return null
}

/** What stands there as JSON; undefined where nothing does that can be read. */
async function got({ apiKey, headers = {}, query = {} }: At, url: URL, signal: AbortSignal): Promise<unknown> {
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const response = await fetch(url, {
    headers: { ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]),
  })
  const chunks: string[] = []
  let length = 0
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const text = decoder.decode(chunk, { stream: true })
    length += text.length
    if (length > MAX_CHARS) return undefined
    chunks.push(text)
  }
  return response.ok ? JSON.parse(chunks.join('')) : undefined
}
