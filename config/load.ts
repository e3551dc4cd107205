import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { OperatorError } from '../src/domain/errors.ts'
import { isOfKubernetes, withFiles } from './environment.ts'
import { type Settings, settingsSchema } from './schema.ts'

/** Settings as they are read: objects without a prototype, so that `__proto__` and `constructor` are names like any other. */
type Tree = { [key: string]: unknown }

/** The folder that holds `package.json`, wherever the code runs from: sources or what was built of them. */
export const PROJECT = projectRoot(import.meta.dirname)

/** Variables whose names others chose; every other setting is `GAVEL_` and its path. */
const GIVEN_NAMES = new Map([
  ['kafka.brokers', 'KAFKA_BROKERS'],
  ['redis.url', 'REDIS_URL'],
  ['openai.apiKey', 'OPENAI_API_KEY'],
  ['openai.baseUrl', 'OPENAI_BASE_URL'],
])

/**
 * Reads the settings: `config/gavel.yaml`, the file laid over it, environment variables over both; a variable's value may stand in a
 * file that `VARIABLE_FILE` names. Throws one
 * `OperatorError` that names every fault with its path and where it was set.
 */
export function loadSettings(environment: Readonly<Record<string, string | undefined>>, file?: string): Settings {
  const faults: string[] = []
  const defaults = readYaml(join(PROJECT, 'config', 'gavel.yaml'), faults)
  const overlay = file === undefined ? treeOf({}) : readYaml(file, faults)
  const names = new Map(leaves(defaults).map((path) => [variableOf(path), path]))
  const merged = merge(defaults, overlay)
  const source = new Map<string, string>()
  const variables = withFiles(
    environment,
    (name) => names.has(name),
    (why) => faults.push(why),
  )
  for (const [variable, value] of variables) {
    if (isOfKubernetes(variable, value)) continue
    const path = names.get(variable)
    if (path !== undefined) {
      set(merged, path, fromText(value, get(defaults, path)))
      source.set(path.join('.'), variable)
    } else if (variable.startsWith('GAVEL_')) faults.push(`${variable}: no setting has this name`)
  }
  const checked = settingsSchema.safeParse(merged)
  if (!checked.success)
    for (const issue of checked.error.issues) {
      const path = issue.path.join('.')
      const where = source.get(path)
      faults.push(`${path || 'settings'}: ${issue.message}${where === undefined ? '' : ` (set by ${where})`}`)
    }
  if (faults.length > 0 || !checked.success)
    throw new OperatorError(
      `The settings have ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n  ${faults.join('\n  ')}`,
    )
  return checked.data
}

/** Prompts and steps, aspects and perspectives; what else lies in a folder of the user's own is not read. */
const TEXT = /\.(md|ya?ml)$/

/** The texts in a folder under `config/`, or in one with an absolute path, by name; none if there is no such folder. */
export function loadFiles(folder: string): ReadonlyMap<string, string> {
  const path = resolve(PROJECT, 'config', folder)
  if (!existsSync(path)) return new Map()
  if (!statSync(path).isDirectory()) throw new OperatorError(`${path} is no folder.`)
  const names = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile() && TEXT.test(entry.name))
  return new Map(names.map(({ name }) => [name, readFileSync(join(path, name), 'utf8')]))
}

/** `http.port` → `GAVEL_HTTP_PORT`, `clock.atEnd` → `GAVEL_CLOCK_AT_END`. */
function variableOf(path: readonly string[]): string {
  const given = GIVEN_NAMES.get(path.join('.'))
  if (given !== undefined) return given
  const snake = path.map((part) => part.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/[^A-Za-z0-9]/g, '_'))
  return `GAVEL_${snake.join('_').toUpperCase()}`
}

function projectRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from
  const parent = dirname(from)
  if (parent === from) throw new Error('package.json was not found above the code')
  return projectRoot(parent)
}

function readYaml(file: string, faults: string[]): Tree {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    faults.push(
      `${file}: cannot be read (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'})`,
    )
    return treeOf({})
  }
  const document = parseDocument(text)
  for (const error of document.errors) faults.push(`${file}: ${error.message.split('\n', 1)[0]}`)
  if (document.errors.length > 0) return treeOf({})
  let tree: unknown
  try {
    tree = document.toJS() ?? {}
  } catch (error) {
    // An alias of nothing, or aliases of aliases that would fill the memory.
    faults.push(`${file}: ${error instanceof Error ? error.message : 'cannot be read'}`)
    return treeOf({})
  }
  if (isTree(tree)) return treeOf(tree)
  faults.push(`${file}: must be a mapping of settings`)
  return treeOf({})
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same, with all that it holds, without a prototype. */
function treeOf(read: object): Tree {
  const tree: Tree = Object.create(null)
  for (const [key, value] of Object.entries(read)) tree[key] = isTree(value) ? treeOf(value) : value
  return tree
}

function merge(under: Tree, over: Tree): Tree {
  const merged = treeOf(under)
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isTree(value) && isTree(below) ? merge(below, value) : value
  }
  return merged
}

function leaves(tree: Tree, path: readonly string[] = []): string[][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) ? leaves(value, [...path, key]) : [[...path, key]],
  )
}

function get(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isTree(at) ? at[key] : undefined), tree)
}

function set(tree: Tree, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length === 0) tree[key] = value
  else {
    const below = tree[key]
    const copy = treeOf(isTree(below) ? below : {})
    tree[key] = copy
    set(copy, rest, value)
  }
}

/** A variable's text as the kind of value that the default is; what does not fit is left as it is, for the check to name. */
function fromText(text: string, like: unknown): unknown {
  if (Array.isArray(like)) {
    const parts = text.split(',').map((part) => part.trim())
    return like.every((item) => typeof item === 'number') && like.length > 0 ? parts.map(numberOrText) : parts
  }
  if (typeof like === 'number') return numberOrText(text)
  if (typeof like === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

function numberOrText(text: string): number | string {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}
