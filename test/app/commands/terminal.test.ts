import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { verdictLine } from '../../../src/app/commands/verdict-line.ts'
import { printable, printableJson, table, terminal } from '../../../src/cli/terminal.ts'
import { noComments, type Verdict } from '../../../src/contracts/facts/verdict.ts'
import { aVerdict } from '../../support/verdicts.ts'

/** What moves a cursor, sets a title, colours, rings, erases, opens a link, or turns text around. */
const ATTACKS = {
  'a title': '\u001b]0;mine\u0007',
  'a title by C1': '\u009d0;mine\u009c',
  colour: '\u001b[31mred',
  'colour by C1': '\u009b31mred',
  'the cursor up': '\u001b[9A',
  'a cleared screen': '\u001b[2J\u001b[H',
  'a question to the terminal': '\u001b[6n\u0005',
  'a link': '\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\',
  'the clipboard': '\u001b]52;c;bWluZQ==\u0007',
  'a line written over': 'good\rbad',
  'a word taken back': 'bad\b\b\bgood',
  'another alphabet': '\u000eqqq\u000f',
  'right to left': 'good\u202edab\u2066x\u2069',
  'marks of direction': '\u061c\u200e\u200f',
  'separators of lines': 'a\u2028b\u2029c\u0085d',
  'a deletion': 'a\u007fb',
  'a tag': 'a\u{e0041}b',
}
const OBEYED = /[^\P{Cc}\n\t]|[\p{Bidi_C}\p{Zl}\p{Zp}]/u

async function spoken(speak: (io: ReturnType<typeof terminal>) => void): Promise<string> {
  const stream = Object.assign(new PassThrough(), { isTTY: false, columns: 80 })
  speak(terminal(stream, stream))
  stream.end()
  return Buffer.concat(await stream.toArray()).toString()
}

describe.each(Object.entries(ATTACKS))('a text with %s', (_, attack) => {
  it('is harmless however a command prints it', async () => {
    for (const said of [
      await spoken((io) => io.out(attack)),
      await spoken((io) => io.say(`gavel: ${attack}`)),
      await spoken((io) => io.out(table(['post'], [[attack]]))),
      await spoken((io) => io.out(JSON.stringify({ [attack]: attack }, null, 2))),
    ])
      expect(said).not.toMatch(OBEYED)
    expect(printable(attack, 80)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })

  it('is harmless in every field of a verdict’s line', () => {
    const hostile: Pick<Verdict, 'id' | 'label' | 'degraded' | 'scores' | 'final' | 'decidedBy'> = {
      id: attack,
      label: attack,
      degraded: [attack],
      scores: { [attack]: 1 },
      final: true,
      decidedBy: 'judge',
    }
    const counts = { ...noComments(), accepted: 2, judged: 1 }
    const said = String(
      verdictLine({ ...hostile, timing: { decidedAt: attack }, usage: { calls: 1 }, counts } as Verdict),
    )
    expect(said).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })

  it('says the same when its JSON is read again', async () => {
    const said = await spoken((io) => io.out(printableJson(JSON.stringify({ text: attack }))))
    expect(JSON.parse(said)).toEqual({ text: attack })
  })
})

it('names what a verdict lacks in whole words', () => {
  const why = 'perspective feminist: no readable answer of the model gpt-oss-20b in five attempts, the last'
  const counts = { ...noComments(), accepted: 0, judged: 0 }
  const verdict: Pick<Verdict, 'id' | 'label' | 'degraded' | 'scores' | 'final' | 'decidedBy'> = {
    id: 'v',
    label: 'hate',
    decidedBy: 'judge',
    scores: {},
    final: false,
    degraded: [`${why} one`, 'short'],
  }
  const said = String(verdictLine({ ...verdict, counts, timing: { decidedAt: '' }, usage: { calls: 1 } } as Verdict))
  expect(said).toContain('[perspective feminist: no readable answer of the model gpt-oss-20b in five…; short]')
})

it('no text drives a terminal, and every JSON says the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (text) => {
      expect(await spoken((io) => io.say(text))).not.toMatch(OBEYED)
      const json = JSON.stringify(text)
      expect(JSON.parse(await spoken((io) => io.out(json)))).toBe(JSON.parse(json))
    }),
  )
})

describe('a command’s progress', () => {
  it('is printed every half minute where standard error is no terminal: the newest line, and none twice', async () => {
    vi.useFakeTimers()
    try {
      const said = await spoken((io) => {
        io.progress('1 of 9')
        vi.advanceTimersByTime(29_000)
        io.progress('4 of 9\u001b[31m')
        vi.advanceTimersByTime(1_000)
        io.progress('5 of 9')
        vi.advanceTimersByTime(30_000)
        vi.advanceTimersByTime(90_000)
      })
      expect(said).toBe('4 of 9 [31m\n5 of 9\n')
    } finally {
      vi.useRealTimers()
    }
  })
})

it('tells of a veto which list it is by, and calls it scored by nobody', () => {
  const veto = { list: 'spam', entry: 'e1' }
  const said = String(
    verdictLine(aVerdict('2026-01-01T00:00:00Z', { label: null, decidedBy: 'veto', scores: {}, schema: 2, veto })),
  )
  expect(said).toContain('no label  by veto (spam)')
})
