import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMessage } from '../../consumers/read-message.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { commentMessage, deadLetter, postMessage } from '../../src/contracts/facts/messages.ts'
import { isContent, isWords } from '../../src/contracts/facts/odd-fields.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { CORRUPT_BATCH } from '../../src/stream/record.ts'

const NOW = Date.parse('2024-05-01T12:00:00Z')
const LIMITS = { maxMessageBytes: 1 << 20, maxAhead: 300_000 }
const MIB = 1 << 20

const post = (change: object = {}) => ({ id: 'p1', text: 'hello', createdAt: '2024-05-01T11:59:00Z', ...change })
const comment = (change: object = {}) => ({
  id: 'c1',
  postId: 'p1',
  text: 'hm',
  createdAt: '2024-05-01T11:59:00Z',
  ...change,
})

const incoming = (value: unknown, change: Partial<IncomingMessage> = {}): IncomingMessage => ({
  topic: 'posts',
  partition: 2,
  offset: '99',
  key: 'p1',
  value:
    Buffer.isBuffer(value) || value === null
      ? value
      : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  headers: {},
  timestamp: NOW,
  ...change,
})
const readPost = (value: unknown, change?: Partial<IncomingMessage>) =>
  readMessage(incoming(value, change), postMessage, LIMITS, NOW)
const readComment = (value: unknown) => readMessage(incoming(value), commentMessage, LIMITS, NOW)

describe('a message is read', () => {
  it('with its times in ms, its tenant, and without fields that nobody knows', () => {
    const from = incoming(post({ extra: 1, authorSince: '2020-02-29T00:00:00+02:00' }))
    expect(readMessage(from, postMessage, LIMITS, NOW)).toEqual({
      ok: true,
      message: {
        id: 'p1',
        tenant: 'default',
        text: 'hello',
        createdAt: NOW - 60_000,
        authorSince: Date.parse('2020-02-28T22:00:00Z'),
      },
      from,
    })
  })

  it.each([
    ['from 1970', { createdAt: '1970-01-01T00:00:00Z' }, 0],
    ['from before 1970', { createdAt: '1969-12-31T23:59:59.5Z' }, -500],
    ['with an offset', { createdAt: '2024-05-01T13:00:00.123456+01:00' }, NOW + 123],
    ['from a little ahead', { createdAt: '2024-05-01T12:05:00Z' }, NOW + 300_000],
  ])('that is %s', (_, change, createdAt) => {
    expect(readPost(post(change))).toMatchObject({ ok: true, message: { createdAt } })
  })

  it.each([
    ['of a colon and more', 'at://did:plc:abc/app.bsky.feed.post/3k'],
    ['of digits', '1234567890'],
    ['in another script', '評論🔥'],
    ['of 512 bytes', 'é'.repeat(256)],
  ])('with an id %s', (_, id) => {
    expect(readPost(post({ id }))).toMatchObject({ ok: true, message: { id } })
    expect(readComment(comment({ id, postId: id, parentId: id }))).toMatchObject({
      ok: true,
      message: { id, postId: id },
    })
  })

  it.each<[string, object, string[]]>([
    [
      'a warning and a poll',
      { spoiler_text: 'They are vermin', poll: { options: [{ title: 'gas' }] } },
      ['spoiler_text', 'poll'],
    ],
    ['one word of a title, and of a caption', { title: 'Vermin', caption: 'x' }, ['title', 'caption']],
    ['words without spaces', { remark: '害虫', note: 'หนู' }, ['remark', 'note']],
    ['words deep in it', { more: { of: [[{ it: 'kill them' }]] } }, ['more']],
    [
      'names that say nothing or too much',
      { 'media.0.alt': 'kill them', '<b>': 'kill them', ['x'.repeat(65)]: 'k l' },
      ['(odd)'],
    ],
    ['a field of another message', { hateSpeech: 'They are vermin' }, ['hateSpeech']],
    [
      'no words',
      {
        visibility: 'public',
        source: 'web',
        url: 'https://x.org/a b'.replace(' ', ''),
        title: 'https://x.org/',
        subject: ' ',
        body: null,
        created_at: 'Mon Nov 28 02:00:00 +0000 2026',
        n: 7,
        tags: ['a', 'b'],
        spoiler: false,
        type: 'some words',
      },
      [],
    ],
  ])('with the names of unknown fields that hold words: %s', (_, change, names) => {
    const read = readPost(post(change))
    const odd = read.ok ? (read.message.odd ?? []) : []
    expect(odd).toEqual(names.map((field) => ({ field, why: 'an unknown field, its words were not read' })))
    // What they are called changes no label.
    expect(odd.some((one) => isContent(one) || isWords(one))).toBe(false)
  })

  it('with twenty odd fields at most, those that are known before the others', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_500 }, (_, nth) => [`f${nth}`, 'some words']))
    const read = readPost(post({ ...unknown, lang: 7 }))
    expect(read).toMatchObject({ ok: true })
    const odd = read.ok ? (read.message.odd ?? []) : []
    expect([odd.length, odd[0]?.field, odd[19]?.why]).toEqual([20, 'lang', expect.stringMatching(/; and 1481 more$/)])
  })

  it('as the deletion of a comment, which needs no text', () => {
    const deletion = comment({ text: undefined, deleted: true })
    expect(readComment(deletion)).toMatchObject({ ok: true, message: { deleted: true } })
  })

  it('as a deletion, whatever else is blanked or broken in it', () => {
    const broken = { text: 7, author: 'x'.repeat(600), authorSince: 'then', media: [{ kind: 'image' }], deleted: true }
    expect(readPost(post(broken))).toMatchObject({ ok: true, message: { deleted: true } })
    expect(readComment(comment({ text: null, parentId: '', deleted: true }))).toMatchObject({ ok: true })
    expect(readPost(post({ ...broken, id: '' }))).toMatchObject({ ok: false, reason: 'invalid' })
    expect(readPost(post({ ...broken, deleted: 'yes' }))).toMatchObject({ ok: false, reason: 'invalid' })
  })

  it('with half characters in its words made whole, and refused in its ids', () => {
    const words = { text: 'a \ud800', author: '\udfff b', lang: '\ud800', media: [{ kind: 'image', alt: '\udc00!' }] }
    const whole = { text: 'a \ufffd', author: '\ufffd b', lang: '\ufffd', media: [{ kind: 'image', alt: '\ufffd!' }] }
    expect(readPost(post(words))).toMatchObject({ ok: true, message: whole })
    expect(readComment(comment({ text: '\ud800\ud83d\ude00' }))).toMatchObject({
      message: { text: '\ufffd\ud83d\ude00' },
    })
    expect(readComment(comment({ id: '\ud800' }))).toMatchObject({ ok: false, reason: 'invalid' })
  })

  it('behind a byte order mark, and at exactly the longest', () => {
    expect(
      readPost(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(post()))])),
    ).toMatchObject({ ok: true })
    const filler = LIMITS.maxMessageBytes - JSON.stringify(post({ text: '' })).length
    expect(readPost(post({ text: 'x'.repeat(filler) }))).toMatchObject({ ok: true })
    expect(readPost(post({ text: 'x'.repeat(filler + 1) }))).toMatchObject({ ok: false, reason: 'too-large' })
  })

  it('whose text is full of brackets, quotes and backslashes: they nest nothing', () => {
    const text = '\\"[{'.repeat(5_000)
    expect(readPost(post({ text }))).toMatchObject({ ok: true, message: { text } })
  })

  it.each([33, 999, 1_000, 100_000])(
    'without what nests deeper than 32 levels in a field that nobody knows: %i',
    (deep) => {
      const nested = JSON.stringify(post()).replace('{', `{"a":${'['.repeat(deep)}${']'.repeat(deep)},`)
      const read = readPost(nested)
      expect(read.ok ? read.message : read).toEqual({
        id: 'p1',
        tenant: 'default',
        text: 'hello',
        createdAt: NOW - 60_000,
      })
    },
  )

  it.each<[string, object, object, string]>([
    [
      'an author of 513 bytes',
      { author: `${'é'.repeat(256)}x` },
      { author: expect.stringMatching(/^sha256:[0-9a-f]{32}$/) },
      'author',
    ],
    [
      'a file for an image',
      { media: [{ kind: 'image', url: 'file:///etc/passwd' }] },
      { media: [{ kind: 'image' }] },
      'media.0.url',
    ],
    [
      'http for an image',
      { media: [{ kind: 'image', url: 'http://169.254.169.254/' }] },
      { media: [{ kind: 'image' }] },
      'media.0.url',
    ],
    ['an image of nothing', { media: [{ kind: 'image' }] }, { media: [{ kind: 'image' }] }, 'media.0'],
    ['a medium of no known kind', { media: [{ kind: 'gifv', url: 'https://x.org/a' }] }, {}, 'media.0'],
    ['a reach that is none', { reach: -1 }, {}, 'reach'],
    [
      'a text that is none beside an image',
      { text: { $ne: 1 }, media: [{ kind: 'image', alt: 'a fire' }] },
      { media: [{ kind: 'image', alt: 'a fire' }] },
      'text',
    ],
  ])('whose other fields are read where one is odd, which is named: %s', (_, odd, kept, field) => {
    const read = readPost(post(odd))
    const { text } = { text: 'hello', ...odd }
    expect(read.ok ? read.message : read).toEqual({
      id: 'p1',
      tenant: 'default',
      createdAt: NOW - 60_000,
      ...(typeof text === 'string' ? { text } : {}),
      ...kept,
      odd: [{ field, why: expect.stringMatching(/./) }],
    })
  })

  it('with the first sixteen of half a million images, and the others counted', () => {
    const read = readPost(JSON.stringify(post()).replace('{', `{"media":[${'1,'.repeat(500_000)}1],`))
    expect(read).toMatchObject({ ok: true, message: { text: 'hello' } })
    const odd = read.ok ? (read.message.odd ?? []) : []
    expect(odd.map(({ field }) => field)).toEqual([...Array.from({ length: 16 }, (_, at) => `media.${at}`), 'media'])
    expect(odd.at(-1)?.why).toContain(String(500_001 - 16))
  })

  it('without a parent that can be no id, which is named; an empty one is none', () => {
    const read = readComment(comment({ parentId: 'x'.repeat(10_000) }))
    expect(read).toMatchObject({ ok: true, message: { odd: [{ field: 'parentId' }] } })
    expect(read.ok && read.message.parentId).toBeUndefined()
    const empty = readComment(comment({ parentId: '', author: '' }))
    expect(empty.ok ? empty.message : empty).toEqual({
      id: 'c1',
      postId: 'p1',
      tenant: 'default',
      text: 'hm',
      createdAt: NOW - 60_000,
    })
  })

  it('by a number for an id, as it is written', () => {
    expect(readPost(post({ id: 7 }))).toMatchObject({ ok: true, message: { id: '7' } })
  })

  it.each([
    ['five hundred lists nested 990 deep', `[${`${'['.repeat(990)}${']'.repeat(990)},`.repeat(500)}1]`],
    ['more than 20,000 lists', `[${'[],'.repeat(20_001)}1]`],
    ['more than 20,000 objects', `[${'{},'.repeat(20_001)}1]`],
  ])('without a field that costs too much to parse: %s', (_, value) => {
    for (const json of [`{"a":${value},`, `{"a":[[]],"b":${value},`]) {
      const read = readPost(JSON.stringify(post()).replace('{', json))
      expect(read).toMatchObject({ ok: true, message: { id: 'p1', text: 'hello' } })
    }
    const named = readPost(JSON.stringify(post()).replace('{', `{"media":${value},`))
    expect(named).toMatchObject({ ok: true, message: { odd: [{ field: 'media.0' }, { field: 'media.0.alt' }] } })
  })

  it.each([
    ['__proto__', '{"__proto__":{"deleted":true,"tenant":"mine"},'],
    ['constructor', '{"constructor":{"prototype":{"deleted":true}},'],
    ['a number beyond all numbers', '{"size":1e999999,'],
    ['80,000 fields', `{${Array.from({ length: 80_000 }, (_, n) => `"k${n}":1`).join(',')},`],
  ])('without what nobody knows: %s', (_, head) => {
    const read = readPost(JSON.stringify(post()).replace('{', head))
    expect(read.ok ? read.message : read).toEqual({
      id: 'p1',
      tenant: 'default',
      text: 'hello',
      createdAt: NOW - 60_000,
    })
    expect(Object.getPrototypeOf(read.ok ? read.message : null)).toBe(Object.prototype)
    expect(({} as { deleted?: boolean }).deleted).toBeUndefined()
  })

  it('by the last of two fields of one name, as JSON has it', () => {
    expect(readPost(JSON.stringify(post()).replace('{', '{"id":"p0",'))).toMatchObject({
      ok: true,
      message: { id: 'p1' },
    })
  })

  it.each([
    ['a text', post()],
    ['an image', post({ text: undefined, media: [{ kind: 'image', url: 'https://x.org/a.png' }] })],
    ['an alt text', post({ text: '', media: [{ kind: 'image', alt: 'a fire' }] })],
    ['nothing but its deletion', { id: 'p1', createdAt: '2024-05-01T11:59:00Z', deleted: true }],
  ])('as a post that has %s', (_, value) => {
    expect(readPost(value).ok).toBe(true)
  })
})

describe('a message is put aside', () => {
  it.each([
    [
      'two JSON texts',
      `${JSON.stringify(post())}\n${JSON.stringify(post())}`,
      ': it holds two JSON texts, one behind the other',
    ],
    [
      'NaN',
      JSON.stringify(post()).replace('}', ',"reach":NaN}'),
      ': it holds NaN or Infinity, which JSON does not have (write null)',
    ],
    ['half of JSON', JSON.stringify(post()).slice(0, -5), ''],
  ])('and that it holds %s is said', (_, value, what) => {
    expect(readPost(value)).toMatchObject({ reason: 'not-json', detail: `the value is not JSON in UTF-8${what}` })
  })

  it('and a field that is not there is called missing, not a type that was received', () => {
    expect(readPost(post({ createdAt: undefined }))).toMatchObject({
      ok: false,
      reason: 'invalid',
      detail: 'createdAt: is missing',
    })
    expect(readPost(post({ createdAt: true }))).toMatchObject({
      detail: expect.stringMatching(/^createdAt: .*expected/),
    })
  })

  it.each([
    ['no JSON', 'hello', 'not-json'],
    ['nothing', '', 'not-json'],
    ['half of JSON', JSON.stringify(post()).slice(0, -5), 'not-json'],
    ['two JSONs', `${JSON.stringify(post())}\n${JSON.stringify(post())}`, 'not-json'],
    ['no UTF-8', Buffer.from([...Buffer.from('{"id":"'), 0xc3, 0x28, ...Buffer.from('"}')]), 'not-json'],
    ['UTF-16', Buffer.from(JSON.stringify(post()), 'utf16le'), 'not-json'],
    ['brackets without end', '['.repeat(500_000), 'invalid'],
    ['deep brackets', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'invalid'],
    ['objects 1,001 deep', `${'{"a":'.repeat(1_001)}1${'}'.repeat(1_001)}`, 'invalid'],
    ['a list of posts nested 1,001 deep', `[{"a":${'['.repeat(1_001)}${']'.repeat(1_001)}}]`, 'invalid'],
    [
      'an id nested 1,000 deep',
      `{"id":${'['.repeat(1_000)}${']'.repeat(1_000)},"text":"a","createdAt":"2024-05-01T11:59:00Z"}`,
      'invalid',
    ],
    ['no value', null, 'invalid'],
    ['null', 'null', 'invalid'],
    ['a list', '[]', 'invalid'],
    ['a number', '7', 'invalid'],
    ['no id', post({ id: undefined }), 'invalid'],
    ['an empty id', post({ id: '' }), 'invalid'],
    ['a list for an id', post({ id: ['p1'] }), 'invalid'],
    ['a yes for an id', post({ id: true }), 'invalid'],
    ['null for an id', post({ id: null }), 'invalid'],
    ['an id of 10,000 characters', post({ id: 'x'.repeat(10_000) }), 'invalid'],
    ['an id of 513 bytes', post({ id: `${'é'.repeat(256)}x` }), 'invalid'],
    ['no time', post({ createdAt: undefined }), 'invalid'],
    ['a number for a time', post({ createdAt: NOW }), 'invalid'],
    ['words for a time', post({ createdAt: 'yesterday' }), 'invalid'],
    ['a day that is none', post({ createdAt: '2023-02-29T00:00:00Z' }), 'invalid'],
    ['a time without a zone', post({ createdAt: '2024-05-01T12:00:00' }), 'invalid'],
    ['an empty post', post({ text: '' }), 'invalid'],
    ['a text that is none', post({ text: { $ne: 1 } }), 'invalid'],
    [
      'a medium of no known kind and nothing else',
      post({ text: undefined, media: [{ kind: 'gifv', url: 'https://x.org/a' }] }),
      'invalid',
    ],
    ['a tenant with a colon', post({ tenant: 'a:b' }), 'invalid'],
    ['a tenant with an @', post({ tenant: 'a@b' }), 'invalid'],
    ['a deletion of another kind', post({ deleted: 'yes' }), 'invalid'],
    ['a number for a deletion', post({ deleted: 0 }), 'invalid'],
    ['the year 3000', post({ createdAt: '3000-01-01T00:00:00Z' }), 'future'],
    ['a moment too far ahead', post({ createdAt: '2024-05-01T12:05:00.001Z' }), 'future'],
    ['5 MB', post({ text: 'x'.repeat(5 * MIB) }), 'too-large'],
    ['5 MB of no JSON', Buffer.alloc(5 * MIB, 7), 'too-large'],
  ] as const)('that is or has %s', (_, value, reason) => {
    const from = incoming(value)
    const read = readMessage(from, postMessage, LIMITS, NOW)
    expect(read.ok).toBe(false)
    expect(read.from).toBe(from)
    if (!read.ok && reason !== undefined) expect(read.reason).toBe(reason)
  })

  it.each([
    ['no post', comment({ postId: undefined })],
    ['no text', comment({ text: undefined })],
  ])('as a comment that has %s', (_, value) => {
    expect(readComment(value)).toMatchObject({ ok: false, reason: 'invalid' })
  })

  it.each<[string, Buffer | string | null, RegExp]>([
    [
      'a schema registry’s frame',
      Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), Buffer.from(JSON.stringify(post()))]),
      /zero byte/,
    ],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), /gzip/],
    ['UTF-16', Buffer.from(JSON.stringify(post()), 'utf16le'), /UTF-16/],
    ['a CloudEvent', JSON.stringify({ specversion: '1.0', id: 'e', data: post() }), /CloudEvent.*"data"/],
    ['Kafka Connect', JSON.stringify({ schema: {}, payload: post() }), /Kafka Connect/],
    ['Debezium', JSON.stringify({ before: null, after: post(), op: 'c' }), /Debezium/],
    ['JSON twice', JSON.stringify(JSON.stringify(post())), /encode it once/],
    ['a text', JSON.stringify('The bridge is closed.'), /send \{"text": "…"\}/],
    ['a list', JSON.stringify([post()]), /each message by itself/],
    ['a tombstone', null, /tombstone/],
  ])('with the name of what it is wrapped in: %s', (_, value, named) => {
    const read = readPost(value)
    expect(read.ok ? '' : read.detail).toMatch(named)
  })

  it('as part of a corrupt batch', () => {
    const why = 'the batch of 3 could not be decompressed: incorrect header check'
    const read = readPost(null, { headers: { [CORRUPT_BATCH]: why } })
    expect(read).toMatchObject({ ok: false, reason: 'corrupt-batch', detail: why })
  })

  it('with the place of each fault and not a word of the text', () => {
    const secret = 'SECRET words'
    for (const value of [
      post({
        id: [secret],
        createdAt: secret,
        tenant: secret,
        deleted: secret,
        media: [{ kind: secret, url: secret }],
      }),
      post({ text: [secret], media: [{ kind: secret, url: secret }] }),
      `{"text": "${secret}"`,
      post({ createdAt: '3000-01-01T00:00:00Z', text: secret }),
    ]) {
      const read = readPost(value)
      expect(read.ok ? secret : read.detail).not.toContain('SECRET')
    }
    const read = readPost(post({ id: [], createdAt: 'x' }))
    expect(read.ok ? '' : read.detail).toMatch(/id: .*createdAt: /)
    // Where nothing is left to judge, it says what was odd.
    const empty = readPost(post({ text: [], media: [{ kind: secret }] }))
    expect(empty.ok ? '' : empty.detail).toMatch(/text: .*media\.0: .*a post has a text or media/)
    const odd = readPost(post({ media: [{ kind: secret, url: secret }], lang: [secret], authorSince: secret }))
    expect(JSON.stringify(odd.ok ? odd.message : secret)).not.toContain('SECRET')
  })

  it('or read with a true time, whatever its time says', () => {
    const odd = fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc
        .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 99 }))
        .map(([year, n]) => `${String(year).padStart(4, '0')}-${String(n).padStart(2, '0')}-01T00:00:00Z`),
      fc.string(),
      fc.constantFrom(
        '2024-05-01T23:59:60Z',
        '2024-05-01T24:00:00Z',
        '2024-05-01T00:00:00+23:59',
        '2024-05-01T00:00Z',
        '+012024-05-01T00:00:00Z',
      ),
    )
    fc.assert(
      fc.property(odd, (createdAt) => {
        const read = readPost(post({ createdAt }))
        if (read.ok) expect(Number.isFinite(read.message.createdAt)).toBe(true)
      }),
    )
  })
})

describe('a dead letter', () => {
  const why = { reason: 'invalid', detail: 'id: too long' } as const
  const letterOf = (from: IncomingMessage, about: Parameters<typeof deadLetterOf>[1] = why) => {
    const { key, letter } = deadLetterOf(from, about)
    return { key, bytes: Buffer.byteLength(letter), letter: deadLetter.parse(JSON.parse(letter)) }
  }
  /** A broker takes a record of this size at its defaults, with the key and the record's own fields. */
  const MAX_LETTER_BYTES = 1_000_000

  it('holds the message whole, and where it came from', () => {
    const value = Buffer.from([0, 255, 10, 34, 92])
    const { key, letter } = letterOf(incoming(value, { headers: { trace: 'abc' } }))
    expect(key).toBe('p1')
    expect(letter).toEqual({
      schema: 1,
      topic: 'posts',
      partition: 2,
      offset: '99',
      key: 'p1',
      headers: { trace: 'abc' },
      ...why,
      raw: value.toString('base64'),
      rawBytes: 5,
      truncated: false,
      at: '2024-05-01T12:00:00.000Z',
    })
  })

  it('holds the first 256 KiB of a longer one, and says so', () => {
    const value = Buffer.alloc(5 * MIB, 'abcdefg')
    const { letter, bytes } = letterOf(incoming(value))
    expect(Buffer.from(letter.raw, 'base64')).toEqual(value.subarray(0, 256 * 1024))
    expect(letter).toMatchObject({ rawBytes: 5 * MIB, truncated: true })
    expect(bytes).toBeLessThan(MAX_LETTER_BYTES)
    expect(letterOf(incoming(value.subarray(0, 256 * 1024))).letter).toMatchObject({ truncated: false })
  })

  it.each([
    [9e15, '9999-12-31T23:59:59.999Z'],
    [2 ** 63, '9999-12-31T23:59:59.999Z'],
    [-9e15, '1970-01-01T00:00:00.000Z'],
    [-1, '1970-01-01T00:00:00.000Z'],
  ])('is made of a record whose producer said %d for its time', (timestamp, at) => {
    const { letter } = deadLetterOf(incoming('nonsense', { timestamp }), { reason: 'not-json', detail: 'd' })
    expect(deadLetter.parse(JSON.parse(letter))).toMatchObject({ at })
  })

  it('has a key where the message had none', () => {
    expect(letterOf(incoming('x', { key: null }))).toMatchObject({ key: 'posts/2/99', letter: { key: null } })
    expect(letterOf(incoming(null))).toMatchObject({ letter: { raw: '', rawBytes: 0, truncated: false } })
  })

  it('fits a broker’s default limit, however large the key and the headers', () => {
    const text = '\u0000'.repeat(100_000)
    const headers = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}${text}`, text]))
    const { key, bytes, letter } = letterOf(incoming(Buffer.alloc(MIB), { key: text, headers }))
    expect(bytes + key.length).toBeLessThan(MAX_LETTER_BYTES)
    expect(letter.truncated).toBe(true)
  })

  it('fits it also when a producer has forged the mark of a corrupt batch', () => {
    // A control character takes one byte on the way in and six in JSON.
    const from = incoming('x', { headers: { [CORRUPT_BATCH]: '\u0001'.repeat(300_000) } })
    const read = readMessage(from, postMessage, LIMITS, NOW)
    if (read.ok) return
    expect(letterOf(from, { reason: read.reason, detail: read.detail }).bytes).toBeLessThan(MAX_LETTER_BYTES)
    expect(read.detail.length).toBeLessThanOrEqual(1_000)
  })

  it('of any message is one that can be read again', () => {
    const headers = fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(fc.uint8Array(), fc.option(fc.string({ unit: 'binary' })), headers, (bytes, key, given) => {
        const { letter } = letterOf(incoming(Buffer.from(bytes), { key, headers: given }))
        expect(Buffer.from(letter.raw, 'base64')).toEqual(Buffer.from(bytes))
        expect(letter.key).toBe(key)
      }),
    )
  })
})

describe('words in fields beside the text', () => {
  const paths = ['title', 'spoiler_text', 'text', 'poll.options[].title', 'tags[]']
  const limits = { ...LIMITS, textFields: paths }
  const status = {
    title: 'On vermin',
    spoiler_text: 'all of them',
    poll: { options: [{ title: 'kill them', votes: 3 }, { title: 'gas them' }, { title: 7 }], note: 'vote once' },
    tags: ['one', 'two'],
  }
  const textOf = (value: unknown, textFields: readonly string[] = paths) => {
    const read = readMessage(incoming(value), postMessage, { ...LIMITS, textFields }, NOW)
    return read.ok ? read.message.text : read.detail
  }

  it('are part of it in the order of the setting, and what is left of them is named', () => {
    const read = readMessage(incoming(post(status)), postMessage, limits, NOW)
    expect(read).toMatchObject({ ok: true })
    expect(read.ok ? [read.message.text, read.message.odd] : read).toEqual([
      'On vermin\n\nall of them\n\nhello\n\nkill them\ngas them\n\none\ntwo',
      [{ field: 'poll', why: 'an unknown field, its words were not read' }],
    ])
    expect(textOf(post(status), ['title'])).toBe('hello\n\nOn vermin')
    expect(readMessage(incoming(comment({ title: 'a', text: '' })), commentMessage, limits, NOW)).toMatchObject({
      message: { text: 'a' },
    })
  })

  it.each<[string, object, string]>([
    ['a title alone', { text: null, title: 'Vermin' }, 'Vermin'],
    ['nothing beside it', { title: ' ', poll: {} }, 'hello'],
    ['values of other kinds', { title: { a: 1 }, spoiler_text: 7, poll: [], tags: 'x' }, 'hello'],
    ['names of every object', JSON.parse('{"__proto__": {"title": "x"}, "constructor": "some words"}'), 'hello'],
  ])('may be %s', (_, change, text) => {
    expect(textOf(post(change))).toBe(text)
  })

  it('are no text of what has none, in a reply or a deletion', () => {
    expect(textOf(post({ text: { $ne: 1 }, title: 'x' }))).toMatch(/^text: not a text, left out/)
    expect(textOf(post({ text: undefined, hateSpeech: 'x', title: 'x' }))).toMatch(/a post has a text or media/)
    expect(
      readMessage(incoming(post({ deleted: true, text: undefined, title: 'x' })), postMessage, limits, NOW),
    ).toEqual(
      expect.objectContaining({ message: { id: 'p1', tenant: 'default', createdAt: NOW - 60_000, deleted: true } }),
    )
  })
})
