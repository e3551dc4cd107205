import { entryOf } from './entry-of.ts'
import type { OutageReason } from './errors.ts'

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

/** How the settings of an endpoint are called. */
export interface EndpointNames {
  /** Its base URL. */
  readonly url: string
  readonly key: string
}

/** Begins the message of an error that a server, or who is behind it, sends as if it were an answer, with a status of success. */
export const ERROR_FOR_ANSWER = 'an error in place of an answer'

/** What to do about a model that can't be asked; `setting` is the one that names it, and `why` the error of the call. */
export function remedyFor(
  reason: OutageReason,
  { url, key }: EndpointNames,
  { setting = 'models.roles', why = '' }: { setting?: string | undefined; why?: string } = {},
): string {
  switch (reason) {
    case 'quota':
      return `Add credit to the account, raise its limit, or name another model in ${setting}.`
    case 'key':
      return `Check ${key}, and that it belongs to ${url}.`
    case 'permission':
      return `Check what the key may do, or name another model in ${setting}.`
    case 'model':
      return `Check ${url} (most end in /v1), and name a model of this endpoint in ${setting}.`
    case 'unreachable':
      if (why.includes(ERROR_FOR_ANSWER))
        return `The server at ${url} is reached, and it or the provider behind it fails: its log says why. If it goes on, name another model in ${setting}.`
      return `Check ${url}, and that the server runs.`
  }
}
