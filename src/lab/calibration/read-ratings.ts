import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { CalibratedAspect } from '../../contracts/facts/calibration.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { BadLine } from '../../data-files/file-message.ts'
import { type OwnFormat, type OwnReading, ownRows } from '../../data-files/own-rows.ts'
import { krippendorffAlpha } from '../evaluation/statistics/agreement.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import type { RatedItem } from './rated-item.ts'

const ratedLine = z.object({
  id: z.union([z.string(), z.number()]).transform(String).optional(),
  hateSpeech: z.string().regex(/\S/),
  text: z.string().regex(/\S/),
  unit: z.string().nullish(),
  split: z.union([z.string(), z.number()]).transform(String).nullish(),
  ratings: z.record(z.string(), z.unknown()),
})
/** One rater's number, or several raters'. */
const oneRating = z.union([z.number(), z.null()])
const rating = z.union([oneRating.transform((one) => [one]), z.array(oneRating)])

/** Which ratings of a file are read: those of one split, and of those so many at random. */
interface RatingsChoice {
  readonly split?: string
  readonly size?: number
  readonly seed?: string
}

export interface RatingsReading extends OwnReading {
  readonly format?: OwnFormat
  readonly only?: RatingsChoice
}

/** Ratings of one aspect, and what is known of them as a whole. */
export interface Ratings {
  readonly items: readonly RatedItem[]
  /** Lines without a rating of the aspect, and the aspects that they rate. */
  readonly unrated: number
  readonly others: readonly string[]
  /** Ratings that were missing, or outside the scale; they were left out. */
  readonly leftOut: number
  /** Krippendorff's alpha (ordinal) of the raters; null where nobody was rated twice, all are alike, or values are very many. */
  readonly alpha: number | null
  /** SHA-256 of what was rated and how, in 16 hex digits, whatever the file's order. */
  readonly digest: string
}

/**
 * Reads ratings: `hateSpeech`, the reply's `text`, and `ratings` with one or several numbers for the aspect, or a column of its name; as
 * `gavel eval` reads them. Lines without the aspect are counted, and so are ratings that are missing or outside the scale; lines that
 * can't be read are reported to `bad`. Throws an `OperatorError` at an id that is rated twice, and where nothing is rated.
 */
export async function readRatings(
  file: string,
  aspect: CalibratedAspect,
  bad: (line: BadLine) => void,
  { format = 'gavel', only = {}, ...reading }: RatingsReading = {},
): Promise<Ratings> {
  const items = new Map<string, RatedItem>()
  let [unrated, leftOut] = [0, 0]
  const others = new Map<string, number>()
  const splits = new Set<string>()
  for await (const { line, json } of ownRows(file, format, reading, bad)) {
    const read = ratedLine.safeParse(json)
    if (!read.success) {
      bad({ line, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'ratings')}` })
      continue
    }
    const { hateSpeech, text, unit, ratings } = read.data
    if (only.split !== undefined && read.data.split !== only.split) {
      splits.add(read.data.split ?? 'none')
      continue
    }
    const said = entryOf(ratings, aspect.name)
    if (said === undefined) {
      for (const name of Object.keys(ratings)) others.set(name, (others.get(name) ?? 0) + 1)
      unrated++
      continue
    }
    const { success, data: all = [] } = rating.safeParse(said)
    if (!success) {
      bad({ line, why: `has no readable rating of ${aspect.name}` })
      continue
    }
    const given = all.filter((one) => one !== null && one >= aspect.lowest && one <= aspect.highest) as number[]
    leftOut += all.length - given.length
    if (given.length === 0) continue
    const id = read.data.id ?? `line ${line}`
    if (items.has(id))
      throw new OperatorError(`${file}:${line} rates ${id} a second time. Put all raters of a reply into one line.`)
    const mean = given.reduce((sum, one) => sum + one, 0) / given.length
    const item = {
      id,
      unit: unit ?? hateSpeech.trim().toLowerCase(),
      hateSpeech,
      counterspeech: text,
      ratings: given,
      rating: mean,
    }
    items.set(id, item)
  }
  if (items.size === 0 && leftOut > 0)
    throw new OperatorError(
      `${file} has no rating of ${aspect.name} on its scale, ${aspect.lowest} to ${aspect.highest}: all ${leftOut} are missing or outside it.`,
    )
  if (items.size === 0 && unrated === 0 && splits.size > 0)
    throw new OperatorError(
      `${file} has no rating in the split ${only.split}; its splits are ${[...splits].slice(0, MOST_SPLITS).join(', ')}.`,
    )
  const rated = [...others.keys()].sort().join(', ') || 'nothing'
  if (items.size === 0) throw new OperatorError(`${file} has no rating of ${aspect.name}; it rates ${rated}.`)
  const all = joined(drawn([...items.values()], only))
  const values = new Set(all.flatMap(({ ratings }) => ratings))
  return {
    items: all,
    unrated,
    leftOut,
    others: [...others.keys()].sort(),
    alpha:
      values.size > MOST_VALUES
        ? null
        : krippendorffAlpha(
            all.map(({ ratings }) => ratings),
            'ordinal',
          ),
    digest: digestOf(all),
  }
}

/** This many ratings at random by the seed, of all; each seed has its own. Throws an `OperatorError` where there are fewer. */
function drawn(items: readonly RatedItem[], { size, seed = '1' }: RatingsChoice): readonly RatedItem[] {
  if (size === undefined || size === items.length) return items
  if (size > items.length) throw new OperatorError(`--size ${size} is more than the ${items.length} ratings.`)
  return seededRandom(`ratings ${seed}`)
    .shuffled(items.toSorted((one, other) => (one.id < other.id ? -1 : 1)))
    .slice(0, size)
}

/** Splits that an error names. */
const MOST_SPLITS = 5

/** Alpha compares every value with every other: of more than this, as a fine slider has, it is left out. */
const MOST_VALUES = 200

/** Items of one unit or of one statement are of one unit, whatever else they are called: no statement is in two parts. */
function joined(items: readonly RatedItem[]): RatedItem[] {
  const parents = new Map<string, string>()
  const rootOf = (name: string): string => {
    let root = name
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next
    if (root !== name) parents.set(name, root)
    return root
  }
  const statement = ({ hateSpeech }: RatedItem) => `statement ${hateSpeech.toLowerCase().replace(/\s+/g, ' ').trim()}`
  for (const item of items) {
    const [one, other] = [rootOf(`unit ${item.unit}`), rootOf(statement(item))]
    if (one !== other) parents.set(other, one)
  }
  return items.map((item) => ({ ...item, unit: rootOf(`unit ${item.unit}`).replace(/^(unit|statement) /, '') }))
}

function digestOf(items: readonly RatedItem[]): string {
  const lines = items
    .map(({ hateSpeech, counterspeech, ratings }) => JSON.stringify([hateSpeech, counterspeech, ratings]))
    .sort()
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16)
}
