import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { contractFiles } from '../../src/kit/contracts/all.ts'
import { breaks } from '../../src/kit/contracts/compatible.ts'
import type { JsonSchema } from '../../src/kit/contracts/json-schema.ts'
import { TOPIC_CONTRACTS } from '../../src/kit/contracts/messages.ts'

// The schemas of the last release, which "npm run release:keep" copies there. What comes after it breaks none of them.
const RELEASED = join(PROJECT, 'test', 'schemas', 'released')

const READ = TOPIC_CONTRACTS.filter(({ side }) => side === 'read').map(({ topic }) => topic)
const sideOf = (file: string) => (READ.includes(file.replace('.schema.json', '')) ? 'read' : 'written')
// Those of verdicts before schema 2 are in a folder of their own: test/schemas/both-schemas.test.ts.
const files = readdirSync(RELEASED).filter((file) => file.endsWith('.schema.json'))
const released = (file: string): JsonSchema => JSON.parse(readFileSync(join(RELEASED, file), 'utf8'))

describe('the contracts break nothing that was released', () => {
  const current = contractFiles()
  test.each(files)('%s', (file) => {
    expect(breaks(released(file), JSON.parse(current.get(file) ?? '{}'), sideOf(file))).toEqual([])
  })

  it('and none of them is gone', () => {
    expect(files.filter((file) => !current.has(file))).toEqual([])
  })
})

/** A released schema after a change at one place. */
function changed(file: string, path: string, change: (place: Record<string, unknown>) => void): string[] {
  const schema = structuredClone(released(file))
  const place = path
    .split('/')
    .filter((key) => key !== '')
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], schema)
  change(place as Record<string, unknown>)
  return breaks(released(file), schema, sideOf(file))
}

const set = (values: Record<string, unknown>) => (place: Record<string, unknown>) => void Object.assign(place, values)
const mustHave = (name: string) => (place: Record<string, unknown>) => {
  Object.assign(place.properties as object, { [name]: { type: 'string' } })
  ;(place.required as string[]).push(name)
}
const without = (key: string) => (place: Record<string, unknown>) => void delete place[key]

const RECORDS = [
  'verdicts',
  'transcripts',
  'proposals',
  'reviews',
  'decision-outcomes',
  'casework',
  'audit',
  'dead-letters',
]

describe('is a break', () => {
  test.each<[string, string, string, (place: Record<string, unknown>) => void, string]>([
    ['a field that is gone', 'verdicts', '/properties', without('rationale'), 'rationale is gone'],
    ['an optional one', 'verdicts', '/properties', without('filtered'), 'filtered is gone'],
    [
      'one within',
      'verdicts',
      '/properties/counts/properties/leftOut/properties',
      without('cap'),
      'counts.leftOut.cap is gone',
    ],
    ['one in a list', 'transcripts', '/properties/turns/items/properties', without('about'), 'turns[].about is gone'],
    [
      'one by a name that others chose',
      'verdicts',
      '/properties/steps/additionalProperties/properties',
      without('date'),
      'steps.*.date is gone',
    ],
    [
      'a field that may be absent now',
      'verdicts',
      '',
      (all) => void (all.required as string[]).shift(),
      'schema: a message without it was never given before',
    ],
    [
      'a field that may be null now',
      'verdicts',
      '/properties/rationale',
      set({ type: ['string', 'null'] }),
      'rationale: the type null was never given before',
    ],
    [
      'a fraction where whole numbers were',
      'verdicts',
      '/properties/revision',
      set({ type: 'number' }),
      'revision: the type number was never given before',
    ],
    [
      'another schema number',
      'verdicts',
      '/properties/schema',
      set({ enum: [1, 2, 3] }),
      'schema: the value 3 was never given before',
    ],
    [
      'a new word in a closed list',
      'decision-outcomes',
      '/properties/outcome',
      (at) => void (at.enum as string[]).push('odd'),
      'outcome: the value "odd" was never given before',
    ],
    [
      'a word that is gone from it',
      'decision-outcomes',
      '/properties/outcome',
      (at) => void (at.enum as string[]).shift(),
      'outcome "stands" is gone',
    ],
    [
      'a list that is open now',
      'decision-outcomes',
      '/properties/outcome',
      without('enum'),
      'outcome: a value that is not in the list was never given before',
    ],
    [
      'a word of another form',
      'verdicts',
      '/properties/decidedBy',
      set({ pattern: '^[A-Z]+$' }),
      'decidedBy: what the pattern leaves out was never given before',
    ],
    [
      'no form of words at all',
      'verdicts',
      '/properties/faults/items',
      without('pattern'),
      'faults[]: what the pattern leaves out was never given before',
    ],
    [
      'a field that is always there now, because earlier records are without it',
      'verdicts',
      '/required',
      (all) => void (all as unknown as string[]).push('filtered'),
      'filtered: a message without it may be on the topic, and could no longer be read',
    ],
    [
      'a new field that each turn must have',
      'transcripts',
      '/properties/turns/items',
      mustHave('trace'),
      'turns[].trace: a message without it may be on the topic',
    ],
    [
      'a new field that all feedback must have',
      'feedback',
      '',
      mustHave('trace'),
      'trace: a message without it is taken no longer',
    ],
    [
      'a new field that all decisions must have',
      'decisions',
      '/oneOf/0',
      mustHave('trace'),
      'trace: a message without it is taken no longer',
    ],
    [
      'a bound on a number that was without',
      'verdicts',
      '/properties/revision',
      set({ minimum: 10 }),
      'revision: what is below minimum 10 may be on the topic',
    ],
    ['a field to write that is gone', 'posts', '/oneOf/0/properties', without('authorSince'), 'authorSince is gone'],
    [
      'a field that must be written now',
      'posts',
      '/oneOf/0/required',
      (all) => void (all as unknown as string[]).push('author'),
      'author: a message without it is taken no longer',
    ],
    [
      'a deletion that must say why',
      'posts',
      '/oneOf/1/required',
      (all) => void (all as unknown as string[]).push('why'),
      'why: a message without it is taken no longer',
    ],
    [
      'deletions that are taken no longer',
      'posts',
      '/oneOf',
      (all) => void (all as unknown as unknown[]).pop(),
      'deleted true is gone',
    ],
    [
      'null that is taken no longer',
      'comments',
      '/oneOf/0/properties/parentId',
      set({ type: ['string', 'number'] }),
      'parentId: the type null is taken no longer',
    ],
    [
      'a shorter text',
      'comments',
      '/oneOf/0/properties/text',
      set({ maxLength: 500 }),
      'text: what is above maxLength 500 is taken no longer',
    ],
    [
      'fewer images',
      'posts',
      '/oneOf/0/properties/media',
      set({ maxItems: 4 }),
      'media: what is above maxItems 4 is taken no longer',
    ],
    [
      'images that must have an address',
      'posts',
      '/oneOf/0/properties/media/items',
      set({ anyOf: [{ required: ['url'] }] }),
      'media[].url: a message without it is taken no longer',
    ],
    [
      'a post that must have words',
      'posts',
      '/oneOf/0/anyOf',
      (all) => void (all as unknown as unknown[]).pop(),
      'text: the type null is taken no longer',
    ],
    [
      'a shorter word of an action',
      'actions',
      '/oneOf/0/properties/what',
      set({ maxLength: 50 }),
      'what: what is above maxLength 50 is taken no longer',
    ],
    [
      'an appeal that must name a ground',
      'appeals',
      '/oneOf/0/required',
      (all) => void (all as unknown as string[]).push('ground'),
      'ground: a message without it is taken no longer',
    ],
    [
      'no fraction of a reach',
      'reach',
      '/properties/reach',
      set({ type: 'integer' }),
      'reach: the type number is taken no longer',
    ],
    [
      'a closed list where any text was',
      'feedback',
      '/properties/protocol',
      set({ enum: ['hate'] }),
      'protocol: a value that is not in the list is taken no longer',
    ],
    [
      'a message that takes no further fields',
      'feedback',
      '',
      set({ additionalProperties: false }),
      'the message: a field that is not in the schema is taken no longer',
    ],
    [
      'a setting that is gone',
      'settings',
      '/properties/protocols/properties/rumor/properties',
      without('ties'),
      'protocols.rumor.ties is gone',
    ],
    [
      'a value of a setting',
      'settings',
      '/properties/kafka/properties/compression',
      set({ enum: ['none', 'gzip'] }),
      'kafka.compression: the value "lz4" is taken no longer',
    ],
    [
      'a lower limit of a setting',
      'settings',
      '/properties/protocols/properties/rumor/properties/k',
      set({ minimum: 2 }),
      'protocols.rumor.k: what is below minimum 2 is taken no longer',
    ],
    [
      'null for a setting',
      'settings',
      '/properties/models/properties',
      set({ minTimeout: { type: 'string' } }),
      'models.minTimeout: the type null is taken no longer',
    ],
    [
      'a setting of each price',
      'settings',
      '/properties/models/properties/prices/additionalProperties/properties',
      without('cached'),
      'models.prices.*.cached is gone',
    ],
    [
      'names that are taken no longer',
      'settings',
      '/properties/models/properties/roles',
      set({ propertyNames: { type: 'string', pattern: '^[a-z]+$' } }),
      'models.roles (names)',
    ],
    [
      'paths that are taken no longer',
      'settings',
      '',
      without('patternProperties'),
      'a field of such a name is taken no longer',
    ],
    [
      'paths of a section that are taken no longer',
      'settings',
      '',
      (all) => {
        const [[pattern = '', path] = []] = Object.entries(all.patternProperties as object)
        Object.assign(all, { patternProperties: { [pattern.replace('|kafka', '')]: path } })
      },
      'a field of such a name is taken no longer',
    ],
  ])('%s', (_, name, path, change, why) => {
    const found = changed(`${name}.schema.json`, path, change)
    expect(found.join('\n')).toContain(why)
  })
})

test.each(RECORDS)('a new field of %s is a break if all must have it, and none if it is optional', (topic) => {
  const file = `${topic}.schema.json`
  const why = 'trace: a message without it may be on the topic, and could no longer be read'
  expect(changed(file, '', mustHave('trace'))).toEqual([why])
  expect(changed(file, '/properties', set({ trace: { type: 'string' } }))).toEqual([])
})

describe('is none', () => {
  test.each<[string, string, string, (place: Record<string, unknown>) => void]>([
    ['a new optional field to write', 'posts', '/oneOf/0/properties', set({ region: { type: ['string', 'null'] } })],
    ['a longer id', 'posts', '/oneOf/0/properties/id', set({ maxLength: 1024 })],
    [
      'a new value of a setting',
      'settings',
      '/properties/kafka/properties/compression',
      (at) => void (at.enum as string[]).push('brotli'),
    ],
    ['a new setting', 'settings', '/properties/http/properties', set({ path: { type: 'string' } })],
    [
      'a new section of settings',
      'settings',
      '',
      (all) => {
        const [[pattern = '', path] = []] = Object.entries(all.patternProperties as object)
        Object.assign(all.properties as object, { lanes: { type: 'object' } })
        Object.assign(all, { patternProperties: { [pattern.replace(')', '|lanes)')]: path } })
      },
    ],
    [
      'another default, description, order or example',
      'settings',
      '/properties/http/properties/port',
      set({ default: 1, description: 'another', examples: [1] }),
    ],
    [
      'a third kind of message',
      'comments',
      '/oneOf',
      (all) => void (all as unknown as unknown[]).push({ type: 'object', required: ['edited'] }),
    ],
  ])('%s', (_, name, path, change) => {
    expect(changed(`${name}.schema.json`, path, change)).toEqual([])
  })
})

test('a keyword that is not compared is an error, so that nothing passes unseen', () => {
  expect(() => breaks({ type: 'object', not: {} }, { type: 'object' }, 'read')).toThrow("not can't be compared")
})
