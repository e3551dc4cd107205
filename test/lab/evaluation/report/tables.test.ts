import { describe, expect, it } from 'vitest'
import { csvTable } from '../../../../src/contracts/facts/csv-table.ts'
import { latexTable } from '../../../../src/lab/evaluation/report/latex.ts'

const table = { head: ['row', 'items', 'ρ'], rows: [['hate, "all"', '40', '-0.310']] }

describe('a table', () => {
  it('is CSV of which a spreadsheet computes nothing', () => {
    expect(csvTable(table)).toBe('\u{FEFF}row,items,ρ\r\n"hate, ""all""",40,-0.310\r\n')
    const formulas = ['=1+1', '+A1', '-A1', '@SUM(A1)', '\t=1', '-', '1.2 [0.1, 2.0]']
    expect(csvTable({ head: formulas, rows: [] })).toBe(
      `\u{FEFF}'=1+1,'+A1,'-A1,'@SUM(A1),'\t=1,'-,"1.2 [0.1, 2.0]"\r\n`,
    )
  })

  it('is CSV that Excel reads as UTF-8', () => {
    expect([...Buffer.from(csvTable(table)).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
  })

  it('is LaTeX in which no text commands anything', () => {
    const hostile = { head: ['a'], rows: [['\\input{x} 50% of $x_1$ & #1 ~^ <b>\u202e\nend']] }
    expect(latexTable(hostile, 'T & U')).toBe(
      [
        '% \\usepackage{booktabs}',
        '\\begin{table}',
        '\\caption{T \\& U}',
        '\\begin{tabular}{l}',
        '\\toprule',
        'a \\\\',
        '\\midrule',
        '\\textbackslash{}input\\{x\\} 50\\% of \\$x\\_1\\$ \\& \\#1 \\textasciitilde{}\\textasciicircum{} \\textless{}b\\textgreater{} end \\\\',
        '\\bottomrule',
        '\\end{tabular}',
        '\\end{table}',
        '',
      ].join('\n'),
    )
    expect(latexTable(table, 'T')).toContain('\\begin{tabular}{lrr}')
  })
})
