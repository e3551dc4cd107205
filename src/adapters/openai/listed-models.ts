import { z } from 'zod'
import type { OpenAiSettings } from './model.ts'

/** A model of an endpoint's list, and the date on which it is switched off, if the list says so. */
export interface ListedModel {
  readonly id: string
  readonly shutdown: string | null
}

const WAIT_MS = 10_000
const MAX_CHARS = 4 * 2 ** 20
const MAX_MODELS = 10_000

const list = z.object({
  data: z
    .array(
      z.object({
        id: z.string(),
        shutdown_date: z
          .string()
          .regex(/^\d{4}-\d{2}-\d{2}/)
          .nullish()
          .catch(null),
      }),
    )
    .max(MAX_MODELS),
})

/** The models that an endpoint lists (`GET /models`); none where it has no list that can be read. */
export async function listedModels(settings: OpenAiSettings, signal: AbortSignal): Promise<ListedModel[]> {
  const { baseUrl, apiKey, headers = {}, query = {} } = settings
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/models`)
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
    if (length > MAX_CHARS) return []
    chunks.push(text)
  }
  if (!response.ok) return []
  const read = list.safeParse(JSON.parse(chunks.join('')))
  return read.success ? read.data.data.map(({ id, shutdown_date: shutdown = null }) => ({ id, shutdown })) : []
}
