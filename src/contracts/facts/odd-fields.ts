import { hash } from 'node:crypto'
import { z } from 'zod'
import { visibleName } from './author.ts'
import { entryOf } from './entry-of.ts'

/** The kinds of media that are no images. */
export const CLIP_KINDS = ['video', 'audio'] as const

/** An optional field of a message that was not what it should be: it was left out, or read in the way that `why` describes. */
export const oddField = z.object({
  /** Its path: `author`, `media.2.url`. */
  field: z.string(),
  why: z.string(),
})
export type OddField = z.infer<typeof oddField>

/** Most odd fields of one message that are named; more are counted in the last one. */
const MOST_NAMED = 20

/** Why a field that nobody knows is odd. What it is called says nothing: no label depends on it. */
const UNKNOWN = 'an unknown field, its words were not read'

/** The words and media of a message: if one of these was left out, part of its content was not seen. */
export function isContent({ field, why }: OddField): boolean {
  return why !== UNKNOWN && /^(text|hateSpeech|media)(\.|$)/.test(field) && !/\.(sha256|pdq|seconds|at)$/.test(field)
}

/** The words alone, an author's words about an image, and what is said and shown in a clip among them. */
export function isWords({ field, why }: OddField): boolean {
  return why !== UNKNOWN && /^(text|hateSpeech)$|\.(alt|transcript|frames)$/.test(field)
}

/** Fields by names that our own schemas have, never by names of the message. */
export type SchemaFields = { [name: string]: unknown }

/** Odd fields in words, for `degraded`. */
export function describeOddFields(odd: readonly OddField[] = []): string[] {
  return odd.map(({ field, why }) => `${field}: ${why}`)
}

/** Reads one field. Undefined is an absent field; `odd` names what was left out. Linear in the field's size. */
export type ReadField = (given: unknown, odd: (why: string, at?: string) => void) => unknown

/**
 * Reads the optional fields of a message: null is absent, what is odd is left out, and the message's `odd` names it.
 * Other fields are kept as they are. `unread`: other fields that hold words, which `odd` names as well.
 * A value that is no object is returned as it is.
 */
export function readOptional(
  value: unknown,
  fields: Readonly<Record<string, ReadField>>,
  unread: readonly string[] = [],
): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const given = value as Record<string, unknown>
  const odd: OddField[] = []
  const read: SchemaFields = {
    ...given,
    tenant: given.tenant ?? undefined,
    postId: given.postId ?? undefined,
    subjectKind: given.subjectKind ?? undefined,
    odd: undefined,
  }
  for (const [field, readField] of Object.entries(fields)) {
    const one = entryOf(given, field) ?? undefined
    const note = (why: string, at?: string) => odd.push({ field: at === undefined ? field : `${field}.${at}`, why })
    read[field] = one === undefined ? undefined : readField(one, note)
  }
  for (const field of unread) odd.push({ field, why: UNKNOWN })
  if (odd.length > 0) read.odd = bounded(odd)
  return read
}

/** Most entries of a list in a message that is taken whole. */
export const MOST_LISTED = 300

/**
 * A message that is taken whole: of its fields those that are not null. Of a list that is longer than any may be one entry too many is
 * left, by which it is refused: each of thousands would have to be looked at before.
 */
export function present(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const given = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return Object.fromEntries(
    given.map(([name, field]) => [name, Array.isArray(field) ? field.slice(0, MOST_LISTED + 1) : field]),
  )
}

/** At most so many of them as are named; words come first, since on them depends what the rest may be called. */
export function bounded(odd: readonly OddField[]): OddField[] {
  if (odd.length <= MOST_NAMED) return [...odd]
  const rank = (one: OddField) => (isWords(one) ? 0 : isContent(one) ? 1 : 2)
  const [next, ...rest] = odd.toSorted((a, b) => rank(a) - rank(b)).slice(MOST_NAMED - 1)
  const named = odd.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_NAMED - 1)
  return next === undefined ? named : [...named, { ...next, why: `${next.why}; and ${rest.length} more` }]
}

/** Longest author that stands for itself, in bytes: a thread keeps one for each of its comments. */
export const MAX_NAME_BYTES = 512

/** Where an author that is an object has its id; the first that is there counts. */
const IDS = ['id', 'did', 'uid', 'user_id', 'username', 'acct', 'handle', 'screen_name', 'name']

/**
 * Who wrote it. An author that is too long, or no text, is one author all the same: an object by its id, all else by the
 * hash of what was given. No limit of an author is lifted by an odd name, or by what is invisible in it. What holds nothing
 * names nobody.
 */
export const author: ReadField = (given, odd) => {
  if (typeof given === 'string') {
    const name = nameIn(given)
    if (name === '') return undefined
    if (isShort(name)) return name
    odd(`longer than ${MAX_NAME_BYTES} bytes, its hash stands for it`)
    return hashed(name)
  }
  if (typeof given === 'boolean' || (typeof given === 'object' && Object.keys(given ?? {}).length === 0)) {
    odd('not a text, left out')
    return undefined
  }
  // An account's other fields change from one comment to the next.
  const id = idIn(given)
  odd(`not a text, its ${id === undefined ? 'hash' : 'id'} stands for it`)
  if (id !== undefined && isShort(id)) return id
  return hashed(visibleName(JSON.stringify(id ?? given, inOrder)))
}

/** A name as it was given; of a longer one than stands for itself only what readers see of it. */
function nameIn(given: string): string {
  const name = given.toWellFormed()
  return isShort(name) ? name : visibleName(name)
}

function isShort(name: string): boolean {
  return Buffer.byteLength(name) <= MAX_NAME_BYTES
}

function idIn(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const known = given as Record<string, unknown>
  const id = IDS.map((field) => entryOf(known, field)).find(
    (one) => typeof one === 'number' || (typeof one === 'string' && one !== ''),
  )
  return id === undefined ? undefined : nameIn(String(id))
}

/** Writers of JSON differ in the order of an object's fields, and the same author may come in several. */
function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function hashed(name: string): string {
  return `sha256:${hash('sha256', name, 'hex').slice(0, 32)}`
}

/** Longest time that is written down, in characters: a second may have as many digits as somebody likes. */
const MAX_INSTANT_CHARS = 64

/** A time, ISO 8601. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine((text) => text.length <= MAX_INSTANT_CHARS, `longer than ${MAX_INSTANT_CHARS} characters`)
  .transform((text) => Date.parse(text))

export const since: ReadField = (given, odd) => {
  if (instant.safeParse(given).success) return given
  odd('not a time in ISO 8601, left out')
  return undefined
}

/** User text. JSON can contain a lone surrogate, which stores and models reject: it becomes U+FFFD. */
export const words: ReadField = (given, odd) => {
  if (typeof given === 'string') return given.toWellFormed()
  odd('not a text, left out')
  return undefined
}

/** A language tag (BCP 47), by its length alone. */
export const lang: ReadField = (given, odd) => {
  const tag = typeof given === 'string' ? given.toWellFormed() : null
  if (tag !== null && tag.length <= MAX_LANG_CHARS) return tag
  odd(tag === null ? 'not a text, left out' : `longer than ${MAX_LANG_CHARS} characters, left out`)
  return undefined
}

/** Longest language tag, in characters. */
export const MAX_LANG_CHARS = 35

/** An id by which others are meant; what can't be one is left out. */
export function optionalId(id: z.ZodType<string>): ReadField {
  return (given, odd) => {
    if (given === '') return undefined
    if (id.safeParse(given).success) return given
    odd('not an id, left out')
    return undefined
  }
}

/** Most entries of `media` that are read. */
export const MAX_MEDIA = 16

/** How much of something there is: so many viewers, or seconds. */
export const amount: ReadField = (given, odd) => {
  if (typeof given === 'number' && Number.isFinite(given) && given >= 0) return given
  odd('not a number from 0 on, left out')
  return undefined
}

/** The media of a post. An image whose URL can't be read stays without one: nobody can look at it. */
export const media: ReadField = (given, odd) => listOf(given, odd, mediumOf)

/** The entries of a list that can be read, of at most {@link MAX_MEDIA}. */
function listOf(given: unknown, odd: Parameters<ReadField>[1], read: ReadField): unknown {
  if (!Array.isArray(given)) {
    odd('not a list, left out')
    if (hasWords(given)) odd(WORDS_TOO, 'alt')
    return undefined
  }
  const entries = given.slice(0, MAX_MEDIA).flatMap((one: unknown, index) => {
    if (one === null) return []
    const entry = read(one, (why, at) => odd(why, at === undefined ? String(index) : `${index}.${at}`))
    return entry === undefined ? [] : [entry]
  })
  if (given.length > MAX_MEDIA) {
    odd(`${given.length - MAX_MEDIA} beyond the first ${MAX_MEDIA} left out`)
    if (given.slice(MAX_MEDIA).some(hasWords)) odd(WORDS_TOO, `${MAX_MEDIA}.alt`)
  }
  return entries.length === 0 ? undefined : entries
}

const mediumOf: ReadField = (given, odd) => {
  const kind = typeof given === 'object' && given !== null && 'kind' in given ? given.kind : undefined
  if (!isClip(kind)) return imageOf(given, odd)
  const clip = fieldsOf(given as Record<string, unknown>, odd, {
    transcript: words,
    frames,
    seconds: amount,
    alt: unread,
  })
  const { frames: pictures = [], seconds = Number.POSITIVE_INFINITY } = clip as Pick<Clip, 'frames' | 'seconds'> // as they were just read
  for (const [nth, { at = 0 }] of pictures.entries()) if (at > seconds) odd('after its end', `frames.${nth}.at`)
  return { kind, ...clip }
}

/** Words that no protocol reads. */
const unread: ReadField = (_, odd) => odd('words of a clip that are not what is said in it, not read')

/** What is told of the times of a clip. */
interface Clip {
  readonly frames?: readonly { readonly at?: number }[]
  readonly seconds?: number
}

const isClip = (kind: unknown) => CLIP_KINDS.some((one) => one === kind)

/** `fields`: others that it may have. */
const imageWith =
  (fields: Readonly<Record<string, ReadField>>): ReadField =>
  (given, odd) => {
    if (typeof given !== 'object' || given === null || !('kind' in given) || given.kind !== 'image') {
      odd('not an image, left out')
      if (hasWords(given)) odd(WORDS_TOO, 'alt')
      return undefined
    }
    const { url, alt } = given as Record<string, unknown>
    if (url === undefined && alt === undefined) odd('neither a url nor an alt text')
    return {
      kind: 'image',
      ...fieldsOf(given as Record<string, unknown>, odd, {
        ...fields,
        url: urlOf,
        alt: words,
        sha256: digest,
        pdq: digest,
      }),
    }
  }

/** The fields of an entry; null is absent. */
function fieldsOf(
  given: Readonly<Record<string, unknown>>,
  odd: Parameters<ReadField>[1],
  fields: Readonly<Record<string, ReadField>>,
): Readonly<Record<string, unknown>> {
  const read = Object.entries(fields).flatMap(([field, readField]) => {
    const one = entryOf(given, field) ?? undefined
    const value =
      one === undefined ? undefined : readField(one, (why, at) => odd(why, at === undefined ? field : `${field}.${at}`))
    return value === undefined ? [] : [[field, value]]
  })
  return Object.fromEntries(read)
}

const imageOf = imageWith({})
const frames: ReadField = (given, odd) => listOf(given, odd, imageWith({ at: amount }))

/** A hash of 256 bits, in hexadecimal digits. */
const digest: ReadField = (given, odd) => {
  if (typeof given === 'string' && /^[0-9a-f]{64}$/i.test(given)) return given.toLowerCase()
  odd('not 64 hexadecimal digits, left out')
  return undefined
}

/** What is left out as a whole may say something. */
const WORDS_TOO = 'words left out with it'

function hasWords(given: unknown): boolean {
  if (typeof given === 'string') return !/^([a-z]{2,10}:\/\/|data:)\S*$/i.test(given.trim()) && given.trim() !== ''
  if (typeof given !== 'object' || given === null) return false
  const { kind, alt, transcript } = given as Record<string, unknown>
  // Something is said in a clip, whether or not it was written down.
  if (isClip(kind)) return true
  if (alt !== undefined || transcript !== undefined)
    return [alt, transcript].some((text) => text != null && text !== '')
  // An entry of another kind holds no words. A value that is no entry at all may hold some.
  return typeof kind !== 'string'
}

/** Longest https address, in characters: each case has a copy of it, where the words of a data address are set aside. */
const LONGEST_ADDRESS = 8_192

const urlOf: ReadField = (given, odd) => {
  const isAddress = typeof given === 'string' && /^(https:\/\/|data:)/i.test(given)
  if (isAddress && (given.length <= LONGEST_ADDRESS || /^data:/i.test(given))) return given.toWellFormed()
  if (isAddress) {
    odd(`longer than ${LONGEST_ADDRESS} characters, left out`)
    return undefined
  }
  odd('neither an https: nor a data: URL, left out')
  return undefined
}
