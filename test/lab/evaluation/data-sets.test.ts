import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { PROJECT } from '../../../config/load.ts'
import { commentMessage, postMessage } from '../../../src/contracts/facts/messages.ts'
import { type Format, fileMessages } from '../../../src/data-files/formats.ts'
import { type LabelledFormat, labelledItems } from '../../../src/data-files/labelled-sets.ts'
import { type GoldOptions, goldOf } from '../../../src/lab/evaluation/gold.ts'

// Each data set in the form in which it is published, in files of this project's own making.

const SETS = join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets')
const HATE = { name: 'hate', labels: ['hate', 'non-hate'] }
const RUMOR = { name: 'rumor', labels: ['rumor', 'non-rumor'] }

const folder = mkdtempSync(join(tmpdir(), 'gavel-data-sets-'))
afterAll(() => rmSync(folder, { recursive: true }))
function fileOf(name: string, ...lines: string[]): string {
  const file = join(folder, name)
  writeFileSync(file, lines.join('\n'))
  return file
}

/** A file's messages and its gold labels; what each reader said of its lines. */
async function read(file: string, format: Format, protocol: typeof HATE, options: GoldOptions = {}) {
  const bad: { messages: string[]; gold: string[] } = { messages: [], gold: [] }
  const messages = []
  for await (const message of fileMessages(file, format, ({ line, why }) => bad.messages.push(`${line} ${why}`)))
    messages.push(message)
  const gold = await goldOf(file, format, protocol, ({ line, why }) => bad.gold.push(`${line} ${why}`), options)
  return { messages, gold, bad }
}
type Read = Awaited<ReturnType<typeof read>>

/** Each post's text with its gold label, slices apart from language and length, and annotations. */
function labelsOf({ messages, gold }: Read) {
  const texts = new Map(messages.map(({ key, value }) => [key, value.text]))
  return gold.map(({ id, label, slices: { target }, annotations }) => [
    texts.get(id),
    label,
    ...(target === undefined && annotations === undefined ? [] : [target]),
    ...(annotations === undefined ? [] : [annotations]),
  ])
}
/** What every text of a Korean data set has in common, as a message and as a gold item. */
function expectKorean({ messages, gold }: Read, format: string): void {
  expect(messages.map(({ key }) => key)).toEqual(gold.map(({ id }) => id))
  expect(messages.map(({ line }) => line)).toEqual(gold.map(({ line }) => line))
  for (const { type, value } of messages) {
    expect(type).toBe('post')
    expect(value.lang).toBe('ko')
    expect(postMessage.safeParse(value).success).toBe(true)
  }
  for (const { id, unit, slices } of gold) {
    expect(unit).toBe(id)
    expect(slices).toMatchObject({ language: 'ko', length: 'short' })
    expect(id.startsWith(format)).toBe(true)
  }
}

describe('UnSmile', () => {
  const file = join(SETS, 'unsmile.tsv')

  it('is hate for a group that is hated and, as PREDICT reads it, for profanity alone', async () => {
    const all = await read(file, 'unsmile', HATE)
    expectKorean(all, 'unsmile-')
    expect(labelsOf(all)).toEqual([
      ['오늘 저녁에 비가 온다니 우산을 챙기세요', 'non-hate'],
      ['강 건너 마을 사람들은 다 약속에 늦는다', 'hate', '지역'],
      ['요즘 젊은 남자들은 다 요리를 못한다', 'hate', 'several'],
      ['이런 바보 같은 글은 처음 본다', 'hate'],
      ['어제 누가 "힘내라"고 해서 고마웠다', 'non-hate'],
      ['저 절 다니는 사람들은 다 욕심쟁이다, 바보들', 'hate', '종교'],
      ['나는 정말 길치다', 'non-hate'],
    ])
    // One row is labelled nothing at all.
    expect(all.bad).toEqual({ messages: ['8 is no sample of unsmile'], gold: ['8 is no sample of unsmile'] })
  })

  it('counts profanity alone as no hate where that is asked for, as the data set itself does', async () => {
    const { gold } = await read(file, 'unsmile', HATE, { profanity: 'non-hate' })
    expect(gold.map(({ label }) => label)).toEqual([
      'non-hate',
      'hate',
      'hate',
      'non-hate',
      'non-hate',
      'hate',
      'non-hate',
    ])
  })

  it('says which column is missing, and which rows do not fit', async () => {
    const none = fileOf('columns.tsv', 'text\tclean', '말\t1')
    await expect(read(none, 'unsmile', HATE)).rejects.toThrow(
      `${none} has no column 문장; its first line is: text, clean`,
    )
    const [header = '', row = ''] = readFileSync(file, 'utf8').split('\n')
    const { bad, gold } = await read(
      fileOf('rows.tsv', header, row.slice(0, -2), row.replace('\t0', '\t2'), `"${row}`, row.replace('\t0', '\t1')),
      'unsmile',
      HATE,
    )
    // A stray quotation mark belongs to its own row alone.
    expect([gold.map(({ line }) => line), bad.gold]).toEqual([
      [4],
      ['2 has 11 fields, and the first line names 12', '3 is no sample of unsmile', '5 is no sample of unsmile'],
    ])
  })
})

describe('K-MHaS', () => {
  const labels = [
    ['오늘 경기 정말 재미있었어요', 'non-hate'],
    ['섬에서 온 사람들은 운전을 못해', 'hate', 'origin'],
    ['그 당 지지자들은 나이만 먹었지 생각이 없다', 'hate', 'several'],
    ['"에이 이런 젠장"', 'hate'],
    ['다음 회의는 일곱 시입니다', 'non-hate'],
  ]

  it('is read from the numbers of its classes', async () => {
    const all = await read(join(SETS, 'k-mhas.txt'), 'k-mhas', HATE)
    expectKorean(all, 'k-mhas-')
    expect(labelsOf(all)).toEqual(labels)
    // "Not hate speech" beside a class of hate; a number that stands for no class.
    expect(all.bad.gold).toEqual(['7 is no sample of k-mhas', '8 is no sample of k-mhas'])
  })

  it('is read from a column for each class, with the same ids', async () => {
    const all = await read(join(SETS, 'k-mhas-one-hot.tsv'), 'k-mhas', HATE)
    expect([labelsOf(all), all.bad.gold]).toEqual([labels, []])
    const numbered = await read(join(SETS, 'k-mhas.txt'), 'k-mhas', HATE)
    expect(all.gold).toEqual(numbered.gold)
  })
})

describe('KOLD', () => {
  it('is one JSON list of comments, each with what its annotators said; every offence is hate', async () => {
    const all = await read(join(SETS, 'kold.json'), 'kold', HATE)
    expectKorean(all, 'kold-v1_')
    const [yes, no] = ['hate', 'non-hate']
    expect(labelsOf(all)).toEqual([
      ['도서관이 늦게까지 열려서 좋네요', 'non-hate', undefined, [no, no, no]],
      ['시장 상인들은 다 목소리만 크다', 'hate', 'others-merchant', [yes, yes, no]],
      ['노인들과 학생들은 늘 자리만 차지한다', 'hate', 'several', [yes, yes, yes]],
      ['관장은 답답한 사람이다', 'hate', undefined, [yes, no, yes]],
      ['에이 정말 짜증 나', 'hate', undefined, [yes, yes, no]],
    ])
    expect(all.gold.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5])
    expect(all.bad).toEqual({ messages: [], gold: [] })
  })

  it('that is broken is one clear error with its line, and shows nothing of the file', async () => {
    const file = fileOf('broken.json', '[', '{"guid": "1", "comment": "secret words" "OFF": true}', ']')
    await expect(read(file, 'kold', HATE)).rejects.toThrow(new RegExp(`^${file}:2 is not JSON\\.$`))
    await expect(read(join(folder, 'absent.json'), 'kold', HATE)).rejects.toThrow(
      'absent.json cannot be read: there is no such file',
    )
  })
})

describe('K-HATERS', () => {
  it('is hate from "offensive" upwards, as PREDICT reads it', async () => {
    const all = await read(join(SETS, 'k-haters.jsonl'), 'k-haters', HATE)
    expectKorean(all, 'k-haters-')
    expect(labelsOf(all)).toEqual([
      ['비가 그치면 산책하러 갑시다', 'non-hate'],
      ['말을 참 못나게 하시네', 'hate'],
      ['공무원들은 다 느리다고들 하더라', 'hate', 'job'],
      ['저 마을 노인들은 다 고집불통이다', 'hate', 'several'],
      ['내일 선거 꼭 하세요', 'non-hate'],
    ])
    expect(all.bad.gold).toEqual([])
  })
})

it.each([
  ['unsmile', 'unsmile.tsv', 'unsmile'],
  ['k-mhas', 'k-mhas.txt', 'k-mhas'],
  ['kold', 'kold.json', 'kold'],
  ['k-haters', 'k-haters.jsonl', 'k-haters'],
] satisfies [LabelledFormat, string, string][])(
  '%s: a shelf that is filled from it has labels that its perspective knows, on the same side',
  async (format, name, perspective) => {
    const yaml: unknown = parse(readFileSync(join(PROJECT, 'config', 'perspectives', `${perspective}.yaml`), 'utf8'))
    const { labels } = yaml as { labels: { means: string; shelf: string[] }[] }
    const file = join(SETS, name)
    const { gold } = await read(file, format, HATE)
    const sides = []
    for await (const { label } of labelledItems(file, format, () => {}))
      sides.push(labels.find(({ shelf }) => shelf.includes(label))?.means)
    expect(sides).toEqual(gold.map(({ label }) => label))
  },
)

describe('Twitter-COVID19 and Weibo-COVID19', () => {
  const START = Date.UTC(1990, 0, 1)
  const at = (seconds: number) => new Date(START + seconds * 1000).toISOString()
  const brief = ({ messages }: Read) =>
    messages.map(({ type, key, line, value: { id, parentId, text, createdAt } }) =>
      type === 'post' ? [line, id, text, createdAt] : [line, id, key, parentId, text, createdAt],
    )

  it('are trees of posts and replies by their delay; 1 is a rumor', async () => {
    const all = await read(join(SETS, 'Twitter_data_all.txt'), 'twitter-covid19', RUMOR)
    const [one, two, three, four] = [1, 2, 3, 4].map((number) => `90000000000000000${number}`)
    expect(brief(all)).toEqual([
      [1, one, 'They say the old bridge will stay closed until spring', at(0)],
      [5, two, 'The library lends out masks from Monday on', at(1)],
      [7, three, 'Warm soup cures the flu in an hour', at(2)],
      // No delay can be read: that of the one before it, or none.
      [8, `${three}-2`, three, three, 'My doctor laughed at that', at(2)],
      [10, four, 'Nobody has labelled this one', at(3)],
      [2, `${one}-2`, one, one, 'Who says so?', at(90)],
      [4, `${one}-4`, one, one, 'I crossed it this morning, this is not true', at(120)],
      [3, `${one}-3`, one, `${one}-2`, 'The ferry crew told me, but the council denies it', at(255)],
      // The parent is missing.
      [9, `${three}-3`, three, three, 'Tried it, still ill', at(722)],
      [6, `${two}-2`, two, two, 'Yes, it stands on their own page', at(1801)],
    ])
    for (const { type, value } of all.messages) {
      if (type === 'post') expect(value.lang).toBe('en')
      expect((type === 'post' ? postMessage : commentMessage).safeParse(value).success).toBe(true)
    }
    expect(all.gold).toEqual(
      [
        [1, one, 'rumor', 'medium', 'They say the old bridge will stay closed until spring'],
        [5, two, 'non-rumor', 'short', 'The library lends out masks from Monday on'],
        [7, three, 'rumor', 'short', 'Warm soup cures the flu in an hour'],
      ].map(([line, id, label, length, text]) => ({
        line,
        id,
        label,
        unit: id,
        text,
        slices: { length, language: 'en' },
      })),
    )
    const mended = [
      '8 has no readable delay: it takes that of the one before it',
      '9 replies to 7, which is not there: it replies to the post',
    ]
    const labels = join(SETS, 'Twitter_label_all.txt')
    expect(all.bad).toEqual({
      messages: mended,
      gold: [
        ...mended,
        `10 begins ${four}, which has no label in ${labels}`,
        `1 has no thread for 1 of the labels in ${labels}, first 900000000000000009`,
      ],
    })
  })

  it('are read in Chinese too', async () => {
    const all = await read(join(SETS, 'weibo_covid19_data.txt'), 'weibo-covid19', RUMOR)
    const [one, two] = ['4400000000000001', '4400000000000002']
    expect(brief(all)).toEqual([
      [1, one, '听说明天全城停水三天', at(0)],
      [4, two, '体育馆从周一起可以领取口罩', at(1)],
      [2, `${one}-2`, one, one, '真的吗？', at(180)],
      [3, `${one}-3`, one, one, '水务公司说没有这回事', at(330)],
      [5, `${two}-2`, two, two, '谢谢，已经领到了', at(601)],
      [6, `${two}-3`, two, `${two}-2`, '排队的人多吗？', at(661)],
    ])
    expect(all.gold.map(({ id, label, slices }) => [id, label, slices.language])).toEqual([
      [one, 'rumor', 'zh'],
      [two, 'non-rumor', 'zh'],
    ])
    expect(all.bad).toEqual({ messages: [], gold: [] })
  })

  it('name the lines that fit no tree', async () => {
    const file = fileOf(
      'odd_data.txt',
      '1\tNone\t1\t0\ta claim',
      '1\t1\t2\t1\t ',
      'four\tfields\tare\tnot enough',
      '1\t1\t3\t2\ta\treply with a tab',
      '1\t1\t3\t3\tthe same number again',
      '1\tNone\t4\t4\ta second claim',
      '2\t1\t2\t1\tno post above it',
    )
    copyFileSync(join(SETS, 'weibo_covid19_label.txt'), join(folder, 'odd_label.txt'))
    const { messages, bad } = await read(file, 'twitter-covid19', RUMOR)
    expect(messages.map(({ line, value }) => [line, value.text])).toEqual([
      [1, 'a claim'],
      [4, 'a\treply with a tab'],
    ])
    expect(bad.messages).toEqual([
      '2 is empty',
      '3 is no post of twitter-covid19',
      '5 repeats post 3 of its conversation',
      '6 is a second post of its conversation',
      '7 belongs to 2, which has no post',
    ])
  })

  it('need their labels beside them, each id with one', async () => {
    const gold = (name: string) => goldOf(join(folder, name), 'weibo-covid19', RUMOR, () => {})
    const tree = '1\tNone\t1\t0\ta claim'
    fileOf('alone_data.txt', tree)
    await expect(gold('alone_data.txt')).rejects.toThrow('alone_label.txt cannot be read: there is no such file')
    fileOf('trees.txt', tree)
    await expect(gold('trees.txt')).rejects.toThrow(
      'its labels are in a file of the same name, with "label" in place of',
    )
    fileOf('a_data.txt', tree)
    const unknown = fileOf('a_label.txt', '1\t1', '2\tmaybe')
    await expect(gold('a_data.txt')).rejects.toThrow(`${unknown}:2 is no id with a label; labels are 1, false, 0,`)
    fileOf('b_data.txt', tree)
    const twice = fileOf('b_label.txt', '1\t1', '1\tnon-rumor')
    await expect(gold('b_data.txt')).rejects.toThrow(`${twice}:2 labels 1 non-rumor, and a line before it rumor`)
  })
})

describe('threads with stances', () => {
  it('have them counted, with the split that the data set gives', async () => {
    const { gold } = await read(join(SETS, 'threads.jsonl'), 'rumoureval2017', RUMOR)
    const slices = { length: 'short', language: 'en' }
    expect(gold).toEqual([
      {
        line: 1,
        id: 't1',
        label: 'rumor',
        unit: 'flood',
        split: 'train',
        text: 'The dam above the town has burst',
        slices: { ...slices, event: 'flood' },
        stances: { support: 0, deny: 2, query: 1, comment: 1 },
      },
      {
        line: 2,
        id: 't2',
        label: 'non-rumor',
        unit: 'flood',
        split: 'dev',
        text: 'The school opens as a shelter tonight',
        slices: { ...slices, event: 'flood' },
        stances: { support: 1, deny: 0, query: 0, comment: 0 },
      },
      {
        line: 3,
        id: 't3',
        label: null,
        why: 'unverified',
        unit: 'storm',
        split: 'test',
        text: 'The lighthouse has lost its roof',
        slices: { ...slices, event: 'storm' },
        stances: { support: 1, deny: 0, query: 1, comment: 0 },
      },
      {
        line: 4,
        id: 't4',
        label: 'non-rumor',
        unit: 't4',
        split: 'test',
        slices,
        text: 'The evening ferry does not sail',
        stances: { support: 0, deny: 0, query: 0, comment: 0 },
      },
    ])
  })
})

describe('the data sets of ../shared/data, in small files of our own', () => {
  const SAFETY = { name: 'safety', labels: ['unsafe', 'safe'] }

  it.each([
    ['covid19-rumor', 'covid19-threads', RUMOR, ['rumor', 'non-rumor', null], 3],
    ['hatecheck', 'hatecheck', HATE, ['hate', 'non-hate'], 0],
    ['kodoli', 'kodoli', HATE, ['non-hate', 'hate', 'hate'], 0],
    ['openai-moderation', 'openai-moderation', SAFETY, ['safe', 'unsafe', null], 0],
    ['openai-moderation', 'openai-moderation', HATE, ['non-hate', 'hate', null], 0],
    ['airbench-text', 'airbench-text', SAFETY, ['unsafe', 'safe'], 0],
    ['airbench-image', 'airbench-image', SAFETY, ['unsafe', 'safe'], 0],
    ['airbench-both', 'airbench-both', SAFETY, ['unsafe', 'safe'], 0],
  ] satisfies [Format, string, typeof HATE, (string | null)[], number][])(
    '%s: its messages and its labels',
    async (format, name, protocol, labels, comments) => {
      const { messages, gold } = await read(join(SETS, `${name}.jsonl`), format, protocol)
      const posts = messages.filter(({ type }) => type === 'post')
      expect(posts.map(({ key }) => key).toSorted()).toEqual(gold.map(({ id }) => id).toSorted())
      expect(messages.length - posts.length).toBe(comments)
      expect(gold.map(({ label }) => label)).toEqual(labels)
      expect(gold.every(({ label, why }) => (label === null) === (why !== undefined))).toBe(true)
    },
  )
})
