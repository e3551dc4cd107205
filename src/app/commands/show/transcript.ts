import { z } from 'zod'
import { counted, printable, type Terminal } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { found } from '../../../contracts/facts/library.ts'
import type { RecordedMessage, Transcript, Turn } from '../../../contracts/facts/verdict.ts'
import { scopeOf } from '../../../contracts/facts/verdict-id.ts'
import { WITHHELD } from '../../../recovery/inspection/cases.ts'
import type { Inspection } from '../../../recovery/inspection/inspection.ts'

const LONGEST_LINE = 20_000
/** Of a comment beside its score, and of a neighbour beside its label. */
const MOST_OF_A_TEXT = 160

/** How debates are shown. */
export interface Minutes {
  /** What each was asked, too. */
  readonly prompts: boolean
  /** By protocol, what words of its models mean as labels. */
  readonly meanings: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** The debates as a person would read them: of each verdict that has a transcript, and of the open cases so far. */
export function printDebates({ transcripts, cases, deleted }: Inspection, minutes: Minutes, terminal: Terminal): void {
  const out = (line: string) => terminal.out(line)
  if (deleted) {
    out('')
    out('Its debates are not shown: the post was deleted.')
    return
  }
  for (const { transcript } of transcripts) {
    out('')
    out(`Debate of ${printable(transcript.verdictId, 200)}`)
    printTranscript(transcript, minutes, terminal)
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
      else for (const line of answerLines(answer, raw, meaningsIn(minutes, id))) out(`    ${line}`)
    }
    for (const { key, stage, role, label } of waits)
      out(
        `\n  ${heading(Number(key.split('.')[0]), stage, label === null ? role : `${role} (${label})`)}  [not answered yet]`,
      )
  }
}

/** A verdict's debate, turn by turn; where comments were scored, each one's words beside its score. */
export function printTranscript({ verdictId, ...transcript }: Transcript, minutes: Minutes, terminal: Terminal): void {
  const out = (line: string) => terminal.out(line)
  const meanings = meaningsIn(minutes, verdictId)
  const words = wordsOfComments(transcript.subject)
  if (transcript.turns.length === 0) out('  (nothing was asked for this verdict)')
  for (const line of transcript.cut) out(`  (${printable(line, 300)})`)
  for (const turn of transcript.turns) {
    const from = turn.memo ? ', from the memo' : ''
    out('')
    out(
      `  ${heading(turn.round, turn.stage, turn.role)}  [${printable(turn.model, 60) || 'no model'}, ${Math.round(turn.ms)} ms${from}]`,
    )
    if (minutes.prompts) for (const message of turn.messages) printMessage(message, out)
    if (turn.failed !== undefined) out(`    failed: ${turn.failed.code} (${printable(turn.failed.detail, 300)})`)
    else
      for (const line of scoresIn(turn, words) ?? foundIn(turn) ?? answerLines(turn.answer, turn.raw, meanings))
        out(`    ${line}`)
  }
}

function meaningsIn({ meanings }: Minutes, id: string): Readonly<Record<string, string>> {
  return meanings.get(scopeOf(id).protocol) ?? {}
}

const withComments = z.object({ comments: z.array(z.object({ id: z.string(), text: z.string() })) })

function wordsOfComments(subject: unknown): ReadonlyMap<string, string> {
  const read = withComments.safeParse(subject)
  return new Map(read.success ? read.data.comments.map(({ id, text }) => [id, text]) : [])
}

const oneScore = z.object({ score: z.number(), reason: z.string().optional() })
const scores = z.object({ scores: z.array(oneScore.extend({ comment: z.int() })) })

/** The scores of comments, each with the comment's words; null where an answer holds none. */
function scoresIn({ answer, about = [] }: Turn, words: ReadonlyMap<string, string>): string[] | null {
  if (about.length === 0) return null
  const several = scores.safeParse(answer)
  const single = oneScore.safeParse(answer)
  if (!several.success && !single.success) return null
  const all = several.success ? several.data.scores : single.success ? [{ comment: 1, ...single.data }] : []
  return all.flatMap(({ comment, score, reason }) => {
    const id = about[comment - 1] ?? `comment ${comment}`
    const text = words.get(id)
    const said = text === undefined ? 'its words are not in the transcript' : `"${printable(text, MOST_OF_A_TEXT)}"`
    const sign = score > 0 ? '+' : ''
    return [
      `${`${sign}${score.toFixed(2)}`.padStart(5)}  ${said}  (${printable(id, 60)})`,
      ...(reason === undefined ? [] : [`       ${printable(reason, LONGEST_LINE)}`]),
    ]
  })
}

/** What a lookup in the library found, a line for each neighbour; null where the answer is none. */
function foundIn({ answer }: Turn): string[] | null {
  const read = found.safeParse(answer)
  if (!read.success) return null
  const { shelves, weak } = read.data
  return [
    ...shelves.flatMap(({ shelf, neighbours, problem }) => [
      problem === null
        ? `${printable(shelf, 60)}: ${counted(neighbours.length, 'neighbour')}`
        : printable(problem.includes(shelf) ? problem : `${shelf}: ${problem}`, 300),
      ...neighbours.flatMap(({ label, similarity, text, id, metadata }) => [
        `  ${similarity.toFixed(2)}  ${printable(label, 40)}  "${printable(text, MOST_OF_A_TEXT)}"  (${printable(id, 60)})`,
        ...Object.entries(metadata).map(([name, value]) => `        ${printable(name, 60)}: ${printable(value, 300)}`),
      ]),
    ]),
    ...(weak === null ? [] : [printable(weak, 300)]),
  ]
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
    out(`    > ${index === 0 ? `${message.role}: ` : ''}${printable(line, LONGEST_LINE)}`)
}

/** An answer field by field where it is an object, else as it was written. */
function answerLines(answer: unknown, raw: string | null, meanings: Readonly<Record<string, string>>): string[] {
  const read = answer ?? parsed(raw)
  if (!isObject(read)) return linesOf(raw ?? asJson(answer))
  return Object.entries(read).flatMap(([name, value]) => {
    const rows = rowsOf(value)
    if (rows.length > 1) return [`${printable(name, 60)}:`, ...rows.map((row) => `  ${printable(row, LONGEST_LINE)}`)]
    const [first = '', ...rest] = linesOf(inWords(value))
    const means = typeof value === 'string' ? entryOf(meanings, value.trim().toLowerCase()) : undefined
    const label = means === undefined ? '' : ` (the label ${means})`
    return [`${printable(name, 60)}: ${first}${label}`, ...rest.map((line) => `  ${line}`)]
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
  return text.split('\n').map((line) => printable(line, LONGEST_LINE))
}

function parsed(raw: string | null): unknown {
  try {
    return JSON.parse(raw ?? 'null')
  } catch {
    return null
  }
}
