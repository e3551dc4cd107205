import type { Embedder } from '../../ports/library.ts'
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
