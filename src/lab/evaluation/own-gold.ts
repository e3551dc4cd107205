import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import type { BadLine } from '../../data-files/file-message.ts'
import { IS_MISSING, type OwnFormat, type OwnReading, ownRows, textKeyOf } from '../../data-files/own-rows.ts'
import type { GoldItem, GoldProtocol } from './gold-item.ts'
import { lengthOf } from './slices.ts'

/** What has a verdict of its own; comments and feedback have none. */
const subject = z.looseObject({ type: z.enum(['post', 'counterspeech']) })

/** A label, also where it is written as a number or as true or false. */
const label = z.union([z.string(), z.number(), z.boolean()]).transform(String)
/** What raters gave, one or several; null where somebody gave nothing. */
const rating = z.union([z.number(), z.null()])

/** A post or reply of somebody's own with its label, its annotators' labels, or its raters' ratings. */
const labelled = z.object({
  id: z.union([z.string(), z.number()]).transform(String),
  text: z.string().nullish(),
  hateSpeech: z.string().nullish(),
  // What a file may have for itself.
  reference: z.string().nullish().catch(null),
  label: label.nullish(),
  labels: z.array(label).nullish(),
  ratings: z.record(z.string(), z.union([rating.transform((one) => [one]), z.array(rating)])).nullish(),
  unit: z.string().nullish(),
  split: z.union([z.string(), z.number()]).transform(String).nullish(),
  slices: z.record(z.string(), z.string()).nullish(),
  lang: z.string().nullish(),
  media: z.array(z.unknown()).nullish().catch(null),
  chance: z.number().gt(0).max(1).nullish(),
})
type Labelled = z.infer<typeof labelled>

/**
 * How labels are read that are not a protocol's own: `1` as `hate`; a label with nothing behind it is left out. `0.5+` are all numbers
 * from there on, up to the next such name: shares of annotators.
 */
export interface LabelReading {
  readonly labelAs?: Readonly<Record<string, string>>
}

/**
 * The gold labels that stand beside the messages of somebody's own file. Lines that can't be read are reported to `bad`, and so is a rating
 * that is missing or outside its scale, which is left out. Throws an `OperatorError` at an aspect that the protocol lacks, and at the
 * end where it lacks labels: they are named together.
 */
export async function* ownGold(
  file: string,
  { format, protocol }: { format: OwnFormat; protocol: GoldProtocol },
  bad: (line: BadLine) => void,
  { labelAs = {}, ...reading }: OwnReading & LabelReading = {},
): AsyncGenerator<GoldItem> {
  const foreign = new Map<string, number>()
  for await (const { line, json, isRow } of ownRows(file, format, reading, bad)) {
    if (!subject.safeParse(json).success) continue
    const read = labelled.safeParse(json)
    if (!read.success) {
      bad({ line, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'label')}` })
      continue
    }
    const { ratings, ...rest } = read.data
    const known = isRow === true && ratings != null ? ofAspects(ratings, protocol) : ratings
    const given = { ...withLabels(rest, protocol, labelAs), ratings: known }
    const others = [given.label ?? [], given.labels ?? []].flat().filter((one) => !protocol.labels.includes(one))
    for (const one of others) if (!foreign.has(one)) foreign.set(one, line)
    const fault = aspectFault(given, protocol)
    if (fault !== undefined) throw new OperatorError(`${file}:${line} ${fault}`)
    const { kept, leftOut } = onScale(known ?? {}, protocol)
    for (const why of leftOut) bad({ line, why: `${why}: this rating is left out`, rating: true, read: true })
    yield { line, ...itemOf({ ...given, ratings: ratings == null ? null : kept }) }
  }
  const fault = labelsFault(foreign, protocol)
  if (fault !== undefined) throw new OperatorError(`${file}:${fault}`)
}

/** Of a table's columns of numbers those that are ratings of the protocol's aspects. */
function ofAspects(ratings: NonNullable<Labelled['ratings']>, { scales = {} }: GoldProtocol) {
  return Object.fromEntries(Object.entries(ratings).filter(([name]) => entryOf(scales, name) !== undefined))
}

/** Labels in the protocol's words: as they were named, else whatever their case, spaces and underscores. */
function withLabels(
  given: Omit<Labelled, 'ratings'>,
  { labels }: GoldProtocol,
  labelAs: Readonly<Record<string, string>>,
) {
  const read = (one: string) => readLabel(one, labels, labelAs) ?? []
  const { label: most, labels: annotations } = given
  const label = most == null ? undefined : readLabel(most, labels, labelAs)
  return {
    ...given,
    label: label ?? null,
    labels: annotations?.flatMap(read) ?? null,
    ...(most != null && entryOf(labelAs, nameOf(most, labelAs)) === ''
      ? { why: `label ${printable(nameOf(most, labelAs), 40)}` }
      : {}),
  }
}

/** The label as it was named, else the protocol's of that name; any other as it is. Undefined where nobody gave one, or it is left out. */
export function readLabel(
  given: string,
  labels: readonly string[],
  labelAs: Readonly<Record<string, string>>,
): string | undefined {
  if (IS_MISSING.test(given.trim())) return undefined
  const named = entryOf(labelAs, nameOf(given, labelAs))
  if (named !== undefined) return named === '' ? undefined : named
  const plain = given
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-')
  return labels.find((own) => own.toLowerCase() === plain) ?? given
}

/** The name under which a label may stand in `labelAs`: itself, whatever its case, else of a number the highest threshold that it reaches. */
function nameOf(given: string, labelAs: Readonly<Record<string, string>>): string {
  const label = given.trim()
  if (Object.hasOwn(labelAs, label)) return label
  // A table may have True where another has true.
  const alike = Object.keys(labelAs).find((name) => name.toLowerCase() === label.toLowerCase())
  if (alike !== undefined || !NUMBER.test(label)) return alike ?? label
  const reached = Object.keys(labelAs)
    .flatMap((name) => (THRESHOLD.test(name) ? [{ name, from: Number(name.slice(0, -1)) }] : []))
    .filter(({ from }) => from <= Number(label))
  return reached.sort((one, other) => other.from - one.from)[0]?.name ?? label
}

const NUMBER = /^\d{0,15}\.?\d{1,30}(?:e-?\d{1,2})?$/i
const THRESHOLD = /^\d{0,15}\.?\d{1,30}\+$/

/** The ratings on their scales, and in words each that is missing or is on none. */
function onScale(ratings: NonNullable<Labelled['ratings']>, { scales = {} }: GoldProtocol) {
  const kept = new Map<string, number[]>()
  const leftOut: string[] = []
  for (const [aspect, given] of Object.entries(ratings)) {
    const [lowest, highest] = entryOf(scales, aspect) ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
    const good = given.filter((one): one is number => one !== null && one >= lowest && one <= highest)
    for (const one of given)
      if (one === null) leftOut.push(`rates ${aspect} nothing`)
      else if (!good.includes(one)) leftOut.push(`rates ${aspect} ${one}, and its scale is ${lowest} to ${highest}`)
    if (good.length > 0) kept.set(aspect, good)
  }
  return { kept: Object.fromEntries(kept), leftOut }
}

function itemOf({
  id,
  text,
  hateSpeech,
  reference,
  label,
  labels,
  ratings,
  unit,
  split,
  slices,
  lang,
  media,
  chance,
  why,
}: Omit<Labelled, 'ratings'> & {
  readonly why?: string
  readonly ratings: Readonly<Record<string, readonly number[]>> | null
}): Omit<GoldItem, 'line'> {
  const item = {
    // Replies to one statement belong together.
    id,
    unit: unit ?? hateSpeech?.trim().toLowerCase() ?? id,
    ...(text == null ? {} : inWords(hateSpeech == null ? text : `${hateSpeech} → ${text}`)),
    ...(media == null || media.length === 0 ? {} : { hasMedia: true as const }),
    slices: { length: lengthOf(text ?? ''), ...slices, ...(lang == null ? {} : { language: lang }) },
    ...(labels == null ? {} : { annotations: labels }),
    ...(ratings == null ? {} : { ratings }),
    ...(split == null ? {} : { split }),
    ...(chance == null ? {} : { chance }),
    ...(hateSpeech == null || text == null || reference == null ? {} : { pair: { reply: text, reference } }),
  }
  const most = label ?? mostFrequent(labels ?? [])
  if (why !== undefined) return { ...item, label: null, why }
  if (most !== undefined) return { ...item, label: most }
  if (ratings != null && Object.keys(ratings).length > 0) return { ...item, label: null }
  if (ratings != null) return { ...item, label: null, why: 'no rating on its scale' }
  return { ...item, label: null, why: labels == null || labels.length === 0 ? 'no label' : 'annotators are tied' }
}

function inWords(text: string): Pick<GoldItem, 'text' | 'textKey'> {
  return { text, textKey: textKeyOf(text) }
}

/** Labels that are named where a protocol lacks them. */
const NAMED_LABELS = 10

/** What is to be done about labels that the protocol lacks, each with its first line. */
export function labelsFault(foreign: ReadonlyMap<string, number>, { name, labels }: GoldProtocol): string | undefined {
  const [first, ...others] = foreign
  if (first === undefined) return undefined
  const [label, line] = first
  const has = `${line} has the label "${printable(label, 80)}"`
  if (labels.length === 0) return `${has}; ${name} has none.`
  const isShare = [...foreign.keys()].some((one) => NUMBER.test(one.trim()) && !Number.isInteger(Number(one)))
  const todo = isShare
    ? `Shares of annotators need thresholds: --label-as "0.5+=${labels[0]}" --label-as "0+=${labels[1] ?? ''}".`
    : `Translate it: --label-as "${printable(label, 80)}=${labels[0]}".`
  const message = `${has}; those of ${name} are ${labels.join(', ')}. ${todo}`
  if (isShare) return message
  if (others.length === 0) return message
  const named = others.slice(0, NAMED_LABELS).map(([one]) => `"${printable(one, 80)}"`)
  const more = others.length - named.length
  return `${message} So for ${named.join(', ')}${more > 0 ? ` and ${more} more (is --label-field the label?)` : ''}; with nothing after the =, items with that label are left out.`
}

function aspectFault({ ratings }: Pick<Labelled, 'ratings'>, { name, scales = {} }: GoldProtocol): string | undefined {
  const foreign = Object.keys(ratings ?? {}).find((aspect) => entryOf(scales, aspect) === undefined)
  if (foreign === undefined) return undefined
  const known = Object.keys(scales)
  return `rates "${foreign}"; ${known.length === 0 ? `${name} rates nothing.` : `the aspects of ${name} are ${known.join(', ')}.`}`
}

/** The label that more annotators gave than any other. */
function mostFrequent(annotations: readonly string[]): string | undefined {
  const counts = [...Map.groupBy(annotations, (label) => label)].map(([label, of]) => ({ label, count: of.length }))
  const [first, second] = counts.sort((one, other) => other.count - one.count)
  return first === undefined || first.count === second?.count ? undefined : first.label
}
