import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { proposalIdFor, revisionIn, verdictId } from '../../../src/contracts/facts/verdict-id.ts'
import { script } from '../../../src/store/redis/script.ts'
import { includedFile, readScript, SCRIPTS } from '../../../src/store/redis/script-file.ts'
import { functionsOf, nameFaults } from '../../support/lua-names.ts'
import { onRedis } from '../../support/on-redis.ts'

const files = globSync('**/*.lua', { cwd: SCRIPTS }).map((file) => file.replace(/\.lua$/, '').replaceAll('\\', '/'))
const included = files.filter((name) => name.includes('/include/'))
const scripts = files.filter((name) => !name.includes('/include/'))
const textOf = (name: string) => readFileSync(join(SCRIPTS, `${name}.lua`), 'utf8')

/** The files that a file includes, with those that they include. */
function includesOf(name: string): string[] {
  const own = [...textOf(name).matchAll(/^--@include (\S+)/gm)].map(([, file = '']) => includedFile(file))
  return own.flatMap((file) => [file, ...includesOf(file)])
}

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

describe('each script', () => {
  it.each(scripts)('%s uses what its header names, and names what it uses', (name) => {
    expect(
      nameFaults(
        textOf(name),
        includesOf(name).flatMap((file) => functionsOf(textOf(file))),
      ),
    ).toEqual([])
  })

  it.each(included)('%s uses what it is given, and neither keys nor arguments of the scripts', (name) => {
    expect(
      nameFaults(
        textOf(name),
        includesOf(name).flatMap((file) => functionsOf(textOf(file))),
      ),
    ).toEqual([])
  })

  it.each(scripts)('%s is sent with those functions of included files that are called', (name) => {
    const { lua } = readScript(name)
    const code = lua.replace(/^ *--.*/gm, '')
    const included = includesOf(name).flatMap((file) => functionsOf(textOf(file)))
    const timesNamed = (one: string) => code.match(new RegExp(`\\b${one}\\b`, 'g'))?.length ?? 0
    const sent = functionsOf(lua)
    for (const one of included) expect([one, sent.includes(one)]).toEqual([one, timesNamed(one) > 1])
    for (const one of included.filter((one) => !sent.includes(one))) expect([one, timesNamed(one)]).toEqual([one, 0])
  })

  it.each(scripts)('%s is Lua that Redis takes', async (name) => {
    expect(await client.script('LOAD', readScript(name).lua)).toMatch(/^\w{40}$/)
  })

  it.each(scripts)('%s is loaded by one caller, which calls it', (name) => {
    const sources = globSync('**/*.ts', { cwd: SCRIPTS }).map((file) => readFileSync(join(SCRIPTS, file), 'utf8'))
    const [loading, ...more] = sources.flatMap((source) =>
      [...source.matchAll(new RegExp(`const (\\w+) = script\\('${name}'`, 'g'))].map(([, as = '']) => ({ source, as })),
    )
    expect(more).toEqual([])
    expect(loading?.source).toMatch(new RegExp(`\\b${loading?.as}\\(client, `))
  })

  it.each(included)('%s is included, and every function of it is called', (name) => {
    const including = scripts.filter((file) => includesOf(file).includes(name))
    expect(including).not.toEqual([])
    const code = [textOf(name), ...files.filter((file) => includesOf(file).includes(name)).map(textOf)].join('\n')
    for (const one of functionsOf(textOf(name)))
      expect(code.split(new RegExp(`\\b${one}\\(`)).length, one).toBeGreaterThan(2)
  })
})

describe('ids of cases and of verdicts, whatever the ids in them hold', () => {
  it('are read by scripts as elsewhere', async () => {
    const words = fc.constantFrom(
      'a',
      '~',
      '%',
      '%7E',
      '%1',
      '~r1',
      '~r2',
      '~p1',
      ' ',
      '\n',
      '\0',
      'ü',
      '~r',
      'x'.repeat(256),
    )
    const id = fc.array(words, { minLength: 1, maxLength: 6 }).map((all) => all.join(''))
    const of = fc.record({
      subjectId: id,
      postId: fc.option(id, { nil: undefined }),
      tenant: fc.constantFrom('default', 'a.b'),
      crossKind: fc.boolean(),
      revision: fc.integer({ min: 1, max: 2_000_000_000 }),
    })
    const caseIds = fc
      .sample(of, { numRuns: 300, seed: 61 })
      .map(({ postId, ...all }) => verdictId({ protocol: 'hate', ...all, ...(postId === undefined ? {} : { postId }) }))
    const both = script('a', { keys: [], args: ['all[]'] }, (name) =>
      name === 'a'
        ? `--@include case-id
--@arg all[]
local read = {}
for i, id in ipairs(all) do read[i] = { number_in(id) or '', proposal_id(id) } end
return read`
        : textOf(name),
    )
    // What is no such id has no number.
    const others = caseIds.flatMap((one) => [`${one}\n`, `${one} `, proposalIdFor(one)])
    expect(await both(client, { all: caseIds })).toEqual(
      caseIds.map((one) => [String(revisionIn(one)), proposalIdFor(one)]),
    )
    for (const [number] of z.array(z.array(z.unknown())).parse(await both(client, { all: others })))
      expect(number).toBe('')
  })
})

describe('the check of names', () => {
  it.each([
    ['an argument that the header lacks', '--@key a\nreturn redis.call("GET", a .. b)', 'b is used'],
    ['a key of the header that is not used', '--@key a\n--@key b\nreturn a', 'b is named in the header'],
    ['keys and arguments by number', 'return KEYS[1] .. ARGV[2]', 'KEYS is used'],
    [
      'a field that the header lacks',
      '--@arg rows[].a\nfor _, row in ipairs(rows) do row.b = row.a end',
      'rows[].b is used',
    ],
    [
      'a field that is not used',
      '--@arg rows[].a\n--@arg rows[].b\nfor _, row in ipairs(rows) do local x = row.a end',
      'rows[].b is named',
    ],
    ['a list that is not used', '--@key rows[].a\nreturn 1', 'rows is named in the header'],
  ])('finds %s', (_, text, fault) => {
    expect(nameFaults(text).join()).toContain(fault)
  })

  it('is content with locals, functions, fields and strings', () => {
    const text = `--@include x
--@key a -- not a name
--@arg b
local function twice(c) return c .. c end
for i, d in ipairs({ e = a, f = 1 }) do helper(d.g, i) end
return twice(b) -- 'h'`
    expect(nameFaults(text, ['helper'])).toEqual([])
  })
})

describe('functions of included files that only one block calls', () => {
  const included = `local function inner(a) return a .. '!' end
local function rare(a) return inner(a) end
local function often(a) return a .. '?' end
local function never(a) return rare(a) end`
  const body = `--@include x
--@arg a
--@arg b
if a == 'yes' then
  --@functions
  local said = rare(a)

  return said
end
if b == 'yes' then
  --@functions
  return inner(often(b))
end
return often(a)`
  const read = (name: string) => (name === 'a' ? body : included)

  it('are made there, by each block that calls them, and nowhere else', async () => {
    const [before, first, second] = readScript('a', read).lua.split(/^if /m)
    expect([before, first, second].map((text) => functionsOf(text ?? ''))).toEqual([
      ['often'],
      ['inner', 'rare'],
      ['inner'],
    ])
    const run = script('a', { keys: [], args: ['a', 'b'] }, read)
    expect(await run(client, { a: 'yes', b: '' })).toBe('yes!')
    expect(await run(client, { a: 'no', b: 'yes' })).toBe('yes?!')
    expect(await run(client, { a: 'no', b: '' })).toBe('no?')
  })
})

describe('a script and its caller', () => {
  const reading = (texts: Record<string, string>) => (name: string) => texts[name] ?? ''
  const TWICE = `--@include repeat
--@arg word
--@key pair_of_keys
--@arg rows[].name   a note
--@key rows[].at_key
--@arg plain[]
local seen = {}
for i, row in ipairs(rows) do seen[i] = row.at_key .. '=' .. row.name end
return { pair_of_keys, twice(word), table.concat(seen, ','), table.concat(plain, ',') }`
  const read = reading({ 'a/b': TWICE, 'redis/include/repeat': 'local function twice(word) return word .. word end' })

  it('give and take keys and arguments by name', async () => {
    const run = script('a/b', { keys: ['pairOfKeys', 'rows[].atKey'], args: ['plain[]', 'rows[].name', 'word'] }, read)
    const rows = [
      { atKey: 'k1', name: 1 },
      { name: 'two', atKey: 'k2' },
    ]
    const given = { pairOfKeys: 'k0', word: 'ab', rows, plain: [true, false, null, 'x'] }
    expect(await run(client, given)).toEqual(['k0', 'abab', 'k1=1,k2=two', '1,0,,x'])
    expect(await run(client, { ...given, rows: [], plain: [] })).toEqual(['k0', 'abab', '', ''])
  })

  it('are checked at the start, and all differing names are reported together', () => {
    expect(() =>
      script('a/b', { keys: ['pairOfKeys', 'other'], args: ['plain[]', 'rows[].name', 'word', 'word'] }, read),
    ).toThrow(
      'The Redis script a/b.lua and its caller differ: the caller does not give the key rows[].atKey, the header names no key other, the caller names the argument word twice',
    )
  })

  it.each([
    ['a file that is not there', 'nowhere', undefined, /no such file.*nowhere\.lua/],
    [
      'an unknown directive',
      'a',
      '--@argument x',
      'a.lua: "--@argument x" is not an @include, @key or @arg with a name',
    ],
    ['a directive without a name', 'a', '--@key', 'is not an @include'],
    ['a name that is none', 'a', '--@key x-y', 'x-y is not a name'],
    ['a name twice', 'a', '--@key x\n--@arg x', 'a.lua: x is named twice'],
    ['a list that is a scalar as well', 'a', '--@key x\n--@arg x[]', 'x[] is named twice'],
    ['a plain list with fields', 'a', '--@arg x[]\n--@arg x[].y', 'x[].y is named twice'],
    ['a key in an included file', 'a', '--@include b', "redis/include/b.lua: an included file can't declare @key"],
    [
      'files that include each other',
      'a',
      '--@include c',
      'redis/include/c includes redis/include/d includes redis/include/c, a circular include',
    ],
  ])('are refused: %s', (_, name, text, fault) => {
    const others = {
      'redis/include/b': '--@key x',
      'redis/include/c': '--@include d',
      'redis/include/d': '--@include c',
    }
    const load = () => (text === undefined ? readScript(name) : readScript(name, reading({ ...others, [name]: text })))
    expect(load).toThrow(fault)
  })
})
