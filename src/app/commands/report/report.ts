import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { Drawing } from '../../../cli/drawing.ts'
import { time } from '../../../cli/options.ts'
import { printableJson } from '../../../cli/terminal.ts'
import { csvTable } from '../../../contracts/facts/csv-table.ts'
import { recordReaderOf, reviewQueueOf } from '../../../record/record-store.ts'
import { statementTexts } from '../../composition/statement-texts.ts'
import {
  appealFiguresOf,
  appealRowOf,
  COLUMNS,
  figuresOf,
  type ReportedAction,
  type ReportedAppeal,
  rowOf,
} from './figures.ts'
import { reportedActions, reportedAppeals, warnOfExpired } from './reported.ts'

interface Options {
  readonly since: number
  readonly until: number
  readonly tenant: string
  readonly rows?: true
}

/** Of `gavel report` and `gavel report reconcile`. */
export const PERIOD_OPTIONS = [
  new Option('--since <time>', 'actions from this time on').argParser(time).makeOptionMandatory(),
  new Option('--until <time>', 'and before this one').argParser(time).makeOptionMandatory(),
  new Option('--tenant <name>', 'the tenant of the actions').default('default'),
]

/** `gavel report`: the figures of a transparency report, as CSV. */
export const command: Command<Options, Parameters<typeof csvTable>[0]> = {
  options: [...PERIOD_OPTIONS, new Option('--rows', 'the actions and appeals that the figures count, one a line')],
  json: false,
  help: 'Each figure counts the lines of --rows that have its words in the same columns. The error rate is of all that was drawn for audit so far, with its 95 % interval. See docs/reasons.md.\n\nExample:\n  $ gavel report --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z > report.csv',
  async run({ options: { since, until, tenant, rows = false }, settings: read, terminal }) {
    const settings = read()
    warnOfExpired({ since, keep: settings.record.keep }, terminal)
    const { map: words } = statementTexts('en', settings.review.statements)
    const record = await recordReaderOf(settings)
    const queue = await reviewQueueOf(settings)
    try {
      const actions: ReportedAction[] = []
      for await (const one of reportedActions(record, { tenant, since, until, map: words })) actions.push(one)
      const appeals: ReportedAppeal[] = []
      for await (const one of reportedAppeals(record, { tenant, since, until })) appeals.push(one)
      if (rows) return { head: ROW_COLUMNS, rows: [...actions.map(rowCells), ...appeals.map(appealCells)] }
      const rates = await queue.drawnRates([tenant])
      if (rates.length === 0)
        terminal.say('There is no error rate of automated means: nothing that was drawn for audit is decided so far.')
      const figures = [...figuresOf(actions, rates), ...appealFiguresOf(appeals)]
      return { head: COLUMNS, rows: figures.map((one) => COLUMNS.map((name) => one[name])) }
    } finally {
      await queue.close()
      await record.close()
    }
  },
  print(table, { terminal }) {
    terminal.out(new Drawing(({ columns }) => csvFor(table, { isTerminal: Number.isFinite(columns) })))
  },
}

/** The table as a file has it, or as a terminal shows it: its mark and its line ends are no text, and are not escaped as what cells hold. */
function csvFor(
  { head, rows }: Parameters<typeof csvTable>[0],
  { isTerminal }: { readonly isTerminal: boolean },
): string {
  const csv = csvTable({ head, rows: rows.map((cells) => cells.map(printableJson)) }).trimEnd()
  return isTerminal ? csv.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n') : csv
}

const WORDS = COLUMNS.slice(1, COLUMNS.indexOf('value'))
const ROW_COLUMNS = [
  'action',
  'puid',
  'at',
  'withdrawn',
  'seconds_to_act',
  ...WORDS,
  'without_a_statement_because',
  'appeal',
  'seconds_to_answer',
]

function rowCells(one: ReportedAction): string[] {
  const { action, at, isWithdrawn, after, statement, why } = one
  const row = rowOf(one)
  return [
    action,
    statement?.puid ?? '',
    new Date(at).toISOString(),
    isWithdrawn ? 'yes' : 'no',
    after === null ? '' : String(Math.round(after / 1_000)),
    ...WORDS.map((name) => row[name] ?? ''),
    why,
    '',
    '',
  ]
}

function appealCells(one: ReportedAppeal): string[] {
  const row = appealRowOf(one)
  const at = new Date(one.at).toISOString()
  const after = one.after === null ? '' : String(Math.round(one.after / 1_000))
  return ['', '', at, '', '', ...WORDS.map((name) => row[name] ?? ''), '', one.appeal, after]
}
