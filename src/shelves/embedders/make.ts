import { entryOf } from '../../contracts/facts/entry-of.ts'
import { placeOf } from '../../contracts/facts/model-name.ts'
import type { Embedder } from '../../contracts/ports/library.ts'
import type { ServerSettings } from '../../models/openai/endpoint.ts'
import { type EndpointEmbedderOptions, endpointEmbedder } from './endpoint.ts'
import { localEmbedder } from './local.ts'

/** The embedder that the settings name: `local`, or a model of an endpoint, which may call it otherwise. */
export function makeEmbedder(
  named: string,
  server: ServerSettings,
  own: Partial<Pick<EndpointEmbedderOptions, 'model' | 'prefixes'>> = {},
): Embedder {
  return named === 'local' ? localEmbedder() : endpointEmbedder({ model: named, ...own, server, name: named })
}

/** As in the settings. */
export interface EmbedderSettings {
  readonly library: {
    readonly embedder: string
    readonly embedderPrefixes: NonNullable<EndpointEmbedderOptions['prefixes']>
  }
  readonly openai: ServerSettings
  readonly endpoints: Readonly<Record<string, ServerSettings>>
}

/** The embedder that the settings name, at its own endpoint if they say so. */
export function embedderOf({ library, openai, endpoints }: EmbedderSettings): Embedder {
  const { endpoint, model } = placeOf(library.embedder, endpoints)
  const server = entryOf(endpoints, endpoint) ?? openai
  return makeEmbedder(library.embedder, server, { model, prefixes: library.embedderPrefixes })
}
