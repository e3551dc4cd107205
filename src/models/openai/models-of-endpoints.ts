import type { Dialect, DialectPart } from '../../contracts/facts/dialect.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { EndpointNames, ModelPlace } from '../../contracts/facts/model-name.ts'
import { DEFAULT_ENDPOINT, namesOf, placeOf } from '../../contracts/facts/model-name.ts'
import type { Model } from '../../contracts/ports/model.ts'
import { DIALECTS, PLAIN } from './dialects.ts'
import { type DialectParts, modelServer, type OpenAiSettings, openAiModels } from './model.ts'

/** The part of the settings that names all endpoints and models' dialects. */
export interface AllEndpointSettings {
  /** The default endpoint. */
  readonly openai: OpenAiSettings
  /** The others, by name. */
  readonly endpoints: Readonly<Record<string, OpenAiSettings>>
  readonly models: {
    /** By patterns of models' names. */
    readonly dialects: Readonly<Record<string, DialectPart>>
  }
}

/**
 * The models of all endpoints, each asked at its own, by its name there. `learnt` gets once each thing that a model's
 * refusals have shown.
 */
export function modelsOfEndpoints(
  settings: AllEndpointSettings,
  { learnt, now }: Pick<DialectParts, 'learnt' | 'now'> = {},
): Model {
  const servers = new Map(
    [[DEFAULT_ENDPOINT, settings.openai] as const, ...Object.entries(settings.endpoints)].map(([name, endpoint]) => [
      name,
      modelServer(endpoint),
    ]),
  )
  return openAiModels({
    learnt,
    now,
    told: dialectLookup(settings),
    placeOf: ofEach((name) => {
      const { endpoint, model } = placeOf(name, settings.endpoints)
      const server = servers.get(endpoint)
      if (server === undefined) throw new Error('a place without an endpoint')
      return { server, name: model }
    }),
  })
}

/** What the settings say of each model, found once: models are as few as the settings name. */
function ofEach<Said>(find: (model: string) => Said): (model: string) => Said {
  const known = new Map<string, Said>()
  return (model) => {
    const said = known.get(model) ?? find(model)
    known.set(model, said)
    return said
  }
}

/** The URL of a model's endpoint, and how its settings are called. */
export function endpointOf(
  { openai, endpoints }: Pick<AllEndpointSettings, 'openai' | 'endpoints'>,
  model: string,
): EndpointNames & { readonly baseUrl: string } {
  const { endpoint } = placeOf(model, endpoints)
  const { baseUrl } = entryOf(endpoints, endpoint) ?? openai
  return { baseUrl, ...namesOf(endpoint) }
}

/** Looks up the dialect of each model, by its name in the settings. */
export function dialectLookup(settings: AllEndpointSettings): (model: string) => Dialect {
  return ofEach((model) => dialectOf(model, settings))
}

/** Looks up the scales that a model does not keep to: as the settings say, else as it was met. */
export function withoutScalesLookup(
  settings: AllEndpointSettings,
  met: (place: string) => DialectPart | undefined,
): (model: string) => readonly string[] {
  const told = ofEach((model) => ({
    place: placeNameOf(model, settings),
    here: dialectOf(model, settings).withoutScales,
    isSet: partsFor(placeOf(model, settings.endpoints), settings.models.dialects).some(
      ({ withoutScales }) => withoutScales !== undefined,
    ),
  }))
  return (model) => {
    const { place, here, isSet } = told(model)
    return isSet ? here : (met(place)?.withoutScales ?? here)
  }
}

/** Under which name things are kept of a model that hold for its server: host, path, and its name there. */
export function placeNameOf(name: string, settings: Pick<AllEndpointSettings, 'openai' | 'endpoints'>): string {
  const { baseUrl } = endpointOf(settings, name)
  // Neither user nor password.
  const { host, pathname } = URL.canParse(baseUrl) ? new URL(baseUrl) : { host: '', pathname: baseUrl }
  return `${host}${pathname} ${placeOf(name, settings.endpoints).model}`
}

/** The dialect of a model, by its name in the settings. */
export function dialectOf(name: string, settings: AllEndpointSettings): Dialect {
  const { endpoint, model } = placeOf(name, settings.endpoints)
  const { baseUrl, answerFormat } = entryOf(settings.endpoints, endpoint) ?? settings.openai
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return knownDialect({ model, endpoint, host, form: answerFormat }, settings.models.dialects)
}

/** Weaker ways to ask for an answer's form come later. */
const FORMS = ['json_schema', 'json_object', 'text'] as const

/** A model's dialect: by the shipped rows, then by the settings' patterns, in their order. */
function knownDialect(
  at: {
    /** The model's name at its endpoint. */
    readonly model: string
    readonly endpoint: string
    readonly host: string
    /** The strongest form that the endpoint understands. */
    readonly form: Dialect['form']
  },
  settings: Readonly<Record<string, DialectPart>>,
): Dialect {
  const known = DIALECTS.filter(
    ({ host = '*', model = '*' }) => fits(host, at.host) && ownNames(at.model).some((one) => fits(model, one)),
  ).map(({ takes }) => takes)
  const dialect: Dialect = Object.assign({}, PLAIN, ...known, ...partsFor(at, settings))
  return { ...dialect, form: FORMS[Math.max(FORMS.indexOf(dialect.form), FORMS.indexOf(at.form))] ?? 'text' }
}

/** What the settings say of a model, in their order. */
function partsFor({ endpoint, model }: ModelPlace, settings: Readonly<Record<string, DialectPart>>): DialectPart[] {
  return Object.entries(settings).flatMap(([pattern, takes]) =>
    [`${endpoint}/${model}`, ...ownNames(model)].some((one) => fits(pattern, one)) ? [takes] : [],
  )
}

/** A model's name, and what stands behind its maker's: `openai/gpt-5-mini` is `gpt-5-mini`. */
function ownNames(model: string): string[] {
  const short = model.slice(model.lastIndexOf('/') + 1)
  return short === model ? [model] : [model, short]
}

const patterns = new Map<string, RegExp>()

/** Whether a name has the form of a pattern, in which `*` stands for any characters; without regard to case. */
function fits(pattern: string, name: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(`^${pattern.split('*').map(literally).join('.*')}$`, 'i')
  patterns.set(pattern, known)
  return known.test(name)
}

function literally(text: string): string {
  return text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
}
