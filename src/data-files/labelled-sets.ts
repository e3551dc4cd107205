import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type BadLine, type FileMessage, message, UNDATED } from './file-message.ts'
import { recordsOf } from './file-records.ts'
import { kHaters, kMhas, kold, unsmile } from './korean-sets.ts'
import type { FileReading } from './text-lines.ts'
import type { TextSample } from './text-sample.ts'
import { tsvRows } from './tsv-rows.ts'

/** Public data sets of single texts, each with a label that people gave it. */
export const LABELLED_FORMATS = [
  'hatecheck',
  'openai-moderation',
  'kodoli',
  'unsmile',
  'k-mhas',
  'kold',
  'k-haters',
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
  /** Set if it has an image. */
  readonly hasMedia?: true
  /**
   * In the data set's own words; a vote of 1 or 0 is `harmful` or `unharmful`, no flag of openai-moderation `none`. Of several
   * classes of hate, `hate` (UnSmile) or `hate_speech` (K-MHaS).
   */
  readonly label: string
  /** What each annotator said, in the words of `label`, where the data set publishes it. */
  readonly annotations?: readonly string[] | undefined
  /** Categories for which people did not look, in the data set's own words: a missing flag in them means nothing. */
  readonly unlabelled: readonly string[]
  /** The groups by which results can be split: HateCheck's `functionality`, the `target`, the `language`. */
  readonly slices: Readonly<Record<string, string>>
}

/**
 * Texts of a labelled data set with their labels, in the file's order. Lines that are none are reported to `bad` and left out.
 * Throws an `OperatorError` if the file can't be read.
 */
export async function* labelledItems(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<LabelledItem> {
  for await (const { line, id, sample } of samples(file, format, bad, reading))
    yield {
      line,
      id,
      text: wordsOf(sample),
      ...(sample.image === undefined ? {} : { hasMedia: true as const }),
      label: sample.label,
      unlabelled: sample.unlabelled ?? [],
      annotations: sample.annotations,
      slices: { ...sample.slices, ...(sample.lang === undefined ? {} : { language: sample.lang }) },
    }
}

const risk = z
  .union([z.string(), z.number()])
  .pipe(z.transform(String))
  .pipe(z.enum(['0', '1']))
  .transform((voted) => (voted === '1' ? 'harmful' : 'unharmful'))
/** A table has it as text, and nothing where nobody looked. */
const flag = z.preprocess(
  (given) => (typeof given !== 'string' ? given : given.trim() === '' ? null : Number(given)),
  z.union([z.literal(0), z.literal(1)]).nullish(),
)
const flags = z.object({ S: flag, H: flag, V: flag, HR: flag, SH: flag, S3: flag, H2: flag, V2: flag })

/** By format: how a line, or an element of a list, is read. */
const SAMPLES: Record<LabelledFormat, z.ZodType<TextSample>> = {
  hatecheck: z
    .object({
      case_id: z.union([z.string().min(1), z.number().transform(String)]),
      test_case: z.string(),
      label_gold: z.enum(['hateful', 'non-hateful']),
      functionality: z.string().nullish(),
      target_ident: z.string().nullish(),
    })
    .transform(({ case_id, test_case, label_gold, functionality, target_ident }) => ({
      id: case_id,
      text: test_case,
      lang: 'en',
      label: label_gold,
      slices: {
        ...(functionality ? { functionality } : {}),
        ...(target_ident ? { target: target_ident } : {}),
      },
    })),
  'openai-moderation': flags.extend({ prompt: z.string() }).transform(({ prompt, ...given }) => {
    const names = flags.keyof().options
    const raised = names.filter((name) => given[name] === 1)
    return { text: prompt, label: raised.join(',') || 'none', unlabelled: names.filter((name) => given[name] == null) }
  }),
  kodoli: z
    .object({ text: z.string(), label: z.enum(['NOT', 'LIKELY', 'OFFEN']) })
    .transform((row) => ({ ...row, lang: 'ko' })),
  unsmile,
  'k-mhas': kMhas,
  kold,
  'k-haters': kHaters,
  'airbench-text': z
    .object({ input: z.string(), label: z.enum(['harmful', 'unharmful']) })
    .transform(({ input, label }) => ({ text: input, label })),
  // What stands beside the image is left out: only the image was voted on. The authors' raw cases have no vote, and their
  // library has the risk of the image as the label.
  'airbench-image': z
    .union([
      z.object({ description: z.string(), voted_img_risk: risk }),
      z
        .object({ description: z.string(), img_risk: risk, voted_img_risk: z.undefined().optional() })
        .transform(({ description, img_risk }) => ({ description, voted_img_risk: img_risk })),
    ])
    .transform((row) => ({ text: '', image: row.description, label: row.voted_img_risk })),
  'airbench-both': z
    .object({ text: z.string(), description: z.string(), voted_risk: risk })
    .transform((row) => ({ text: row.text, image: row.description, label: row.voted_risk })),
}

type Rows = (
  file: string,
  bad: (line: BadLine) => void,
  reading: FileReading,
) => AsyncGenerator<{ line: number; json: unknown }>

/** By format: how the file holds its samples, if quotation marks in it are not CSV's. */
const ROWS: Partial<Record<LabelledFormat, Rows>> = {
  unsmile: (file, bad, reading) => tsvRows(file, { columns: [['문장'], ['clean']], quotes: 'doubled' }, bad, reading),
  'k-mhas': (file, bad, reading) =>
    tsvRows(
      file,
      {
        columns: [
          ['document', 'text'],
          ['label', 'nothatespeech'],
        ],
        quotes: 'none',
      },
      bad,
      reading,
    ),
}

/** By format: the columns without which a table is none of the data set. */
const COLUMNS: Record<Exclude<LabelledFormat, 'unsmile' | 'k-mhas'>, readonly string[]> = {
  hatecheck: ['case_id', 'test_case', 'label_gold'],
  'openai-moderation': ['prompt', 'H'],
  kodoli: ['text', 'label'],
  kold: ['guid', 'comment', 'OFF'],
  'k-haters': ['text', 'label'],
  'airbench-text': ['input', 'label'],
  'airbench-image': ['description', 'voted_img_risk'],
  'airbench-both': ['text', 'description', 'voted_risk'],
}

function rowsOf(file: string, format: LabelledFormat, bad: (line: BadLine) => void, reading: FileReading) {
  const own = ROWS[format]
  if (own !== undefined) return own(file, bad, reading)
  const needed = format === 'unsmile' || format === 'k-mhas' ? [] : COLUMNS[format]
  return recordsOf(file, reading, { needed, hint: `See ${format} in docs/data-sets.md.` }, bad)
}

async function* samples(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<{ line: number; id: string; sample: TextSample }> {
  const met = new Map<string, number>()
  for await (const { line, json } of rowsOf(file, format, bad, reading)) {
    const read = SAMPLES[format].safeParse(json)
    if (!read.success) bad({ line, why: `is no sample of ${format}` })
    else if (wordsOf(read.data).trim() === '') bad({ line, why: 'is empty' })
    else yield { line, id: read.data.id ?? idByContent(format, read.data, met), sample: read.data }
  }
}

function wordsOf({ text, image }: TextSample): string {
  const seen = image === undefined || image.trim() === '' ? [] : [`[image: ${image}]`]
  return [...(text === '' ? [] : [text]), ...seen].join('\n')
}

/** A labelled data set's texts as posts, a second apart: the data sets say nothing of time. */
export async function* samplePosts(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<FileMessage> {
  for await (const { line, id, sample } of samples(file, format, bad, reading)) {
    const { text, image, lang } = sample
    const post = message('post', id, line, UNDATED + line * 1000, {
      id,
      ...(text === '' ? {} : { text }),
      ...(lang === undefined ? {} : { lang }),
      ...(image === undefined ? {} : { media: [{ kind: 'image', alt: image }] }),
    })
    yield image === undefined ? post : { ...post, descriptions: [image] }
  }
}

/** The same in every run. A text that stands in the file again is a post of its own, and numbered. */
function idByContent(format: LabelledFormat, sample: TextSample, met: Map<string, number>): string {
  const hash = createHash('sha256').update(wordsOf(sample)).digest('hex').slice(0, 16)
  const times = (met.get(hash) ?? 0) + 1
  met.set(hash, times)
  return times === 1 ? `${format}-${hash}` : `${format}-${hash}-${times}`
}
