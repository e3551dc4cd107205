import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { type JudgeOptions, judgeFile } from '../../../src/app/commands/judge.ts'
import { command as approveProposals } from '../../../src/app/commands/learn/approve.ts'
import { learnFile } from '../../../src/app/commands/learn/learn-feedback.ts'
import { command as dropShelf } from '../../../src/app/commands/library/drop.ts'
import { importShelf } from '../../../src/app/commands/library/import.ts'
import { found } from '../../../src/contracts/facts/library.ts'
import { transcript, verdict } from '../../../src/contracts/facts/verdict.ts'
import { type Format, fileMessages } from '../../../src/data-files/formats.ts'
import { SHELF_FORMATS, type ShelfFormat } from '../../../src/data-files/shelf-items.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { perform } from '../../support/commands.ts'
import { IN_PROOF } from '../../support/in-proof.ts'

/** One item: words that no other has, so that it is known wherever it is shown. */
const words = (item: number, count: number) => Array.from({ length: count }, (_, at) => `t${item}w${at}`).join(' ')
/** As data sets have them: short, in odd letters and spaces, longer than a thread keeps (8,000 characters), with brackets. */
const ITEMS = [
  words(0, 12),
  `  ${words(1, 12).toUpperCase()}\u00a0ｆｕｌｌ  width \ud83d`,
  words(2, 3_000),
  `[${words(3, 5)}] ${words(3, 12)}`,
  words(4, 12),
  words(5, 1_500),
]
const isOf = (item: number, text: string) => new RegExp(`\\bt${item}w0\\b`, 'i').test(text)

/** One format of each kind; the proof imports every one. */
const FORMATS = IN_PROOF ? SHELF_FORMATS : (['hatecheck', 'unsmile', 'airbench-both', 'jsonl', 'csv'] as const)

interface Files {
  /** What is imported. */
  readonly shelf: { readonly name: string; readonly content: string }
  /** What is judged, and as what. */
  readonly judged: { readonly name: string; readonly content: string; readonly format: Format }
}
const jsonl = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
/** One file, imported and judged as the same public format. */
function both(
  format: Exclude<ShelfFormat, 'jsonl' | 'csv' | 'aetheria'>,
  row: (text: string, at: number) => object,
): Files {
  const file = { name: `${format}.jsonl`, content: jsonl(ITEMS.map(row)) }
  return { shelf: file, judged: { ...file, format } }
}
/** The same as tab-separated values, under a line with the names of the columns. */
function tsv(format: 'unsmile' | 'k-mhas', columns: readonly string[], values: string): Files {
  const content = [columns.join('\t'), ...ITEMS.map((text) => `${text.toWellFormed()}\t${values}`)].join('\n')
  const file = { name: `${format}.tsv`, content }
  return { shelf: file, judged: { ...file, format } }
}
const UNSMILE = '문장 여성/가족 남성 성소수자 인종/국적 연령 지역 종교 기타혐오 악플/욕설 clean'.split(' ')
const airbenchBoth = (description: string, at: number) => ({ text: `t${at} above`, description, voted_risk: '1' })
const shownAs = (text: string, at: number) => `t${at} above\n${text}`

const FILES: Record<ShelfFormat, Files> = {
  hatecheck: both('hatecheck', (text, at) => ({ case_id: String(at), test_case: text, label_gold: 'hateful' })),
  'openai-moderation': both('openai-moderation', (prompt) => ({ prompt, H: 1 })),
  kodoli: both('kodoli', (text) => ({ text, label: 'OFFEN' })),
  unsmile: tsv('unsmile', UNSMILE, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0].join('\t')),
  'k-mhas': tsv('k-mhas', ['document', 'label'], '2,5'),
  kold: both('kold', (comment, at) => ({ guid: String(at), comment, OFF: true })),
  'k-haters': both('k-haters', (text) => ({ text, label: 'L2_hate' })),
  'airbench-text': both('airbench-text', (input) => ({ input, label: 'harmful' })),
  'airbench-image': both('airbench-image', (description) => ({ description, voted_img_risk: '1' })),
  'airbench-both': both('airbench-both', airbenchBoth),
  aetheria: {
    shelf: {
      name: 'cases.json',
      content: JSON.stringify(
        ITEMS.map((text, at) => ({
          case_id: String(at),
          final_label: 'safe',
          dataset_label: 'unsafe',
          summary: 'About it.',
          key_cues: ['one'],
          source_excerpt: `input_1: t${at} above input_2: ${text.toWellFormed()}`,
        })),
      ),
    },
    judged: { name: 'pictures.jsonl', content: jsonl(ITEMS.map(airbenchBoth)), format: 'airbench-both' },
  },
  jsonl: {
    shelf: {
      name: 'labels.jsonl',
      content: jsonl(ITEMS.map((text, at) => ({ text: shownAs(text, at), label: 'OFFEN' }))),
    },
    judged: {
      name: 'posts.jsonl',
      content: jsonl(
        ITEMS.map((alt, at) => ({
          type: 'post',
          id: `p${at}`,
          text: `t${at} above`,
          media: [{ kind: 'image', alt }],
          createdAt: '2024-01-01T00:00:00Z',
        })),
      ),
      format: 'gavel',
    },
  },
  csv: {
    shelf: {
      name: 'labels.csv',
      content: `label,text\n${ITEMS.map((text, at) => `OFFEN,"${shownAs(text.toWellFormed(), at)}"\n`).join('')}`,
    },
    judged: { name: 'pictures.jsonl', content: jsonl(ITEMS.map(airbenchBoth)), format: 'airbench-both' },
  },
}

describe('the case’s own item', () => {
  let endpoint: Understudy
  let folder: string
  beforeAll(async () => {
    endpoint = await startUnderstudy({})
  })
  afterAll(() => endpoint.close())
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-held-out-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const settings = () =>
    loadSettings({
      ...endpoint.settings,
      GAVEL_LIBRARY_PATH: join(folder, 'library'),
      GAVEL_LIBRARY_EMBEDDER: 'some-model',
      GAVEL_PROTOCOLS_HATE_PERSPECTIVES: 'kodoli',
      GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
    })
  const file = (name: string, content: string) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const out: string[] = []
  const io = () => ({
    terminal: { out: (line: unknown) => void out.push(String(line)), say() {}, progress() {} },
    signal: new AbortController().signal,
  })
  /** Judges a file; which item each case is, and what its look into this shelf found. */
  async function looks(
    path: string,
    shelf: string,
    options: Pick<JudgeOptions, 'protocol' | 'format' | 'keepNearDuplicates'>,
  ) {
    out.length = 0
    await judgeFile(
      settings(),
      path,
      { ...options, finalAge: Number.POSITIVE_INFINITY, transcript: true, json: true },
      io(),
    )
    const lines = out.splice(0)
    const cases = lines.map((line) => {
      const read = JSON.parse(line) as { verdict: unknown; transcript: { subject: { post: unknown } } }
      const { turns } = transcript.parse(read.transcript)
      const looked = turns.find(({ stage }) => stage === 'retrieve')
      const answer = found.parse(looked?.answer).shelves.find((one) => one.shelf === shelf)
      return {
        subject: verdict.parse(read.verdict).subjectId,
        words: JSON.stringify(read.transcript.subject.post),
        answer,
      }
    })
    return { lines, cases }
  }
  type Looks = Awaited<ReturnType<typeof looks>>
  /** Each case was shown three items, none its own, which was passed over and counted. */
  function expectHeldOut({ cases }: Looks, told: string): void {
    expect(cases, told).toHaveLength(ITEMS.length)
    const items = cases.map(({ words: post }) => ITEMS.findIndex((_, item) => isOf(item, post)))
    expect(items.toSorted(), told).toEqual([...ITEMS.keys()])
    const shown = cases.map(({ answer }) => answer?.neighbours.map(({ text }) => text) ?? [])
    const own = items.filter((item, at) => shown[at]?.some((text) => isOf(item, text)))
    expect(own, `${told}: items that were shown their own`).toEqual([])
    expect(
      shown.map((texts) => texts.length),
      told,
    ).toEqual(ITEMS.map(() => 3))
    expect(
      cases.map(({ answer }) => answer?.excluded),
      told,
    ).toEqual(ITEMS.map(() => ({ own: 1, nearDuplicates: 0 })))
  }

  it.each(FORMATS)(
    'is never shown to it: imported as %s, looked for by hate, by safety, and learnt',
    async (format) => {
      const { shelf, judged } = FILES[format]
      const path = file(judged.name, judged.content)
      const imported = file(shelf.name, shelf.content)
      for (const name of ['kodoli', 'precedents']) {
        const done = await importShelf(settings(), imported, { shelf: name, format }, io())
        expect(done).toMatchObject({ added: ITEMS.length, skipped: 0 })
      }
      expectHeldOut(await looks(path, 'kodoli', { protocol: 'hate', format: judged.format }), 'hate')
      const first = await looks(path, 'precedents', { protocol: 'safety', format: judged.format })
      expectHeldOut(first, 'safety')

      // From here on the shelf holds what the curator made of the same cases.
      await perform(dropShelf, settings(), ['precedents'], {}, io())
      const feedback = first.cases.map(({ subject }) => ({
        type: 'feedback',
        subjectId: subject,
        protocol: 'safety',
        label: 'unsafe',
        by: 'ann',
        at: '2024-01-02T00:00:00Z',
      }))
      const learning = { all: true, json: true, judged: file('judged.jsonl', `${first.lines.join('\n')}\n`) }
      const learnt = await learnFile(settings(), file('feedback.jsonl', jsonl(feedback)), learning, io())
      expect(learnt).toMatchObject({ proposed: ITEMS.length })
      await perform(approveProposals, settings(), [], { all: true, by: 'ann', json: true }, io())
      expectHeldOut(await looks(path, 'precedents', { protocol: 'safety', format: judged.format }), 'learnt')

      // The same words under other ids: known by their text alone, whoever says what the image shows.
      const others: object[] = []
      for await (const { value, key } of fileMessages(path, judged.format, () => {}))
        others.push({ type: 'post', ...value, id: `other ${key}` })
      const again = file('others.jsonl', jsonl(others))
      expectHeldOut(
        await looks(again, 'precedents', { protocol: 'safety', format: 'gavel' }),
        'learnt, under other ids',
      )
    },
    120_000,
  )

  it('is known by its data set and id where its text on the shelf is another by now', async () => {
    const rows = ITEMS.map((text, at) => ({ case_id: String(at), test_case: text, label_gold: 'hateful' }))
    const most = (text: string) =>
      text
        .split(' ')
        .slice(0, Math.ceil(text.split(' ').length * 0.6))
        .join(' ')
    const edited = rows.map((row) => ({ ...row, test_case: most(row.test_case) }))
    await importShelf(settings(), file('edited.jsonl', jsonl(edited)), { shelf: 'kodoli', format: 'hatecheck' }, io())
    const judged = file('cases.jsonl', jsonl(rows))
    expectHeldOut(await looks(judged, 'kodoli', { protocol: 'hate', format: 'hatecheck' }), 'hate')
  })

  it('has its near-duplicates held out with it where labels are known, unless they are to be kept', async () => {
    const twins = [words(6, 12), words(6, 12).replace('t6w5', 'other')]
    const rows = [...twins, ...ITEMS].map((text) => ({ text, label: 'OFFEN' }))
    const path = file('comments.jsonl', jsonl(rows))
    await importShelf(settings(), path, { shelf: 'kodoli', format: 'kodoli' }, io())
    const shownTwin = async (from: string, options: Pick<JudgeOptions, 'format' | 'keepNearDuplicates'>) =>
      (await looks(from, 'kodoli', { protocol: 'hate', ...options })).cases
        .filter(({ words: post }) => isOf(6, post))
        .map(({ answer }) => ({
          twin: answer?.neighbours.filter(({ text }) => isOf(6, text)).length,
          shown: answer?.neighbours.length,
          excluded: answer?.excluded,
        }))
    const apart = { twin: 0, shown: 3, excluded: { own: 1, nearDuplicates: 1 } }
    expect(await shownTwin(path, { format: 'kodoli' })).toEqual([apart, apart])
    const kept = { twin: 1, shown: 3, excluded: { own: 1, nearDuplicates: 0 } }
    expect(await shownTwin(path, { format: 'kodoli', keepNearDuplicates: true })).toEqual([kept, kept])
    const posts = rows.map(({ text }, at) => ({ type: 'post', id: `p${at}`, text, createdAt: '2024-01-01T00:00:00Z' }))
    expect(await shownTwin(file('posts.jsonl', jsonl(posts)), { format: 'gavel' })).toEqual([kept, kept])
  })
})
