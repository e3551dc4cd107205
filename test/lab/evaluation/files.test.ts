import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { recordsOf } from '../../../src/data-files/file-records.ts'
import type { FileReading } from '../../../src/data-files/text-lines.ts'
import { tsvRows } from '../../../src/data-files/tsv-rows.ts'
import { elementsTouched } from '../../bystander/counted.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-files-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
function fileOf(bytes: string | Buffer, ending = ''): string {
  const file = join(folder, `${++files}${ending}`)
  writeFileSync(file, bytes)
  return file
}

/** Rows as `[line, text, label]`, and what was told. */
async function read(bytes: string | Buffer, reading: FileReading = {}, ending = '') {
  const bad: string[] = []
  const rows: unknown[][] = []
  const columns = { needed: ['text', 'label'], hint: 'Name them.' }
  for await (const { line, json } of recordsOf(fileOf(bytes, ending), reading, columns, (one) =>
    bad.push(`${one.line} ${one.why}`),
  )) {
    const { text, label } = json as Record<string, unknown>
    rows.push([line, text, label])
  }
  return { rows, bad }
}
const refusal = (bytes: string | Buffer, reading: FileReading = {}) =>
  read(bytes, reading).then(
    () => 'nothing',
    (error: Error) => `${error.name}: ${error.message.replace(folder, '')}`,
  )
const TWO = [
  [2, 'go, away', 'hate'],
  [3, 'hello', 'none'],
]
const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])

describe('a file', () => {
  it('that is named JSON Lines is no table, though its first line is broken: that line alone is left out', async () => {
    const lines = 'a line that somebody wrote\n{"text":"go, away","label":"hate"}\n{"text":"hello","label":"none"}\n'
    expect(await read(lines, {}, '.jsonl')).toEqual({ rows: TWO, bad: ['1 is not JSON'] })
  })

  /** As pandas 2 writes `DataFrame.to_json`. */
  it.each([
    [
      'by its columns',
      '{"id":{"0":267081518403440641,"1":2},"text":{"0":"go, away","1":"hello"},"label":{"0":"hate","1":null}}',
    ],
    [
      'by its rows',
      '{"0":{"id":267081518403440641,"text":"go, away","label":"hate"},"1":{"id":2,"text":"hello","label":null}}',
    ],
  ])('that pandas wrote as one object of objects, %s, is read as its rows', async (_, json) => {
    const pretty = JSON.stringify(JSON.parse(json.replace('267081518403440641', '"LONG"')), null, 2)
    for (const written of [json, `${json}\n\n`, pretty.replace('"LONG"', '267081518403440641')]) {
      const columns = { needed: ['text', 'label'] }
      const items: unknown[] = []
      const bad: string[] = []
      for await (const item of recordsOf(fileOf(written, '.json'), {}, columns, ({ why }) => bad.push(why)))
        items.push([item.line, item.json])
      expect({ items, bad }).toEqual({
        items: [
          [1, { id: '267081518403440641', text: 'go, away', label: 'hate' }],
          [2, { id: '2', text: 'hello', label: null }],
        ],
        bad: [],
      })
    }
  })

  it('whose lines begin with an object is JSON Lines, and one object over more lines is one item', async () => {
    const line = '{"author":{"id":1},"text":"go, away","label":"hate"}'
    expect(await read(line)).toEqual({ rows: [[1, 'go, away', 'hate']], bad: [] })
    expect((await read(`${line}\n${line}\n`)).rows).toHaveLength(2)
    expect((await read('{\n  "text": "x",\n  "label": "hate"\n}\n')).rows).toEqual([[1, 'x', 'hate']])
  })

  it('has lines that are named for what they hold in place of JSON, and no others by it', async () => {
    const one = '{"text":"x","label":"hate"}'
    const lines = [one, `${one}${one}`, `${one} ${one}`, '{"text":"NaN","score":NaN}', '{"text":"x","a":[-Infinity]}']
    expect((await read([...lines, '{"text":NaN,', '{"text":"NaN}', `${one}}`, '{"n": Nano}'].join('\n'))).bad).toEqual([
      '2 is not JSON: it holds two JSON texts, one behind the other',
      '3 is not JSON: it holds two JSON texts, one behind the other',
      '4 is not JSON: it holds NaN or Infinity, which JSON does not have (write null)',
      '5 is not JSON: it holds NaN or Infinity, which JSON does not have (write null)',
      '6 is not JSON',
      '7 is not JSON',
      '8 is not JSON',
      '9 is not JSON',
    ])
  })

  it.each<[string, string | Buffer, FileReading?]>([
    ['with commas', 'text,label\n"go, away",hate\nhello,none\n'],
    ['with CRLF and a byte order mark', '\ufefftext,label\r\n"go, away",hate\r\nhello,none\r\n'],
    ['of an old Mac', 'text,label\r"go, away",hate\rhello,none\r'],
    ['with semicolons', 'text;label\n"go, away";hate\nhello;none'],
    ['with tabs', 'text\tlabel\ngo, away\thate\nhello\tnone\n'],
    ['with bars', 'text|label\ngo, away|hate\nhello|none\n'],
    ['with a delimiter that is named', 'text^label\ngo, away^hate\nhello^none\n', { delimiter: '^' }],
    ['with columns in capitals, among others', 'ID,TEXT,Label\n1,"go, away",hate\n2,hello,none\n'],
    ['in UTF-16', utf16('text\tlabel\ngo, away\thate\nhello\tnone\n')],
    [
      'in UTF-16 that is named',
      Buffer.from('text,label\n"go, away",hate\nhello,none\n', 'utf16le'),
      { encoding: 'utf-16le' },
    ],
    ['packed with gzip', gzipSync('text,label\n"go, away",hate\nhello,none\n')],
  ])('%s is read', async (_, bytes, reading) => {
    expect(await read(bytes, reading)).toEqual({ rows: TWO, bad: [] })
  })

  it('that says its delimiter in a first line is read so', async () => {
    expect((await read('sep=;\r\ntext;label\r\n"go, away";hate\r\n')).rows).toEqual([[3, 'go, away', 'hate']])
  })

  it('of JSON is read by line or by place in its list, numbers as they are written', async () => {
    const lines = ['{"text": 267081518403440641, "label": "a"}', '', '{"text": "b", "label": 1}']
    expect((await read(lines.join('\r\n'))).rows).toEqual([
      [1, '267081518403440641', 'a'],
      [3, 'b', 1],
    ])
    const list = `[${lines.filter((line) => line !== '').join(',\n')}]`
    expect((await read(gzipSync(list))).rows).toEqual([
      [1, '267081518403440641', 'a'],
      [2, 'b', 1],
    ])
  })

  it('in another encoding is refused line by line, and read where it is named', async () => {
    const latin = Buffer.from('text,label\nschön,none\nplain,none\nStra\xdfe,none\n', 'latin1')
    const told = 'is not UTF-8: name the encoding of the file, as --encoding latin1'
    expect(await read(latin)).toEqual({ rows: [[3, 'plain', 'none']], bad: [`2 ${told}`, `4 ${told}`] })
    expect((await read(latin, { encoding: 'latin1' })).rows.map(([, text]) => text)).toEqual([
      'schön',
      'plain',
      'Straße',
    ])
    // A replacement character that somebody wrote is a character like any other.
    expect((await read('text,label\n\ufffd,none\n')).bad).toEqual([])
    const korean = Buffer.from([0xb0, 0xa1])
    expect(
      (await read(Buffer.concat([Buffer.from('text,label\n'), korean, Buffer.from(',none')]), { encoding: 'euc-kr' }))
        .rows,
    ).toEqual([[2, '가', 'none']])
  })

  it('may have remarks above the row that names the columns, and a first row that begins like one', async () => {
    const remarks = '# version=1.0, made by hand,,\n#\n\ntext,label\n# one,hate\n'
    expect(await read(remarks)).toEqual({ rows: [[5, '# one', 'hate']], bad: [] })
    expect((await read('#text,text,label\nx,one,hate\n')).rows).toEqual([[2, 'one', 'hate']])
    expect(await refusal('# one\n# two\nx,y\n')).toMatch(/has no column "text" and "label", but: # one\. Name them/)
  })

  it('of one column is a text a line, with commas and semicolons in it', async () => {
    const rows: unknown[] = []
    const columns = { needed: ['text'] }
    const file = fileOf('text\nfirst, of all; this\n"quoted, too"\n"He left", she said, and went\n')
    for await (const { json } of recordsOf(file, {}, columns, () => {})) rows.push(json)
    expect(rows).toEqual([
      { text: 'first, of all; this' },
      { text: 'quoted, too' },
      { text: '"He left", she said, and went' },
    ])
  })

  it('of JSON texts is a list of items where one column is needed', async () => {
    const rows: unknown[] = []
    for (const file of [fileOf('["one", "two"]'), fileOf('"one"\n"two"\n', '.jsonl')])
      for await (const { line, json } of recordsOf(file, {}, { needed: ['text'] }, () => {})) rows.push([line, json])
    const both = [
      [1, { text: 'one' }],
      [2, { text: 'two' }],
    ]
    expect(rows).toEqual([...both, ...both])
  })

  it('of JSON whose first items lack a field is read on, where one of the first hundred has it', async () => {
    const lacking = Array.from({ length: 99 }, () => '{"words": "x"}')
    const has = '{"text": "go, away", "label": "hate"}'
    expect((await read([...lacking, has].join('\n'))).rows).toHaveLength(100)
    expect((await read([has, ...lacking, ...lacking].join('\n'))).rows).toHaveLength(199)
    expect(await refusal([...lacking, '{}', has].join('\n'))).toMatch(/no item with "text" and "label"; its first has/)
  })

  it('whose first rows all have other numbers of fields is refused, unless one of twenty fits', async () => {
    const odd = Array.from({ length: 19 }, (_, at) => `row ${at}`)
    expect((await read(['text,label', ...odd, 'x,hate'].join('\n'))).bad).toHaveLength(19)
    expect((await read(['text,label', ...odd].join('\n'))).bad).toHaveLength(19)
    expect((await read(['text,label', 'x,hate', ...odd, ...odd].join('\n'))).bad).toHaveLength(38)
    expect(await refusal(['text,label', ...odd, 'row', 'x,hate'].join('\n'))).toMatch(
      /names 2 columns in its first row, and none of the 20 rows after it has so many: this one has 1 field\. Add a first row/,
    )
  })

  it('goes on after a row with too many fields, and after a quotation that is never closed', async () => {
    const rows = [
      'text,label',
      'go, away,hate',
      '"first\nline",none',
      'an inch 5" tall,none',
      '"open,hate',
      'a,none',
      'b,none',
    ]
    expect(await read(rows.join('\n'))).toEqual({
      rows: [
        [4, 'first\nline', 'none'],
        [5, 'an inch 5" tall', 'none'],
        [7, 'a', 'none'],
        [8, 'b', 'none'],
      ],
      bad: [
        '2 has 3 fields, and the first row names 2: put a text that contains a delimiter into quotation marks',
        '6 begins a quotation that is never closed',
      ],
    })
    // Another quotation further down closes it: what lies between is no row.
    const closed = ['text,label', '"open,hate', 'a,none', '"b, c",none', 'd,none']
    expect(await read(closed.join('\n'))).toEqual({
      rows: [
        [3, 'a', 'none'],
        [4, 'b, c', 'none'],
        [5, 'd', 'none'],
      ],
      bad: ['2 has 3 fields, and the first row names 2: a quotation mark is not closed'],
    })
  })

  it('keeps the line of each row over ten thousand rows, read in pieces', async () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => (at % 100 === 7 ? `"two\nlines ${at}",a` : `text ${at},a`))
    const { rows: got, bad } = await read(['text,label', ...rows, '"open,a', 'last,a'].join('\n'))
    expect(got).toHaveLength(10_001)
    expect(got.at(-1)).toEqual([10_103, 'last', 'a'])
    expect(bad).toEqual(['10102 begins a quotation that is never closed'])
  })

  it.each<[string, string | Buffer, RegExp, FileReading?]>([
    ['is empty', '', /OperatorError: \/\d+ is empty\.$/],
    ['holds nothing but blanks', ' \n\t\n', /is empty\.$/],
    [
      'lacks a column',
      'tweet,class\nx,1\n',
      /has no column "text" and "label", but: tweet, class\. Name them\. If the first row names no columns, put one above it that does\.$/,
    ],
    [
      'has a column twice',
      'text,label,label\nx,a,b\n',
      /has the column "label" twice: text, label, label\. Rename one of them\.$/,
    ],
    [
      'is a workbook',
      Buffer.from('PK\u0003\u0004rest'),
      /is a ZIP archive or a workbook: unpack it, or save its sheet as CSV\.$/,
    ],
    ['is Parquet', Buffer.from('PAR1rest'), /is a Parquet file: let its name end with \.parquet\.$/],
    ['is one object', '{\n  "rows": [{"text": "x"}]\n}\n', /has no item with .*; its first has rows\. Name them\.$/],
    [
      'is a table that pandas has split',
      '{"columns":["text","label"],"index":[0],"data":[["x","a"]]}',
      /has no item with .*; its first has columns, index, data\. Name them\.$/,
    ],
    [
      'is an object of odd columns',
      '{"text":{"0":"x","1":"y"},"label":{"0":"a"}}',
      /\/\d+ is one JSON object, and its columns differ in their rows: give a list of items\.$/,
    ],
    [
      'is two objects in more lines each',
      '{\n"text": "x"\n}\n{\n"text": "y"\n}\n',
      /is not JSON: it holds two JSON texts, one behind/,
    ],
    [
      'is a list with what is no number',
      '[{"text": "NaN", "label": NaN}]',
      /is not JSON: it holds NaN or Infinity, which .* \(write null\)\.$/,
    ],
    [
      'is a table with what is no number',
      '{"text":{"0":"x"},"label":{"0":NaN}}',
      /is not JSON: it holds NaN or Infinity/,
    ],
    [
      'has other fields',
      '{"prompt": "x", "intents": []}\n{"prompt": "y"}\n',
      /\/\d+ has no item with "text" and "label"; its first has prompt, intents\. Name them\.$/,
    ],
    [
      'is a list of numbers',
      '[1, 2]',
      /has no item with "text" and "label"; its first is no JSON object\. Name them\.$/,
    ],
    ['is a broken list', `[{"text": "${'x'.repeat(200)}"},\n{"text": }]`, /\/\d+(:2)? is not JSON\.$/],
    [
      'is in UTF-16 that nobody names',
      Buffer.from('text,label\n', 'utf16le'),
      /UTF-16 without a byte order mark: try --encoding utf-16le\.$/,
    ],
    [
      'is not in the encoding that is named',
      Buffer.from([0xff, 0x80]),
      /is not in the encoding euc-kr/,
      { encoding: 'euc-kr' },
    ],
    [
      'is read in an encoding that does not exist',
      'text,label\n',
      /There is no encoding "klingon"/,
      { encoding: 'klingon' },
    ],
  ])('that %s is refused in one line', async (_, bytes, expected, reading) => {
    expect(await refusal(bytes, reading)).toMatch(expected)
  })
})

describe('a table costs in proportion to its length', () => {
  const line = `${'x'.repeat(1_000)},y\n`
  it.each<[string, (count: number) => string]>([
    ['columns of one name', (count) => `text,label${',x'.repeat(count)}\n`],
    ['columns of different names', (count) => `text,label,${Array.from({ length: count }, (_, nth) => `x${nth}`)}\n`],
    ['a needed column again and again in other cases', (count) => `label${',TEXT'.repeat(count)}\n`],
    ['remarks above its first row', (count) => `${'# words\n'.repeat(count)}text,label\n`],
    ['remarks above no first row', (count) => `${'# words\n'.repeat(count)}x,y\n`],
    ['lines behind a quotation that is never closed', (count) => `text,label\n"open,y\n${line.repeat(count)}`],
  ])('%s', async (_what, table) => {
    const work = (count: number) => elementsTouched(() => read(table(count)).catch(() => 'refused'))
    const once = await work(900)
    expect(await work(1_800)).toBeLessThanOrEqual(2.2 * once)
  })
})

describe('a table of more columns than are read is refused in one line', () => {
  const columns = (count: number, by: string) => Array.from({ length: count }, (_, nth) => `x${nth}`).join(by)
  it('with commas', async () => {
    expect(await refusal(`text,label,${columns(1_998, ',')}\n`)).toBe('nothing')
    expect(await refusal(`text,label,${columns(1_999, ',')}\n`)).toBe(
      'OperatorError: /%FILE% names 2001 columns in its first row, and at most 2000 are read: leave out those that nobody needs.'.replace(
        '%FILE%',
        String(files),
      ),
    )
  })

  it('with tabs', async () => {
    const rows = async (count: number) => {
      const file = fileOf(`${columns(count, '\t')}\n`)
      const read: unknown[] = []
      for await (const row of tsvRows(file, { columns: [['x0']], quotes: 'none' }, () => {})) read.push(row)
      return read
    }
    expect(await rows(2_000)).toEqual([])
    await expect(rows(2_001)).rejects.toThrow(/names 2001 columns in its first row, and at most 2000 are read/)
  })
})
