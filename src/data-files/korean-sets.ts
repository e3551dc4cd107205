import { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { TextSample } from './text-sample.ts'

// The Korean data sets of PREDICT (section 4.1.1) beside KODOLI, in the forms in which they are published. Their labels are
// spelt as in `config/perspectives/`. `docs/data-sets.md` names the documentation of each form.

type Row = Readonly<Record<string, string>>

/** A row of tab-separated values; null is none of the data set. */
function row(read: (row: Row) => TextSample | null): z.ZodType<TextSample> {
  return z.record(z.string(), z.string()).transform((fields, context) => {
    const sample = read(fields)
    if (sample !== null) return sample
    context.addIssue('is no row of the data set')
    return z.NEVER
  })
}

/** The one-hot columns that are 1; null where one of them is missing, or neither 0 nor 1. */
function raisedOf(fields: Row, columns: readonly string[]): string[] | null {
  if (columns.some((name) => entryOf(fields, name) !== '0' && entryOf(fields, name) !== '1')) return null
  return columns.filter((name) => entryOf(fields, name) === '1')
}

/** Whom it is about, as a slice. */
function target(groups: readonly string[]): Readonly<Record<string, string>> {
  const [group] = groups
  return group === undefined ? {} : { target: groups.length === 1 ? group : 'several' }
}

const UNSMILE_HATE = ['여성/가족', '남성', '성소수자', '인종/국적', '연령', '지역', '종교', '기타혐오']
const PROFANITY = '악플/욕설'

/** UnSmile: `hate` where any group is hated, else `악플/욕설` (profanity) or `clean`. */
export const unsmile = row((fields) => {
  const groups = raisedOf(fields, UNSMILE_HATE)
  const others = raisedOf(fields, [PROFANITY, 'clean'])
  if (fields.문장 === undefined || groups === null || others === null) return null
  const label = groups.length > 0 ? 'hate' : others[0]
  const isContradiction = others.includes('clean') && (groups.length > 0 || others.length > 1)
  if (label === undefined || isContradiction) return null
  return { text: fields.문장, lang: 'ko', label, slices: target(groups) }
})

const NOT_HATE_SPEECH = 'nothatespeech'
/** In the order of their numbers. */
const K_MHAS = [
  'origin',
  'physical',
  'politics',
  'profanity',
  'age',
  'gender',
  'race',
  'religion',
  NOT_HATE_SPEECH,
] as const

/** K-MHaS: `hate_speech` or `not_hate_speech`; from the numbers of its classes, or a column for each of them. */
export const kMhas = row((fields) => {
  const text = fields.document ?? fields.text
  const classes = fields.label === undefined ? raisedOf(fields, K_MHAS) : classesOf(fields.label)
  if (text === undefined || classes === null || classes.length === 0) return null
  const isHate = !classes.includes(NOT_HATE_SPEECH)
  if (!isHate && classes.length > 1) return null
  const groups = classes.filter((name) => name !== NOT_HATE_SPEECH && name !== 'profanity')
  return { text, lang: 'ko', label: isHate ? 'hate_speech' : 'not_hate_speech', slices: target(groups) }
})

/** `2,3`: politics and profanity. */
function classesOf(numbers: string): string[] | null {
  const given = numbers.split(',').map((number) => number.trim())
  if (given.some((number) => !/^[0-8]$/.test(number))) return null
  return given.flatMap((number) => K_MHAS[Number(number)] ?? [])
}

/** A table has it as text. */
const offensive = z
  .union([z.boolean(), z.enum(['True', 'true', 'False', 'false']).transform((said) => said.toLowerCase() === 'true')])
  .transform((is) => (is ? 'OFF' : 'NOT'))

/** A list; in a table it is a text that is not read. */
function unlessText<List extends z.ZodType>(list: List) {
  return z.preprocess((given) => (typeof given === 'string' ? undefined : given), list)
}

/** KOLD: `OFF` or `NOT`, and what each annotator said. The title above the comment is left out. */
export const kold = z
  .object({
    guid: z.string().min(1),
    comment: z.string(),
    OFF: offensive,
    GRP: z.string().nullish(),
    raw_labels: unlessText(z.array(z.object({ offensiveness: offensive })).nullish()),
  })
  .transform(
    ({ guid, comment, OFF, GRP, raw_labels }): TextSample => ({
      id: guid,
      text: comment,
      lang: 'ko',
      label: OFF,
      ...(raw_labels ? { annotations: raw_labels.map(({ offensiveness }) => offensiveness) } : {}),
      slices: target(GRP ? GRP.split('&').map((group) => group.trim()) : []),
    }),
  )

/** The names of the last two differ between the data set's two pages. */
const K_HATERS = {
  normal: 'normal',
  offensive: 'offensive',
  L1_hate: 'L1_hate',
  L2_hate: 'L2_hate',
  '1_hate': 'L1_hate',
  '2_hate': 'L2_hate',
} as const

/** K-HATERS: `normal`, `offensive`, `L1_hate` (implicit) or `L2_hate` (explicit). */
export const kHaters = z
  .object({
    text: z.string(),
    label: z.enum(Object.keys(K_HATERS) as (keyof typeof K_HATERS)[]),
    target_label: unlessText(z.array(z.string()).nullish()),
  })
  .transform(
    ({ text, label, target_label }): TextSample => ({
      text,
      lang: 'ko',
      label: K_HATERS[label],
      slices: target(target_label ?? []),
    }),
  )
