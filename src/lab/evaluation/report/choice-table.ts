import type { Evaluation } from '../evaluation.ts'
import { points } from '../summary.ts'
import type { WayChoice } from '../ways.ts'
import type { TextTable } from './cells.ts'

export const CHOICE_HEADING = 'Which way is the default'
export const CHOICE_NOTE =
  'Macro-F1 is over the items that every way decides. Beside it: points less than another way’s, or more, with one-sided 80 % bounds. As good: at most 3 points below each other way; worse: more than 3 below one.'

const IS = { 'as-good': 'as good', worse: 'worse', open: 'open' } as const

/** The ways of each data set by the rule of docs/readers.md; null where an evaluation has none. */
export function choiceTable({ choices = [] }: Pick<Evaluation, 'choices'>): TextTable | null {
  if (choices.length === 0) return null
  const many = choices.length > 1
  return {
    head: [
      'way',
      ...(many ? ['data'] : []),
      'decides',
      'unverified',
      'macroF1',
      'against the others',
      '',
      'USD for 1,000',
    ],
    rows: choices.flatMap((choice) => choice.ways.map((way) => lineOf(way, choice, many))),
  }
}

function lineOf(
  { row, decided, calledUnverified, macroF1, against, is, costUsd }: WayChoice['ways'][number],
  { data, items }: WayChoice,
  many: boolean,
): string[] {
  return [
    row,
    ...(many ? [data] : []),
    `${decided} of ${items.decided}`,
    items.unverified === 0 ? '' : `${calledUnverified} of ${items.unverified}`,
    macroF1 === null ? '–' : points(macroF1),
    against.map((one) => `${one.row} ${points(one.difference)} [${points(one.low)}, ${points(one.high)}]`).join('; '),
    IS[is],
    (costUsd * 1_000).toFixed(3),
  ]
}
