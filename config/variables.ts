import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { settingsSchema } from './schema.ts'
import { get, leaves, readYaml, type Tree } from './tree.ts'

/** Variables whose names others chose; every other setting is `GAVEL_` and its path. */
const GIVEN_NAMES = new Map([
  ['kafka.brokers', 'KAFKA_BROKERS'],
  ['redis.url', 'REDIS_URL'],
  ['openai.apiKey', 'OPENAI_API_KEY'],
  ['openai.baseUrl', 'OPENAI_BASE_URL'],
  ['traces.endpoint', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
])

/** A setting that a variable sets. */
export interface Variable {
  readonly path: readonly string[]
  /** The text as the kind of value that the setting is; what does not fit is left as it is, for the check to name. */
  read(text: string): unknown
}

/** The part of a JSON Schema that describes a variable's text. */
interface Kind {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly items?: Kind
  readonly anyOf?: readonly Kind[]
  readonly properties?: Readonly<Record<string, Kind>>
  readonly default?: unknown
}

/** The settings of the schema, each with its kind: made once, for it takes as long as the rest of a loading. */
let ofSchema: readonly (readonly [readonly string[], Kind])[] | undefined

/**
 * Every setting by its variable: those of the schema, mappings of names as a whole, and of these what the shipped settings
 * hold one by one.
 */
export function variablesOf(defaults: Tree): ReadonlyMap<string, Variable> {
  const found = new Map<string, Variable>()
  for (const path of leaves(defaults)) {
    const value = get(defaults, path)
    found.set(variableOf(path), { path, read: (text) => fromText(text, kindOf(value)) })
  }
  ofSchema ??= settingsIn(z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }) as Kind, [])
  for (const [path, kind] of ofSchema) found.set(variableOf(path), { path, read: (text) => fromText(text, kind) })
  return found
}

function settingsIn(kind: Kind, path: readonly string[]): [readonly string[], Kind][] {
  if (kind.properties === undefined) return [[path, kind]]
  return Object.entries(kind.properties).flatMap(([key, inner]) => settingsIn(inner, [...path, key]))
}

/** `http.port` → `GAVEL_HTTP_PORT`, `clock.atEnd` → `GAVEL_CLOCK_AT_END`. */
export function variableOf(path: readonly string[]): string {
  const given = GIVEN_NAMES.get(path.join('.'))
  if (given !== undefined) return given
  const snake = path.map((part) => part.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/[^A-Za-z0-9]/g, '_'))
  return `GAVEL_${snake.join('_').toUpperCase()}`
}

/** Of a value in a mapping of names, whose schema is not to be seen. */
function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return { type: 'array', items: kindOf(value[0] ?? '') }
  return typeof value === 'object' ? {} : { type: typeof value }
}

function fromText(text: string, kind: Kind): unknown {
  const kinds = (kind.anyOf ?? [kind]).filter(({ type }) => type !== 'null')
  if (kinds.length < (kind.anyOf?.length ?? 1) && text.trim() === 'null') return null
  const [only] = kinds
  if (only === undefined || kinds.length > 1) return fromYaml(text)
  switch (only.type) {
    case 'string':
      return text
    case 'integer':
    case 'number':
      return numberOrText(text)
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
      return isPlain(only.items) ? listOf(text, only.items) : fromYaml(text)
    default:
      return only.enum !== undefined || typeof only.const === 'string' ? text : fromYaml(text)
  }
}

function isPlain(items: Kind | undefined): items is Kind {
  return items !== undefined && (items.enum !== undefined || ['string', 'integer', 'number'].includes(items.type ?? ''))
}

/** `a, b`; `[]` is the empty list, since an empty variable is none. */
function listOf(text: string, items: Kind): unknown[] {
  if (text.trim() === '[]') return []
  return text.split(',').map((part) => fromText(part.trim(), items))
}

function fromYaml(text: string): unknown {
  const read = readYaml(text)
  return read.ok ? read.value : text
}

function numberOrText(text: string): number | string {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

/** An address as Kubernetes and Docker links write it into the variables of a service's port. */
const ADDRESS = /^(tcp|udp|sctp):\/\//i
const KUBERNETES = [
  /^GAVEL(_[A-Z0-9_]+)?_SERVICE_HOST$/,
  /^GAVEL(_[A-Z0-9_]+)?_SERVICE_PORT(_[A-Z0-9_]+)?$/,
  /^GAVEL(_[A-Z0-9_]+)?_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/,
]
const PORT = /^GAVEL(_[A-Z0-9_]+)?_PORT$/

/**
 * Whether Kubernetes sets this variable in every pod beside a service whose name begins with `gavel`: `GAVEL_SERVICE_HOST`,
 * `GAVEL_PORT_9464_TCP_ADDR`, or `GAVEL_HTTP_PORT=tcp://10.0.0.1:80`, which otherwise is a setting.
 */
export function isOfKubernetes(variable: string, value: string): boolean {
  return KUBERNETES.some((pattern) => pattern.test(variable)) || (PORT.test(variable) && ADDRESS.test(value))
}

/**
 * The variables that are not empty, those of settings with what stands in a file in place of what the file is called: `OPENAI_API_KEY_FILE=/run/key` is
 * `OPENAI_API_KEY` with the file's text, without the line end behind it. `isSetting` knows the names. A file that can't be read,
 * and a setting that is given both ways, are reported to `fault`.
 */
export function withFiles(
  environment: Readonly<Record<string, string | undefined>>,
  isSetting: (variable: string) => boolean,
  fault: (why: string) => void,
): ReadonlyMap<string, string> {
  const given = new Map(Object.entries(environment).flatMap(([variable, value]) => (value ? [[variable, value]] : [])))
  const read = new Map(given)
  for (const [variable, file] of given) {
    const setting = variable.replace(/_FILE$/, '')
    if (setting === variable || isSetting(variable) || !isSetting(setting)) continue
    read.delete(variable)
    if (given.has(setting)) fault(`${setting} and ${variable} are both set: leave one out`)
    else {
      const text = textOf(file, (code) => fault(`${variable}: ${file} cannot be read (${code})`))
      if (text !== undefined && text !== '') read.set(setting, text)
    }
  }
  return read
}

/** What stands in a file that holds a secret, without the line end behind it. */
export function textOf(file: string, failed: (code: string) => void): string | undefined {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    failed(error instanceof Error && 'code' in error ? String(error.code) : 'unknown')
    return undefined
  }
}
