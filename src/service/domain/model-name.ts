import { entryOf } from './entry-of.ts'
import type { EndpointNames } from './remedies.ts'

/** The endpoint of models that name none: `openai` in the settings. */
export const DEFAULT_ENDPOINT = 'default'

/** Where a model of the settings is asked. */
export interface ModelPlace {
  readonly endpoint: string
  /** Its name there. */
  readonly model: string
}

/**
 * Reads `endpoint/model`: what stands before the first slash is an endpoint if one of this name is declared, or the default
 * one. Anything else is a model of the default endpoint, whose name may hold slashes.
 */
export function placeOf(name: string, declared: Readonly<Record<string, unknown>>): ModelPlace {
  const slash = name.indexOf('/')
  const before = name.slice(0, Math.max(0, slash))
  const model = name.slice(slash + 1)
  if (model !== '' && (before === DEFAULT_ENDPOINT || entryOf(declared, before) !== undefined))
    return { endpoint: before, model }
  return { endpoint: DEFAULT_ENDPOINT, model: name }
}

/** The one name of a model: without `default/`, unless what is left would be read as another endpoint's. */
export function canonicalName(name: string, declared: Readonly<Record<string, unknown>>): string {
  const { endpoint, model } = placeOf(name, declared)
  const isBare = endpoint === DEFAULT_ENDPOINT && placeOf(model, declared).endpoint === DEFAULT_ENDPOINT
  return isBare && !model.startsWith(`${DEFAULT_ENDPOINT}/`) ? model : name
}

/** How the settings of an endpoint are called. */
export function namesOf(endpoint: string): EndpointNames {
  if (endpoint === DEFAULT_ENDPOINT) return { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' }
  return { url: `endpoints.${endpoint}.baseUrl`, key: `endpoints.${endpoint}.apiKey` }
}
