import type { Embedder } from '../../ports/library.ts'
import { type EndpointEmbedderOptions, endpointEmbedder } from './endpoint.ts'
import { localEmbedder } from './local.ts'

/** The embedder that the settings name: `local`, or a model of the endpoint. */
export function makeEmbedder(named: string, endpoint: Omit<EndpointEmbedderOptions, 'model'>): Embedder {
  return named === 'local' ? localEmbedder() : endpointEmbedder({ ...endpoint, model: named })
}
