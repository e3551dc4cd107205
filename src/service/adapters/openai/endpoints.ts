import type { Dialect, DialectPart } from '../../domain/dialect.ts'
import { entryOf } from '../../domain/entry-of.ts'
import { DEFAULT_ENDPOINT, placeOf } from '../../domain/model-name.ts'
import type { Model } from '../../ports/model.ts'
import { toldDialect } from './dialect-of.ts'
import { type DialectParts, type OpenAiSettings, openAiModel } from './model.ts'

/** All endpoints, and what the settings say of models' dialects. */
export interface EndpointsSettings {
  /** The default endpoint. */
  readonly openai: OpenAiSettings
  /** The others, by name. */
  readonly endpoints: Readonly<Record<string, OpenAiSettings>>
  /** By patterns of models' names. */
  readonly dialects: Readonly<Record<string, DialectPart>>
}

/** The models of all endpoints, each asked at its own, by its name there. */
export function modelsOfEndpoints(
  settings: EndpointsSettings,
  { learnt, now }: Pick<DialectParts, 'learnt' | 'now'> = {},
): Model {
  const parts = {
    told: (name: string) => dialectOf(name, settings),
    nameOf: (name: string) => placeOf(name, settings.endpoints).model,
    ...(learnt === undefined ? {} : { learnt }),
    ...(now === undefined ? {} : { now }),
  }
  const models = new Map(
    [[DEFAULT_ENDPOINT, settings.openai] as const, ...Object.entries(settings.endpoints)].map(([name, endpoint]) => [
      name,
      openAiModel(endpoint, parts),
    ]),
  )
  return {
    complete(request) {
      const model = models.get(placeOf(request.model, settings.endpoints).endpoint)
      if (model === undefined) throw new Error('a place without an endpoint')
      return model.complete(request)
    },
  }
}

/** What a model is told to take, by its name in the settings. */
export function dialectOf(name: string, settings: EndpointsSettings): Dialect {
  const { endpoint, model } = placeOf(name, settings.endpoints)
  const { baseUrl, answerFormat } = entryOf(settings.endpoints, endpoint) ?? settings.openai
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return toldDialect({ model, endpoint, host, form: answerFormat }, settings.dialects)
}
