import { z } from 'zod'
import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import type { BadLine } from './file-message.ts'
import type { GoldItem, GoldProtocol } from './gold-item.ts'
import { jsonLines } from './json-lines.ts'
import { asMessage } from './rated-reply.ts'
import { lengthOf } from './slices.ts'

/** What has a verdict of its own; comments and feedback have none. */
const subject = z.looseObject({ type: z.enum(['post', 'counterspeech']) })

/** A post or reply of Gavel's own JSON Lines with its label, its annotators' labels, or its raters' ratings. */
const labelled = z.object({
  id: z.union([z.string(), z.number()]).transform(String),
  text: z.string().nullish(),
  hateSpeech: z.string().nullish(),
  label: z.string().nullish(),
  labels: z.array(z.string()).nullish(),
  ratings: z.record(z.string(), z.union([z.number().transform((one) => [one]), z.array(z.number()).min(1)])).nullish(),
  unit: z.string().nullish(),
  split: z.string().nullish(),
  slices: z.record(z.string(), z.string()).nullish(),
  lang: z.string().nullish(),
})
type Labelled = z.infer<typeof labelled>

/**
 * The gold labels that stand beside the messages of Gavel's own JSON Lines. Lines that can't be read are told to `bad`. Throws
 * an `OperatorError` at a label or an aspect that the protocol lacks, and at a rating outside its scale.
 */
export async function* ownGold(
  file: string,
  protocol: GoldProtocol,
  bad: (line: BadLine) => void,
): AsyncGenerator<GoldItem> {
  for await (const { line, json: given } of jsonLines(file, bad)) {
    const json = asMessage(given, line)
    if (!subject.safeParse(json).success) continue
    const read = labelled.safeParse(json)
    if (!read.success) {
      bad({ line, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'label')}` })
      continue
    }
    const fault = labelFault(read.data, protocol) ?? ratingFault(read.data, protocol)
    if (fault !== undefined) throw new OperatorError(`${file}:${line} ${fault}`)
    yield { line, ...itemOf(read.data) }
  }
}

function itemOf({
  id,
  text,
  hateSpeech,
  label,
  labels,
  ratings,
  unit,
  split,
  slices,
  lang,
}: Labelled): Omit<GoldItem, 'line'> {
  const item = {
    // Replies to one statement belong together.
    ...{ id, unit: unit ?? hateSpeech?.trim().toLowerCase() ?? id },
    slices: { length: lengthOf(text ?? ''), ...slices, ...(lang == null ? {} : { language: lang }) },
    ...(labels == null ? {} : { annotations: labels }),
    ...(ratings == null ? {} : { ratings }),
    ...(split == null ? {} : { split }),
  }
  const most = label ?? mostSaid(labels ?? [])
  if (most !== undefined) return { ...item, label: most }
  if (ratings != null && Object.keys(ratings).length > 0) return { ...item, label: null }
  return { ...item, label: null, why: labels == null || labels.length === 0 ? 'no label' : 'annotators are tied' }
}

function labelFault({ label, labels: annotations }: Labelled, { name, labels }: GoldProtocol): string | undefined {
  const given = [...(label == null ? [] : [label]), ...(annotations ?? [])]
  const foreign = given.find((one) => !labels.includes(one))
  if (foreign === undefined) return undefined
  return `has the label "${foreign}"; ${labels.length === 0 ? `${name} has none.` : `those of ${name} are ${labels.join(', ')}.`}`
}

function ratingFault({ ratings }: Labelled, { name, scales = {} }: GoldProtocol): string | undefined {
  for (const [aspect, given] of Object.entries(ratings ?? {})) {
    const scale = entryOf(scales, aspect)
    if (scale === undefined) {
      const known = Object.keys(scales)
      return `rates "${aspect}"; ${known.length === 0 ? `${name} rates nothing.` : `the aspects of ${name} are ${known.join(', ')}.`}`
    }
    const [lowest, highest] = scale
    const outside = given.find((one) => one < lowest || one > highest)
    if (outside !== undefined) return `rates ${aspect} ${outside}; its scale is ${lowest} to ${highest}.`
  }
  return undefined
}

/** The label that more annotators gave than any other. */
function mostSaid(annotations: readonly string[]): string | undefined {
  const counts = [...Map.groupBy(annotations, (label) => label)].map(([label, of]) => ({ label, count: of.length }))
  const [first, second] = counts.sort((one, other) => other.count - one.count)
  return first === undefined || first.count === second?.count ? undefined : first.label
}
