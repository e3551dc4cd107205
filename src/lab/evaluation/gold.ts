import { isDeepStrictEqual } from 'node:util'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { UNVERIFIED } from '../../contracts/facts/verdict-fields.ts'
import { type Contradictions, withoutContradictions } from '../../data-files/contradictions.ts'
import type { BadLine } from '../../data-files/file-message.ts'
import type { Format } from '../../data-files/formats.ts'
import { LABELLED_FORMATS, type LabelledFormat, labelledItems } from '../../data-files/labelled-sets.ts'
import { OWN_FORMATS, type OwnReading, textKeyOf } from '../../data-files/own-rows.ts'
import { labelledThreads, THREAD_FORMATS, type ThreadFormat, type Veracity } from '../../data-files/thread-sets.ts'
import type { UnverifiedReading } from './decided.ts'
import type { GoldItem, GoldProtocol } from './gold-item.ts'
import { type LabelReading, ownGold } from './own-gold.ts'
import { lengthOf } from './slices.ts'

/** How data sets are read that can be read in more than one way. */
export interface GoldOptions extends OwnReading, LabelReading {
  /** What the rumor data sets' unverified claims count as; by default they are left out. */
  readonly unverified?: UnverifiedReading
  /**
   * What UnSmile's 악플/욕설 counts as where it stands alone: profanity at nobody's group. `hate` by default, by the criteria of
   * PREDICT (appendix D), and of the shipped perspective; the data set itself tells it from hate.
   */
  readonly profanity?: 'hate' | 'non-hate'
  /** What becomes of a text that has several labels in the file: each item counts by default. */
  readonly contradictions?: Contradictions
}

/** A label of a data set in a protocol's; null where people did not look for what the protocol judges. */
type GoldReading = (label: string, unlabelled: readonly string[], options: GoldOptions) => string | null

/** How the labels of a data set read for each protocol that can be measured on it. */
const LABELS: Record<LabelledFormat, Readonly<Record<string, GoldReading>>> = {
  hatecheck: { hate: (label) => (label === 'hateful' ? 'hate' : 'non-hate') },
  kodoli: { hate: hateUnless('NOT') },
  unsmile: {
    hate: (label, _, { profanity = 'hate' }) =>
      label === '악플/욕설' ? profanity : label === 'hate' ? 'hate' : 'non-hate',
  },
  'k-mhas': { hate: hateUnless('not_hate_speech') },
  // PREDICT takes hate speech and other offences together for these two (appendix A).
  kold: { hate: hateUnless('NOT') },
  'k-haters': { hate: hateUnless('normal') },
  'openai-moderation': {
    // One harm is enough; harmless is only what was looked at for all of them.
    safety: (label, unlabelled) => (label !== 'none' ? 'unsafe' : unlabelled.length === 0 ? 'safe' : null),
    // H is hate, H2 hate that threatens; the other flags are other harms.
    hate: (label, unlabelled) => {
      if (label.split(',').some((flag) => flag === 'H' || flag === 'H2')) return 'hate'
      return unlabelled.includes('H') ? null : 'non-hate'
    },
  },
  'airbench-text': { safety: harmful },
  'airbench-image': { safety: harmful },
  'airbench-both': { safety: harmful },
}

function hateUnless(harmless: string): GoldReading {
  return (label) => (label === harmless ? 'non-hate' : 'hate')
}

function harmful(label: string): string {
  return label === 'harmful' ? 'unsafe' : 'safe'
}

/** False is a rumor, true is none. */
const VERACITY: Record<Exclude<Veracity, 'unverified'>, string> = { false: 'rumor', true: 'non-rumor' }

/**
 * The gold labels and ratings of a file, for a protocol. Lines that can't be read are reported to `bad` and left out. Throws an
 * `OperatorError` where the data set labels nothing that the protocol judges, where an id is labelled or rated twice and
 * differently, and where the file can't be read.
 */
export async function goldOf(
  file: string,
  format: Format,
  protocol: GoldProtocol,
  bad: (line: BadLine) => void,
  options: GoldOptions = {},
): Promise<GoldItem[]> {
  const known = new Map<string, GoldItem>()
  for await (const item of readGold(file, format, protocol, bad, options)) {
    const before = known.get(item.id)
    if (before !== undefined && before.label !== item.label)
      throw new OperatorError(
        `${file}:${item.line} labels ${item.id} ${item.label ?? 'nothing'}, and line ${before.line} ${before.label ?? 'nothing'}: an id has one label.`,
      )
    if (before !== undefined && !isDeepStrictEqual(before.ratings, item.ratings))
      throw new OperatorError(
        `${file}:${item.line} rates ${item.id} differently from line ${before.line}. Put all raters of a reply into one line.`,
      )
    known.set(item.id, item)
  }
  return withoutContradictions([...known.values()], options.contradictions ?? 'keep', bad)
}

function readGold(
  file: string,
  format: Format,
  protocol: GoldProtocol,
  bad: (line: BadLine) => void,
  options: GoldOptions,
): AsyncGenerator<GoldItem> {
  const threads = THREAD_FORMATS.find((known) => known === format)
  if (threads !== undefined) {
    if (protocol.name !== 'rumor') throw notFor(format, protocol.name)
    if (options.unverified === UNVERIFIED && !protocol.labels.includes(UNVERIFIED))
      throw new OperatorError(`${protocol.name} has no label ${UNVERIFIED} under these settings.`)
    return threadGold(file, threads, bad, options)
  }
  const labelled = LABELLED_FORMATS.find((known) => known === format)
  if (labelled !== undefined) {
    const read = Object.entries(LABELS[labelled]).find(([name]) => name === protocol.name)?.[1]
    if (read === undefined) throw notFor(format, protocol.name)
    return textGold(file, labelled, read, bad, options)
  }
  const own = OWN_FORMATS.find((known) => known === format) ?? 'gavel'
  return ownGold(file, { format: own, protocol }, bad, options)
}

function notFor(format: string, protocol: string): OperatorError {
  return new OperatorError(`The format ${format} has no labels of what ${protocol} judges. See docs/data-sets.md.`)
}

async function* threadGold(
  file: string,
  format: ThreadFormat,
  bad: (line: BadLine) => void,
  { unverified = 'leave-out', ...reading }: GoldOptions,
): AsyncGenerator<GoldItem> {
  for await (const thread of labelledThreads(file, format, bad, reading)) {
    const { line, id, claim, veracity, event, lang, split, stances } = thread
    const item = {
      line,
      id,
      unit: event ?? id,
      text: claim,
      slices: {
        length: lengthOf(claim),
        ...(event === undefined ? {} : { event }),
        ...(lang === undefined ? {} : { language: lang }),
      },
      split,
      stances,
    }
    if (veracity !== 'unverified') yield { ...item, label: VERACITY[veracity] }
    else if (unverified === 'leave-out') yield { ...item, label: null, why: 'unverified' }
    else yield { ...item, label: unverified }
  }
}

async function* textGold(
  file: string,
  format: LabelledFormat,
  read: GoldReading,
  bad: (line: BadLine) => void,
  options: GoldOptions,
): AsyncGenerator<GoldItem> {
  for await (const item of labelledItems(file, format, bad, options)) {
    const { line, id, text, hasMedia, label: given, annotations = [], unlabelled, slices } = item
    const labels = annotations.flatMap((one) => read(one, unlabelled, options) ?? [])
    const label = read(given, unlabelled, options)
    const gold = {
      line,
      id,
      label,
      unit: id,
      text,
      ...(hasMedia && { hasMedia }),
      textKey: textKeyOf(text),
      slices: { length: lengthOf(text), ...slices },
      ...(labels.length === 0 ? {} : { annotations: labels }),
    }
    yield label === null ? { ...gold, why: 'not rated' } : gold
  }
}
