import type { Settings } from '../../config/schema.ts'
import { dialectOf, type EndpointsSettings, modelsOfEndpoints } from '../adapters/openai/endpoints.ts'
import type { Lesson } from '../adapters/openai/learning.ts'
import type { Dialect } from '../domain/dialect.ts'
import { entryOf } from '../domain/entry-of.ts'
import { DEFAULT_ENDPOINT, namesOf, placeOf } from '../domain/model-name.ts'
import type { EndpointNames } from '../domain/remedies.ts'
import type { Model } from '../ports/model.ts'

/** The models of the settings' endpoints. `learnt` is told once of each thing that a model's refusals have shown. */
export function modelOf(settings: Settings, learnt: (lesson: Lesson) => void = () => {}): Model {
  return modelsOfEndpoints(endpointsOf(settings), { learnt })
}

/** What a model is told to take, by its name in the settings. */
export function dialectsOf(settings: Settings): (model: string) => Dialect {
  const endpoints = endpointsOf(settings)
  const known = new Map<string, Dialect>()
  return (model) => {
    const dialect = known.get(model) ?? dialectOf(model, endpoints)
    known.set(model, dialect)
    return dialect
  }
}

/** The URL of a model's endpoint, and how its settings are called. */
export function endpointOf(settings: Settings, model: string): EndpointNames & { readonly baseUrl: string } {
  const { endpoint } = placeOf(model, settings.endpoints)
  const { baseUrl } = entryOf(settings.endpoints, endpoint) ?? settings.openai
  return { baseUrl, ...namesOf(endpoint) }
}

/** All models that some role may ask, each once. */
export function modelsInUse({ models }: Settings): string[] {
  return [...new Set(Object.values(models.roles).flat())]
}

/** Those of them that nobody can ask: they are the default endpoint's, which has no key. */
export function modelsWithoutKey(settings: Settings): string[] {
  if (settings.openai.apiKey !== '') return []
  return modelsInUse(settings).filter((model) => placeOf(model, settings.endpoints).endpoint === DEFAULT_ENDPOINT)
}

function endpointsOf({ openai, endpoints, models }: Settings): EndpointsSettings {
  return { openai, endpoints, dialects: models.dialects }
}
