import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from '@asyncapi/parser'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { actionMessage, reachMessage } from '../../src/contracts/facts/action-messages.ts'
import { appealMessage, appealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import { auditEntry } from '../../src/contracts/facts/audit.ts'
import { caseworkEntry } from '../../src/contracts/facts/casework.ts'
import { decisionMessage, decisionOutcome, proposal, review } from '../../src/contracts/facts/decision-messages.ts'
import { parseMessage } from '../../src/contracts/facts/message-json.ts'
import {
  commentMessage,
  counterspeechMessage,
  deadLetter,
  feedbackMessage,
  postMessage,
} from '../../src/contracts/facts/messages.ts'
import { shadowVerdict } from '../../src/contracts/facts/shadow-verdict.ts'
import { transcript, verdict } from '../../src/contracts/facts/verdict.ts'
import { contractFiles, SCHEMAS } from '../../src/kit/contracts/all.ts'
import { examplesIn } from '../../src/kit/contracts/examples.ts'
import type { JsonSchema } from '../../src/kit/contracts/json-schema.ts'

const files = readdirSync(SCHEMAS)
const schemas = files.filter((file) => file.endsWith('.schema.json'))
const read = (file: string) => JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8'))
const text = (...path: string[]) => readFileSync(join(PROJECT, ...path), 'utf8')

/** As strict as it can be: an unknown keyword or format is an error. */
const options = { strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true } as const
const validator = (file: string) => addFormats.default(new Ajv2020(options)).compile(read(file))

const TOPICS = {
  posts: postMessage,
  comments: commentMessage,
  counterspeech: counterspeechMessage,
  feedback: feedbackMessage,
  decisions: decisionMessage,
  reach: reachMessage,
  actions: actionMessage,
  appeals: appealMessage,
  'decision-outcomes': decisionOutcome,
  'appeal-outcomes': appealOutcome,
  verdicts: verdict,
  transcripts: transcript,
  'shadow-verdicts': shadowVerdict,
  proposals: proposal,
  reviews: review,
  casework: caseworkEntry,
  audit: auditEntry,
  'dead-letters': deadLetter,
}
const WRITTEN = ['posts', 'comments', 'counterspeech', 'feedback', 'decisions', 'reach', 'actions', 'appeals'] as const

describe('the contracts as files', () => {
  it('are what the code says: else run "npm run schemas"', () => {
    const written = new Map(files.map((file) => [file, readFileSync(join(SCHEMAS, file), 'utf8')]))
    expect(new Map([...written].sort())).toEqual(new Map([...contractFiles()].sort()))
  })

  it('are there for each topic', () => {
    const prefix = 'gavel.'
    const named = Object.values(topicsOf(loadSettings({ GAVEL_KAFKA_TOPIC_PREFIX: prefix }))).map((topic) =>
      topic.slice(prefix.length),
    )
    expect(named.sort()).toEqual(Object.keys(TOPICS).sort())
    for (const topic of named) expect(schemas).toContain(`${topic}.schema.json`)
  })

  test.each(schemas)('%s is a schema of 2020-12, and means the same by draft 7', (file) => {
    const schema = read(file)
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    const byBoth = [
      validator(file),
      addFormats.default(new Ajv(options)).compile({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' }),
    ]
    for (const validate of byBoth)
      for (const example of schema.examples ?? []) expect(validate(example), JSON.stringify(validate.errors)).toBe(true)
    for (const validate of byBoth) expect(validate([])).toBe(false)
  })

  it('describe every field of a message that is read', () => {
    const topics = [
      'verdicts',
      'dead-letters',
      'transcripts',
      'shadow-verdicts',
      'proposals',
      'reviews',
      'decision-outcomes',
      'appeal-outcomes',
      'casework',
      'audit',
    ] as const
    for (const topic of topics) {
      const { properties } = read(`${topic}.schema.json`)
      expect(Object.keys(properties).sort()).toEqual(Object.keys(TOPICS[topic].shape).sort())
    }
  })
})

describe('AsyncAPI', () => {
  it('is valid by its own parser, with every topic and the direction of each', { timeout: 300_000 }, async () => {
    const { document, diagnostics } = await new Parser().parse(text('config', 'schemas', 'asyncapi.json'))
    const [error, warning] = [0, 1]
    expect(diagnostics.filter(({ severity }) => severity === error || severity === warning)).toEqual([])
    const operations = document?.operations().all() ?? []
    const topics = operations.map((operation) => [
      operation.action(),
      ...operation
        .channels()
        .all()
        .map((channel) => channel.address()),
    ])
    expect(topics).toEqual(
      Object.keys(TOPICS).map((topic) => [
        WRITTEN.some((one) => one === topic) ? 'receive' : 'send',
        `{prefix}${topic}`,
      ]),
    )
    for (const channel of document?.channels().all() ?? [])
      for (const message of channel.messages().all()) expect(message.examples().all(), message.name()).not.toEqual([])
  })
})

describe('the examples', () => {
  const shown = ['messages.md', 'verdicts.md', 'contracts.md']
    .map((name) => join('docs', name))
    .map((file) => [file, examplesIn(text(file))] as const)

  it('are those of the documents, at least one of each topic', () => {
    const all = shown.flatMap(([, examples]) => [...examples])
    for (const topic of Object.keys(TOPICS))
      expect(read(`${topic}.schema.json`).examples).toEqual(
        all.flatMap(([name, examples]) => (name === topic ? examples : [])),
      )
  })

  test.each(Object.entries(TOPICS))('of %s are read by the code, and nothing of them is left out', (topic, schema) => {
    const { examples } = read(`${topic}.schema.json`)
    const before = JSON.parse(text('test', 'schemas', 'released', `${topic}.schema.json`)).examples
    expect(examples).not.toEqual([])
    for (const example of before)
      expect(schema.safeParse(parseMessage(JSON.stringify(example))).error, 'of the last release').toBeUndefined()
    for (const example of examples) {
      const known = schema.safeParse(parseMessage(JSON.stringify(example)))
      expect(known.error).toBeUndefined()
      expect(known.data).not.toHaveProperty('odd.0')
    }
  })

  it('of files to produce are lines by their schema', () => {
    const line = validator('line.schema.json')
    for (const json of text('config', 'demo', 'event.jsonl').trim().split('\n'))
      expect(line(JSON.parse(json)), json).toBe(true)
    expect(line({ id: 'p1', text: 'no type', createdAt: '2026-05-01T10:00:00Z' })).toBe(false)
  })

  it('that are cut off or have no topic are named', () => {
    const block = (body: string) => `\`\`\`jsonc\n${body}\n\`\`\`\n`
    expect(() => examplesIn(block('// gavel.posts\n{"id": "p1", …}'))).toThrow('is no JSON')
    expect(() => examplesIn(block('// gavel.postz\n{}'))).toThrow('no topic postz')
  })
})

const AT_TEN = '2026-05-01T10:00:00Z'

describe('a message that others write', () => {
  const time = fc.constantFrom('2026-05-01T10:00:00Z', '2026-05-01T10:00:00.123+02:00', '2024-02-29T23:59:59-11:30')
  const odd = fc.oneof(
    fc.constantFrom(null, undefined, true, false, 0, -1, 1.5, '', ' ', [], {}, '2026-02-30T00:00:00Z', 'yesterday'),
    fc.constantFrom('x'.repeat(36), 'x'.repeat(513), '2026-05-01T10:00Z', '2026-05-01', 'a/b', 'https://a.example/b'),
  )
  const or = (good: fc.Arbitrary<unknown>) =>
    fc.option(fc.oneof({ weight: 6, arbitrary: good }, odd), { nil: undefined })
  const id = or(fc.constantFrom('p1', 'at://did:plc:3f/app.post/9', 'ü', 4711, '0'))
  const words = or(fc.constantFrom('The bridge is closed', ' ', '٣', 'x'))
  const image = fc.record({
    kind: or(fc.constant('image')),
    sha256: or(fc.constantFrom('a1'.repeat(32), 'A1'.repeat(32))),
    pdq: fc.constantFrom(undefined, undefined, 'a1', '0f'.repeat(32)),
    url: or(fc.constantFrom('HTTPS://a.example/b.png', 'data:image/png;base64,AAAA', 'http://a.example/b.png')),
    alt: or(fc.constantFrom('a street', '')),
  })
  const clip = fc.record({
    kind: or(fc.constantFrom('video', 'audio')),
    transcript: words,
    frames: or(fc.array(image, { maxLength: 2 })),
    seconds: or(fc.constantFrom(0, 12.5)),
  })
  const named = or(fc.constantFrom('remove', 'author', 'own-initiative'))
  const cited = fc.array(fc.record({ id: or(fc.constantFrom('H1', 'x'.repeat(40))), quote: words }), { maxLength: 3 })
  const message = fc.record({
    id,
    postId: id,
    subjectId: id,
    parentId: id,
    by: or(fc.constantFrom('author', 'notifier', 'ann', 4711)),
    author: id,
    tenant: or(fc.constantFrom('acme', 'a b')),
    lang: or(fc.constantFrom('en', 'de-CH')),
    text: words,
    hateSpeech: words,
    note: words,
    protocol: words,
    label: words,
    createdAt: or(time),
    at: or(time),
    authorSince: or(time),

    against: or(fc.constantFrom(0, 3)),
    why: words,
    withdraw: fc.constantFrom(undefined, undefined, null, true, false),
    clauses: fc.oneof(fc.constantFrom(undefined, null, [{ id: 'H1', quote: 'x' }]), cited),
    golden: fc.constantFrom(undefined, undefined, null, 'key', 'answer', 'lead'),
    unseen: fc.constantFrom(undefined, undefined, null, true, false),
    force: or(fc.boolean()),
    opinion: or(fc.boolean()),
    kind: or(fc.constantFrom('post', 'reply')),
    subjectKind: fc.constantFrom(undefined, undefined, null, 'post', 'reply', 'comment', 'account'),
    media: or(fc.oneof(fc.array(image, { maxLength: 18 }), fc.array(fc.oneof(image, clip), { maxLength: 2 }))),
    reach: or(fc.constantFrom(0, 0.5, 120)),
    verdictId: fc.constantFrom(undefined, undefined, null, 'rumor~p1~r1'),
    actionId: fc.constantFrom(undefined, undefined, null, 'a1', 7),
    what: named,
    ground: named,
    clause: named,
    source: named,
    contact: named,
    since: or(time),
    until: or(time),
    decisionAt: or(time),
    countries: or(fc.constantFrom(['DE', 'FR'], ['de'], [])),
    deleted: fc.constantFrom(undefined, undefined, undefined, false, null, true, 'true', 1),
    appeals: fc.constantFrom(...Array.from({ length: 16 }, () => undefined), null, ['e1'], ['e1', 'e2'], []),
  })

  test.each(WRITTEN)('that is valid by the schema of %s is taken, and nothing of it is left out', (topic) => {
    const valid = validator(`${topic}.schema.json`)
    let [taken, refused] = [0, 0]
    fc.assert(
      fc.property(message, (given) => {
        const json = JSON.stringify(given)
        const known = TOPICS[topic].safeParse(parseMessage(json))
        if (valid(JSON.parse(json))) {
          taken++
          expect(known.error, json).toBeUndefined()
          // Fields of other messages are unknown here.
          const odd = known.data && 'odd' in known.data ? (known.data.odd ?? []) : []
          expect(
            odd.filter(({ why }) => !why.startsWith('an unknown field')),
            json,
          ).toEqual([])
        } else if (!known.success) refused++
      }),
      { numRuns: 3_000, seed: 46 },
    )
    expect(Math.min(taken, refused)).toBeGreaterThan(30)
  })

  it('may have null for what it leaves out, whatever its other values are', () => {
    const valid = validator('decisions.schema.json')
    const said = { subjectId: 'p1', protocol: 'hate', label: 'hate', against: 1, by: 'ann', why: 'x', at: AT_TEN }
    const others = ['kind', 'subjectKind', 'golden', 'clauses', 'code', 'sawLabel', 'seconds', 'unseen', 'withdraw']
    for (const field of others) {
      expect(decisionMessage.safeParse({ ...said, [field]: null }).success, field).toBe(true)
      expect(valid({ ...said, [field]: null }), field).toBe(true)
    }
    const golden = { ...said, unseen: true, kind: 'post', golden: 'key', clauses: [{ id: 'H1', quote: 'w' }] }
    expect(valid({ ...golden, opinion: true })).toBe(true)
    for (const opinion of [undefined, null, false]) expect(valid({ ...golden, opinion }), String(opinion)).toBe(false)
    for (const odd of [{ unseen: false }, { kind: 'comment' }, { golden: 'lead' }, { clauses: [] }, { clauses: [{}] }])
      expect(valid({ ...said, ...odd }), JSON.stringify(odd)).toBe(false)
    const withdrawal = { ...said, label: null, withdraw: true }
    expect([valid(withdrawal), valid({ ...withdrawal, clauses: [{ id: 'H1' }] })]).toEqual([true, false])
    expect(valid({ ...withdrawal, withdraw: null })).toBe(false)
  })

  const base = {
    id: 'p1',
    postId: 'p1',
    subjectId: 'p1',
    by: 'author',
    createdAt: '2026-05-01T10:00:00Z',
    at: '2026-05-01T10:00:00Z',
    text: 'words',
    hateSpeech: 'words',
    protocol: 'hate',
    label: 'hate',
    against: 1,
    why: 'words',
    reach: 120,
    what: 'remove',
    since: '2026-05-01T10:00:00Z',
    source: 'notice',
    contact: 'case 7',
  }
  const strict = fc.constantFrom('id', 'postId', 'subjectId', 'tenant', 'createdAt', 'deleted')
  test.each(WRITTEN)('with a strict field that is odd is refused by the schema of %s as by the code', (topic) => {
    const valid = validator(`${topic}.schema.json`)
    fc.assert(
      fc.property(strict, odd, (field, value) => {
        const json = JSON.stringify({ ...base, [field]: value })
        expect(valid(JSON.parse(json)), json).toBe(TOPICS[topic].safeParse(parseMessage(json)).success)
      }),
      { numRuns: 300, seed: 46 },
    )
  })
})

describe('the settings', () => {
  const valid = validator('settings.schema.json')
  const faults = (yaml: string) =>
    valid(parse(yaml)) ? [] : (valid.errors ?? []).map(({ instancePath }) => instancePath)

  it('as shipped name their schema, and are valid by it', () => {
    const shipped = text('config', 'gavel.yaml')
    const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(shipped) ?? []
    expect(read(path.replace(/^schemas\//, '')).title).toBe('Settings of Gavel')
    expect(faults(shipped)).toEqual([])
  })

  it('of the documents are valid', () => {
    const blocks = ['README.md', ...readdirSync(join(PROJECT, 'docs')).map((file) => join('docs', file))]
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        [...text(file).matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => ({ file, yaml })),
      )
      .filter(({ yaml }) =>
        /^(models|protocols|limits|budgets|routes|endpoints|kafka|redis|library|openai|stages):/m.test(yaml),
      )
    expect(blocks.length).toBeGreaterThan(5)
    for (const { file, yaml } of blocks) expect(faults(yaml), `${file}:\n${yaml}`).toEqual([])
  })

  test.each([
    ['protocols: { rumour: { k: 3 } }', '/protocols'],
    ['protocols: { rumor: { k: 0 } }', '/protocols/rumor/k'],
    ['http: { port: "9464" }', '/http/port'],
    ['cases: { deadline: 10 }', '/cases/deadline'],
    ['limits: { tenants: { acme: { inflight: 8 } } }', '/limits/tenants/acme'],
    ['routes: { hate: [{ media: some }] }', '/routes/hate/0/media'],
    ['endpoints: { "a b": { baseUrl: "http://a.example" } }', '/endpoints'],
    ['modles: {}', ''],
  ])('that are wrong are marked: %s', (yaml, path) => {
    expect(faults(yaml)).toContain(path)
  })

  it('in part, by path and of any name are taken', () => {
    for (const yaml of [
      '{}',
      'models.roles: { judge: [x] }',
      'endpoints: { azure: { apiKey: k } }',
      'budgets: { total: { usd: 1 } }',
    ])
      expect(faults(yaml)).toEqual([])
  })

  it('each say what they are for, and what they are unless set', () => {
    const bare: string[] = []
    const look = (
      schema: { properties?: Record<string, object>; default?: unknown; deprecated?: boolean; description?: string },
      path: string,
    ) => {
      if (schema.properties === undefined) {
        // Where an earlier name is not set, what took its place counts.
        const isWhole = schema.description !== undefined && ('default' in schema || schema.deprecated === true)
        if (!isWhole) bare.push(path)
      } else for (const [name, inner] of Object.entries(schema.properties)) look(inner, `${path}.${name}`)
    }
    look(read('settings.schema.json'), '')
    expect(bare).toEqual([])
  })

  it('each name in their comment what an entry of them may hold', () => {
    const unnamed: string[] = []
    const look = (
      {
        description = '',
        default: shipped = null,
        properties = {},
        additionalProperties,
        items,
        anyOf = [],
      }: JsonSchema,
      heard: string,
      path: string,
    ) => {
      const said = `${heard} ${description} ${JSON.stringify(shipped)}`
      const inner = [additionalProperties, items, ...anyOf].filter((one) => typeof one === 'object')
      for (const entry of inner) {
        for (const name of Object.keys(entry.properties ?? {}))
          if (!said.includes(name)) unnamed.push(`config/gavel.yaml, the comment of ${path}: ${name} is not named`)
        look(entry, said, path)
      }
      for (const [name, setting] of Object.entries(properties))
        look(setting, said, `${path}.${name}`.replace(/^\./, ''))
    }
    look(read('settings.schema.json'), '', '')
    expect(unnamed).toEqual([])
  })
})
