import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { type BadLine, faultIn } from '../../../data-files/file-message.ts'
import { recordsOf } from '../../../data-files/file-records.ts'
import type { FileReading } from '../../../data-files/text-lines.ts'

export interface LabelledText {
  readonly line: number
  readonly text: string
  readonly isPositive: boolean
  /** The old score, where the file has one. */
  readonly old: number | null
}

/** Where a file has what; labels in `positive` are positive, all others are not. Without it they must say so themselves. */
export interface TextFields extends FileReading {
  readonly textField?: string
  readonly labelField?: string
  readonly oldField?: string
  readonly positive?: readonly string[]
}

/** Longest text that is scored, in bytes: Perspective's own. */
const MOST_BYTES = 20_480

/**
 * The texts of a table or of JSON Lines, with their labels. Lines that can't be read are reported to `bad` and left out. Throws an `OperatorError`
 * where none can be read, or all have one label: such a file tells nothing of thresholds.
 */
export async function readTexts(
  file: string,
  fields: TextFields,
  bad: (line: BadLine) => void,
): Promise<readonly LabelledText[]> {
  const { textField = 'text', labelField = 'label', oldField } = fields
  const needed = [textField, labelField, ...(oldField === undefined ? [] : [oldField])]
  const hint = 'Name them with --text-field, --label-field and --old-field.'
  const texts: LabelledText[] = []
  const labels = new Map<string, number>()
  for await (const { line, json } of recordsOf(file, fields, { needed, hint }, bad)) {
    const given = (typeof json === 'object' && json !== null ? json : {}) as Readonly<Record<string, unknown>>
    const text = entryOf(given, textField)
    const written = String(entryOf(given, labelField) ?? '').trim()
    if (typeof text !== 'string' || text.trim() === '') bad({ line, why: `has no text in ${textField}` })
    else if (Buffer.byteLength(text) > MOST_BYTES) bad({ line, why: `has more than ${MOST_BYTES} bytes of text` })
    else if (written === '') bad({ line, why: `has no label in ${labelField}` })
    else {
      const isPositive = isPositiveLabel(written, fields.positive)
      const old = oldField === undefined ? null : scoreOf(entryOf(given, oldField))
      if (isPositive === null) {
        const is = JSON.stringify(written.slice(0, 40))
        bad({
          line,
          why: `has the label ${is}, which is neither yes nor no: set --positive to the labels to flag`,
        })
      } else if (oldField !== undefined && old === null) bad({ line, why: `has no score from 0 to 1 in ${oldField}` })
      else {
        labels.set(written, (labels.get(written) ?? 0) + 1)
        texts.push({ line, text, isPositive, old })
      }
    }
  }
  if (texts.length === 0) throw new OperatorError(`${file}: no line has a text and a label that can be read. ${hint}`)
  const positive = texts.filter(({ isPositive }) => isPositive).length
  if (positive === 0 || positive === texts.length)
    throw new OperatorError(
      `${file}: ${positive === 0 ? 'no' : 'every'} label is one to be flagged (${named(labels)}): thresholds need texts of both kinds. --positive names the labels to be flagged.`,
    )
  return texts
}

/** Tells of bad lines, the first of them one by one. */
export function badLines(file: string, say: (line: string) => void): { tell(line: BadLine): void; end(): void } {
  let faults = 0
  return {
    tell(line) {
      if (line.read !== true) faults++
      if (faults <= MOST_SHOWN) say(faultIn(file, line))
    },
    end() {
      if (faults > MOST_SHOWN) say(`${file}: ${faults} lines were left out in all.`)
    },
  }
}
const MOST_SHOWN = 10

function named(labels: ReadonlyMap<string, number>): string {
  const shown = [...labels].sort(([, one], [, other]) => other - one).slice(0, 5)
  return shown.map(([label, count]) => `${JSON.stringify(label.slice(0, 40))}: ${count}`).join(', ')
}

const [YES, NO] = [/^(?:true|yes|y)$/i, /^(?:false|no|n)$/i]

/** A share of readers is positive from a half on. */
function isPositiveLabel(label: string, positive: readonly string[] | undefined): boolean | null {
  if (positive !== undefined) return positive.includes(label)
  if (YES.test(label)) return true
  if (NO.test(label)) return false
  const share = scoreOf(label)
  return share === null ? null : share >= 0.5
}

function scoreOf(value: unknown): number | null {
  const written =
    typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : null
  return written !== null && written >= 0 && written <= 1 ? written : null
}
