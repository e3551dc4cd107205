import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import { imageHash } from '../../contracts/facts/image-bytes.ts'
import { keptHash } from '../../contracts/facts/kept-image.ts'
import { fairSlots, type SlotOwner } from '../../contracts/facts/slots.ts'
import { type Medium, type Post, shownIn } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import type {
  LookedAt,
  LookedAtPictures,
  PictureHashes,
  UncheckedPicture,
  Vetoes,
  VetoFindings,
  VetoHit,
  VetoSubject,
} from '../../contracts/ports/vetoes.ts'
import type { ImageCache } from '../image-cache.ts'
import type { DecodeImage } from '../images/decoder.ts'
import { hashesOfPicture } from './picture-hashes.ts'
import type { KnownHashes, VetoLists, VetoTurns } from './veto-lists.ts'

/** So long a case waits for its findings, in ms, before it gives up its worker to others and asks again. */
const PATIENCE_MS = 200
/** So long a list that may answer soon is left alone, in ms; a question to a model, which has its image fetched again, waits for longer. */
const [AGAIN_MS, QUESTION_AGAIN_MS] = [1_000, 5_000]
/** What was found is kept for the case that asked, in ms, and of so many cases. */
const KEPT_MS = 60_000
const MOST_KEPT = 10_000
/** Looks at lists at a time, and those of one tenant: each of a long list keeps this process busy for milliseconds. */
const LOOKS = { all: () => 4, each: 2 }
/** Questions to services of hashes at a time, those of one tenant and of one author: a service that is slow answers so many in time. */
const ASKS = { all: () => 8, each: 4, ofPart: 2 }
/**
 * Characters of subjects with pictures that are compared at a time, those of one tenant and of one author: they stay in memory while hosts,
 * decoders and services are slow. Each counts as so many at least.
 */
const [COMPARED, LEAST] = [{ all: () => 16_000_000, each: 2_000_000, ofPart: 500_000 }, 10_000]
/** Pictures that were on no list, of which that is remembered. */
const MOST_CLEAR = 10_000

export interface VetoParts {
  /** The lists as they are now. */
  readonly lists: () => VetoLists
  readonly looked: LookedAtPictures
  readonly images: Pick<ImageCache, 'load' | 'forget'>
  /** Writes a picture's perceptual hash and its quality. */
  readonly decode: DecodeImage
  readonly clock: Clock
}

/** Vetoes, and how pictures that are fetched for a question are compared once more: their host may show another one by then. */
export interface VetoChecks extends Vetoes {
  guard(load: LoadImage): LoadImage
}

/** Compares subjects with lists. Each picture is fetched once for all cases of its subject, in whichever process. */
export function vetoChecks(parts: VetoParts): VetoChecks {
  const { clock } = parts
  const [looks, asks] = [fairSlots(LOOKS), fairSlots(ASKS)]
  // A signal for each: its listeners stand in a list that each further one is looked for in.
  const turnsOf = (whose: SlotOwner): VetoTurns => ({
    look: (look) => looks.run(whose, new AbortController().signal, look),
    ask: (ask) => asks.run(whose, new AbortController().signal, ask),
  })
  const room = fairSlots(COMPARED)
  const underWay = new Map<string, Promise<VetoFindings | null>>()
  const kept = new Map<string, { readonly findings: VetoFindings; readonly until: number }>()
  const clear = clearPictures(parts, turnsOf(QUESTIONS))

  function compare(subject: VetoSubject): Promise<VetoFindings | null> {
    const [lists, turns] = [parts.lists(), turnsOf(ownerOf(subject))]
    return lists.during(() =>
      compared({ ...parts, lists, areCurrent: () => lists === parts.lists(), clear, turns }, subject),
    )
  }

  /** Null where those that are compared already leave it no room. */
  function begun(subject: VetoSubject): Promise<VetoFindings | null> | null {
    const isHeld = parts.lists().wants.size > 0 && picturesIn(subject.post).length > 0
    const free = isHeld ? room.takeNow(ownerOf(subject), charactersOf(subject)) : () => {}
    return free === null ? null : run(subject).finally(free)
  }

  async function run(subject: VetoSubject): Promise<VetoFindings | null> {
    try {
      const findings = await compare(subject)
      if (findings !== null && findings.hit !== null)
        await parts.looked.drop(subject.ref, keptIn(subject.post, findings))
      if (findings !== null) kept.set(subject.caseId, { findings, until: clock() + KEPT_MS })
      for (const [oldest, { until }] of kept) {
        if (kept.size <= MOST_KEPT && until > clock()) break
        kept.delete(oldest)
      }
      return findings
    } finally {
      underWay.delete(subject.caseId)
    }
  }

  return {
    async check(subject) {
      const { caseId } = subject
      const known = kept.get(caseId)
      kept.delete(caseId)
      if (known !== undefined && known.until > clock()) return known.findings
      const running = underWay.get(caseId) ?? begun(subject)
      if (running === null) return null
      underWay.set(caseId, running)
      // Who asks again hears of it.
      running.catch(() => {})
      const waited = new AbortController()
      const late = sleep(PATIENCE_MS, null, { signal: waited.signal }).catch(() => null)
      const found = await Promise.race([running, late]).finally(() => waited.abort())
      if (found !== null) kept.delete(caseId)
      return found
    },
    guard: (load) => async (url, signal) => {
      const data = await load(url, signal)
      await clear.mustBe(data, signal)
      return data
    },
  }
}

/** Pictures that are on none of the lists, as these are now. */
function clearPictures({ lists, decode }: Pick<VetoParts, 'lists' | 'decode'>, turns: VetoTurns) {
  let of = lists()
  const known = new Set<string>()
  const knownOn = (now: VetoLists) => {
    if (now !== of) known.clear()
    of = now
    return known
  }
  /** Unless the lists have been read anew since. */
  function isOnNone(sha256: string, compared: VetoLists): void {
    if (compared !== lists()) return
    knownOn(compared).add(sha256)
    for (const oldest of known) if (known.size > MOST_CLEAR) known.delete(oldest)
  }
  return {
    /** Throws a `PermanentError` unless the picture is known to be on no list. */
    async mustBe(data: string, signal: AbortSignal): Promise<void> {
      const now = lists()
      if (now.wants.size === 0) return
      const sha256 = imageHash(data)
      if (knownOn(now).has(sha256)) return
      const search = await now.during(async () =>
        now.findPicture(await hashesOfPicture(data, { decode, wants: now.wants, whose: QUESTIONS, signal }), turns),
      )
      if ('list' in search) throw new PermanentError('image', `it is on the list ${search.list}`)
      const soon = search.silent.find(({ mayAnswerSoon }) => mayAnswerSoon)
      if (soon !== undefined)
        throw new RetryLaterError('limited', soon.why, { costsAttempt: false, delayMs: QUESTION_AGAIN_MS })
      const [silent] = search.silent
      if (silent !== undefined) throw new PermanentError('image', unanswered(silent))
      isOnNone(sha256, now)
    },
    isOnNone,
  }
}

/** A comparison with the lists as they were when it began. */
interface Comparison extends Omit<VetoParts, 'lists'> {
  readonly lists: VetoLists
  /** Whether these are the lists still. */
  readonly areCurrent: () => boolean
  readonly turns: VetoTurns
  readonly clear: ReturnType<typeof clearPictures>
}

/** Who waits where a picture is fetched for a question. */
const QUESTIONS = { name: '', part: '' }

/** Null where a picture is being looked at by somebody else, there is no room to fetch it now, or the lists were read anew meanwhile. */
async function compared(parts: Comparison, subject: VetoSubject): Promise<VetoFindings | null> {
  const { post, around } = subject
  const { lists, turns } = parts
  const unchecked: UncheckedPicture[] = []
  const hashes = new Map<string, PictureHashes>()
  const words = await lists.findWords(wordsIn(post), turns)
  if (words !== null) return { hit: words, unchecked, hashes, around: [] }
  const named: string[] = []
  for (const [name, text] of around) if ((await lists.findWords([text], turns)) !== null) named.push(name)
  const pictures = lists.wants.size === 0 ? [] : picturesIn(post)
  const search = pictureSearch(parts, unchecked)
  const hitBy = (hit: VetoHit) => ({ hit, unchecked: [], hashes, around: [] })
  // What a message says of its pictures costs no fetch: all of that first.
  for (const picture of pictures) {
    const hit = await search.lookFor({ url: picture.url, hashes: picture })
    if (hit !== null) return hitBy(hit)
  }
  for (const picture of pictures) {
    const wanted = new Set([...lists.wants].filter((kind) => picture[kind] === undefined))
    const { url } = picture
    // Nobody can look at a picture without an address.
    if (wanted.size === 0 || url === undefined) continue
    const looked = await lookAt(parts, subject, url)
    if (looked === null) return null
    if ('why' in looked) {
      unchecked.push({ url, why: looked.why, isClosed: lists.isClosed(wanted) })
      continue
    }
    hashes.set(url, looked)
    const hit = await search.lookFor({ url, hashes: looked })
    if (hit !== null) return hitBy(hit)
    if (!isFor(lists, looked)) unchecked.push({ url, why: DROPPED.why, isClosed: lists.isClosed(wanted) })
  }
  while (search.isOpen()) {
    await sleep(AGAIN_MS, undefined, { ref: false })
    if (!parts.areCurrent()) return null
    const hit = await search.lookAgain()
    if (hit !== null) return hitBy(hit)
  }
  // The question that shows it need not decode it again.
  for (const [url, { sha256 }] of hashes)
    if (!unchecked.some((one) => one.url === url)) parts.clear.isOnNone(sha256, lists)
  return { hit: null, unchecked, hashes, around: named }
}

/** A picture that is looked for, on the lists that are named or on all. */
interface SoughtPicture {
  readonly url: string | undefined
  readonly hashes: KnownHashes
  readonly among?: ReadonlySet<string>
}

/** Looks for pictures. Those of which a list may say more soon are looked for there again; what a list does not say is noted as unchecked. */
function pictureSearch({ lists, turns }: Comparison, unchecked: UncheckedPicture[]) {
  let open: SoughtPicture[] = []
  async function lookFor(sought: SoughtPicture): Promise<VetoHit | null> {
    const found = await lists.findPicture(sought.hashes, turns, sought.among)
    if ('list' in found) return found
    const soon = found.silent.filter(({ mayAnswerSoon }) => mayAnswerSoon)
    if (soon.length > 0) open.push({ ...sought, among: new Set(soon.map(({ list }) => list)) })
    for (const one of found.silent)
      if (!one.mayAnswerSoon) unchecked.push({ url: sought.url, why: unanswered(one), isClosed: one.isClosed })
    return null
  }
  return {
    lookFor,
    isOpen: () => open.length > 0,
    async lookAgain(): Promise<VetoHit | null> {
      const before = open
      open = []
      for (const sought of before) {
        const hit = await lookFor(sought)
        if (hit !== null) return hit
      }
      return null
    },
  }
}

function unanswered({ list, why }: { readonly list: string; readonly why: string }): string {
  return `the list ${list} did not answer: ${why}`
}

/** What a picture is, or why that can't be found out; null: not yet. */
async function lookAt(
  { looked, images, decode, lists, turns }: Comparison,
  subject: VetoSubject,
  url: string,
): Promise<LookedAt | null> {
  const { ref, caseId, mayFetch } = subject
  let known = await looked.claim(ref, url)
  if (known !== null && known !== 'begun' && (await lacks(lists, known, turns))) {
    await looked.release(ref, url)
    known = await looked.claim(ref, url)
  }
  if (known === 'begun') return null
  if (known !== null) return known
  const askId = `${caseId}/veto`
  const whose = ownerOf(subject)
  const { signal } = new AbortController()
  let found: LookedAt
  try {
    const data = await images.load(url, { askId, subject: ref, author: whose.part, signal, mayFetch })
    // What is known by its bytes is never decoded.
    const sha256 = imageHash(data)
    const isKnown = 'list' in (await lists.findPicture({ sha256 }, turns))
    found = isKnown ? { sha256 } : await hashesOfPicture(data, { decode, wants: lists.wants, whose, signal })
  } catch (error) {
    if (isOfImage(error)) found = { why: error.message }
    else {
      await looked.release(ref, url)
      if (error instanceof RetryLaterError) return null
      throw error
    }
  } finally {
    images.forget(askId)
  }
  await looked.keep(ref, url, found)
  return found
}

/** Whether it was looked at for lists that asked for less, and is on none by what is known of it. */
async function lacks(lists: VetoLists, known: LookedAt, turns: VetoTurns): Promise<boolean> {
  return !('why' in known || isFor(lists, known)) && !('list' in (await lists.findPicture(known, turns)))
}

/** Whether all is known of it that these lists ask for. */
function isFor(lists: VetoLists, known: PictureHashes): boolean {
  return [...lists.wants].every((kind) => known[kind] !== undefined)
}

/** Who waits for decoders and lists. */
function ownerOf({ ref, post }: VetoSubject): SlotOwner {
  return { name: ref.tenant, part: post.author === undefined ? `post ${ref.postId}` : `by ${post.author}` }
}

function isOfImage(error: unknown): error is PermanentError | RetryLaterError {
  return (error instanceof PermanentError || error instanceof RetryLaterError) && error.code === 'image'
}

/** What stays in memory of it while it is compared. */
function charactersOf({ post, around }: VetoSubject): number {
  const beside = [...around.values()].reduce((sum, text) => sum + text.length, 0)
  const own = [...wordsIn(post), ...picturesIn(post).map(({ url = '' }) => url)]
  return Math.max(
    LEAST,
    own.reduce((sum, text) => sum + text.length, beside),
  )
}

/** All words of a post that a model might be shown. */
function wordsIn({ text, hateSpeech, media = [], clips = [] }: Post): string[] {
  const said = [
    text,
    hateSpeech,
    ...clips.map(({ transcript }) => transcript),
    ...[...media, ...framesOf(clips)].map(shownIn),
  ]
  return said.filter((words) => words !== undefined && words !== '') as string[] // what is left are texts
}

/** What its pictures are that are kept beside it, by the hashes in their addresses. */
function keptIn(post: Post, { hashes }: VetoFindings): Map<string, LookedAt> {
  const kept = picturesIn(post).flatMap(({ url = '' }) => {
    const own = keptHash(url)
    return own === null ? [] : [[own, hashes.get(url) ?? DROPPED] as const]
  })
  return new Map(kept)
}

/** What is known of a picture that nobody looked at before it was dropped. */
const DROPPED = { why: 'it was dropped, for its post was on a list' }

function picturesIn({ media = [], clips = [] }: Post): Medium[] {
  return [...media, ...framesOf(clips)]
}

function framesOf(clips: NonNullable<Post['clips']>): Medium[] {
  return clips.flatMap(({ frames = [] }) => frames)
}
