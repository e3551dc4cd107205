import { createHash } from 'node:crypto'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { normalized } from '../contracts/facts/normalized.ts'
import { type BadLine, UNDATED } from './file-message.ts'
import { type FileRecord, recordsOf } from './file-records.ts'
import { type OwnImage, withOwnImage } from './own-images.ts'
import { type FileReading, numberedLines } from './text-lines.ts'

/** How people's own files are read: what their fields are called, and what their labels mean. */
export interface OwnReading extends FileReading {
  /** Which field, or column, is the id, which the text, and which the label: `id`, `text` and `label`. */
  readonly idField?: string
  readonly textField?: string
  readonly labelField?: string
  /** Of replies: which is the hate speech that they answer, by default `hateSpeech`. */
  readonly hateSpeechField?: string
  /** Each line that holds something is the text of a post, whatever it looks like. */
  readonly plainText?: boolean
}

/** How ratings of replies to hate speech are published: Gavel's own way, or CSEval's columns. */
export const OWN_FORMATS = ['gavel', 'cseval'] as const
export type OwnFormat = (typeof OWN_FORMATS)[number]

/** What a label or a rating is that nobody gave, as tables write it. */
export const IS_MISSING = /^(|nan|na|n\/a|null)$/i

type Fields = Readonly<Record<string, unknown>>

/** An item as a message, and the image that its own columns name. */
interface OwnRow extends FileRecord {
  readonly json: Fields
  readonly image?: OwnImage
}

/**
 * The items of somebody's own file as messages of the topics, with what people said beside them. An item without a `type` is a reply to
 * hate speech where it has both, a comment where it has a postId, else a post, also with an image or its description; without an id it is called by its text, and without
 * a time it stands a second after the line before. Lines that are no objects, or may be either of two, are reported to `bad`.
 */
export async function* ownRows(
  file: string,
  format: OwnFormat,
  { idField, textField = 'text', labelField = 'label', hateSpeechField, plainText = false, ...reading }: OwnReading,
  bad: (line: BadLine) => void,
): AsyncGenerator<OwnRow> {
  if (plainText) {
    yield* plainPosts(file, reading, bad)
    return
  }
  const columns =
    format === 'cseval'
      ? CSEVAL
      : {
          needed: [textField, ...[idField ?? [], hateSpeechField ?? []].flat()],
          known: [labelField, 'language', ...KEPT],
          hint: 'Name the text with --text-field; "gavel judge --text" takes each line for a post. A public data set needs --format.',
          unless: ['type', 'image', 'description'],
        }
  const names = [
    [idField ?? 'id', 'id'],
    [textField, 'text'],
    [labelField, 'label'],
    [hateSpeechField ?? 'hateSpeech', 'hateSpeech'],
  ] as const
  const met = new Map<string, number>()
  let [isReported, isImageReported] = [false, false]
  for await (const { line, json, isRow } of recordsOf(file, reading, columns, bad)) {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      bad({ line, why: 'is no JSON object' })
      continue
    }
    const named = format === 'cseval' ? ofCseval(json as Fields) : withLanguage(renamed(json as Fields, names))
    const own = isRow === true && format !== 'cseval' ? ofTable(named) : named
    const isReply = own.hateSpeech !== undefined || own.postId !== undefined
    const { fields, own: image } = format === 'cseval' || isReply ? { fields: own } : withOwnImage(own)
    const unclear = ambiguous(fields)
    if (unclear !== undefined) {
      bad({ line, why: unclear })
      continue
    }
    if (!isReported && typeIn(fields) === 'comment') {
      isReported = true
      bad({ line, why: 'has no "type": lines with a postId count as comments, here and below', read: true })
    }
    if (!isImageReported && image?.description !== undefined) {
      isImageReported = true
      bad({ line, why: 'has a "description": taken as what its image shows, here and below', read: true })
    }
    const about = { ...(isRow === true ? { isRow } : {}), ...(image === undefined ? {} : { image }) }
    yield { line, json: asMessage(fields, line, met), ...about }
  }
}

/** A post for each line, called by the line's number. */
async function* plainPosts(file: string, reading: FileReading, bad: (line: BadLine) => void): AsyncGenerator<OwnRow> {
  for await (const { line, text } of numberedLines(file, reading, bad))
    yield { line, json: asMessage({ id: `line-${line}`, text: text.trim() }, line, new Map()) }
}

/** The item with the fields called as Gavel calls them. */
function renamed(fields: Fields, names: readonly (readonly [theirs: string, ours: string])[]): Fields {
  const taken = new Set(names.flat())
  const left = Object.entries(fields).filter(([name]) => !taken.has(name))
  const named = names.flatMap(([theirs, ours]) => {
    const value = entryOf(fields, theirs)
    return value === undefined ? [] : [[ours, value]]
  })
  return Object.fromEntries([...left, ...named])
}

/** A field `language` that holds a tag is what people mean by `lang`, where that is absent. */
function withLanguage(fields: Fields): Fields {
  const { lang = '', language } = fields
  const isTag = typeof language === 'string' && /^[a-z]{2,3}([-_]|$)/i.test(language)
  return lang === '' && isTag ? { ...fields, lang: language } : fields
}

const KEPT = [
  ...['type', 'id', 'postId', 'text', 'hateSpeech', 'reference', 'label', 'lang'],
  ...['author', 'unit', 'split', 'createdAt', 'image', 'description'],
]

/** A table's row: what Gavel knows of it, and every column that holds numbers as a rating of that name. */
function ofTable(row: Fields): Fields {
  const kept = Object.entries(row).filter(([name, value]) => KEPT.includes(name) && value !== '')
  if (row.hateSpeech === undefined) return Object.fromEntries(kept)
  const rated = Object.entries(row).filter(([name]) => !KEPT.includes(name))
  const ratings = rated.map(([name, value]) => [name, numberIn(value)])
  return { ...Object.fromEntries(kept), ratings: Object.fromEntries(ratings) }
}

/** Null where it is none. */
function numberIn(value: unknown): number | null {
  const text = String(value ?? '').trim()
  const number = text === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : null
}

const CSEVAL = {
  needed: ['uuid', 'hatespeech', 'predicted_counterspeech'],
  hint: 'See cseval in docs/data-sets.md.',
}
const CSEVAL_ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const

function ofCseval(row: Fields): Fields {
  const ratings = CSEVAL_ASPECTS.map((aspect) => [aspect, numberIn(entryOf(row, `${aspect}_score`))])
  const said = (value: unknown) => typeof value === 'string' && !IS_MISSING.test(value.trim())
  return {
    // Some rows have none: they are called by their text.
    ...(said(row.uuid) ? { id: row.uuid } : {}),
    hateSpeech: row.hatespeech,
    ...(said(row.split) ? { split: row.split } : {}),
    text: row.predicted_counterspeech,
    ...(said(row.counterspeech) ? { reference: row.counterspeech } : {}),
    ratings: Object.fromEntries(ratings),
    ...(typeof row.csType === 'string' && row.csType !== '' ? { slices: { strategy: row.csType } } : {}),
  }
}

function asMessage(fields: Fields, line: number, met: Map<string, number>): Fields {
  const { hateSpeech, text, media } = fields
  const type = typeIn(fields)
  if (type === undefined) return fields
  if (type === 'feedback') return { type, ...fields }
  // Parquet and JSON have numbers for ids.
  const ids = Object.entries(fields).filter(([name, id]) => IDS.includes(name) && typeof id === 'number')
  const words = typeof text === 'string' ? text : JSON.stringify(media ?? null)
  const id = fields.id ?? idOf(type === 'counterspeech' ? JSON.stringify([hateSpeech, words]) : words, met)
  const createdAt = new Date(UNDATED + line * 1000).toISOString()
  return { type, createdAt, ...fields, id, ...Object.fromEntries(ids.map(([name, own]) => [name, String(own)])) }
}
const IDS: readonly string[] = ['id', 'postId', 'parentId']

/**
 * The type of an item without a `type`, by its fields; undefined where it has one (it is a message then, and needs all that a
 * message has), or has nothing to go by.
 */
function typeIn(fields: Fields): 'post' | 'comment' | 'counterspeech' | 'feedback' | undefined {
  const { type, text, media, hateSpeech, postId, subjectId, deleted } = fields
  if (type !== undefined) return undefined
  if (subjectId !== undefined && text === undefined) return 'feedback'
  if (typeof text !== 'string' && !Array.isArray(media) && deleted !== true) return undefined
  if (typeof hateSpeech === 'string') return 'counterspeech'
  return postId === undefined ? 'post' : 'comment'
}

/** Why an item without a `type` may be either of two; undefined where it is clear. */
function ambiguous({ type, text, hateSpeech, parentId, subjectId }: Fields): string | undefined {
  if (type !== undefined) return undefined
  if (hateSpeech !== undefined && parentId !== undefined)
    return 'may be a comment (it has parentId) or a reply to hate speech (it has hateSpeech): set "type"'
  if (subjectId !== undefined && text !== undefined)
    return 'may be feedback (it has subjectId) or a post (it has a text): set "type"'
  return undefined
}

/** The same in every run. A text that stands in the file again is an item of its own, and numbered. */
function idOf(text: string, met: Map<string, number>): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const times = (met.get(hash) ?? 0) + 1
  met.set(hash, times)
  return times === 1 ? `text-${hash}` : `text-${hash}-${times}`
}

/** Equal for texts that differ in case, white space and form alone. */
export function textKeyOf(text: string): string {
  return normalized(text, 'NFKC').toLowerCase().replace(/\s+/gu, ' ').trim()
}
