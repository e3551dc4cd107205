import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type BadLine, type FileMessage, message } from './file-message.ts'
import { jsonLines } from './json-lines.ts'

/** Public data sets of single texts, each with a label that people gave it. */
export const LABELLED_FORMATS = [
  'hatecheck',
  'openai-moderation',
  'kodoli',
  'airbench-text',
  'airbench-image',
  'airbench-both',
] as const
export type LabelledFormat = (typeof LABELLED_FORMATS)[number]

/** One text of a labelled data set. */
export interface LabelledItem {
  /** Its line in the file, from 1. */
  readonly line: number
  /** As which post `fileMessages` has it. */
  readonly id: string
  /** Its words; an image is `[image: DESCRIPTION]`, after them. */
  readonly text: string
  /** In the data set's own words; a vote of 1 or 0 is `harmful` or `unharmful`, no flag of openai-moderation `none`. */
  readonly label: string
}

/**
 * Texts of a labelled data set with their labels, in the file's order. Lines that are none are told to `bad` and left out.
 * Throws an `OperatorError` if the file can't be read.
 */
export async function* labelledItems(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<LabelledItem> {
  for await (const { line, id, sample } of samples(file, format, bad))
    yield { line, id, text: wordsOf(sample), label: sample.label }
}

/** One text of a labelled data set, as its reader finds it. */
interface Sample {
  /** Where the data set's own ids are unique. */
  readonly id?: string
  readonly text: string
  /** What an image is said to show: the data sets have captions and no pixels. */
  readonly image?: string
  /** BCP 47, where the data set is in one language. */
  readonly lang?: string
  readonly label: string
}

const risk = z.enum(['0', '1']).transform((voted) => (voted === '1' ? 'harmful' : 'unharmful'))
const flag = z.union([z.literal(0), z.literal(1)]).nullish()
const flags = z.object({ S: flag, H: flag, V: flag, HR: flag, SH: flag, S3: flag, H2: flag, V2: flag })

/** By format: how a line is read. */
const SAMPLES: Record<LabelledFormat, z.ZodType<Sample>> = {
  hatecheck: z
    .object({ case_id: z.string().min(1), test_case: z.string(), label_gold: z.enum(['hateful', 'non-hateful']) })
    .transform((row) => ({ id: row.case_id, text: row.test_case, lang: 'en', label: row.label_gold })),
  'openai-moderation': flags.extend({ prompt: z.string() }).transform(({ prompt, ...given }) => {
    const raised = flags.keyof().options.filter((name) => given[name] === 1)
    return { text: prompt, label: raised.join(',') || 'none' }
  }),
  kodoli: z
    .object({ text: z.string(), label: z.enum(['NOT', 'LIKELY', 'OFFEN']) })
    .transform((row) => ({ ...row, lang: 'ko' })),
  'airbench-text': z
    .object({ input: z.string(), label: z.enum(['harmful', 'unharmful']) })
    .transform(({ input, label }) => ({ text: input, label })),
  // What stands beside the image is left out: only the image was voted on.
  'airbench-image': z
    .object({ description: z.string(), voted_img_risk: risk })
    .transform((row) => ({ text: '', image: row.description, label: row.voted_img_risk })),
  'airbench-both': z
    .object({ text: z.string(), description: z.string(), voted_risk: risk })
    .transform((row) => ({ text: row.text, image: row.description, label: row.voted_risk })),
}

async function* samples(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<{ line: number; id: string; sample: Sample }> {
  const met = new Map<string, number>()
  for await (const { line, json } of jsonLines(file, bad)) {
    const read = SAMPLES[format].safeParse(json)
    if (!read.success) bad({ line, why: `is no sample of ${format}` })
    else if (wordsOf(read.data).trim() === '') bad({ line, why: 'is empty' })
    else yield { line, id: read.data.id ?? idByContent(format, read.data, met), sample: read.data }
  }
}

function wordsOf({ text, image }: Sample): string {
  const seen = image === undefined || image.trim() === '' ? [] : [`[image: ${image}]`]
  return [...(text === '' ? [] : [text]), ...seen].join('\n')
}

/** The data sets say nothing of time: their posts stand a second apart from here on. */
const FIRST_POST = Date.UTC(2024, 0, 1)

/** A labelled data set's texts as posts, a second apart. */
export async function* samplePosts(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<FileMessage> {
  for await (const { line, id, sample } of samples(file, format, bad)) {
    const { text, image, lang } = sample
    const post = message('post', id, line, FIRST_POST + line * 1000, {
      id,
      ...(text === '' ? {} : { text }),
      ...(lang === undefined ? {} : { lang }),
      ...(image === undefined ? {} : { media: [{ kind: 'image', alt: image }] }),
    })
    yield image === undefined ? post : { ...post, descriptions: [image] }
  }
}

/** The same in every run. A text that stands in the file again is a post of its own, and numbered. */
function idByContent(format: LabelledFormat, sample: Sample, met: Map<string, number>): string {
  const hash = createHash('sha256').update(wordsOf(sample)).digest('hex').slice(0, 16)
  const times = (met.get(hash) ?? 0) + 1
  met.set(hash, times)
  return times === 1 ? `${format}-${hash}` : `${format}-${hash}-${times}`
}
