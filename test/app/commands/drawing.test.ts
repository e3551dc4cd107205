import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { clipped, indented, paragraph, spans, type TableCell, table } from '../../../src/cli/drawing.ts'
import { terminal } from '../../../src/cli/terminal.ts'

const ESCAPE = '\u001b'
const at = (columns: number, colours = false) => ({ columns, colours })

/** What the demo's table holds, with scripts of all widths and directions. */
const HEAD = ['', 'post', 'hate', 'rumor', 'safety', 'counterspeech']
const ROWS: readonly (readonly TableCell[])[] = [
  [
    '1',
    'Risse in der Hafenbrücke nach der Explosion! Der Mittelpfeiler ist beschädigt, die Brücke ist gesperrt\n41 comments',
    { text: 'non-hate\nby judge, 2 rounds\nhate 0, nonHate 3', tone: 'good' },
    { text: 'non-rumor → rumor (r5)\ndebaters agreed, 1 round', tone: 'bad' },
    'safe\nstrict 0.1, loose 0.03, final 0.05',
    '',
  ],
  ['2', '港の橋が爆発で崩れたと聞きました。中央の柱が壊れているそうです。', 'non-hate', 'non-rumor', 'safe', ''],
  ['3', '다리가 무너졌다는 소식은 사실이 아닙니다. 방금 건너왔어요.', 'non-hate', 'non-rumor', 'safe', ''],
  ['4', 'انهار الجسر القديم في الميناء بعد الانفجار، والطريق مغلق', 'non-hate', 'rumor', 'safe', ''],
  ['5', 'הגשר הישן קרס אחרי הפיצוץ, הכביש סגור', 'non-hate', 'rumor', 'safe', ''],
  ['6', '👩👧 ❤️ 🇰🇷 é ẹ́ ｆｕｌｌ', 'hate', '', '', '5.00\nrelevance 5, aggressiveness 1, coherence 5, suitableness 3'],
]
const linesOf = (drawn: string) => drawn.split('\n')

describe.each([80, 120, 200])('a table in a terminal of %i columns', (columns) => {
  const drawn = table(HEAD, ROWS).on(at(columns))

  it('is as it was', () => {
    expect(drawn).toMatchSnapshot()
  })

  it('has lines of one width, which fit, and all of its text', () => {
    const widths = new Set(linesOf(drawn).map((line) => stringWidth(line)))
    expect(widths.size).toBe(1)
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
    const letters = (text: string) => [...text.replaceAll(/[\s│─┌┬┐├┼┤└┴┘]/gu, '')].sort().join('')
    const all = [...HEAD, ...ROWS.flat().map((cell) => (typeof cell === 'string' ? cell : cell.text))]
    expect(letters(drawn)).toBe(letters(all.join('')))
  })

  it('is the same in colours, but for them', () => {
    const coloured = table(HEAD, ROWS).on(at(columns, true))
    expect(coloured).toContain(`${ESCAPE}[31mnon-rumor`)
    expect(stripVTControlCharacters(coloured)).toBe(drawn)
  })
})

describe('a table', () => {
  const numbers = table(
    ['case', 'state', 'age', 'round', 'answered', 'open', 'waits for', '$', 'deadline in'],
    [['rumor~p1~r1', 'deferred', '12345 s', '3', '12', '1', 'the endpoint has no room for more', '0.1234', '540 s']],
    { dispensable: ['$', 'answered'] },
  )

  it('leaves out the least needed columns where even narrow ones do not fit, and names them', () => {
    const drawn = numbers.on(at(60))
    expect(
      Math.max(
        ...linesOf(drawn)
          .slice(0, -1)
          .map((line) => stringWidth(line)),
      ),
    ).toBeLessThanOrEqual(60)
    expect(linesOf(drawn).at(-1)).toMatch(/^Not shown here: \$, answered, deadline in/)
    expect(drawn).toMatchSnapshot()
  })

  it('is as wide as it wants where nobody says how wide it may be', () => {
    expect(String(numbers)).not.toContain('Not shown')
    expect(linesOf(String(numbers))).toHaveLength(5)
  })

  it('keeps its first column in any terminal', () => {
    for (const columns of [1, 5, 12, 30]) expect(numbers.on(at(columns))).toContain('c')
  })

  it('keeps its margin', () => {
    const lines = linesOf(indented(numbers, 4).on(at(100)))
    expect(lines.every((line) => line.startsWith('    ') && stringWidth(line) <= 100)).toBe(true)
  })

  it('draws no control character of its text', () => {
    const hostile = table(['a\u001b[2J'], [[{ text: '\u001b[31mred\u202e\u0007', tone: 'bad' }]])
    expect(stripVTControlCharacters(hostile.on(at(80, true)))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    expect(hostile.on(at(80))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  })
})

describe('colours', () => {
  async function printed(stream: object): Promise<string> {
    // A terminal is a stream that says what it can show: no test has one of its own.
    const written = Object.assign(new PassThrough(), stream)
    terminal(written, written).out(spans({ text: 'hate', tone: 'bad' }, ' by judge'))
    written.end()
    return Buffer.concat(await written.toArray()).toString()
  }

  it('are shown by a terminal that has them', async () => {
    expect(await printed({ isTTY: true, columns: 80, hasColors: () => true })).toBe(
      `${ESCAPE}[31mhate${ESCAPE}[39m by judge\n`,
    )
  })

  it('are not shown if there is no terminal, or if NO_COLOR is set', async () => {
    expect(await printed({ isTTY: false, hasColors: () => true })).toBe('hate by judge\n')
    expect(await printed({ isTTY: true, columns: 80, hasColors: () => false })).toBe('hate by judge\n')
  })
})

describe('a paragraph', () => {
  const said = '港の橋が爆発で崩れた、 the bridge over the harbour has collapsed \u001b[31m, الجسر القديم'
  const drawn = (columns: number, colours = false) =>
    paragraph({ text: 'BROKEN  ', tone: 'bad' }, { text: said, tone: 'warning' }, ' and no more').on(
      at(columns, colours),
    )

  it('goes on below where it began, loses nothing, and fits', () => {
    const [first = '', ...others] = linesOf(drawn(30))
    expect(first).toMatch(/^BROKEN {2}\S/)
    expect(others.length).toBeGreaterThan(1)
    for (const line of others) expect(line).toMatch(/^ {8}\S/)
    for (const line of [first, ...others]) expect(stringWidth(line)).toBeLessThanOrEqual(30)
    const letters = (text: string) => text.replaceAll(/\s/g, '')
    expect(letters(drawn(30))).toBe(letters(String(paragraph('BROKEN  ', said, ' and no more'))))
  })

  it('is one line where nobody says how wide it may be, and the same in colours but for them', () => {
    expect(linesOf(String(paragraph('BROKEN  ', said)))).toHaveLength(1)
    expect(stripVTControlCharacters(drawn(30, true))).toBe(drawn(30))
    expect(drawn(30)).not.toContain(ESCAPE)
  })
})

describe('a line that is clipped', () => {
  const line = clipped('橋が ', { text: '👩👧 collapsed', tone: 'bad' }, '\u001b[2J')

  it('ends with a mark at the edge, in whole characters and by their widths', () => {
    for (const columns of [1, 2, 3, 4, 5, 6, 8, 12]) {
      const drawn = line.on(at(columns))
      expect(stringWidth(drawn)).toBeLessThanOrEqual(columns)
      expect(drawn).toMatch(/…$/)
      expect(drawn.isWellFormed()).toBe(true)
      expect(stripVTControlCharacters(line.on(at(columns, true)))).toBe(drawn)
    }
    expect(line.on(at(8))).toBe('橋が 👩…')
  })

  it('is whole where it fits, and drives no terminal', () => {
    expect(line.on(at(80))).toBe('橋が 👩👧 collapsed\\u001b[2J')
  })
})
