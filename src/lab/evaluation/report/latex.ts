import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { printable } from '../../../contracts/facts/printable.ts'
import type { TextTable } from './cells.ts'

const LONGEST = 200
const SPECIAL: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '"': "''",
}

/** A table for a paper: `tabular` with the rules of booktabs. Texts of data sets and models stand in it as they are, and command nothing. */
export function latexTable({ head, rows }: TextTable, caption: string): string {
  const isNumber = (at: number) => rows.some((cells) => /^[-+]?\d/.test(cells[at] ?? ''))
  const line = (cells: readonly string[]) => `${cells.map(escaped).join(' & ')} \\\\`
  return [
    '% \\usepackage{booktabs}',
    '\\begin{table}',
    `\\caption{${escaped(caption)}}`,
    `\\begin{tabular}{${head.map((_, at) => (at > 0 && isNumber(at) ? 'r' : 'l')).join('')}}`,
    '\\toprule',
    line(head),
    '\\midrule',
    ...rows.map(line),
    '\\bottomrule',
    '\\end{tabular}',
    '\\end{table}',
    '',
  ].join('\n')
}

function escaped(text: string): string {
  return printable(text, LONGEST).replace(
    /[\\~^<>|"{}$&#_%]/g,
    (character) => entryOf(SPECIAL, character) ?? `\\${character}`,
  )
}
