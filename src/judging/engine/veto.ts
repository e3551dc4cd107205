import { hash } from 'node:crypto'
import type { CaseRecord } from '../../contracts/facts/case.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { type Medium, type Post, type Snapshot, snapshot } from '../../contracts/facts/thread.ts'
import { type Ruling, undecided } from '../../contracts/facts/verdict.ts'
import type { PictureHashes, UncheckedPicture, Vetoes, VetoFindings, VetoHit } from '../../contracts/ports/vetoes.ts'
import { IMAGE_GONE } from '../../models/image-cache.ts'
import type { Protocol } from './script.ts'

/**
 * Compares a case's subject with the lists. Null: it is not known yet, and the case is not late. The record that it came with: nothing is on a list, and
 * everything could be compared. Another record: the case restarts with that, before any model is asked.
 */
export async function vetoed(
  vetoes: Vetoes,
  record: CaseRecord,
  { mayFetch, isLate }: { readonly mayFetch: () => Promise<void>; readonly isLate: () => Promise<boolean> },
): Promise<CaseRecord | null> {
  const read = snapshot.safeParse(record.subject)
  if ([record.veto, record.outdated, record.unchecked].some((found) => found !== undefined) || !read.success)
    return record
  const subject = read.data
  const findings = await vetoes.check({
    ref: { tenant: record.tenant, postId: record.subjectId, kind: record.kind },
    caseId: record.id,
    post: subject.post,
    around: new Map([
      ...subject.comments.map(({ id, text }) => [id, text] as const),
      ...(subject.under === undefined || subject.under === null ? [] : [[UNDER, subject.under.text] as const]),
      ...(subject.elsewhere ?? []).map(({ id, text }) => [`${ELSEWHERE}${id}`, text] as const),
    ]),
    mayFetch,
  })
  // Nobody has compared it, so it is kept as hashes.
  if (findings === null)
    return (await isLate()) ? { ...record, subject: hashesOf(subject, { hashes: new Map() }), outdated: LATE } : null
  const { hit, unchecked, around } = findings
  if (hit !== null) return withheldCase(record, subject, hit, findings)
  if (unchecked.length + around.length === 0) return record
  // The next revision judges the post as it is now. What it was then nobody has compared, so it is kept as hashes too.
  if (unchecked.some(({ why }) => why === IMAGE_GONE))
    return { ...record, subject: hashesOf(subject, findings), outdated: IMAGE_GONE }
  const shown = withoutAround(subject, new Set(around))
  const pictures = unchecked.map(({ url, why, isClosed }) => ({
    why: `${placeOf(subject.post, url)}: ${NOT_COMPARED}: ${why}`,
    isClosed,
  }))
  const left =
    around.length === 0 ? [] : [{ why: `${around.length} texts beside it are on a list: left out`, isClosed: false }]
  const post = without(subject.post, unchecked)
  return { ...record, subject: { ...shown, post }, unchecked: [...left, ...pictures] }
}

/** What a verdict says of a picture that no model was shown, for it could not be compared. */
export const NOT_COMPARED = 'not compared with every list, and shown to no model'

const LATE = 'its deadline came before its pictures'

/** What names the words of the post that a comment stands under; no comment has an id with a line in it. */
const UNDER = '\n'
/** Before the name of a comment under another post that it is shown. */
const ELSEWHERE = '\n~'

/** The subject without the comments, also under other posts, and the words of the post above it, that are on a list: they reach no model either. */
function withoutAround({ elsewhere, ...subject }: Snapshot, named: ReadonlySet<string>): Snapshot {
  const shown = elsewhere?.filter(({ id }) => !named.has(`${ELSEWHERE}${id}`)) ?? []
  return {
    ...subject,
    comments: subject.comments.filter(({ id }) => !named.has(id)),
    ...(named.has(UNDER) ? { under: null } : {}),
    ...(shown.length === 0 ? {} : { elsewhere: shown }),
  }
}

/** Of what is on a list nothing is kept but hashes: neither for models, nor for people, nor for the next revision. */
function withheldCase(record: CaseRecord, subject: Snapshot, hit: VetoHit, findings: VetoFindings): CaseRecord {
  const { list, entry, labels } = hit
  const label = entryOf(labels, record.protocol) ?? null
  return { ...record, subject: hashesOf(subject, findings), carry: null, veto: { list, entry, label } }
}

function hashesOf(subject: Snapshot, { hashes }: Pick<VetoFindings, 'hashes'>): Snapshot {
  const { id, author, authorSince, lang, createdAt, hateSpeech, text, media, clips = [] } = subject.post
  const pictures = [...(media ?? []), ...clips.flatMap(({ frames = [] }) => frames)]
  const post: Post = {
    id,
    text: hashed(text),
    ...(author === undefined ? {} : { author }),
    ...(authorSince === undefined ? {} : { authorSince }),
    ...(lang === undefined ? {} : { lang }),
    createdAt,
    ...(hateSpeech === undefined ? {} : { hateSpeech: hashed(hateSpeech) }),
    ...(pictures.length === 0 ? {} : { media: pictures.map((one) => hashesOnly(one, hashes)) }),
  }
  return { post, comments: [], leftOut: subject.leftOut }
}

function hashed(text: string): string {
  return text === '' ? '' : `sha256:${hash('sha256', text, 'hex')}`
}

function hashesOnly({ kind, url = '', sha256, pdq }: Medium, hashes: ReadonlyMap<string, PictureHashes>): Medium {
  const found = hashes.get(url)
  const own = { sha256: found?.sha256 ?? sha256, pdq: found?.pdq ?? pdq }
  return {
    kind,
    ...(own.sha256 === undefined ? {} : { sha256: own.sha256 }),
    ...(own.pdq === undefined ? {} : { pdq: own.pdq }),
  }
}

/** The post without the addresses of these pictures: no model is asked with them. */
function without(post: Post, unchecked: readonly UncheckedPicture[]): Post {
  const addresses = new Set(unchecked.map(({ url }) => url))
  const unseen = ({ url, ...rest }: Medium): Medium =>
    url === undefined || addresses.has(url) ? rest : { ...rest, url }
  const { media, clips } = post
  return {
    ...post,
    ...(media === undefined ? {} : { media: media.map(unseen) }),
    ...(clips === undefined
      ? {}
      : { clips: clips.map((one) => (one.frames === undefined ? one : { ...one, frames: one.frames.map(unseen) })) }),
  }
}

/** Where a picture stands among its post's media, images first, as `media.2`. */
function placeOf({ media = [], clips = [] }: Post, url: string | undefined): string {
  const at = media.findIndex((one) => one.url === url)
  if (at !== -1) return `media.${at}`
  const clip = clips.findIndex(({ frames = [] }) => frames.some((one) => one.url === url))
  return `media.${media.length + Math.max(0, clip)}.frames`
}

/** How a case ends whose subject is on a list. */
export function vetoRuling({ list, label }: NonNullable<CaseRecord['veto']>): Ruling {
  return {
    ...undecided(`on the list ${list}: no model was asked`),
    label,
    degraded: [],
    rationale: `on the list ${list}; no model was asked`,
    comments: { judged: 0, folded: 0, author: 0, cap: 0, load: 0 },
  }
}

/** The ruling with what could not be compared; without its label where that leaves nothing harmless, and the label is not the harmful one. */
export function withUnchecked(
  ruling: Ruling,
  { unchecked = [] }: Pick<CaseRecord, 'unchecked'>,
  protocol: Pick<Protocol, 'harmful'> | undefined,
): Ruling {
  if (unchecked.length === 0) return ruling
  const degraded = [...ruling.degraded, ...unchecked.map(({ why }) => why)]
  const { label } = ruling
  const isHeld = unchecked.some(({ isClosed }) => isClosed) && label !== null && label !== protocol?.harmful
  if (!isHeld) return { ...ruling, degraded }
  const { confidence: _, ...rest } = ruling
  const why = `no label: what was seen looks ${label}, but not all of it could be compared with the lists`
  return { ...rest, label: null, decidedBy: 'none', degraded: [...degraded, why] }
}
