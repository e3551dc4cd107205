import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command } from '../../../src/lab/commands/lane/fit.ts'
import { libraryOf } from '../../../src/shelves/lancedb/library.ts'
import { perform, performWords } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('lane')
const settings = loadSettings({ GAVEL_LIBRARY_PATH: join(folder, 'library') })

function fileOf(name: string, lines: readonly unknown[] | string): string {
  const file = join(folder, name)
  writeFileSync(file, typeof lines === 'string' ? lines : lines.map((line) => JSON.stringify(line)).join('\n'))
  return file
}

const ID = (at: number) => `t${String(at).padStart(4, '0')}`
const LABELS = ['hate', 'non-hate'] as const
const WORDS = 'river stone bridge garden letter window candle market harbour meadow'.split(' ')
/** A text of its own for each number: its digits as words. */
const textOf = (at: number) =>
  [...ID(at)]
    .slice(1)
    .map((digit) => WORDS[Number(digit)])
    .join(' ')

const ITEMS = Array.from({ length: 1_200 }, (_, at) => ({
  id: ID(at),
  text: textOf(at),
  label: LABELS[at % 2] ?? '',
  lang: 'en',
}))
const DATA = fileOf('labelled.jsonl', ITEMS)

/** A decider that is right where it is sure, and as often wrong as right where it is not. */
const ANSWERS = ITEMS.map(({ id, label }, at) => {
  const isSure = at % 5 < 3
  const isRight = isSure || at % 4 < 2
  const chosen = isSure ? 0.9 + (at % 7) / 100 : 0.55 + (at % 7) / 100
  const said = isRight ? label : (LABELS.find((one) => one !== label) ?? '')
  const other = LABELS.find((one) => one !== said) ?? ''
  return { id, model: 'planted', probabilities: { [said]: chosen, [other]: 1 - chosen } }
})

const certain = (label: string) => Object.fromEntries(LABELS.map((one) => [one, Number(one === label)]))

const fitBy = (answers: string, ...more: readonly string[]) =>
  performWords(['lane', 'fit', '--protocol', 'hate', '--data', DATA, '--answers', answers, ...more], settings)

it('promises what it settles, and writes thresholds with what they hold for', async () => {
  const file = join(folder, 'lane.json')
  const { out, said } = await fitBy(fileOf('answers.jsonl', ANSWERS), '--out', file)
  expect(said).toContain('hate by planted: 1200 labelled items, 1200 of them independent; 400 calibrate, 800 test.')
  expect(out.at(-1)).toMatch(
    /^It settles (?:5[5-9]|6[0-5])\.\d % of items\. Of each label in each language at most 5\.0 % of that is wrong/,
  )
  const lane = JSON.parse(readFileSync(file, 'utf8'))
  expect(lane).toMatchObject({
    schema: 1,
    protocol: 'hate',
    decider: { model: 'planted' },
    policy: { name: expect.any(String), hash: expect.stringMatching(/^[0-9a-f]{16}$/) },
    data: { items: 1_200, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    promise: { risk: 0.05, delta: 0.05, among: 2 },
  })
  expect(lane.thresholds.map(({ label, lang, errors }: Record<string, unknown>) => [label, lang, errors])).toEqual([
    ['hate', 'en', 0],
    ['non-hate', 'en', 0],
  ])
  // The order of a file is nothing that a promise rests on.
  const turned = join(folder, 'turned.json')
  await fitBy(fileOf('turned.jsonl', ANSWERS.toReversed()), '--out', turned)
  expect(readFileSync(turned, 'utf8')).toBe(readFileSync(file, 'utf8'))
})

it('leaves out what a lane is asked about no more: images, and items without words', async () => {
  const shown = ITEMS.slice(0, 200).map((item) => ({ ...item, id: `seen ${item.id}`, text: `seen ${item.text}` }))
  const more = fileOf('more.jsonl', [
    ...ITEMS,
    ...shown.map((item) => ({ ...item, media: [{ kind: 'image', url: 'https://images.example/a.png' }] })),
    { id: 'wordless', text: ' ', label: 'hate', lang: 'en' },
  ])
  // Right each time: they would make the promise look better than it is about texts.
  const answers = shown.map(({ id, label }) => ({ id, model: 'planted', probabilities: certain(label) }))
  const { out, said } = await performWords(
    [
      ...['lane', 'fit', '--protocol', 'hate', '--json', '--data', more],
      ...['--answers', fileOf('more-answers.jsonl', [...ANSWERS, ...answers])],
    ],
    settings,
  )
  const fitted = JSON.parse(out.join(''))
  expect(fitted).toMatchObject({ data: { items: 1_200 }, notTextAlone: 201 })
  const { out: without } = await fitBy(fileOf('answers.jsonl', ANSWERS), '--json')
  expect(fitted.fit).toEqual(JSON.parse(without.join('')).fit)
  expect(said).toEqual([])
})

it('takes items that are as likely as each other: not those that people chose, nor too many of a greater chance', async () => {
  // As the record has them: of what a lane settled twenty times as many were drawn, and half of the rest are wrong.
  const settled = ITEMS.filter((_, at) => at % 5 < 3).map((item) => ({ ...item, chance: 0.2 }))
  const rest = ITEMS.filter((_, at) => at % 50 === 3).map((item) => ({ ...item, chance: 0.01 }))
  const chosen = ITEMS.filter((_, at) => at % 50 === 4)
  const data = fileOf('drawn.jsonl', [...settled, ...rest, ...chosen])
  const answers = fileOf('answers.jsonl', ANSWERS)
  const words = ['lane', 'fit', '--protocol', 'hate', '--json', '--answers', answers, '--data']
  const printed: string[] = []
  await expect(performWords([...words, data], settings, (line) => printed.push(line))).rejects.toThrow('No lane')
  const { likelier, data: used } = JSON.parse(printed.join(''))
  // All of the least chance are there, and about a twentieth of the others.
  expect(used.items).toBeGreaterThan(rest.length + 10)
  expect(used.items).toBeLessThan(rest.length + 70)
  expect(likelier).toBe(settled.length + rest.length + chosen.length - used.items)
  // One chance for all leaves nothing out.
  const equal = fileOf(
    'equal.jsonl',
    ITEMS.map((item) => ({ ...item, chance: 0.02 })),
  )
  const { out } = await performWords([...words, equal], settings)
  expect(out).toEqual((await fitBy(answers, '--json')).out)
  // Of what a lane did not settle nothing is there: what it would do with that, nobody knows.
  const slices = { drawn: 'audit', settled: 'lane' }
  const ofLane = ITEMS.map((item) => ({ ...item, chance: 0.02, slices }))
  await expect(performWords([...words, fileOf('of-lane.jsonl', ofLane)], settings)).rejects.toThrow(
    'has only what a first lane settled (settled: lane)',
  )
  const withOther = ofLane.map((item, at) => (at === 0 ? { ...item, slices: { drawn: 'audit' } } : item))
  const { out: other } = await performWords([...words, fileOf('with-other.jsonl', withOther)], settings)
  expect(other).toEqual(out)
})

it('refuses where little can be promised, says how many more labels it takes, and writes nothing', async () => {
  const file = join(folder, 'refused.json')
  const few = fileOf('few.jsonl', ITEMS.slice(0, 120))
  const words = [
    'lane',
    'fit',
    '--protocol',
    'hate',
    '--data',
    few,
    '--answers',
    fileOf('answers.jsonl', ANSWERS),
    '--out',
    file,
  ]
  await expect(performWords(words, settings)).rejects.toThrow(
    /^No lane: what can be promised settles 0\.0 % of items, and 10\.0 % is the least\. More labels like these may do: \d+ by what is known, which is no good estimate/,
  )
  const bad = ANSWERS.map((one, at) => ({
    ...one,
    probabilities: { hate: at % 3 === 0 ? 0.9 : 0.2, 'non-hate': at % 3 === 0 ? 0.1 : 0.8 },
  }))
  await expect(fitBy(fileOf('bad.jsonl', bad), '--out', file)).rejects.toThrow('More labels like these would not help')
  expect(existsSync(file)).toBe(false)
})

it('reads the language of `lang` or `language`, and says where no item has one', async () => {
  const answers = fileOf('answers.jsonl', ANSWERS)
  const spoken = async (name: string, about: object) => {
    const data = fileOf(
      name,
      ITEMS.map(({ lang: _, ...item }) => ({ ...item, ...about })),
    )
    return performWords(['lane', 'fit', '--protocol', 'hate', '--data', data, '--answers', answers], settings)
  }
  const none = 'No item says its language (lang): one that is settled badly may hide among the others'
  expect((await spoken('silent.jsonl', {})).said.join()).toContain(none)
  const { out, said } = await spoken('korean.jsonl', { language: 'ko-KR' })
  expect(said.join()).not.toContain(none)
  expect(out.join()).toMatch(/ hate +│ ko /)
})

it('leaves out what stands on a shelf, and counts texts in the same words once', async () => {
  const shelved = loadSettings({ GAVEL_LIBRARY_PATH: join(folder, 'shelved') })
  const library = libraryOf(shelved, Date.now)
  const onShelf = ITEMS.slice(0, 3).map(({ text, label }) => ({ text, label, metadata: {}, subject: null }))
  await library.add('house', onShelf, 'test', new AbortController().signal)
  await library.close()
  const part = fileOf('part.jsonl', ITEMS.slice(0, 30))
  const answers = fileOf('answers.jsonl', ANSWERS)
  const said: string[] = []
  const terminal = { out() {}, say: (line: unknown) => void said.push(String(line)), progress() {} }
  const options = {
    protocol: 'hate',
    data: part,
    format: 'gavel',
    answers,
    risk: 0.05,
    delta: 0.05,
    coverage: 0.1,
    seed: '1',
  } as const
  const { signal } = new AbortController()
  await expect(perform(command, shelved, [], options, { terminal, signal })).rejects.toThrow('No lane')
  expect(said).toEqual([
    expect.stringContaining('hate by planted: 27 labelled items'),
    '3 items left out: the text stands on a shelf.',
  ])

  const copies = ITEMS.map((item, at) => ({ ...item, text: `${textOf(at % 300)}!` }))
  const copied = fileOf('copied.jsonl', copies)
  const words = ['lane', 'fit', '--protocol', 'hate', '--data', copied, '--answers', answers]
  await expect(performWords(words, settings)).rejects.toThrow('No lane')
})

const CSV = (first: string) =>
  ['id,hate,non-hate', first, ...ITEMS.slice(1).map(({ id }) => `${id},0.9,0.1`)].join('\n')

it.each([
  ['a probability that is none', CSV('t0000,NaN,0.5'), ':2 gives hate NaN: a probability is a number from 0 to 1.'],
  ['probabilities that do not add up', CSV('t0000,0.9,0.3'), ':2 has probabilities that add up to 1.2, and not to 1.'],
  ['an id twice', CSV('t0001,0.9,0.1'), ':3 answers t0001 a second time.'],
  [
    'a label that the protocol lacks',
    JSON.stringify({ id: 't0000', probabilities: { hate: 0.5, other: 0.5 } }),
    ':1 has the label "other"; there are hate, non-hate.',
  ],
  [
    'a label that is missing',
    JSON.stringify({ id: 't0000', probabilities: { hate: 1 } }),
    ':1 gives no probability of non-hate.',
  ],
  ['JSON that is none', '{"id": "t0000", "probabilities": {"hate": NaN, "non-hate": 0.5}}', ':1 '],
  [
    'two models',
    ANSWERS.map((one, at) => JSON.stringify({ ...one, model: `m${at % 2}` })).join('\n'),
    ':2 is of m1, and lines before are of m0.',
  ],
  [
    'answers to other items',
    JSON.stringify({ id: 'x', probabilities: { hate: 1, 'non-hate': 0 } }),
    'ids must be the same',
  ],
])('stops at answers with %s', async (what, text, message) => {
  const file = fileOf(text.startsWith('{') ? 'faulty.jsonl' : 'faulty.csv', text)
  await expect(fitBy(file), what).rejects.toThrow(message)
})

it('needs labels of each kind, and a protocol with labels', async () => {
  const one = fileOf(
    'one.jsonl',
    ITEMS.filter(({ label }) => label === 'hate'),
  )
  const answers = fileOf('answers.jsonl', ANSWERS)
  const words = (protocol: string, data: string) => [
    'lane',
    'fit',
    '--protocol',
    protocol,
    '--data',
    data,
    '--answers',
    answers,
  ]
  await expect(performWords(words('hate', one), settings)).rejects.toThrow(
    'has the label hate alone: a lane needs items of each label',
  )
  await expect(performWords(words('counterspeech', one), settings)).rejects.toThrow('no lane is for it')
  await expect(performWords(words('rumor', one), settings)).rejects.toThrow('no lane is for it')
})
