import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { type ListLayout, type ReadLua, readScript, type ScriptFile } from './script-file.ts'

/** A value for a key or argument: true is sent as 1, false as 0, null as the empty string. */
export type Value = string | number | boolean | null

/** In `a`, `b[]` and `c[].d` the scalar is `a`, and the lists are `b` and `c`. */
type Scalar<Name extends string> = Name extends `${string}[]${string}` ? never : Name
type List<Name extends string> = Name extends `${infer Of}[]${string}` ? Of : never
type Field<Name extends string, Of extends string> = Name extends `${Of}[].${infer In}` ? In : never
type Rows<Name extends string, Of extends string> = `${Of}[]` extends Name
  ? readonly Value[]
  : readonly Readonly<Record<Field<Name, Of>, Value>>[]

/** One value for each name that the caller declared. */
export type ScriptArguments<Key extends string, Arg extends string> = Readonly<Record<Scalar<Key>, string>> &
  Readonly<Record<Scalar<Arg>, Value>> & { readonly [Of in List<Key | Arg>]: Rows<Key | Arg, Of> }

/** Runs the script on a connection; returns Redis's reply, which the caller parses. */
export type RedisScript<Key extends string, Arg extends string> = (
  client: Redis,
  given: ScriptArguments<Key, Arg>,
) => Promise<unknown>

/**
 * The script at a path under `src/store/` (without `.lua`), called with its keys and arguments by name. The names are
 * those of the file's header in camelCase. Throws an error that lists the differences, at start-up, if the file and the
 * caller don't use the same names.
 */
export function script<const Key extends string = never, const Arg extends string = never>(
  name: string,
  declared: { readonly keys: readonly Key[]; readonly args?: readonly Arg[] },
  read?: ReadLua,
): RedisScript<Key, Arg> {
  const file = readScript(name, read)
  const faults = [
    ...differences('key', namesOf(file.keys, file.lists, 'keys'), declared.keys),
    ...differences('argument', namesOf(file.args, file.lists, 'args'), declared.args ?? []),
  ]
  if (faults.length > 0) throw new Error(`The Redis script ${name}.lua and its caller differ: ${faults.join(', ')}`)
  const run = luaOf(file.lua)
  const order = orderOf(file)
  return (client, given) => {
    const { keys, args } = order(given as Readonly<Record<string, unknown>>)
    return run(client, keys, args)
  }
}

function differences(what: string, header: readonly string[], caller: readonly string[]): string[] {
  return [
    ...header.filter((name) => !caller.includes(name)).map((name) => `the caller does not give the ${what} ${name}`),
    ...caller.filter((name) => !header.includes(name)).map((name) => `the header names no ${what} ${name}`),
    ...caller
      .filter((name, at) => caller.indexOf(name) !== at)
      .map((name) => `the caller names the ${what} ${name} twice`),
  ]
}

function namesOf(scalars: readonly string[], lists: readonly ListLayout[], kind: 'keys' | 'args'): string[] {
  const inLists = lists.flatMap((list) => list[kind].map((field) => `${list.name}[]${field === '' ? '' : `.${field}`}`))
  return [...scalars, ...inLists].map(camelCase)
}

/** Puts the given values in the order that the script's bindings expect. */
function orderOf({ keys, args, lists }: ScriptFile) {
  const keyNames = keys.map(camelCase)
  const argNames = args.map(camelCase)
  const layouts = lists.map((list) => ({
    name: camelCase(list.name),
    keys: list.keys.map(camelCase),
    args: list.args.map(camelCase),
  }))
  return (given: Readonly<Record<string, unknown>>) => {
    const sent = {
      keys: keyNames.map((name) => entryOf(given, name) as string),
      args: argNames.map((name) => text(entryOf(given, name))),
    }
    const rows = layouts.map(({ name }) => entryOf(given, name) as readonly unknown[])
    for (const { length } of rows) sent.args.push(String(length))
    layouts.forEach((layout, nth) => {
      for (const row of rows[nth] ?? []) {
        for (const field of layout.keys) sent.keys.push(text(fieldOf(row, field)))
        for (const field of layout.args) sent.args.push(text(fieldOf(row, field)))
      }
    })
    return sent
  }
}

function fieldOf(row: unknown, field: string): unknown {
  return field === '' ? row : entryOf(row as Readonly<Record<string, unknown>>, field)
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? '1' : '0'
  return value === null ? '' : String(value)
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Runs a script with these keys and arguments, in order. */
type Lua = (client: Redis, keys: readonly string[], args: readonly string[]) => Promise<unknown>

/**
 * A script that is sent by its hash, or in full to a server that does not have it. ioredis' own `defineCommand` does the
 * same, but keeps each call's arguments until V8's next full collection: it assigns a function to a property of each
 * command, and V8 allocates such functions in the old space.
 */
export function luaOf(text: string): Lua {
  const sha = createHash('sha1').update(text).digest('hex')
  return async (client, keys, args) => {
    try {
      return await client.evalsha(sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return client.eval(text, keys.length, ...keys, ...args)
    }
  }
}

/** The entries of a hash that Lua or HSCAN returned as a flat list: name, value, name, value. */
export function pairs(reply: readonly string[]): [string, string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[index * 2] ?? '', reply[index * 2 + 1] ?? ''])
}
