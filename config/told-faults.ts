import { z } from 'zod'
import { didYouMean } from '../src/service/domain/did-you-mean.ts'
import { entryOf } from '../src/service/domain/entry-of.ts'
import { get, isTree, type Tree } from './tree.ts'

/** What one fault of the settings is told by. */
export interface ToldBy {
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
export function told(
  issue: z.core.$ZodIssue,
  by: ToldBy,
): { readonly text: string; readonly line: number | undefined } {
  const path = issue.path.map(String)
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys : []
  const known = new Set([...namesAt(by.schema, path), ...Object.keys(treeAt(by.defaults, path))])
  const names = unknown.map((key) => didYouMean(key, known)).join('')
  const meant = issue.code === 'invalid_value' ? didYouMean(wordIn(issue.input), issue.values.map(String)) : names
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
