import { readingOf } from '../../../cli/file-options.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { type BadLine, faultIn } from '../../../data-files/file-message.ts'
import type { Format } from '../../../data-files/formats.ts'
import { isDecided } from '../../evaluation/decided.ts'
import type { DataSet } from '../../evaluation/evaluation.ts'
import { type GoldOptions, goldOf } from '../../evaluation/gold.ts'
import type { GoldProtocol } from '../../evaluation/gold-item.ts'
import { type SampleOptions, sampleOf } from '../../evaluation/sample.ts'

/** Which of a labelled file's items are wanted. */
export interface DataSelection extends GoldOptions, SampleOptions {
  readonly file: string
  readonly format: Format
  /** As tables name it. */
  readonly name: string
}

const RATINGS = 'A column with the name of an aspect holds its ratings (docs/data-sets.md).'
/** Ratings that are named one by one where they are left out. */
const NAMED_RATINGS = 10

/**
 * Reads a labelled file and draws the sample. Lines that can't be read are reported to `bad`. Throws an `OperatorError` where
 * nothing is left to judge, or there are fewer items than were asked for.
 */
export async function dataSet(
  wanted: DataSelection,
  protocol: GoldProtocol,
  bad: (why: string, line: BadLine) => void,
): Promise<DataSet> {
  const { file, format, name } = wanted
  let [unreadable, ratingsLeftOut] = [0, 0]
  const gold = await goldOf(
    file,
    format,
    protocol,
    (line) => {
      if (line.read !== true) unreadable++
      if (line.rating !== true || ++ratingsLeftOut <= NAMED_RATINGS) bad(faultIn(file, line), line)
    },
    wanted,
  )
  const reasons = gold.flatMap(({ why }) => (why === undefined ? [] : [why]))
  const usable = gold.filter(({ why }) => why === undefined)
  if (usable.length === 0) {
    const hint = protocol.labels.length > 0 ? 'Name the label with --label-field.' : RATINGS
    throw new OperatorError(
      `${file} has no item to judge by: ${gold.length} subjects, none with a label or a rating.${format === 'gavel' ? ` ${hint}` : ''}`,
    )
  }
  // People need not use the label for what nobody knows.
  const labels = protocol.labels.filter((label) => isDecided(label) || usable.some((item) => item.label === label))
  const items = sampleOf(gold, { name, labels }, wanted)
  reasons.push(...Array.from({ length: usable.length - items.length }, () => 'not in the sample'))
  const leftOut = Object.fromEntries([...Map.groupBy(reasons, (why) => why)].map(([why, of]) => [why, of.length]))
  return { name, file, format, items, leftOut, unreadable, ratingsLeftOut, reading: readingOf(wanted) }
}
