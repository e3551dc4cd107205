import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { didYouMean } from '../src/contracts/facts/did-you-mean.ts'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import { OperatorError } from '../src/contracts/facts/errors.ts'
import { root } from '../src/platform/package-folder.js'
import { insteadOf } from './replaced.ts'
import { type Settings, settingsSchema } from './schema.ts'
import { get, isTree, linesOfSettings, mappingOf, merge, set, type Tree, treeOf, withPaths } from './tree.ts'
import { isOfKubernetes, textOf, variablesOf, withFiles } from './variables.ts'

/** The folder that holds `package.json`, wherever the code runs from: sources or what was built of them. */
export const PROJECT = root

/**
 * Reads the settings: `config/gavel.yaml`, the file laid over it, environment variables over both; a variable's value may stand in a
 * file that `VARIABLE_FILE` names. Throws one
 * `OperatorError` that names every fault with its path and where it was set.
 */
export function loadSettings(environment: Readonly<Record<string, string | undefined>>, file?: string): Settings {
  const faults: string[] = []
  const defaults = shippedTree(faults)
  const { tree: overlay, lineOf } = file === undefined ? NO_FILE : settingsIn(file, faults)
  const merged = merge(defaults, overlay)
  const names = variablesOf(merged)
  const source = new Map<string, string>()
  const variables = withFiles(
    environment,
    (name) => names.has(name),
    (why) => faults.push(why),
  )
  const given = [...variables].filter(([variable, value]) => !isOfKubernetes(variable, value))
  for (const [variable] of given)
    if (variable.startsWith('GAVEL_') && !names.has(variable))
      faults.push(
        `${variable}: no setting has this name.${insteadOf(variable) || didYouMean(variable, names.keys())}`.replace(
          /\.$/,
          '',
        ),
      )
  // A mapping as a whole before what it holds, so that the more exact variable counts.
  const settings = given
    .flatMap(([variable, text]) => {
      const setting = names.get(variable)
      return setting === undefined ? [] : [{ variable, text, ...setting }]
    })
    .sort((one, other) => one.path.length - other.path.length)
  for (const { variable, text, path, read } of settings) {
    const value = read(text)
    const below = get(merged, path)
    set(merged, path, isTree(value) && isTree(below) ? merge(below, value) : value)
    source.set(path.join('.'), variable)
  }
  const checked = settingsSchema.safeParse(merged, { reportInput: true })
  if (!checked.success)
    faults.push(
      ...checked.error.issues
        .map((issue) =>
          describeIssue(issue, {
            schema: settingsSchema,
            defaults,
            file,
            lineAt: lineOf,
            variableAt: (path) => source.get(path.join('.')),
          }),
        )
        .sort((one, other) => (one.line ?? 0) - (other.line ?? 0))
        .map(({ text }) => text),
    )
  const whole = checked.success ? withKeys(checked.data, (why) => faults.push(why)) : undefined
  if (faults.length > 0 || whole === undefined)
    throw new OperatorError(
      `The settings have ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n  ${faults.join('\n  ')}`,
    )
  return whole
}

/** The settings with the keys of endpoints that stand in files of their own. */
function withKeys(settings: Settings, fault: (why: string) => void): Settings {
  const endpoints = Object.entries(settings.endpoints).map(([name, endpoint]) => {
    const { apiKeyFile: file } = endpoint
    if (file === '') return [name, endpoint]
    const apiKey = textOf(file, (code) => fault(`endpoints.${name}.apiKeyFile: ${file} cannot be read (${code})`))
    return [name, { ...endpoint, apiKey: apiKey ?? '' }]
  })
  return { ...settings, endpoints: Object.fromEntries(endpoints) }
}

/** Prompts and steps, aspects and perspectives; what else lies in a folder of the user's own is not read. */
const TEXT = /\.(md|ya?ml)$/

/** The texts in a folder under `config/`, or in one with an absolute path, by name; none if there is no such folder. */
export function loadFiles(folder: string): ReadonlyMap<string, string> {
  const path = resolve(PROJECT, 'config', folder)
  if (!existsSync(path)) return new Map()
  if (!statSync(path).isDirectory()) throw new OperatorError(`${path} is no folder.`)
  // Links, too: of a mounted ConfigMap each file is one.
  const names = readdirSync(path).filter((name) => TEXT.test(name) && statSync(join(path, name)).isFile())
  return new Map(names.map((name) => [name, readFileSync(join(path, name), 'utf8')]))
}

/** The content of a settings file, and the line of each setting. */
interface SettingsFile {
  readonly tree: Tree
  lineOf(path: readonly string[]): number | undefined
}
const NO_FILE: SettingsFile = { tree: treeOf({}), lineOf: () => undefined }

/**
 * The texts of a folder under `config/`, and over them, file by file, those of a folder of the user's own. Throws an
 * `OperatorError` for a folder that is not there or empty, and for a file that nothing reads: none of the shipped is called so,
 * and the settings name none (`named`).
 */
export function layeredFiles(folder: string, over: string, named: readonly string[] = []): ReadonlyMap<string, string> {
  const [shipped, own] = [loadFiles(folder), resolve(over)]
  const names = existsSync(own) && statSync(own).isDirectory() ? readdirSync(own).filter(isOwnFile) : []
  if (names.length === 0) throw new OperatorError(`${own}: holds no file, or is no folder`)
  const known = new Set([...shipped.keys(), ...named])
  const unread = names.filter((name) => !known.has(name))
  if (unread.length > 0)
    throw new OperatorError(
      unread
        .map((name) => `${join(own, name)}: nothing reads a file of this name.${didYouMean(name, known)}`)
        .join('\n'),
    )
  return new Map([...shipped, ...loadFiles(own)])
}

/** Not hidden, and no note for people. */
function isOwnFile(name: string): boolean {
  return !/^(\.|readme)/i.test(name)
}

/** The shipped settings, as they were last read. */
let shipped: { readonly text: string; readonly tree: Tree } | undefined

/** Reads the shipped settings, but parses them only where they have changed. Whoever sets something in them copies them. */
function shippedTree(faults: string[]): Tree {
  const file = join(PROJECT, 'config', 'gavel.yaml')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (text !== undefined && text === shipped?.text) return shipped.tree
  const before = faults.length
  const { tree } = settingsIn(file, faults)
  if (text !== undefined && faults.length === before) shipped = { text, tree }
  return tree
}

function settingsIn(file: string, faults: string[]): SettingsFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    faults.push(`${file}: ${code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`}`)
    return NO_FILE
  }
  const fault = (why: string) => faults.push(`${file}: ${why}`)
  return {
    tree: withPaths(mappingOf(text, fault), fault),
    lineOf: (path) => linesOfSettings(text).get(path.join('.')),
  }
}

/** The place and the spelling by which one fault of the settings is named. */
interface IssueContext {
  readonly schema: z.ZodType
  /** The shipped settings: what names there are in mappings that are not the schema's. */
  readonly defaults: Tree
  /** The variable that set what stands at a path, if one did. */
  variableAt(path: readonly string[]): string | undefined
  readonly file: string | undefined
  /** The line of the file that sets what stands at a path, if it does. */
  lineAt(path: readonly string[]): number | undefined
}

/** A fault in words: the setting's path, what is wrong, what was probably meant, and where it was set. */
function describeIssue(
  issue: z.core.$ZodIssue,
  by: IssueContext,
): { readonly text: string; readonly line: number | undefined } {
  const path = issue.path.map(String)
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys : []
  const known = new Set([...namesAt(by.schema, path), ...Object.keys(treeAt(by.defaults, path))])
  const names = new Set(unknown.map((key) => insteadOf([...path, key].join('.')) || didYouMean(key, known)))
  const meant =
    issue.code === 'invalid_value' ? didYouMean(wordIn(issue.input), issue.values.map(String)) : [...names].join('')
  const variable = longest(path, by.variableAt)
  const line = longest([...path, ...unknown.slice(0, 1)], by.lineAt)
  const inFile = line === undefined ? '' : ` (${by.file}, line ${line})`
  return {
    text: `${path.join('.') || 'settings'}: ${issue.message}${meant === '' ? '' : `.${meant}`}${variable === undefined ? inFile : ` (set by ${variable})`}`,
    line: variable === undefined ? line : undefined,
  }
}

/** What is known of the path itself, or else of the nearest one above it: what is missing or in a list has no place of its own. */
function longest<Known>(path: readonly string[], of: (path: readonly string[]) => Known | undefined) {
  return path.map((_, at) => of(path.slice(0, at + 1))).findLast((one) => one !== undefined)
}

function treeAt(tree: Tree, path: readonly string[]): Tree {
  const at = get(tree, path)
  return isTree(at) ? at : {}
}

function wordIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The names that a schema has at a path; below names of a user's own they are the same for each of these. */
function namesAt(schema: unknown, [name, ...below]: readonly string[]): string[] {
  if (schema instanceof z.ZodObject) {
    if (name === undefined) return Object.keys(schema.shape)
    return namesAt(entryOf(schema.shape, name), below)
  }
  if (schema instanceof z.ZodMap || schema instanceof z.ZodRecord)
    return name === undefined ? keysOf(schema.keyType) : namesAt(schema.valueType, below)
  if (schema instanceof z.ZodArray) return name === undefined ? [] : namesAt(schema.element, below)
  const rest = name === undefined ? [] : [name, ...below]
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => namesAt(one, rest))
  if (schema instanceof z.ZodPipe) return [...namesAt(schema.in, rest), ...namesAt(schema.out, rest)]
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return namesAt(schema.unwrap(), rest)
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return namesAt(schema.unwrap(), rest)
  return []
}

/** The keys that a mapping may have, if they are listed. */
function keysOf(type: unknown): string[] {
  return type instanceof z.ZodEnum ? type.options.map(String) : []
}
