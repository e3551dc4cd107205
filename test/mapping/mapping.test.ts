import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { MappingSettingFault } from '../../src/mapping/faults.ts'
import { wordsOfHtml } from '../../src/mapping/html.ts'
import { topicMappings } from '../../src/mapping/mapping.ts'
import type { RecordMapping, SourceSettings } from '../../src/mapping/source.ts'

const POST = { id: '$.id', text: '$.text', createdAt: '2026-05-01T10:00:00Z' }
const source = (change: Partial<SourceSettings> = {}): SourceSettings => ({
  topic: 'own',
  kind: 'post',
  map: POST,
  ...change,
})

function mapped(value: unknown, ...sources: SourceSettings[]): RecordMapping {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return recordMapped({ value: Buffer.from(text) }, ...sources)
}

function recordMapped(record: object, ...sources: SourceSettings[]): RecordMapping {
  const mapping = topicMappings(sources.length === 0 ? [source()] : sources).get('own')
  if (mapping === undefined) throw new Error('no mapping')
  const whole = { value: null, key: null, headers: {}, timestamp: Date.parse('2026-05-02T00:00:00Z'), ...record }
  const made = mapping.map(whole)
  if (made instanceof Promise) throw new Error('it is mapped in another thread')
  return made
}

/** The one message of a record, parsed. */
function message(value: unknown, ...sources: SourceSettings[]): unknown {
  const made = mapped(value, ...sources)
  if (!made.ok) throw new Error(made.why)
  expect(made.messages).toHaveLength(1)
  return JSON.parse(made.messages[0]?.value ?? '')
}

/** The text that this expression makes of a record. */
const textBy = (expression: unknown, value: object) =>
  (message({ id: 'p', ...value }, source({ map: { ...POST, text: expression } })) as { text?: string }).text

describe('a mapping', () => {
  test.for<[unknown, object, string]>([
    ['$.a.b[1]', { a: { b: ['x', 'y'] } }, 'y'],
    ['$["a b"]', { 'a b': 'z' }, 'z'],
    ['{$.a}:{{{$.n}}}', { a: 'x', n: 7 }, 'x:{7}'],
    [{ const: '$5' }, {}, '$5'],
    [{ first: ['$.none', '$.empty', '$.a'] }, { a: 'x', empty: '' }, 'x'],
    [{ join: ['$.title', '$.none', '$.body'], with: ' / ' }, { title: 'T', body: 'B' }, 'T / B'],
    [{ join: '$.tags', of: '#{@.name}', with: ' ' }, { tags: [{ name: 'a' }, { name: 'b' }] }, '#a #b'],
    [{ split: '$.path', by: '.', at: -2 }, { path: '0.12.15' }, '12'],
    [{ html: '$.h' }, { h: '<p>a &amp; b<br>c</p><script>no()</script>' }, 'a & b\nc'],
    [{ first: [{ value: 'no', when: { field: '$.n', equals: 8 } }, 'yes'] }, { n: 7 }, 'yes'],
    [{ value: 'in', when: { field: '$.n', in: [7, 8] } }, { n: 7 }, 'in'],
    [
      { value: 'it', when: [{ field: '$.s', startsWith: 't3_' }, { not: { field: '$.x', exists: true } }] },
      { s: 't3_a' },
      'it',
    ],
    [
      {
        value: 'any',
        when: {
          any: [
            { field: '$.x', exists: true },
            { field: '$.s', equals: '$.t' },
          ],
        },
      },
      { s: 'u', t: 'u' },
      'any',
    ],
  ])('reads %j', ([expression, value, expected]) => {
    expect(textBy(expression, value)).toBe(expected)
  })

  test.for<[unknown, unknown, string]>([
    ['s', 1_777_629_600, '2026-05-01T10:00:00.000Z'],
    ['s', '1777629600.25', '2026-05-01T10:00:00.250Z'],
    ['ms', 1_777_629_600_000, '2026-05-01T10:00:00.000Z'],
    ['us', 1_777_629_600_000_999, '2026-05-01T10:00:00.000Z'],
    ['ns', '1777629600000000001', '2026-05-01T10:00:00.000Z'],
    ['iso', '2026-05-01T12:00:00+02:00', '2026-05-01T10:00:00.000Z'],
    ['utc', '2026-05-01 10:00:00.123456', '2026-05-01T10:00:00.123Z'],
    ['utc', '2026-05-01T12:00:00+02:00', '2026-05-01T10:00:00.000Z'],
  ])('reads times in %s', ([unit, at, expected]) => {
    const map = { ...POST, createdAt: { time: '$.at', unit } }
    expect(message({ id: 'p', text: 'x', at }, source({ map }))).toMatchObject({ createdAt: expected })
  })

  test('reads keys, headers and the record’s time', () => {
    const map = { id: '$key', text: '$headers.ce_text', author: '$headers["x-by"]', createdAt: '$time' }
    const record = { value: Buffer.from('{}'), key: 'k1', headers: { ce_text: 'said', 'x-by': 'ana' } }
    const made = recordMapped(record, source({ map }))
    expect(made).toMatchObject({ ok: true, messages: [{ topic: 'posts', key: 'k1' }] })
    expect(JSON.parse(made.ok ? (made.messages[0]?.value ?? '') : '')).toEqual({
      id: 'k1',
      text: 'said',
      author: 'ana',
      createdAt: '2026-05-02T00:00:00.000Z',
    })
  })

  test('keeps the digits of numbers that no float holds', () => {
    const written = '{"id": 267081518403440641, "text": "x", "n": 1.5}'
    expect(message(written)).toMatchObject({ id: '267081518403440641' })
    expect(mapped('{"id": 1e300, "text": "x"}')).toMatchObject({ ok: true, messages: [{ key: '1e300' }] })
  })

  test('looks at no other value for the digits of one number', () => {
    const parse = JSON.parse
    let looks = 0
    const spied = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) =>
      reviver === undefined
        ? parse(text)
        : parse(text, function (this: unknown, ...of) {
            looks++
            return reviver.apply(this, of)
          }),
    )
    try {
      for (const n of [20_000, 40_000])
        expect(mapped(`{"id": 267081518403440641, "text": "x", "n": [${'1,'.repeat(n)}1]}`)).toMatchObject({ ok: true })
      expect(looks).toBe(0)
    } finally {
      spied.mockRestore()
    }
  })

  test('reads a text as HTML no further than a message may hold words', () => {
    for (const n of [2 ** 20, 2 ** 21])
      for (const sign of ['<', '<p>', 'x '])
        expect(textBy({ html: '$.h' }, { h: `w${sign.repeat(n / sign.length)}w` })).toMatch(/^w[^w]{0,262143}$/)
  })

  test('compares numbers that no float holds by their digits', () => {
    const written = '{"id": 267081518403440641, "text": "x"}'
    for (const [condition, count] of [
      [{ equals: '267081518403440641' }, 1],
      [{ equals: '267081518403440640' }, 0],
      [{ in: ['1', '267081518403440641'] }, 1],
      [{ in: ['267081518403440640'] }, 0],
    ] as const) {
      const made = mapped(written, source({ when: { field: '$.id', ...condition } }))
      expect(made.ok && made.messages.length).toBe(count)
    }
  })

  test('says of a record whose broker’s time is none that it can’t be mapped, and throws nothing', () => {
    const record = { value: Buffer.from('{"id": 1, "text": "x"}'), timestamp: 1e18 }
    const why = expect.stringContaining('is no time in milliseconds since 1970')
    expect(recordMapped(record, source({ map: { ...POST, createdAt: '$time' } }))).toEqual({ ok: false, why })
    expect(recordMapped(record, source({ kind: 'deletion', map: { id: '$.id' } }))).toEqual({ ok: false, why })
    expect(recordMapped(record)).toMatchObject({ ok: true })
  })

  test('makes several messages of one record, by several entries and by the items of a list', () => {
    const comments = source({
      kind: 'comment',
      each: '$.replies',
      when: { not: { field: '@.hidden', equals: true } },
      map: { id: '@.id', postId: '$.id', text: '@.text', createdAt: '2026-05-01T10:01:00Z' },
    })
    const reach = source({
      kind: 'reach',
      when: { field: '$.seen', exists: true },
      map: { postId: '$.id', reach: '$.seen', at: '$time' },
    })
    const gone = source({
      kind: 'deletion',
      when: { field: '$.old', exists: true },
      map: { id: '$.old', postId: '$.id' },
    })
    const record = {
      id: 9,
      text: 'x',
      seen: 40,
      old: 'c0',
      replies: [
        { id: 1, text: 'a' },
        { id: 2, text: 'b', hidden: true },
      ],
    }
    const made = mapped(record, source(), comments, reach, gone)
    expect(made.ok && made.messages.map(({ topic, key, value }) => [topic, key, JSON.parse(value)])).toEqual([
      ['posts', '9', expect.objectContaining({ id: '9' })],
      ['comments', '9', expect.objectContaining({ id: '1', postId: '9' })],
      ['reach', '9', { postId: '9', reach: 40, at: '2026-05-02T00:00:00.000Z' }],
      ['comments', '9', { id: 'c0', postId: '9', deleted: true, createdAt: '2026-05-02T00:00:00.000Z' }],
    ])
  })

  test('passes over what no entry means, and a record without a value unless a condition asks for it', () => {
    expect(mapped({ id: 1 }, source({ when: { field: '$.id', equals: 2 } }))).toEqual({ ok: true, messages: [] })
    expect(recordMapped({ key: 'k' })).toEqual({ ok: true, messages: [] })
    const tombstones = source({ kind: 'deletion', when: { field: '$', exists: false }, map: { id: '$key' } })
    expect(recordMapped({ key: 'k' }, tombstones)).toMatchObject({ ok: true, messages: [{ topic: 'posts', key: 'k' }] })
  })

  test.for<[string, unknown, Partial<SourceSettings>]>([
    ['id: nothing stands there', { text: 'x' }, {}],
    ['id: is an object', { id: { a: 1 }, text: 'x' }, {}],
    ['id: longer than 512 bytes', { id: 'x'.repeat(513), text: 'x' }, {}],
    ['tenant: a tenant is 1 to 64 letters', { id: 1, text: 'x' }, { map: { ...POST, tenant: 'a b' } }],
    ['message: a post has a text or media', { id: 1 }, {}],
    ['createdAt: is a number: say of which unit', { id: 1, text: 'x', at: 1 }, { map: { ...POST, createdAt: '$.at' } }],
    [
      'createdAt: is no time in seconds',
      { id: 1, text: 'x', at: 'x' },
      { map: { ...POST, createdAt: { time: '$.at', unit: 's' } } },
    ],
    [
      'createdAt: is no time in seconds',
      { id: 1, text: 'x', at: 1e15 },
      { map: { ...POST, createdAt: { time: '$.at', unit: 's' } } },
    ],
    [
      'createdAt: is no time in ISO 8601 with an offset',
      { id: 1, text: 'x', at: '2026-05-01T10:00:00' },
      { map: { ...POST, createdAt: { time: '$.at', unit: 'iso' } } },
    ],
    ['postId: nothing stands there', { id: 1 }, { kind: 'deletion', map: { id: '$.id', postId: '$.post' } }],
    ['$.list is no list', { id: 1, list: 'x' }, { each: '$.list' }],
    ['$.list has more than 1000 items', { id: 1, list: Array(1_001).fill(1) }, { each: '$.list' }],
    ['the value is not JSON', '{"id": ', {}],
    ['nested deeper than 32 levels', '['.repeat(40) + ']'.repeat(40), {}],
    ['more than 100000 values', `[${'[],'.repeat(50_001)}1]`, {}],
    ['more than 100000 values', `{"id": 267081518403440641, "x": [${'1,'.repeat(100_001)}1]}`, {}],
    ['the value is not JSON', '{"id": 267081518403440641, 267081518403440641: 1}', {}],
  ])('says “%s”', ([why, value, change]) => {
    expect(mapped(value, source(change))).toEqual({ ok: false, why: expect.stringContaining(why) })
  })

  test('bounds what it makes of a record', () => {
    const long = 'x'.repeat(800_000)
    const map = { ...POST, text: '{$.t}'.repeat(60) }
    expect(mapped({ id: 1, t: long }, source({ map }))).toEqual({
      ok: false,
      why: expect.stringMatching(/text: makes more than/),
    })
    const [t, s] = [long, 'x'.repeat(150_000)]
    expect(mapped({ id: 1, t, s }, source({ map: { ...POST, text: '{$.t} {$.s}' } }))).toEqual({
      ok: false,
      why: 'makes a message of more than 900000 bytes',
    })
    const amplified = [
      { ...POST, text: { join: '$.l', of: '{$.t}' } },
      { ...POST, media: { list: '$.l', of: { kind: 'image', alt: '$.t' } } },
      { ...POST, text: { join: '$.l', of: { split: '$.t', by: 'y', at: 1 } } },
      { ...POST, text: { join: '$.l', of: { html: '$.t' } } },
    ]
    for (const map of amplified)
      expect(mapped({ id: 1, t: long, l: Array(1_000).fill(1) }, source({ map }))).toEqual({
        ok: false,
        why: expect.stringContaining('makes more than'),
      })
    const each = source({ each: '$.l', map: { ...POST, id: '{@}' } })
    const two = [each, { ...each }]
    expect(mapped({ id: 1, text: 'x', l: Array.from({ length: 600 }, (_, nth) => nth) }, ...two)).toEqual({
      ok: false,
      why: 'gives more than 1000 messages',
    })
    expect(mapped(`"${'x'.repeat(5 * 2 ** 20)}"`)).toEqual({
      ok: false,
      why: expect.stringContaining('exceed the limit'),
    })
  })

  test('takes nothing that every object has for a field', () => {
    expect(mapped({ text: 'x' }, source({ map: { ...POST, id: '$.constructor' } }))).toMatchObject({ ok: false })
    expect(mapped('{"__proto__": {"id": "p"}, "text": "x"}')).toMatchObject({ ok: false })
  })

  test('has one hash for one mapping, and another for another', () => {
    const hashOf = (...sources: SourceSettings[]) => topicMappings(sources).get('own')?.hash
    expect(hashOf(source())).toBe(hashOf(source(), source({ topic: 'another' })))
    expect(hashOf(source())).not.toBe(hashOf(source({ when: { field: '$.a', exists: true } })))
    expect(hashOf(source())).toMatch(/^[0-9a-f]{16}$/)
  })

  test('throws nothing whatever a record holds', () => {
    const map = {
      ...POST,
      text: { join: ['$.a', { html: '$.b' }, { split: '$.c', by: '.', at: 0 }], with: ' ' },
      createdAt: { time: '$.d', unit: 'us' },
    }
    fc.assert(
      fc.property(fc.anything({ withBigInt: false }), fc.jsonValue(), (odd, value) => {
        const json = JSON.stringify({ id: 1, a: value, b: value, c: value, d: odd }) ?? ''
        expect(typeof mapped(json, source({ map })).ok).toBe('boolean')
      }),
      { seed: 71 },
    )
  })
})

describe('a setting that makes no mapping is named with its place:', () => {
  test.for<[string, string, Partial<SourceSettings>]>([
    ['0.map.createdAt', 'a post needs it', { map: { id: '$.id' } }],
    ['0.map.txt', 'Did you mean "text"?', { map: { ...POST, txt: '$.a' } }],
    ['0.map.id', 'can’t be read as a path'.replace('’', "'"), { map: { ...POST, id: '$.a..b' } }],
    ['0.map.id', 'paths begin with $ or @', { map: { ...POST, id: '{a}' } }],
    ['0.map.id', 'stands alone', { map: { ...POST, id: '{$.a' } }],
    ['0.map.id', 'Did you mean "first"?', { map: { ...POST, id: { frist: ['$.a'] } } }],
    ['0.map.id.with', 'a text', { map: { ...POST, id: { join: ['$.a'], with: 1 } } }],
    ['0.map.createdAt.unit', 'one of s, ms, us', { map: { ...POST, createdAt: { time: '$.a', unit: 'sec' } } }],
    ['0.map.id.join', 'the path of a list', { map: { ...POST, id: { join: 'a' } } }],
    ['0.when', 'a condition has one of equals', { when: { field: '$.a' } }],
    ['0.when.0.equal', 'Did you mean "equals"?', { when: [{ field: '$.a', equal: 1 }] }],
    ['0.each', 'the path of a list', { each: 'replies' }],
    ['0.when.in.1', 'write it in quotes', { when: { field: '$.a', in: [1, 2 ** 60] } }],
    ['0.when.equals', 'write it in quotes', { when: { field: '$.a', equals: 2 ** 60 } }],
    ['0.map.id', '$key is a text', { map: { ...POST, id: '$key.a' } }],
  ])('%s: %s', ([path, why, change]) => {
    try {
      topicMappings([source(change)])
      throw new Error('it makes one')
    } catch (error) {
      expect(error).toBeInstanceOf(MappingSettingFault)
      const fault = error as MappingSettingFault
      expect([fault.path.join('.'), fault.message]).toEqual([path, expect.stringContaining(why)])
    }
  })
})

describe('the words of HTML', () => {
  test.for<[string, string]>([
    ['a < b and c > d', 'a < b and c > d'],
    ['<p>one</p><p>two</p>', 'one\n\ntwo'],
    ['<ul><li>a<li>b</ul>', 'a\nb'],
    ['x<!-- not <b> this -->y<STYLE>z</Style>w', 'xyw'],
    ['&lt;b&gt; <i>&#233;</i>', '<b> é'],
    ['open <b', 'open <b'],
    ['<!DOCTYPE html>t', 't'],
  ])('of %j', ([html, words]) => {
    expect(wordsOfHtml(html)).toBe(words)
  })

  test('are found without looking at the text again and again', () => {
    for (const hostile of ['<', '<1', '<!--', '<script>', '<p> ', ' ', '&amp;', '<a'])
      expect(wordsOfHtml(hostile.repeat(100_000)).length).toBeLessThan(3_000_000)
  })
})
