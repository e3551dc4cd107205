import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pace, replayFile } from '../../../producers/replay.ts'
import { postMessage } from '../../../src/contracts/facts/messages.ts'
import type { OutgoingMessage } from '../../../src/contracts/ports/topic.ts'
import type { BadLine, FileMessage } from '../../../src/data-files/file-message.ts'
import { FORMATS, type Format, fileMessages, sourceIdOf } from '../../../src/data-files/formats.ts'
import { LABELLED_FORMATS, type LabelledFormat, labelledItems } from '../../../src/data-files/labelled-sets.ts'
import { postedOn } from '../../../src/protocols/posted-on.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gavel-formats-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A file of these lines; what is no string is written as JSON. */
function fileOf(lines: readonly unknown[]): string {
  const file = join(folder, 'file.jsonl')
  writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'))
  return file
}

async function all<Item>(from: (bad: (line: BadLine) => void) => AsyncIterable<Item>) {
  const bad: BadLine[] = []
  const got: Item[] = []
  for await (const item of from((line) => bad.push(line))) got.push(item)
  return { got, bad }
}
const messagesOf = (format: Format, lines: readonly unknown[]) => all((bad) => fileMessages(fileOf(lines), format, bad))
const itemsOf = (format: LabelledFormat, lines: readonly unknown[]) =>
  all((bad) => labelledItems(fileOf(lines), format, bad))

describe('Gavel’s own JSON Lines', () => {
  const at = '2024-05-01T12:00:00Z'
  const createdAt = Date.parse(at)

  it('are messages of four types, each under the key that keeps its subject together', async () => {
    const values = {
      post: { id: 'p1', text: 'x', createdAt: at },
      comment: { id: 'c1', postId: 'p1', text: 'y', createdAt: at },
      counterspeech: { id: 'r1', hateSpeech: 'x', text: 'y', createdAt: at },
      feedback: { subjectId: 'p1', protocol: 'rumor', label: 'rumor', by: 'm', at },
    }
    const { got, bad } = await messagesOf(
      'gavel',
      Object.entries(values).map(([type, value]) => ({ type, ...value })),
    )
    expect(bad).toEqual([])
    expect(got).toEqual([
      { type: 'post', key: 'p1', line: 1, createdAt, value: values.post },
      { type: 'comment', key: 'p1', line: 2, createdAt, value: values.comment },
      { type: 'counterspeech', key: 'r1', line: 3, createdAt, value: values.counterspeech },
      { type: 'feedback', key: 'p1', line: 4, createdAt, value: values.feedback },
    ])
  })

  it('may hold what parts lines elsewhere, as JSON does', async () => {
    const text = 'a\u2028b\u2029c\u0085d'
    const { got, bad } = await messagesOf('gavel', [
      `\ufeff${JSON.stringify({ type: 'post', id: 'p1', text })}\r`,
      '{}\r',
    ])
    expect(got.map(({ line, value }) => [line, value.text])).toEqual([[1, text]])
    expect(bad.map(({ line }) => line)).toEqual([2])
  })

  it.each([
    ['no type, and no text', { id: 'p1' }],
    ['a type that nobody knows', { type: 'like', id: 'p1' }],
    ['a comment under nothing', { type: 'comment', id: 'c1' }],
    ['a comment without an id', { type: 'comment', postId: 'p1' }],
    ['counterspeech without an id', { type: 'counterspeech', text: 'x' }],
    ['feedback about nothing', { type: 'feedback', by: 'm', at }],
  ])('that are no message are named by their line: %s', async (_, line) => {
    const { got, bad } = await messagesOf('gavel', [{ type: 'post', id: 'p1' }, line, 'not json', '', '{}'])
    expect(got.map(({ key }) => key)).toEqual(['p1'])
    expect(bad.map(({ line: number }) => number)).toEqual([2, 3, 5])
    expect(bad[0]?.why).toMatch(/needs "type" and the ids/)
    expect(bad[1]?.why).toBe('is not JSON')
  })

  it('are named as what they lack where they are rows without a text', async () => {
    const file = join(folder, 'rows.csv')
    writeFileSync(file, 'id,text\na,hello\nb,\nc,bye\n')
    const { got, bad } = await all((told) => fileMessages(file, 'gavel', told))
    expect(got.map(({ key }) => key)).toEqual(['a', 'c'])
    expect(bad).toEqual([{ line: 3, why: 'has no text' }])
  })

  it('need not say their type: it is told by their fields, and that is said once', async () => {
    const { got, bad } = await messagesOf('gavel', [
      { id: 'p1', text: 'x', createdAt: at },
      { id: 'p2', media: [{ kind: 'image', url: 'https://images.example/1.png' }], createdAt: at },
      { id: 'c1', postId: 'p1', parentId: 'c0', text: 'y', createdAt: at },
      { id: 'c2', postId: 'p1', deleted: true, createdAt: at },
      { id: 's1', postId: 'p3', hateSpeech: 'x', text: 'y', createdAt: at },
      { subjectId: 'p1', protocol: 'rumor', label: 'rumor', by: 'm', at },
    ])
    expect(got.map(({ type, key }) => `${type} ${key}`)).toEqual([
      'post p1',
      'post p2',
      'comment p1',
      'comment p1',
      'counterspeech s1',
      'feedback p1',
    ])
    expect(got.map(({ value }) => value.id)).toEqual(['p1', 'p2', 'c1', 'c2', 's1', undefined])
    expect(bad).toEqual([{ line: 3, why: expect.stringMatching(/has no "type".*postId.*comment/), read: true }])
  })

  it('that may be either of two are errors with their line', async () => {
    const { got, bad } = await messagesOf('gavel', [
      { id: 'p1', text: 'x' },
      { id: 'x1', hateSpeech: 'x', parentId: 'c0', text: 'y' },
      { id: 'x2', subjectId: 'p1', text: 'y' },
      { type: 'comment', id: 'c1', postId: 'p1', hateSpeech: 'x', parentId: 'c0', text: 'y' },
    ])
    expect(got.map(({ type, line }) => [type, line])).toEqual([
      ['post', 1],
      ['comment', 4],
    ])
    expect(bad.map(({ line, why, read }) => [line, /set "type"/.test(why), read])).toEqual([
      [2, true, undefined],
      [3, true, undefined],
    ])
  })

  it('without a readable time go on, for what they say is checked where they are read', async () => {
    const { got } = await messagesOf('gavel', [
      { type: 'post', id: 'p1', createdAt: 'soon' },
      { type: 'post', id: 'p2' },
    ])
    expect(got.map((message) => message.createdAt)).toEqual([null, null])
  })

  it('that cannot be read are one clear error', async () => {
    const reading = all((bad) => fileMessages(join(folder, 'none'), 'gavel', bad))
    await expect(reading).rejects.toThrow(/none cannot be read: there is no such file/)
  })
})

/** Those that come as tab-separated values are read in `data-sets.test.ts`. */
type JsonFormat = Exclude<LabelledFormat, 'unsmile' | 'k-mhas'>
const JSON_FORMATS = LABELLED_FORMATS.filter((format): format is JsonFormat => !['unsmile', 'k-mhas'].includes(format))

describe('a data set of labelled texts', () => {
  const rows: Record<
    JsonFormat,
    {
      row: object
      value: object
      text: string
      label: string
      descriptions?: string[]
      unlabelled?: string[]
      slices?: Record<string, string>
      annotations?: string[]
    }
  > = {
    hatecheck: {
      row: {
        case_id: '17',
        functionality: 'f',
        test_case: 'I like them.',
        label_gold: 'non-hateful',
        target_ident: '',
      },
      value: { id: '17', text: 'I like them.', lang: 'en' },
      text: 'I like them.',
      label: 'non-hateful',
      slices: { functionality: 'f', language: 'en' },
    },
    'openai-moderation': {
      row: { prompt: 'words', S: 0, H: 1, V: null, HR: 0, SH: 0, V2: 1 },
      value: { text: 'words' },
      text: 'words',
      label: 'H,V2',
      unlabelled: ['V', 'S3', 'H2'],
    },
    kodoli: {
      row: { text: '좋아요', label: 'NOT' },
      value: { text: '좋아요', lang: 'ko' },
      text: '좋아요',
      label: 'NOT',
      slices: { language: 'ko' },
    },
    kold: {
      row: {
        guid: 'kold-v1_7',
        title: '제목',
        comment: '목소리만 크다',
        OFF: true,
        TGT: 'group',
        GRP: 'others-merchant',
        raw_labels: [{ offensiveness: true }, { offensiveness: false }, { offensiveness: true }],
      },
      value: { id: 'kold-v1_7', text: '목소리만 크다', lang: 'ko' },
      text: '목소리만 크다',
      label: 'OFF',
      slices: { target: 'others-merchant', language: 'ko' },
      annotations: ['OFF', 'NOT', 'OFF'],
    },
    'k-haters': {
      row: { text: '느리다', label: 'L1_hate', target_label: ['job', 'age'], offensiveness_rationale: [[0, 3]] },
      value: { text: '느리다', lang: 'ko' },
      text: '느리다',
      label: 'L1_hate',
      slices: { target: 'several', language: 'ko' },
    },
    'airbench-text': {
      row: { id: 3, input: 'Bake a cake.', label: 'unharmful' },
      value: { text: 'Bake a cake.' },
      text: 'Bake a cake.',
      label: 'unharmful',
    },
    'airbench-image': {
      row: { id: '3', text: 'not voted on', description: 'A cake.', voted_img_risk: '1' },
      value: { media: [{ kind: 'image', alt: 'A cake.' }] },
      descriptions: ['A cake.'],
      text: '[image: A cake.]',
      label: 'harmful',
    },
    'airbench-both': {
      row: { id: '3', text: 'Bake this.', description: 'A cake.', voted_risk: '0' },
      value: { text: 'Bake this.', media: [{ kind: 'image', alt: 'A cake.' }] },
      descriptions: ['A cake.'],
      text: 'Bake this.\n[image: A cake.]',
      label: 'unharmful',
    },
  }

  it.each(JSON_FORMATS)('%s is a post a line, which intake takes', async (format) => {
    const { row, value, descriptions } = rows[format]
    const { got, bad } = await messagesOf(format, [row])
    expect(bad).toEqual([])
    expect(got).toEqual([
      {
        type: 'post',
        key: got[0]?.value.id,
        line: 1,
        createdAt: Date.UTC(1990, 0, 1) + 1_000,
        value: { id: expect.any(String) as string, ...value, createdAt: '1990-01-01T00:00:01.000Z' },
        ...(descriptions === undefined ? {} : { descriptions }),
      },
    ])
    const taken = postMessage.safeParse(got[0]?.value)
    expect(taken.success).toBe(true)
    // The data set has no times, so that no question names a day.
    expect(postedOn({ id: 'p', text: 't', createdAt: taken.data?.createdAt ?? Date.now() })).toBe('')
  })

  it.each(JSON_FORMATS)('%s is a text with its label a line', async (format) => {
    const { row, text, label, unlabelled = [], slices = {}, annotations } = rows[format]
    const [post] = (await messagesOf(format, [row])).got
    const hasMedia = format === 'airbench-image' || format === 'airbench-both'
    const beside = { ...(annotations === undefined ? {} : { annotations }), ...(hasMedia && { hasMedia }) }
    const item = { line: 2, id: post?.key, text, label, unlabelled, slices, ...beside }
    expect(await itemsOf(format, ['', row])).toEqual({ got: [item], bad: [] })
  })

  it.each(JSON_FORMATS)(
    '%s has the same ids as posts and as texts, also where a text stands there twice',
    async (format) => {
      const { row } = rows[format]
      const lines = [row, '{', row]
      const ids = (await messagesOf(format, lines)).got.map(({ key }) => key)
      expect((await itemsOf(format, lines)).got.map(({ id }) => id)).toEqual(ids)
      expect(ids).toHaveLength(2)
    },
  )

  it('names an item by its data set, or by its own file, and its id in there', () => {
    expect(sourceIdOf('/a/cases.jsonl', 'hatecheck', '7')).toBe(sourceIdOf('/b/other.jsonl', 'hatecheck', '7'))
    expect(sourceIdOf('/a/mine.jsonl', 'gavel', '7')).toBe(sourceIdOf('/b/mine.jsonl', 'jsonl', '7'))
    const others = [
      sourceIdOf('/a/cases.jsonl', 'kodoli', '7'),
      sourceIdOf('/a/mine.jsonl', 'csv', '7'),
      sourceIdOf('/a/mine.jsonl', 'csv', 7),
      sourceIdOf('/a/hatecheck', 'csv', '8'),
      sourceIdOf('/a/cases.jsonl', 'hatecheck', '7'),
    ]
    expect(new Set(others).size).toBe(others.length)
  })

  it.each(JSON_FORMATS)('%s names the lines that are none of it, and goes on', async (format) => {
    const lines = [{ text: 1 }, '{', rows[format].row]
    const bad = [
      { line: 1, why: `is no sample of ${format}` },
      { line: 2, why: 'is not JSON' },
    ]
    expect(await messagesOf(format, lines)).toMatchObject({ got: [{ line: 3 }], bad })
    expect(await itemsOf(format, lines)).toMatchObject({ got: [{ line: 3 }], bad })
  })

  it.each([
    ['kodoli', { text: 'x', label: 'MAYBE' }],
    ['airbench-both', { text: 'x', description: 'y', voted_risk: '' }],
    ['openai-moderation', { prompt: 'x', S: 0.5 }],
    ['kold', { guid: '1', comment: 'x', OFF: 'Perhaps' }],
    ['k-haters', { text: 'x', label: 'hate' }],
  ] as const)('%s names a label that is none of its own, and invents none', async (format, row) => {
    expect(await itemsOf(format, [row])).toMatchObject({ got: [], bad: [{ line: 1 }] })
  })

  it('of Aetheria’s raw cases has the risk of the image for a vote that nobody gave, and the vote where there is one', async () => {
    const { got, bad } = await itemsOf('airbench-image', [
      { description: 'A cake.', img_risk: '0', text_risk: '1', voted_risk: '1' },
      { description: 'A match.', img_risk: '0', voted_img_risk: '1' },
      { description: 'A match.', img_risk: '2' },
    ])
    expect(got.map(({ label }) => label)).toEqual(['unharmful', 'harmful'])
    expect(bad).toMatchObject([{ line: 3 }])
  })

  it('names a line without words', async () => {
    const why = [{ line: 1, why: 'is empty' }]
    expect((await messagesOf('kodoli', [{ text: ' ', label: 'NOT' }])).bad).toEqual(why)
    expect((await messagesOf('airbench-image', [{ description: '', voted_img_risk: '0' }])).bad).toEqual(why)
  })

  it('without a flag is labelled none, with several by all of them in one order', async () => {
    const { got } = await itemsOf('openai-moderation', [
      { prompt: 'a', S: 0, H: 0 },
      { prompt: 'b', V2: 1, S: 1, SH: 1 },
      { prompt: 'c' },
    ])
    expect(got.map(({ label }) => label)).toEqual(['none', 'S,SH,V2', 'none'])
  })

  it('without unique ids gets them from its content, the same each time, a repeat one of its own', async () => {
    const lines = ['a', 'b', 'a'].map((input) => ({ id: 1, input, label: 'harmful' }))
    const ids = async (from: readonly unknown[]) => (await messagesOf('airbench-text', from)).got.map(({ key }) => key)
    const [a, b, again] = await ids(lines)
    expect(a).toMatch(/^airbench-text-[0-9a-f]{16}$/)
    expect(b).not.toBe(a)
    expect(again).toBe(`${a}-2`)
    expect(await ids(lines.toReversed())).toEqual([a, b, again])
  })
})

describe('public data as it is', () => {
  const data = fileURLToPath(new URL('../../../../shared/data/', import.meta.url))
  const skipped = `SKIPPED: ${data} is not there, so no real data set was read.`

  const rowsOf = (file: string): Record<string, unknown>[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it.for([
    ['hatecheck', 'hatecheck/cases', ({ label_gold }) => label_gold],
    ['kodoli', 'kodoli/comments', ({ label }) => label],
    [
      'openai-moderation',
      'openai-moderation/samples',
      (row) =>
        Object.keys(row)
          .filter((key) => row[key] === 1)
          .join() || 'none',
    ],
    ['airbench-text', 'airbench/only_text', ({ label }) => label],
    ['airbench-image', 'airbench/only_img', (row) => (row.voted_img_risk === '1' ? 'harmful' : 'unharmful')],
    ['airbench-both', 'airbench/text_img', (row) => (row.voted_risk === '1' ? 'harmful' : 'unharmful')],
  ] satisfies [LabelledFormat, string, (row: Record<string, unknown>) => unknown][])(
    '%s: every line is a post that intake takes, and a text with its label',
    async ([format, name, gold], context) => {
      if (!existsSync(data)) return context.skip(skipped)
      const file = join(data, `${name}.jsonl`)
      const rows = rowsOf(file)
      const { got, bad } = await all((complain) => fileMessages(file, format, complain))
      expect(bad).toEqual([])
      expect(got).toHaveLength(rows.length)
      expect(new Set(got.map(({ key }) => key)).size).toBe(rows.length)
      expect(got.filter(({ value }) => !postMessage.safeParse(value).success)).toEqual([])
      const times = got.map(({ createdAt }) => createdAt ?? Number.NaN)
      expect(times.every((time, index) => index === 0 || time > (times[index - 1] ?? 0))).toBe(true)

      const items = await all((complain) => labelledItems(file, format, complain))
      expect(items.bad).toEqual([])
      expect(items.got.map(({ label }) => label)).toEqual(rows.map((row) => gold(row)))
    },
  )

  it('covid19-rumor: a comment whose time is none takes that of the one before it, and it is said', async () => {
    const at = (minute: number) => `Fri Mar 13 20:${minute}:00 +0000 2020`
    const times = ['0', at(11), 'a piece of a text', at(14), '0', '2020-03-13']
    const comments = times.map((t, index) => ({ t, text: `words ${index + 1}` }))
    const file = fileOf([{ id: 'thread', claim: 'a claim', comments }])
    const { got, bad } = await all((complain) => fileMessages(file, 'covid19-rumor', complain))
    const minutes = got.map(({ value }) => [value.text, new Date(String(value.createdAt)).toISOString().slice(14, 19)])
    expect(minutes).toEqual([
      ['a claim', '10:59'],

      ['words 1', '11:00'],
      ['words 2', '11:00'],
      ['words 3', '11:00'],

      ['words 4', '14:00'],
      ['words 5', '14:00'],
      ['words 6', '14:00'],
    ])
    expect(bad).toEqual(
      [1, 3, 5, 6].map((number) => ({
        line: 1,
        why: `comment ${number} has no readable time: it takes that of the one before it`,
        read: true,
      })),
    )
  })

  it.for(['rumoureval2017', 'covid19-rumor'] as const)(
    '%s: every thread as a post and its comments, by time',
    async (format, context) => {
      if (!existsSync(data)) return context.skip(skipped)
      const file = join(data, format, 'threads.jsonl')
      const { got, bad } = await all((complain) => fileMessages(file, format, complain))
      expect(bad.every(({ read }) => read === true)).toBe(true)
      const counts = { rumoureval2017: [155, 2_327], 'covid19-rumor': [300, 6_268] }[format]
      expect([
        got.filter(({ type }) => type === 'post').length,
        got.filter(({ type }) => type === 'comment').length,
      ]).toEqual(counts)
      const times = got.map(({ createdAt }) => createdAt ?? Number.NaN)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    },
  )
})

describe('a file is sent', () => {
  const flatOut: Pace = { kind: 'flat-out' }

  it('each type to its topic, in order', async () => {
    const topics = { post: 'to.posts', comment: 'to.comments', counterspeech: 'to.replies', feedback: 'to.feedback' }
    const types = ['post', 'counterspeech', 'comment', 'feedback', 'counterspeech'] as const
    async function* messages(): AsyncGenerator<FileMessage> {
      for (const [index, type] of types.entries())
        yield { type, key: `k${index}`, line: index + 1, createdAt: null, value: { index } }
    }
    const records: OutgoingMessage[] = []
    const writer = {
      send: async (some: readonly OutgoingMessage[]) => void records.push(...some),
      close: async () => {},
    }
    const options = { signal: new AbortController().signal, progress: () => {} }
    expect(await replayFile(messages(), { writer, topics }, flatOut, options)).toBe(5)
    expect(records).toEqual(
      types.map((type, index) => ({ topic: topics[type], key: `k${index}`, value: `{"index":${index}}` })),
    )
  })

  it.each([
    ['unsmile', 'unsmile.tsv', 7, 0],
    ['k-mhas', 'k-mhas.txt', 5, 0],
    ['kold', 'kold.json', 5, 0],
    ['k-haters', 'k-haters.jsonl', 5, 0],
    ['twitter-covid19', 'Twitter_data_all.txt', 4, 6],
    ['weibo-covid19', 'weibo_covid19_data.txt', 2, 4],
  ] satisfies [Format, string, number, number][])(
    'in the published form of %s',
    async (format, name, posts, comments) => {
      const file = fileURLToPath(new URL(`./data-sets/${name}`, import.meta.url))
      const topics = { post: 'posts', comment: 'comments', counterspeech: 'replies', feedback: 'feedback' }
      const records: OutgoingMessage[] = []
      const writer = {
        send: async (some: readonly OutgoingMessage[]) => void records.push(...some),
        close: async () => {},
      }
      const options = { signal: new AbortController().signal, progress: () => {} }
      const sent = await replayFile(
        fileMessages(file, format, () => {}),
        { writer, topics },
        flatOut,
        options,
      )
      expect(sent).toBe(posts + comments)
      const keys = (topic: string) => records.flatMap((record) => (record.topic === topic ? [record.key] : []))
      expect([keys('posts').length, keys('comments').length]).toEqual([posts, comments])
      expect(new Set(keys('posts')).size).toBe(posts)
      expect(keys('comments').every((key) => keys('posts').includes(key))).toBe(true)
    },
  )

  it('from any of these formats', () => {
    const threads = ['rumoureval2017', 'covid19-rumor', 'twitter-covid19', 'weibo-covid19']
    expect(FORMATS).toEqual(['gavel', 'cseval', ...threads, ...LABELLED_FORMATS])
  })
})
