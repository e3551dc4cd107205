import { hash } from 'node:crypto'
import { z } from 'zod'
import { PermanentError } from '../contracts/facts/errors.ts'
import { imageBytes, imageHash } from '../contracts/facts/image-bytes.ts'
import { keptHash } from '../contracts/facts/kept-image.ts'
import { fairSlots } from '../contracts/facts/slots.ts'
import { type Medium, shownIn, type ThreadRef } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { LoadImage, RedrawImage } from '../contracts/ports/images.ts'
import type { KeptPicture, ReviewPictures } from '../contracts/ports/pictures.ts'
import type { ThreadStore } from '../contracts/ports/threads.ts'
import { forNobody } from '../platform/asked-for.ts'
import type { CaseFile } from './case-file.ts'
import { TEXTS } from './texts.ts'

export interface PictureParts {
  readonly store: ReviewPictures
  /** Fetches from public addresses alone. */
  readonly load: LoadImage
  readonly redraw: RedrawImage
  /** Null where the console is not connected to what keeps images beside posts. */
  readonly keptImage: ThreadStore['keptImage'] | null
  readonly clock: Clock
  /** How long a picture is kept for people, in ms, and how many at most. */
  readonly keep: { readonly keep: number; readonly most: number }
}

/** How a picture of a subject stands. */
export interface PictureState {
  readonly medium: Medium
  /** Its bytes by their hash, as models were shown them, else as its message names them; null if neither tells. */
  readonly judged: string | null
  /** A model was shown it, and did not say that it saw nothing. */
  readonly isShown: boolean
  readonly kept: Pick<KeptPicture, 'sha256'> | null
  /** Why it can't be shown; null if it can, or if that has not been tried. */
  readonly why: string | null
}

/** Fetches at a time, and of them those of one tenant, whose authors take turns. */
const FETCHES = { all: () => 4, each: 2 }
/** How long one may wait for its turn, and then take with its drawing, in ms. */
const [WAIT_MS, LONGEST_MS] = [60_000, 90_000]
/** How long it is remembered that a picture can't be shown, in ms: for good reasons, and for others. */
const REMEMBERED_MS = { permanent: 600_000, later: 60_000 }
/** Most of these that are remembered. */
const MOST = 10_000

/** The pictures of subjects, as people may see them. */
export class SubjectPictures {
  readonly #parts: PictureParts
  readonly #fetches = fairSlots(FETCHES)
  readonly #failed = new Map<string, { readonly why: string; readonly until: number }>()
  readonly #underWay = new Map<string, Promise<KeptPicture | string>>()

  constructor(parts: PictureParts) {
    this.#parts = parts
  }

  /** How each stands now. Nothing is fetched. */
  states(file: CaseFile): Promise<PictureState[]> {
    const judged = judgedIn(file)
    return Promise.all(mediaOf(file).map((medium) => this.#stateOf(file, medium, judged)))
  }

  /** How the nth stands; null if there is none of this number. */
  async state(file: CaseFile, nth: number): Promise<PictureState | null> {
    const medium = mediaOf(file)[nth]
    return medium === undefined ? null : this.#stateOf(file, medium, judgedIn(file))
  }

  async #stateOf(file: CaseFile, medium: Medium, judged: ReadonlyMap<string, string>): Promise<PictureState> {
    const { store, clock } = this.#parts
    const { url } = medium
    const shown = judged.get(url ?? '')
    const state = { medium, judged: shown ?? medium.sha256?.toLowerCase() ?? null, isShown: shown !== undefined }
    if (url === undefined) return { ...state, kept: null, why: TEXTS.pictures.noAddress }
    const { subject } = file.row
    const kept = await store.picture(subject, addressOf(url), clock())
    return { ...state, kept, why: kept === null ? this.#whyNot(nameOf(subject, url)) : null }
  }

  /** The nth picture, fetched if need be; or why it can't be shown. Null if there is none of this number. */
  async picture(file: CaseFile, nth: number): Promise<KeptPicture | string | null> {
    const medium = mediaOf(file)[nth]
    if (medium === undefined) return null
    const { url } = medium
    if (url === undefined) return TEXTS.pictures.noAddress
    const { subject, verdict } = file.row
    const name = nameOf(subject, url)
    const failed = this.#whyNot(name)
    const kept = failed === null ? await this.#parts.store.picture(subject, addressOf(url), this.#parts.clock()) : null
    if (kept !== null || failed !== null) return kept ?? failed
    const begun = this.#underWay.get(name)
    if (begun !== undefined) return begun
    const author = file.thread?.post.author ?? subject.postId
    const fetching = forNobody(() => this.#fetched({ verdict: verdict.id, subject, url, author }))
      .catch((error: unknown) => this.#noteFailure(name, error))
      .finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, fetching)
    return fetching
  }

  /** Whether some picture can't be shown, or is not what was judged: a decision on it rests on less than it seems to. */
  async hasUnseen(file: CaseFile): Promise<boolean> {
    return (await this.states(file)).some(isUnseen)
  }

  async #fetched(of: {
    verdict: string
    subject: ThreadRef
    url: string
    author: string
  }): Promise<KeptPicture | string> {
    const { store, load, redraw, keptImage, clock, keep } = this.#parts
    const { verdict, subject, url, author } = of
    const whose = { name: subject.tenant, part: author }
    return this.#fetches.run(whose, AbortSignal.timeout(WAIT_MS), async () => {
      const signal = AbortSignal.timeout(LONGEST_MS)
      const beside = keptHash(url)
      if (beside !== null && keptImage === null) throw new PermanentError('image', TEXTS.pictures.notConnected)
      const given = beside === null ? url : ((await keptImage?.(subject, beside)) ?? null)
      if (given === null) throw new PermanentError('image', TEXTS.pictures.gone)
      const data = await load(given, signal)
      const at = clock()
      const picture = { ...(await redraw(imageBytes(data), whose, signal)), sha256: imageHash(data), at }
      const kept = { verdict, address: addressOf(url), picture, until: at + keep.keep, most: keep.most }
      return (await store.keepPicture(kept)) ? picture : TEXTS.pictures.gone
    })
  }

  #noteFailure(name: string, error: unknown): string {
    const isPermanent = error instanceof PermanentError
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    const why = isPermanent ? error.message : isLate ? TEXTS.pictures.busy : TEXTS.pictures.away
    this.#failed.set(name, { why, until: this.#parts.clock() + REMEMBERED_MS[isPermanent ? 'permanent' : 'later'] })
    for (const oldest of this.#failed.keys()) if (this.#failed.size > MOST) this.#failed.delete(oldest)
    return why
  }

  #whyNot(name: string): string | null {
    const failed = this.#failed.get(name)
    return failed === undefined || failed.until <= this.#parts.clock() ? null : failed.why
  }
}

/** Whether a picture is another one than that which was judged. */
export function isChanged({ kept, judged }: Pick<PictureState, 'kept' | 'judged'>): boolean {
  return kept !== null && judged !== null && judged !== kept.sha256
}

/** Whether it can't be shown as it was judged. */
export function isUnseen(state: Pick<PictureState, 'kept' | 'judged'>): boolean {
  return state.kept === null || isChanged(state)
}

export function mediaOf({ thread }: Pick<CaseFile, 'thread'>): readonly Medium[] {
  return thread?.post.media ?? []
}

/** What an image shows, in words, as far as that is known. */
export function describedAs(medium: Medium): string {
  return shownIn(medium) ?? TEXTS.verdict.noImage
}

/** A model says that it did not see the image that it was shown. */
const unseenAnswer = z.object({ seen: z.literal('no') })

/** The hashes of the images that models saw, by their addresses. */
function judgedIn({ transcript }: Pick<CaseFile, 'transcript'>): ReadonlyMap<string, string> {
  const turns = transcript?.turns ?? []
  return new Map(
    turns.flatMap(({ messages, answer, imageHashes = [] }) => {
      if (answer === null || unseenAnswer.safeParse(answer).success) return []
      const shown = messages.flatMap((message) => {
        const said = 'sameAs' in message ? turns[message.sameAs.turn]?.messages[message.sameAs.message] : message
        return said === undefined || 'sameAs' in said ? [] : (said.images ?? [])
      })
      return imageHashes.flatMap((own, at) => (shown[at] === undefined ? [] : [[shown[at], own] as const]))
    }),
  )
}

function addressOf(url: string): string {
  return hash('sha256', url, 'base64url')
}

function nameOf({ tenant, kind, postId }: ThreadRef, url: string): string {
  return JSON.stringify([tenant, kind, postId, addressOf(url)])
}
