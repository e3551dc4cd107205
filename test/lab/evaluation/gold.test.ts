import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import type { FileMessage } from '../../../src/data-files/file-message.ts'
import { type Format, fileMessages } from '../../../src/data-files/formats.ts'
import { type GoldOptions, goldOf } from '../../../src/lab/evaluation/gold.ts'
import type { GoldItem, GoldProtocol } from '../../../src/lab/evaluation/gold-item.ts'
import { byOverlap } from '../../../src/lab/evaluation/reference-overlap.ts'
import { tell } from '../../support/pipeline.ts'

const DATA = join(PROJECT, '..', 'shared', 'data')
const hasData = existsSync(DATA)
if (!hasData) tell('SKIPPED: no public data beside the project')

const PROTOCOLS = {
  rumor: { name: 'rumor', labels: ['rumor', 'non-rumor'] },
  hate: { name: 'hate', labels: ['hate', 'non-hate'] },
  safety: { name: 'safety', labels: ['unsafe', 'safe'] },
}
const NOT_RATED = 'left out: not rated'

const folder = mkdtempSync(join(tmpdir(), 'gavel-gold-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
function fileOf(...lines: (string | object)[]): string {
  const file = join(folder, `${++files}.txt`)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}

async function gold(file: string, format: Format, protocol: keyof typeof PROTOCOLS, options: GoldOptions = {}) {
  const bad: string[] = []
  const items = await goldOf(file, format, PROTOCOLS[protocol], ({ line, why }) => bad.push(`${line} ${why}`), options)
  return { items: items.map(withoutKey), bad }
}
function withoutKey({ textKey: _, text: __, ...item }: GoldItem): GoldItem {
  return item
}
const countsOf = (items: readonly GoldItem[]) =>
  Object.fromEntries(
    [...Map.groupBy(items, ({ label, why }) => label ?? `left out: ${why}`)].map(([label, of]) => [label, of.length]),
  )

describe.skipIf(!hasData)('gold labels of public data', () => {
  it.each<[string, Format, keyof typeof PROTOCOLS, Record<string, number>]>([
    ['rumoureval2017/threads', 'rumoureval2017', 'rumor', { rumor: 39, 'non-rumor': 68, 'left out: unverified': 48 }],
    ['covid19-rumor/threads', 'covid19-rumor', 'rumor', { rumor: 82, 'non-rumor': 106, 'left out: unverified': 112 }],
    ['hatecheck/cases', 'hatecheck', 'hate', { hate: 1267, 'non-hate': 558 }],
    ['kodoli/comments', 'kodoli', 'hate', { hate: 1380, 'non-hate': 2620 }],
    // Most prompts were labelled for some categories alone.
    ['openai-moderation/samples', 'openai-moderation', 'safety', { unsafe: 256, safe: 161, [NOT_RATED]: 406 }],
    ['openai-moderation/samples', 'openai-moderation', 'hate', { hate: 76, 'non-hate': 299, [NOT_RATED]: 448 }],
    ['airbench/only_text', 'airbench-text', 'safety', { unsafe: 73, safe: 77 }],
    ['airbench/only_img', 'airbench-image', 'safety', { unsafe: 69, safe: 81 }],
    ['airbench/text_img', 'airbench-both', 'safety', { unsafe: 62, safe: 88 }],
  ])('%s as %s for %s', async (name, format, protocol, counts) => {
    const { items, bad } = await gold(join(DATA, `${name}.jsonl`), format, protocol)
    const others = bad.filter((why) => !/texts have several labels|has several labels in the file/.test(why))
    expect({ counts: countsOf(items), others }).toEqual({ counts, others: [] })
  })
})

describe.skipIf(!hasData)('what results can be told apart by', () => {
  it('is the event of a thread, which is also what was sampled; HateCheck’s functionality and target; the language', async () => {
    const threads = await gold(join(DATA, 'rumoureval2017/threads.jsonl'), 'rumoureval2017', 'rumor')
    const [inEvent, alone] = [true, false].map((named) =>
      threads.items.filter(({ slices }) => (slices.event !== undefined) === named),
    )
    expect(new Set(inEvent?.map(({ unit }) => unit)).size).toBe(8)
    expect(inEvent?.every(({ unit, slices }) => slices.event === unit)).toBe(true)
    // Where the data set names none.
    expect(alone?.map(({ id, unit }) => [id, unit])).toEqual(alone?.map(({ id }) => [id, id]))
    expect(alone).toHaveLength(12)
    const cases = await gold(join(DATA, 'hatecheck/cases.jsonl'), 'hatecheck', 'hate')
    expect(cases.items[0]?.slices).toEqual({
      functionality: 'derog_neg_emote_h',
      target: 'trans people',
      language: 'en',
      length: 'short',
    })
    expect(cases.items.every(({ id, unit }) => id === unit)).toBe(true)
  })

  it('an unverified claim counts as what the option says', async () => {
    const file = join(DATA, 'rumoureval2017/threads.jsonl')
    const { items } = await gold(file, 'rumoureval2017', 'rumor', { unverified: 'rumor' })
    expect(countsOf(items)).toEqual({ rumor: 39 + 48, 'non-rumor': 68 })
  })
})

describe('labels of a team’s own', () => {
  const post = (id: string, change: object) => ({
    type: 'post',
    id,
    text: 'words',
    createdAt: '2025-01-01T00:00:00Z',
    ...change,
  })

  it('stand beside the message: one, or one of each annotator, with what was sampled together and slices', async () => {
    const file = fileOf(
      post('a', { label: 'hate', lang: 'en', unit: 'author 1', slices: { source: 'forum' } }),
      post('b', { labels: ['hate', 'hate', 'non-hate'] }),
      post('c', { labels: ['hate', 'non-hate'] }),
      post('d', {}),
      { type: 'comment', id: 'e', postId: 'a', text: 'words', createdAt: '2025-01-01T00:00:00Z', label: 'hate' },
    )
    const { items } = await gold(file, 'gavel', 'hate')
    expect(items).toEqual([
      {
        line: 1,
        id: 'a',
        label: 'hate',
        unit: 'author 1',
        slices: { length: 'short', source: 'forum', language: 'en' },
      },
      {
        line: 2,
        id: 'b',
        label: 'hate',
        unit: 'b',
        slices: { length: 'short' },
        annotations: ['hate', 'hate', 'non-hate'],
      },
      {
        line: 3,
        id: 'c',
        label: null,
        why: 'annotators are tied',
        unit: 'c',
        slices: { length: 'short' },
        annotations: ['hate', 'non-hate'],
      },
      { line: 4, id: 'd', label: null, why: 'no label', unit: 'd', slices: { length: 'short' } },
    ])
  })

  it('are refused where the protocol has no such label, or an id has two', async () => {
    const foreign = fileOf(post('a', { label: 'hate' }), post('b', { label: 'toxic' }))
    await expect(gold(foreign, 'gavel', 'hate')).rejects.toThrow(
      `${foreign}:2 has the label "toxic"; those of hate are hate, non-hate`,
    )
    const twice = fileOf(post('a', { label: 'hate' }), post('a', { label: 'non-hate' }))
    await expect(gold(twice, 'gavel', 'hate')).rejects.toThrow(`${twice}:2 labels a non-hate, and line 1 hate`)
    const same = fileOf(post('a', { label: 'hate' }), post('a', { label: 'hate' }))
    expect((await gold(same, 'gavel', 'hate')).items).toHaveLength(1)
  })

  it('belong to ids that are numbers as they are written, those beyond 2^53 too', async () => {
    const ids = ['267081518403440641', '267081518403440642', '1', '1.0', '1e3']
    const file = fileOf(...ids.map((id) => JSON.stringify(post('ID', { label: 'hate' })).replaceAll('"ID"', id)))
    const { items, bad } = await gold(file, 'gavel', 'hate')
    expect({ ids: items.map(({ id }) => id), bad }).toEqual({ ids, bad: [] })
  })

  it('tell which line is broken, however far down, and which has a label that is none', async () => {
    const lines = Array.from({ length: 5_010 }, (_, at) => post(`p${at}`, { label: 'hate' }))
    const file = fileOf(...lines.slice(0, 5_002), '{"type": "post", "id":', ...lines.slice(5_003))
    const { items, bad } = await gold(file, 'gavel', 'hate')
    expect([items.length, bad]).toEqual([5_009, ['5003 is not JSON']])
    const odd = fileOf(post('a', { label: {} }), post('b', { ratings: { relevance: 'good' } }), { type: 'post' })
    expect((await gold(odd, 'gavel', 'hate')).bad).toEqual([
      '1 has no readable label',
      '2 has no readable ratings',
      '3 has no readable id',
    ])
  })

  it('are told apart by length in Unicode characters, and by split', async () => {
    const texts = ['한'.repeat(50), '😀'.repeat(51), 'a'.repeat(280), 'a'.repeat(281)]
    const file = fileOf(...texts.map((text, at) => post(`p${at}`, { text, label: 'hate', split: 'dev' })))
    const { items } = await gold(file, 'gavel', 'hate')
    expect(items.map(({ slices, split }) => [slices.length, split])).toEqual(
      ['short', 'medium', 'medium', 'long'].map((length) => [length, 'dev']),
    )
  })

  it('say where a data set has none of what a protocol judges, and which lines are broken', async () => {
    const file = fileOf({ text: 'words', label: 'NOT' }, 'no json', { text: 'words', label: 'WHAT' })
    await expect(gold(file, 'kodoli', 'safety')).rejects.toThrow(
      'The format kodoli has no labels of what safety judges',
    )
    const { items, bad } = await gold(file, 'kodoli', 'hate')
    expect([items.length, bad]).toEqual([1, ['2 is not JSON', '3 is no sample of kodoli']])
    await expect(gold(join(folder, 'absent.jsonl'), 'kodoli', 'hate')).rejects.toThrow(
      'cannot be read: there is no such file',
    )
  })
})

describe('ratings of replies to hate speech', () => {
  it('are read from files of ratings that say no more than that, with messages of the same ids', async () => {
    const file = fileOf(
      { hateSpeech: 'They lie.', text: 'Name one.', ratings: { relevance: 4 } },
      { id: 'r2', hateSpeech: 'They lie.', text: 'No.', ratings: { relevance: [2, 3] } },
    )
    const gold = await ratings(file)
    expect(gold.map(({ id, unit, ratings: given }) => [id, unit, given])).toEqual([
      [expect.stringMatching(/^text-[0-9a-f]{16}$/), 'they lie.', { relevance: [4] }],
      ['r2', 'they lie.', { relevance: [2, 3] }],
    ])
    const bad: unknown[] = []
    const messages: FileMessage[] = []
    for await (const message of fileMessages(file, 'gavel', (line) => bad.push(line))) messages.push(message)
    expect(messages.map(({ type, key }) => [type, key])).toEqual([
      ['counterspeech', gold[0]?.id],
      ['counterspeech', 'r2'],
    ])
    expect(bad).toEqual([])
  })

  const SETS = join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets')
  const COUNTERSPEECH: GoldProtocol = {
    name: 'counterspeech',
    labels: [],
    scales: { relevance: [1, 5], aggressiveness: [1, 5], coherence: [1, 5], suitableness: [1, 3] },
  }
  const reply = (id: string, ratings: object) => ({ type: 'counterspeech', id, hateSpeech: 'x', text: 'y', ratings })
  const ratings = async (file: string, format: Format = 'gavel') => {
    const bad: string[] = []
    const items = await goldOf(file, format, COUNTERSPEECH, ({ line, why }) => bad.push(`${line} ${why}`))
    return Object.assign(items.map(withoutKey), { bad })
  }

  it('stand beside them by aspect, one or one of each rater', async () => {
    expect([...(await ratings(join(SETS, 'counterspeech.jsonl')))]).toEqual([
      {
        line: 1,
        id: 'r1',
        label: null,
        unit: 'writer 1',
        slices: { length: 'medium', language: 'en' },
        ratings: { relevance: [5, 4], aggressiveness: [1, 2], coherence: [5, 5], suitableness: [3, 3] },
      },
      {
        line: 2,
        id: 'r2',
        label: null,
        unit: 'writer 2',
        slices: { length: 'short', language: 'en' },
        ratings: { relevance: [2], aggressiveness: [3] },
      },
      {
        line: 3,
        id: 'r3',
        label: null,
        unit: 'writer 1',
        slices: { length: 'medium', language: 'en' },
        ratings: { suitableness: [2, 3, 3] },
        split: 'test',
      },
      // Replies to one statement belong together, where no unit is named.
      {
        line: 4,
        id: 'r4',
        label: null,
        why: 'no label',
        slices: { length: 'short', language: 'en' },
        unit: 'people from the islands bring nothing but trouble.',
      },
    ])
  })

  it.each([
    [
      { kindness: 3 },
      'rates "kindness"; the aspects of counterspeech are relevance, aggressiveness, coherence, suitableness.',
    ],
    [{ toString: 3 }, 'rates "toString"; the aspects'],
  ])('of no aspect are one error with its line: %o', async (given, why) => {
    const file = fileOf(reply('a', { relevance: 1 }), reply('b', given))
    await expect(ratings(file)).rejects.toThrow(`${file}:2 ${why}`)
  })

  it('are replies where the column of the hate speech is named', async () => {
    const file = fileOf('INDEX,HATE_SPEECH,COUNTER_NARRATIVE,relevance', '0,They lie.,Name one.,4')
    const read = (hateSpeechField: string) =>
      goldOf(file, 'gavel', COUNTERSPEECH, () => {}, { textField: 'COUNTER_NARRATIVE', hateSpeechField })
    expect(await read('HATE_SPEECH')).toMatchObject([{ unit: 'they lie.', ratings: { relevance: [4] } }])
    await expect(read('HATE')).rejects.toThrow(
      'has no column "HATE", but: INDEX, HATE_SPEECH, COUNTER_NARRATIVE, relevance.',
    )
  })

  it('that are missing or outside the scale are left out and told, and end nothing', async () => {
    const file = fileOf(
      reply('a', { relevance: [5, 0.5, null], suitableness: 4 }),
      { ...reply('b', { relevance: null }), text: 'z' },
      { ...reply('c', { relevance: 2 }), text: 'w' },
    )
    const items = await ratings(file)
    expect(items.map(({ ratings: given, why }) => [given, why])).toEqual([
      [{ relevance: [5] }, undefined],
      [{}, 'no rating on its scale'],
      [{ relevance: [2] }, undefined],
    ])
    expect(items.bad).toEqual([
      '1 rates relevance 0.5, and its scale is 1 to 5: this rating is left out',
      '1 rates relevance nothing: this rating is left out',
      '1 rates suitableness 4, and its scale is 1 to 3: this rating is left out',
      '2 rates relevance nothing: this rating is left out',
    ])
  })

  it('of CSEval are read from its table as it is published', async () => {
    const file = fileOf(
      'uuid,hatespeech,gold_counterspeech,predicted_counterspeech,csType,suitableness_score,relevance_score,coherence_score,aggressiveness_score',
      '17,"They lie, all of them.",No.,Name one.,Questioning,3,4,5,1',
      '18,They lie.,No.,"They ""lie""?",Questioning,,5.5,3,2',
    )
    const items = await ratings(file, 'cseval')
    expect(items.map(({ id, unit, ratings: given, slices }) => [id, unit, given, slices.strategy])).toEqual([
      [
        '17',
        'they lie, all of them.',
        { relevance: [4], aggressiveness: [1], coherence: [5], suitableness: [3] },
        'Questioning',
      ],
      ['18', 'they lie.', { aggressiveness: [2], coherence: [3] }, 'Questioning'],
    ])
    expect(items.bad).toHaveLength(2)
  })

  it('of CSEval have their reference beside them, and their text’s name where they have no uuid', async () => {
    const file = fileOf(
      'hatespeech,counterspeech,predicted_counterspeech,uuid,csType,suitableness_score,relevance_score,coherence_score,aggressiveness_score',
      'They lie.,Nobody lies always.,Name one.,,Questioning,3,4,5,1',
      'They steal.,,Who?,,Questioning,3,4,5,1',
      'They steal.,No.,No!,7,Questioning,3,2,5,1',
    )
    const items = await ratings(file, 'cseval')
    expect(items.map(({ pair }) => pair)).toEqual([
      { reply: 'Name one.', reference: 'Nobody lies always.' },
      undefined,
      { reply: 'No!', reference: 'No.' },
    ])
    const ids = items.map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(ids[2]).toBe('7')
    expect((await ratings(file, 'cseval')).map(({ id }) => id)).toEqual(ids)
    const [similar] = byOverlap(items, 'rouge-1') ?? []
    expect(similar?.scores).toEqual({ relevance: 0, aggressiveness: 0, coherence: 0, suitableness: 0 })
    expect(byOverlap(items, 'rouge-1')?.[2]?.scores.relevance).toBe(1)
    expect(byOverlap(items, 'rouge-1')?.[1]).toMatchObject({ scores: {}, degraded: ['no reference'] })
    expect(byOverlap(items.slice(1, 2), 'rouge-1')).toBeNull()
  })

  it('of a protocol that has none are refused, and so are two lines about one reply that differ', async () => {
    const file = fileOf(reply('a', { relevance: 1 }))
    await expect(gold(file, 'gavel', 'hate')).rejects.toThrow(`${file}:1 rates "relevance"; hate rates nothing.`)
    const twice = fileOf(reply('a', { relevance: 1 }), reply('a', { relevance: 2 }))
    await expect(ratings(twice)).rejects.toThrow(`${twice}:2 rates a differently from line 1`)
    const labelled = fileOf({ ...reply('a', {}), label: 'good' })
    await expect(ratings(labelled)).rejects.toThrow(`${labelled}:1 has the label "good"; counterspeech has none.`)
  })
})

it('labels are read beside a reference that is no text, and a split that is a number', async () => {
  const file = fileOf({ id: 'a', text: 'x', label: 'hate', reference: ['y', 'z'], split: 3 })
  const { items, bad } = await gold(file, 'gavel', 'hate')
  expect(items.map(({ label, split }) => [label, split])).toEqual([['hate', '3']])
  expect(bad).toEqual([])
})

describe('people’s own tables', () => {
  const hate = (file: string, options: GoldOptions = {}) => gold(file, 'gavel', 'hate', options)

  it('have labels in any spelling, in words that are named, or none', async () => {
    const file = fileOf('Text,Label', 'one,Hate ', 'two,NON_HATE', 'three,1', 'four,', 'five,nan', 'six,0')
    await expect(hate(file)).rejects.toThrow(
      `${file}:4 has the label "1"; those of hate are hate, non-hate. Translate it: --label-as "1=hate".`,
    )
    const { items } = await hate(file, { labelAs: { 1: 'hate', 0: 'non-hate' } })
    expect(items.map(({ label, why }) => label ?? why)).toEqual([
      'hate',
      'non-hate',
      'hate',
      'no label',
      'no label',
      'non-hate',
    ])
    expect(items[0]?.slices).toEqual({ length: 'short' })
  })

  it('have labels that the protocol lacks named together, and left out where nothing is behind them', async () => {
    const file = fileOf('text,label', 'one,yes', 'two,skip', 'three,no', 'four,yes')
    await expect(hate(file)).rejects.toThrow(
      `${file}:2 has the label "yes"; those of hate are hate, non-hate. Translate it: --label-as "yes=hate". So for "skip", "no"; with nothing after the =, items with that label are left out.`,
    )
    const { items } = await hate(file, { labelAs: { Yes: 'hate', no: 'non-hate', skip: '' } })
    expect(items.map(({ label, why }) => why ?? label)).toEqual(['hate', 'label skip', 'non-hate', 'hate'])
    const texts = fileOf('text,label', ...Array.from({ length: 15 }, (_, at) => `text ${at},words ${at}`))
    await expect(hate(texts)).rejects.toThrow(
      /So for "words 1", .*"words 10" and 4 more \(is --label-field the label\?\)/,
    )
  })

  it('have shares of annotators for labels, read by thresholds', async () => {
    const file = fileOf('text,label', 'one,0', 'two,0.33', 'three,0.5', 'four,.67', 'five,1', 'six,1e-3', 'seven,')
    await expect(hate(file)).rejects.toThrow(
      `${file}:2 has the label "0"; those of hate are hate, non-hate. Shares of annotators need thresholds: --label-as "0.5+=hate" --label-as "0+=non-hate".`,
    )
    const read = async (labelAs: Record<string, string>) =>
      (await hate(file, { labelAs })).items.map(({ label, why }) => why ?? label)
    const [no, yes] = ['non-hate', 'hate']
    expect(await read({ '0.5+': yes, '0+': no })).toEqual([no, no, yes, yes, yes, no, 'no label'])
    // Of several thresholds the highest counts, whatever their order, and a label's own name before them.
    expect(await read({ '0+': no, '.3+': '', '0.6+': yes, '1': no })).toEqual([
      no,
      'label .3+',
      'label .3+',
      yes,
      no,
      no,
      'no label',
    ])
    await expect(read({ '0.5+': yes })).rejects.toThrow('has the label "0"')
  })

  it('are read by the columns that are named', async () => {
    const file = fileOf(',count,class,tweet', '0,3,2,"a ""quoted"" word, and more"', '1,3,0,another')
    await expect(hate(file)).rejects.toThrow(
      `${file} has no column "text", but: , count, class, tweet. Name the text with --text-field; "gavel judge --text" takes each line for a post. A public data set needs --format.`,
    )
    const { items } = await hate(file, {
      textField: 'tweet',
      labelField: 'class',
      labelAs: { 2: 'non-hate', 0: 'hate' },
    })
    expect(items.map(({ label }) => label)).toEqual(['non-hate', 'hate'])
  })

  it('of which a text has several labels name it, and a switch decides', async () => {
    const file = fileOf(
      'text,label',
      'same words here,hate',
      'same words here,non-hate',
      'Same  words here,hate',
      'other words,non-hate',
      'other words,non-hate',
      'tied,hate',
      'tied,non-hate',
    )
    const said = async (contradictions: GoldOptions['contradictions'] & string) => {
      const { items, bad } = await hate(file, { contradictions })
      return { labels: items.map(({ label, why }) => why ?? label), bad }
    }
    const kept = await said('keep')
    expect(kept.labels).toEqual(['hate', 'non-hate', 'hate', 'non-hate', 'non-hate', 'hate', 'non-hate'])
    expect(kept.bad).toEqual([
      '2 has several labels in the file: hate 2 times, non-hate in line 3; each counts (--contradictions leave-out or majority)',
      '7 has several labels in the file: hate in line 7, non-hate in line 8; each counts (--contradictions leave-out or majority)',
    ])
    const apart = 'contradicting labels of one text'
    expect((await said('leave-out')).labels).toEqual([apart, apart, apart, 'non-hate', 'non-hate', apart, apart])
    const same = 'same text as another item'
    const most = await said('majority')
    expect(most.labels).toEqual(['hate', same, same, 'non-hate', 'non-hate', apart, apart])
    expect(most.bad.map((line) => line.replace(/.*; /, ''))).toEqual([
      'the majority counts',
      'left out, because no label has a majority',
    ])
  })
})
