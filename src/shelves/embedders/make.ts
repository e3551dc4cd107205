import { entryOf } from '../../contracts/facts/entry-of.ts'
import { placeOf } from '../../contracts/facts/model-name.ts'
import type { Embedder } from '../../contracts/ports/library.ts'
import { type EndpointEmbedderOptions, endpointEmbedder } from './endpoint.ts'
import { localEmbedder } from './local.ts'

/** The embedder that the settings name: `local`, or a model of an endpoint, which may call it otherwise. */
export function makeEmbedder(
  named: string,
  endpoint: Omit<EndpointEmbedderOptions, 'model' | 'name'>,
  model = named,
): Embedder {
  return named === 'local' ? localEmbedder() : endpointEmbedder({ ...endpoint, model, name: named })
}

type Endpoint = Omit<EndpointEmbedderOptions, 'model' | 'name' | 'prefixes'>

/** As in the settings. */
export interface EmbedderSettings {
  readonly library: {
    readonly embedder: string
    readonly embedderPrefixes: NonNullable<EndpointEmbedderOptions['prefixes']>
  }
  readonly openai: Endpoint
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

/** The embedder that the settings name, at its own endpoint if they say so. */
export function embedderOf({ library, openai, endpoints }: EmbedderSettings): Embedder {
  const { endpoint, model } = placeOf(library.embedder, endpoints)
  const at = entryOf(endpoints, endpoint) ?? openai
  return makeEmbedder(library.embedder, { ...at, prefixes: library.embedderPrefixes }, model)
}
