import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { readMessage } from '../../../consumers/read-message.ts'
import { MAX_DEPTH, parseMessage, withoutDeepFields } from '../../../src/contracts/facts/message-json.ts'
import {
  commentMessage,
  counterspeechMessage,
  feedbackMessage,
  postMessage,
} from '../../../src/contracts/facts/messages.ts'
import { isContent, isWords, type OddField } from '../../../src/contracts/facts/odd-fields.ts'

// One odd field, and all else is read: messages made from the schemas, each with one field of another kind than it takes.

const AT = '2025-05-01T12:00:00Z'
const LIMITS = { maxMessageBytes: 1 << 20, maxAhead: 0 }
const SCHEMAS = { post: postMessage, comment: commentMessage, counterspeech: counterspeechMessage } as const
type Kind = keyof typeof SCHEMAS
const KINDS = Object.keys(SCHEMAS) as Kind[]
/** A message of each kind with nothing odd in it. */
const BASES: Record<Kind, Record<string, unknown>> = {
  post: {
    id: 'p',
    tenant: 'mine',
    text: 'Soup at seven.',
    author: 'ana',
    authorSince: AT,
    lang: 'en',
    createdAt: AT,
    media: [
      { kind: 'image', url: 'https://x.example/a.png', alt: 'a pot', sha256: 'a1'.repeat(32), pdq: '0F'.repeat(32) },
      { kind: 'video', transcript: 'So it is.', frames: [{ kind: 'image', alt: 'a pot' }], seconds: 12.5 },
    ],
    reach: 120,
  },
  comment: {
    id: 'c',
    postId: 'p',
    tenant: 'mine',
    parentId: 'b',
    text: 'So it is.',
    author: 'ana',
    authorSince: AT,
    createdAt: AT,
  },
  counterspeech: {
    id: 'r',
    tenant: 'mine',
    postId: 'p',
    hateSpeech: 'They lie.',
    text: 'They do not.',
    author: 'ana',
    createdAt: AT,
  },
}

type Message = Record<string, unknown> & { createdAt: number; odd?: OddField[] | undefined }
function readJson(schema: z.ZodType, json: string) {
  const value = Buffer.from(json)
  const from = { topic: 't', partition: 0, offset: '0', key: 'k', value, headers: {}, timestamp: 0 }
  return readMessage(from, schema as z.ZodType<Message>, LIMITS, Date.parse(AT))
}
const messageIn = (schema: z.ZodType, json: string): Message => {
  const read = readJson(schema, json)
  if (!read.ok) throw new Error(`${read.reason}: ${read.detail} in ${json.slice(0, 200)}`)
  return read.message
}

/** The message of this kind in which the field at this path is what this JSON says. */
function withField(kind: Kind, path: string, json: string): string {
  const message = structuredClone(BASES[kind])
  const steps = path.split('.')
  let holder: Record<string, unknown> = message
  for (const step of steps.slice(0, -1)) holder = holder[step] as Record<string, unknown>
  holder[steps.at(-1) ?? ''] = 'THE FIELD'
  return JSON.stringify(message).replace('"THE FIELD"', () => json)
}
const without = (kind: Kind, field: string) => {
  const { [field]: _, ...rest } = BASES[kind]
  return JSON.stringify(rest)
}

/** The fields of these, as their schema has them. */
const shapeOf = (kind: Kind): Record<string, z.ZodType> => SCHEMAS[kind].out.shape
const STRICT = ['id', 'postId', 'tenant', 'createdAt', 'deleted']
/** Fields without which there is nothing to judge: odd ones are missing ones. `odd` is nobody's to say. */
const isNeeded = (kind: Kind, field: string) => !readJson(SCHEMAS[kind], without(kind, field)).ok
const optionalOf = (kind: Kind) =>
  Object.keys(shapeOf(kind)).filter((field) => field !== 'odd' && field in BASES[kind] && !isNeeded(kind, field))
/** Of counterspeech `postId` links a reply to the post with which it is erased. */
const isStrict = (field: string) => STRICT.includes(field)

/** The paths of all optional fields, those of an image and a video among them. */
const PATHS = KINDS.flatMap((kind) =>
  optionalOf(kind)
    .filter((field) => !isStrict(field))
    .flatMap((field) => {
      const entries = Array.isArray(BASES[kind][field]) ? (BASES[kind][field] as object[]) : []
      const within = entries.flatMap((entry, at) =>
        Object.keys(entry)
          .filter((name) => name !== 'kind')
          .map((name) => `${field}.${at}.${name}`),
      )
      return [field, ...within].map((path) => [kind, path] as const)
    }),
)

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
/** Every type of JSON, and each too long, too many and too deep. */
const VALUES: Record<string, string> = {
  string: '"SECRET words"',
  'empty string': '""',
  'half a character': '"\\ud800"',
  whole: '7',
  negative: '-1.5',
  exponent: '1e3',
  'beyond 2^53': '267081518403440641',
  'beyond all': '1e400',
  true: 'true',
  false: 'false',
  null: 'null',
  'empty object': '{}',
  object: '{"SECRET":1}',
  'nested object': '{"a":{"b":[{"SECRET":null}]}}',

  'empty list': '[]',
  'list of strings': '["SECRET"]',
  'list of numbers': '[1,2]',
  'nested list': '[[["SECRET"]]]',
  'list of yes and null': '[true,null]',
  'list of objects': '[{"kind":"SECRET"},{}]',
  'long string': JSON.stringify('SECRET '.repeat(20_000)),
  'long string of many bytes': JSON.stringify('é'.repeat(300)),
  'many entries': `[${'1,'.repeat(9_999)}1]`,
  'many images': JSON.stringify(Array.from({ length: 40 }, () => ({ kind: 'image', url: 'https://x.example/a.png' }))),
  'many fields': JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n]))),
  'deep list': nested(1_100),
  'list a level too deep': nested(33),
  'deep object': `${'{"a":'.repeat(1_100)}1${'}'.repeat(1_100)}`,
  'deep object in a list': `[${'{"a":'.repeat(1_100)}1${'}'.repeat(1_100)}]`,
}

type Verdict = 'taken' | 'absent' | 'odd'
const TYPES = /^(?:(?<text>")|(?<number>-?\d)|(?<nothing>null$))/
const bytesOf = (json: string) => Buffer.byteLength(JSON.parse(json) as string)
/** What becomes of a value, by the documents: which are taken as they are, and which are as good as absent. */
function expected(path: string, json: string): Verdict {
  const { text, number, nothing } = TYPES.exec(json)?.groups ?? {}
  if (nothing !== undefined) return 'absent'
  const name = path.split('.').at(-1) ?? ''
  const empty = json === '""'
  switch (name) {
    case 'text':
      return text !== undefined || number !== undefined ? 'taken' : 'odd'
    case 'author':
      if (number !== undefined) return 'taken'
      if (text === undefined) return 'odd'
      return empty ? 'absent' : bytesOf(json) <= 512 ? 'taken' : 'odd'
    case 'parentId':
      if (number !== undefined) return 'taken'
      if (text === undefined) return 'odd'
      return empty ? 'absent' : bytesOf(json) <= 512 && !json.includes('\\ud800') ? 'taken' : 'odd'
    case 'lang':
      return text !== undefined && (JSON.parse(json) as string).length <= 35 ? 'taken' : 'odd'
    case 'alt':
    case 'transcript':
      return text !== undefined ? 'taken' : 'odd'
    case 'reach':
    case 'seconds':
      return Number.isFinite(Number(json)) && Number(json) >= 0 && number !== undefined ? 'taken' : 'odd'
    case 'frames':
    case 'media':
      return json === '[]' ? 'absent' : 'odd'
    case 'authorSince':
    case 'url':
    case 'sha256':
    case 'pdq':
      return 'odd'
    default:
      throw new Error(`what ${path} takes is not told here`)
  }
}

const rest = ({ odd: _, ...message }: Message, field: string) =>
  Object.fromEntries(Object.entries(message).filter(([name, value]) => name !== field && value !== undefined))

const ROWS = PATHS.flatMap(([kind, path]) =>
  Object.entries(VALUES).map(([what, json]) => [kind, path, what, json] as const),
)

test('the fields are those of the schemas, two hundred messages and more are made of them, and each is read', () => {
  expect(PATHS.map(([kind, path]) => `${kind} ${path}`).sort()).toEqual([
    'comment author',
    'comment authorSince',
    'comment parentId',
    'counterspeech author',
    'post author',
    'post authorSince',
    'post lang',
    'post media',
    'post media.0.alt',
    'post media.0.pdq',
    'post media.0.sha256',
    'post media.0.url',
    'post media.1.frames',
    'post media.1.seconds',
    'post media.1.transcript',
    'post reach',
    'post text',
  ])
  for (const kind of KINDS) {
    // No field of a schema goes untried.
    const tried = [...STRICT, ...Object.keys(BASES[kind]), 'odd']
    expect(Object.keys(shapeOf(kind)).filter((field) => !tried.includes(field))).toEqual([])
    expect(messageIn(SCHEMAS[kind], JSON.stringify(BASES[kind])).odd).toBeUndefined()
  }
  expect(ROWS.length).toBeGreaterThanOrEqual(200)
  expect(ROWS.filter(([, path, , json]) => expected(path, json) === 'odd').length).toBeGreaterThanOrEqual(200)
})

test.each(ROWS)('a %s is read whose %s is this: %s', (kind, path, what, json) => {
  const [field = ''] = path.split('.')
  const whole = messageIn(SCHEMAS[kind], JSON.stringify(BASES[kind]))
  const message = messageIn(SCHEMAS[kind], withField(kind, path, json))
  expect(rest(message, field)).toEqual(rest(whole, field))
  expect(JSON.stringify(message.odd ?? [])).not.toContain('SECRET')
  const named = (message.odd ?? []).map((one) => one.field)
  const about = named.filter(
    // An entry that is left out whole takes what it says with it.
    (name) =>
      name === path ||
      name.startsWith(`${path}.`) ||
      path.startsWith(`${name}.`) ||
      path.startsWith(name.replace(/alt$/, '')) ||
      // What is nested too deep takes the whole field with it.
      (what.includes('deep') && name.startsWith(`${field}.`)),
  )
  expect(about).toEqual(named)
  expect(named.length).toBeLessThanOrEqual(20)
  const become = expected(path, json)
  if (become === 'odd') expect(named).not.toEqual([])
  else expect(named).toEqual([])
  if (become === 'absent') expect(message).toEqual({ ...whole, [field]: path === field ? undefined : message[field] })
  if (become === 'taken' && path === field && !json.includes('\\ud800'))
    expect(message[field]).toBe(json.startsWith('"') ? JSON.parse(json) : field === 'reach' ? Number(json) : json)
  // What is too long, or no text, is not kept in any field but the text itself.
  if (become === 'odd') expect(JSON.stringify(message).length).toBeLessThan(10_000)
})

describe('a field that cannot be odd', () => {
  const strict = KINDS.flatMap((kind) =>
    Object.keys(shapeOf(kind))
      .filter((field) => isStrict(field))
      .map((field) => [kind, field] as const),
  )
  const isTaken = (kind: Kind, field: string, json: string) => {
    const { text, number } = TYPES.exec(json)?.groups ?? {}
    if (field === 'deleted') return ['true', 'false', 'null'].includes(json)
    if (field === 'tenant') return json === 'null' || /^"[A-Za-z0-9_.-]{1,64}"$/.test(json)
    if (field === 'createdAt') return false
    if (json === 'null') return !isNeeded(kind, field)
    if (number !== undefined) return true
    return text !== undefined && json !== '""' && bytesOf(json) <= 512 && !json.includes('\\ud800')
  }
  const rows = strict.flatMap(([kind, field]) =>
    Object.entries({
      ...VALUES,
      'no in words': '"false"',
      zero: '0',
      'a day': '"2025-05-01"',
      'no text around it': '" "',

      'a name and a mark': '"a@b"',
      'sixty-five letters': JSON.stringify('a'.repeat(65)),
      'a list of it': '["mine"]',
    })
      .filter(([, json]) => !isTaken(kind, field, json))
      .map(([what, json]) => [kind, field, what, json] as const),
  )

  test('is one of these', () => {
    expect(strict.map(([kind, field]) => `${kind} ${field}`)).toEqual([
      'post id',
      'post tenant',
      'post createdAt',
      'post deleted',
      'comment id',
      'comment postId',
      'comment tenant',
      'comment createdAt',
      'comment deleted',

      'counterspeech id',
      'counterspeech tenant',
      'counterspeech postId',
      'counterspeech createdAt',
      'counterspeech deleted',
    ])
  })

  test.each(rows)('is never guessed: a %s whose %s is this is not read: %s', (kind, field, _what, json) => {
    const read = readJson(SCHEMAS[kind], withField(kind, field, json))
    expect(read).toMatchObject({ ok: false, reason: 'invalid' })
    if (!read.ok) expect(read.detail).not.toContain('SECRET')
    // Nor of a message that is deleted, or says that it is.
    const deletion = withField(kind, field, json).replace('{', '{"deleted":true,')
    if (field !== 'deleted') expect(readJson(SCHEMAS[kind], deletion).ok).toBe(false)
  })

  test.each(KINDS)('is absent as null, where it may be: %s', (kind) => {
    const { tenant: _, ...untold } = messageIn(SCHEMAS[kind], JSON.stringify(BASES[kind]))
    expect(messageIn(SCHEMAS[kind], withField(kind, 'tenant', 'null'))).toEqual({ ...untold, tenant: 'default' })
    for (const field of ['id', 'createdAt', ...(kind === 'comment' ? ['postId'] : [])])
      expect(readJson(SCHEMAS[kind], withField(kind, field, 'null')).ok).toBe(false)
  })

  test.each(KINDS)('is no deletion as null or false: %s', (kind) => {
    const living = messageIn(SCHEMAS[kind], JSON.stringify(BASES[kind]))
    for (const json of ['null', 'false']) {
      const message = messageIn(SCHEMAS[kind], withField(kind, 'deleted', json))
      expect(message).toEqual(living)
      expect(message.deleted).toBeUndefined()
    }
    const { id, tenant, createdAt, postId } = living
    const deletion = messageIn(SCHEMAS[kind], withField(kind, 'deleted', 'true'))
    const about = postId === undefined ? {} : { postId }
    expect(deletion).toEqual({ id, tenant, createdAt, ...about, deleted: true })
  })
})

test('an address of an image is left out where it is long, unless it has the image itself', () => {
  const read = (url: string) =>
    messageIn(postMessage, JSON.stringify({ ...BASES.post, media: [{ kind: 'image', url, alt: 'a' }] }))
  const https = (length: number) => `https://x.example/${'a'.repeat(length - 18)}`
  for (const url of [https(8_192), `data:image/png;base64,${'A'.repeat(9_000)}`])
    expect(read(url)).toMatchObject({ media: [{ kind: 'image', url, alt: 'a' }] })
  const { media, odd } = read(https(8_193))
  expect([media, odd]).toEqual([
    [{ kind: 'image', alt: 'a' }],
    [{ field: 'media.0.url', why: 'longer than 8192 characters, left out' }],
  ])
})

describe('null is absent', () => {
  test.each(PATHS.filter(([, path]) => !path.includes('.')))('in a %s: %s', (kind, field) => {
    const message = messageIn(SCHEMAS[kind], withField(kind, field, 'null'))
    expect(message).toEqual(messageIn(SCHEMAS[kind], without(kind, field)))
    expect(message[field]).toBeUndefined()
  })

  test('in an image, and in place of one', () => {
    const post = (media: unknown) => messageIn(postMessage, JSON.stringify({ ...BASES.post, media }))
    const url = 'https://x.example/a.png'
    expect(post([null, { kind: 'image', url, alt: null }, null])).toMatchObject({ media: [{ kind: 'image', url }] })
    expect(post([null, { kind: 'image', url, alt: null }]).odd).toBeUndefined()
    expect(post([{ kind: 'image', url: null, alt: 'a pot' }])).toMatchObject({
      media: [{ kind: 'image', alt: 'a pot' }],
    })
    expect(post([null]).media).toBeUndefined()
  })

  test('in feedback; an odd note is left out of it', () => {
    const feedback = { subjectId: 'p', protocol: 'hate', label: 'hate', by: 'ana', at: AT }
    const plain = messageIn(feedbackMessage, JSON.stringify({ ...feedback, note: null, tenant: null }))
    expect(plain).toMatchObject({ ...feedback, tenant: 'default', at: Date.parse(AT) })
    for (const json of Object.values(VALUES).filter((one) => !one.startsWith('"')))
      expect(
        messageIn(
          feedbackMessage,
          JSON.stringify({ ...feedback, note: 'N' }).replace('"N"', () => json),
        ),
      ).toEqual(plain)
  })
})

test('media have hashes in small letters; an odd one is no content that was not seen', () => {
  const one = messageIn(postMessage, JSON.stringify(BASES.post))
  expect(one.media).toMatchObject([
    { sha256: 'a1'.repeat(32), pdq: '0f'.repeat(32) },
    { kind: 'video', seconds: 12.5 },
  ])
  const image = { kind: 'image', alt: 'a pot', sha256: 'a1' }
  const media = [
    image,
    { kind: 'audio', seconds: -1, transcript: 7, frames: [{ ...image, alt: 7 }, { kind: 'video' }] },
  ]
  const odd = messageIn(postMessage, JSON.stringify({ ...BASES.post, media })).odd ?? []
  const named = (is: (one: OddField) => boolean) => odd.filter(is).map(({ field }) => field)
  // A clip among the frames was left out with what is said in it.
  const content = ['media.1.transcript', 'media.1.frames.0.alt', 'media.1.frames.1', 'media.1.frames.1.alt']
  expect(named(isContent)).toEqual(content)
  expect(named(isWords)).toEqual(content.filter((field) => field !== 'media.1.frames.1'))
  expect(named(() => true).filter((field) => !content.includes(field))).toEqual([
    'media.0.sha256',
    'media.1.frames.0.sha256',
    'media.1.seconds',
  ])
})

test('a message can’t declare its own `odd`: that field is not read', () => {
  for (const kind of KINDS) {
    const odd = [{ field: 'text', why: 'SECRET' }]
    for (const given of [odd, 'SECRET', null, 7])
      expect(messageIn(SCHEMAS[kind], JSON.stringify({ ...BASES[kind], odd: given })).odd).toBeUndefined()
  }
})

test('however many fields are odd, few are named, and whether content is among the others too', () => {
  const bad = { kind: 'image', url: 'http://x.example/a.png', alt: 7 }
  const media = Array.from({ length: 300 }, () => bad)
  const message = messageIn(
    postMessage,
    JSON.stringify({ ...BASES.post, author: [], lang: [], authorSince: [], media }),
  )
  const odd = message.odd ?? []
  expect(odd.length).toBeLessThanOrEqual(20)
  expect(odd.at(-1)).toMatchObject({ field: expect.stringMatching(/^media/), why: expect.stringMatching(/\d+ more/) })
})

describe('a number is read as it was written', () => {
  const NUMBERS = [
    '7',
    '-0',
    '1.0',
    '1e3',
    '1E400',
    '267081518403440641',
    '267081518403440642',
    '0.1000',
    '9'.repeat(60),
  ]
  const FIELDS = KINDS.flatMap((kind) =>
    ['id', 'postId', 'parentId', 'author', 'text', 'hateSpeech']
      .filter((field) => field in BASES[kind])
      .map((field) => [kind, field] as const),
  )

  test.each(FIELDS)('in a %s: %s', (kind, field) => {
    const whole = messageIn(SCHEMAS[kind], JSON.stringify(BASES[kind]))
    for (const number of NUMBERS)
      expect(messageIn(SCHEMAS[kind], withField(kind, field, number))).toEqual({ ...whole, [field]: number })
  })

  test('in feedback', () => {
    const json = `{"subjectId":267081518403440641,"by":1.0,"protocol":"hate","label":"hate","at":"${AT}"}`
    expect(messageIn(feedbackMessage, json)).toMatchObject({ subjectId: '267081518403440641', by: '1.0' })
  })

  test('the last of two of one name, whatever stands around it or has its name further in', () => {
    const json = `{"a":{"id":1},"id":2,"b":[{"id":3}],"id": 267081518403440641 ,"c":{"id":4},"text":"\\"id\\":5","createdAt":"${AT}"}`
    expect(messageIn(postMessage, json)).toMatchObject({ id: '267081518403440641', text: '"id":5' })
    expect(parseMessage('{"\\u0069d":1.50}')).toEqual({ id: '1.50' })
    expect(parseMessage('{"id":1,"id":"1.0"}')).toEqual({ id: '1.0' })
    expect(parseMessage('{"id":"1.0","id":1.00}')).toEqual({ id: '1.00' })
  })

  test('and no other value is read otherwise than JSON has it', () => {
    const named = fc.constantFrom('id', 'postId', 'author', 'text', 'n', '__proto__')
    fc.assert(
      fc.property(fc.array(fc.tuple(named, fc.jsonValue({ maxDepth: 3 })), { maxLength: 6 }), (entries) => {
        const json = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
        const plain = JSON.parse(json) as Record<string, unknown>
        const wanted = Object.entries(plain).map(([name, value]) => {
          const asWritten = typeof value === 'number' && ['id', 'postId', 'author', 'text'].includes(name)
          if (name === 'author' && typeof value === 'object' && value !== null) return [name, expect.anything()]
          return [name, asWritten ? JSON.stringify(value) : value]
        })
        expect(Object.entries(parseMessage(json) as object)).toEqual(wanted)
      }),
    )
    for (const json of ['7', '"x"', 'null', '[{"id":7}]', 'true']) expect(parseMessage(json)).toEqual(JSON.parse(json))
    for (const none of ['', '{', '{"id":01}', '{"id":.5}', '{"id":NaN}'])
      expect(() => parseMessage(none)).toThrow(SyntaxError)
  })
})

describe('an odd author is one author', () => {
  const authorOf = (json: string) => messageIn(postMessage, withField('post', 'author', json)).author
  const long = (end: string) => JSON.stringify(`${'z'.repeat(600)}${end}`)
  const ODD = [
    long('a'),
    long('b'),
    JSON.stringify('é'.repeat(257)),
    JSON.stringify(`${'é'.repeat(257)}!`),
    '{"a":1}',
    '{"a":2}',
    '["ana"]',
    '["ben"]',
    '[["ana"]]',
    nested(32),
  ]

  test('whenever it comes, in a post as in a comment, whatever stands between its parts', () => {
    for (const json of ODD) {
      expect(authorOf(json)).toMatch(/^sha256:[0-9a-f]{32}$/)
      expect(authorOf(` ${json} `)).toBe(authorOf(json))
      expect(messageIn(commentMessage, withField('comment', 'author', json)).author).toBe(authorOf(json))
    }
    expect(authorOf('{ "a" : 1 }')).toBe(authorOf('{"a":1}'))
  })

  test.each([
    ['by what is invisible in a long name', long('a'), long('\u200ba\u202e ')],
    ['by a name that is long for what is invisible in it', `"a${'\u2060'.repeat(400)}"`, `"a${'\u200b'.repeat(700)}"`],
    ['by such an id', `{"id":"${'x'.repeat(600)}"}`, `{"id":"${'x'.repeat(600)}\u200b"}`],
    ['by an id that is long for it', '{"id":"x"}', `{"id":"x${'\u200b'.repeat(300)}"}`],
    ['in an object without an id', '{"a":"x"}', '{"a":"x\u200b"}'],
  ])('and no other %s', (_, one, other) => {
    expect(authorOf(other)).toBe(authorOf(one))
  })

  test('and nobody where it holds nothing', () => {
    for (const json of ['true', 'false', '{}', '[]']) {
      const read = messageIn(postMessage, withField('post', 'author', json))
      expect(read.author).toBeUndefined()
      expect(read.odd).toEqual([{ field: 'author', why: 'not a text, left out' }])
    }
  })

  test('and no other: two that differ have two names', () => {
    expect(new Set(ODD.map(authorOf)).size).toBe(ODD.length)
  })

  test('by its id, or its name where it has none, whatever else changes in it', () => {
    expect(authorOf('{"id":7,"statuses_count":1}')).toBe('7')
    expect(authorOf('{"statuses_count":2,"id":"7"}')).toBe('7')
    expect(authorOf('{"acct":"evil@x","followers":9}')).toBe('evil@x')
    expect(authorOf(`{"id":"${'x'.repeat(600)}"}`)).toMatch(/^sha256:/)
  })

  test.each(['true', 'false', '{}', '[]'])('and nobody where it holds nothing: %s', (json) => {
    const read = messageIn(postMessage, withField('post', 'author', json))
    expect(read).not.toHaveProperty('author', expect.anything())
    expect(read.odd).toEqual([{ field: 'author', why: 'not a text, left out' }])
  })

  test('also where a number in it is written as a text', () => {
    expect(authorOf('{"id":1}')).toBe(authorOf('{"id":"1"}'))
  })

  test('and is no other where two numbers in it are one to a double', () => {
    expect(authorOf('{"id":267081518403440641}')).not.toBe(authorOf('{"id":267081518403440642}'))
  })

  test('in whatever order its parts come', () => {
    expect(authorOf('{"id":1,"name":"ana"}')).toBe(authorOf('{"name":"ana","id":1}'))
  })

  test('too where it is nested too deep: it is not without an author', () => {
    expect(authorOf(nested(1_100))).toMatch(/^sha256:/)
    expect(authorOf(nested(1_100))).toBe(authorOf(nested(1_100)))
  })
})

describe('what nests too deep', () => {
  const levelsOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0
    return 1 + Math.max(0, ...Object.values(value).map(levelsOf))
  }
  const textOf = (json: string) => withoutDeepFields(Buffer.from(json))?.toString() ?? 'nothing'
  const shallow = (json: string): unknown => JSON.parse(textOf(json))

  test('is left out of every field, whatever is in the strings around it', () => {
    const tricky = fc.constantFrom('"', '\\', '[', ']', '{', '}', ':', ',', '[[', '\\"', '":[', 'é', '')
    const key = fc.array(tricky, { maxLength: 4 }).map((parts) => parts.join(''))
    const leaf = fc.oneof(key, fc.integer(), fc.constantFrom(true, null))
    const deep = fc
      .tuple(fc.integer({ min: 0, max: 40 }), fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), key, leaf)
      .map(([levels, kinds, name, inner]) =>
        kinds
          .slice(0, levels)
          .reduce<unknown>((value, list) => (list ? [name, value, inner] : { [name]: value, z: 1 }), inner),
      )
    let [left, kept] = [0, 0]
    fc.assert(
      fc.property(fc.dictionary(key, deep, { maxKeys: 5 }), fc.constantFrom(undefined, 1), (message, space) => {
        const wanted = Object.fromEntries(
          Object.entries(message).map(([name, value]) => {
            const tooDeep = levelsOf(value) > MAX_DEPTH
            if (tooDeep) left++
            else kept++
            return [name, tooDeep ? [[]] : value]
          }),
        )
        // As text: V8's JSON.parse takes some short keys with escapes for others.
        expect(textOf(JSON.stringify(message, null, space)).replace(/\s/g, '')).toBe(JSON.stringify(wanted))
      }),
      { numRuns: 500 },
    )
    expect(Math.min(left, kept)).toBeGreaterThan(50)
  })

  test.each([
    [31, false],
    [32, false],
    [33, true],
    [1_100, true],
  ])('is what has more than thirty-two levels: %i', (levels, tooDeep) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const value = `${open.repeat(levels)}1${close.repeat(levels)}`
      const json = `{"before":[1,{"a":2}],"deep":${value},"after":"a long enough string, with [ and { in it"}`
      const read = shallow(json) as Record<string, unknown>
      expect(read).toMatchObject({ before: [1, { a: 2 }], after: expect.stringContaining('[ and {') })
      expect(JSON.stringify(read.deep)).toBe(tooDeep ? '[[]]' : value)
    }
  })

  test('is no message if it is outside of every field', () => {
    for (const json of [nested(100), `[{"a":${nested(100)}}]`, `${nested(100)}{"id":"p"}`, '['.repeat(1_000)])
      expect(withoutDeepFields(Buffer.from(json))).toBeNull()
  })

  test.each<[string, string]>([
    ['five hundred nests of 990 levels in one field', `[${Array.from({ length: 500 }, () => nested(990)).join(',')}]`],
    [
      'five hundred nests of 990 levels of objects',
      `[${Array.from({ length: 500 }, () => `${'{"a":'.repeat(990)}1${'}'.repeat(990)}`).join(',')}]`,
    ],
    ['a megabyte of brackets', nested(500_000)],
    ['a megabyte of brackets that are strings', JSON.stringify('['.repeat(1_000_000))],
    [
      'nests that are not too deep, one after the other',
      `[${Array.from({ length: 15_000 }, () => nested(31)).join(',')}]`,
    ],
  ])('is passed over in one go: %s', (_, json) => {
    const message = `{"id":"p","x":${json},"text":"Soup at seven.","createdAt":"${AT}"}`
    const read = readMessageOf(message)
    expect(read).toEqual({ id: 'p', tenant: 'default', text: 'Soup at seven.', createdAt: Date.parse(AT) })
    const asText = readMessageOf(message.replace('"x"', '"lang"'))
    expect(asText).toMatchObject({ id: 'p', text: 'Soup at seven.', odd: [{ field: 'lang' }] })
  })

  test('is passed over in five hundred fields of one message', () => {
    const fields = Array.from({ length: 500 }, (_, n) => `"k${n}":${nested(990)}`).join(',')
    const kept = withoutDeepFields(Buffer.from(`{${fields},"id":"p"}`))?.toString() ?? ''
    expect(Object.keys(JSON.parse(kept) as object)).toHaveLength(501)
    expect(kept.length).toBeLessThan(500 * 20)
  })

  function readMessageOf(json: string): Message {
    const value = Buffer.from(json)
    const from = { topic: 't', partition: 0, offset: '0', key: 'k', value, headers: {}, timestamp: 0 }
    const read = readMessage(from, postMessage, { ...LIMITS, maxMessageBytes: 4 << 20 }, Date.parse(AT))
    if (!read.ok) throw new Error(`${read.reason}: ${read.detail}`)
    return read.message
  }
})
