import type { RecordedMessage } from '../../service/domain/verdict.ts'
import { WITHHELD } from '../../service/inspection/cases.ts'
import type { Inspection } from '../../service/inspection/inspection.ts'
import { printable, type Terminal } from '../terminal.ts'

const MOST_SAID = 20_000

/** The debates as a person would read them: of each verdict that has a transcript, and of the open cases so far. */
export function printDebates({ transcripts, cases, deleted }: Inspection, prompts: boolean, terminal: Terminal): void {
  const out = (line: string) => terminal.out(line)
  if (deleted) {
    out('')
    out('Its debates are not shown: the post was deleted.')
    return
  }
  for (const { transcript } of transcripts) {
    out('')
    out(`Debate of ${printable(transcript.verdictId, 200)}`)
    for (const line of transcript.cut) out(`  (${printable(line, 300)})`)
    for (const [index, turn] of transcript.turns.entries()) {
      const from = turn.memo ? ', from the memo' : ''
      out('')
      out(
        `  ${heading(turn.round, turn.stage, turn.role)}  [${printable(turn.model, 60) || 'no model'}, ${Math.round(turn.ms)} ms${from}]`,
      )
      if (prompts) for (const message of turn.messages) printMessage(message, out)
      if (turn.failed !== undefined) out(`    failed: ${turn.failed.code} (${printable(turn.failed.detail, 300)})`)
      else for (const line of saidIn(turn.answer, turn.raw)) out(`    ${line}`)
      if (index === transcript.turns.length - 1) out('')
    }
  }
  for (const { id, withheld, answers, waits } of cases) {
    out('')
    out(`Debate of ${printable(id, 200)}, so far`)
    if (withheld) {
      out(`  (it ${WITHHELD})`)
      continue
    }
    for (const { key, stage, role, label, model, ms, answer, raw, failed } of answers) {
      out('')
      out(
        `  ${heading(Number(key.split('.')[0]), stage, label === null ? role : `${role} (${label})`)}  [${printable(model, 60) || 'no model'}, ${Math.round(ms)} ms]`,
      )
      if (failed !== null) out(`    failed: ${failed.code} (${printable(failed.detail, 300)})`)
      else for (const line of saidIn(answer, raw)) out(`    ${line}`)
    }
    for (const { key, stage, role, label } of waits)
      out(
        `\n  ${heading(Number(key.split('.')[0]), stage, label === null ? role : `${role} (${label})`)}  [not answered yet]`,
      )
  }
}

function heading(round: number, stage: string, role: string): string {
  return `Round ${round}, ${printable(stage, 40)}: ${printable(role, 120)}`
}

function printMessage(message: RecordedMessage, out: (line: string) => void): void {
  if ('sameAs' in message) {
    out(`    > ${message.role}: as in turn ${message.sameAs.turn}, message ${message.sameAs.message}`)
    return
  }
  for (const [index, line] of message.content.split('\n').entries())
    out(`    > ${index === 0 ? `${message.role}: ` : ''}${printable(line, MOST_SAID)}`)
}

/** An answer field by field where it is an object, else as it was written. */
function saidIn(answer: unknown, raw: string | null): string[] {
  const read = answer ?? parsed(raw)
  if (!isObject(read)) return linesOf(raw ?? asJson(answer))
  return Object.entries(read).flatMap(([name, value]) => {
    const rows = rowsOf(value)
    if (rows.length > 1) return [`${printable(name, 60)}:`, ...rows.map((row) => `  ${printable(row, MOST_SAID)}`)]
    const [first = '', ...rest] = linesOf(inWords(value))
    return [`${printable(name, 60)}: ${first}`, ...rest.map((line) => `  ${line}`)]
  })
}

/** The items of a list, or the fields of an object. */
function rowsOf(value: unknown, levels = LEVELS_IN_WORDS): string[] {
  if (Array.isArray(value)) return value.map((item) => inWords(item, levels - 1))
  return isObject(value) ? Object.entries(value).map(([name, field]) => `${name}: ${inWords(field, levels - 1)}`) : []
}
/** What is nested deeper is shown as JSON. */
const LEVELS_IN_WORDS = 3

/** For a person: without the quotes and brackets of JSON. */
function inWords(value: unknown, levels = LEVELS_IN_WORDS): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.length === 0) return 'none'
  const rows = levels > 0 ? rowsOf(value, levels) : []
  return rows.length > 0 ? rows.join(', ') : asJson(value)
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '(nested too deeply to be shown)'
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function linesOf(text: string): string[] {
  return text.split('\n').map((line) => printable(line, MOST_SAID))
}

function parsed(raw: string | null): unknown {
  try {
    return JSON.parse(raw ?? 'null')
  } catch {
    return null
  }
}
