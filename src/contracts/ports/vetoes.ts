import type { Post, ThreadRef } from '../facts/thread.ts'

/** An entry of a list of what no model is asked about. */
export interface VetoHit {
  readonly list: string
  readonly entry: string
  /** By protocol the labels of what is on the list; a protocol that is not named gives none. */
  readonly labels: Readonly<Record<string, string>>
}

/** A picture that could not be compared with every list. */
export interface UncheckedPicture {
  /** Its address; absent where it has none. */
  readonly url?: string | undefined
  readonly why: string
  /** Nothing is called harmless beside it. */
  readonly isClosed: boolean
}

/** What came of a look at the lists. */
export interface VetoFindings {
  readonly hit: VetoHit | null
  readonly unchecked: readonly UncheckedPicture[]
  /** Of the texts that are shown with it, those that are on a list, by their names. */
  readonly around: readonly string[]
  /** What pictures are, by their addresses. */
  readonly hashes: ReadonlyMap<string, PictureHashes>
}

export interface PictureHashes {
  /** In hexadecimal digits, as all hashes are. */
  readonly sha256: string
  /** Null where there is too little in it to tell it from others by; absent where nobody has wanted it. */
  readonly pdq?: string | null | undefined
}

/** Of a subject what is compared. */
export interface VetoSubject {
  readonly ref: ThreadRef
  readonly caseId: string
  readonly post: Post
  /** Texts that are shown with it and not judged by themselves, by names of the caller's. */
  readonly around: ReadonlyMap<string, string>
  /** Rejects where nothing may be fetched for it any more. */
  readonly mayFetch: () => Promise<void>
}

/** Compares subjects with lists before any model is asked about them. */
export interface Vetoes {
  /** Null: it is not known yet, ask again in some hundred milliseconds. */
  check(subject: VetoSubject): Promise<VetoFindings | null>
}

/** What is known of a picture: its hashes, or why it could not be had. */
export type LookedAt = PictureHashes | { readonly why: string }

/** What has been found out of the pictures of subjects, for as long as their cases are likely to open. */
export interface LookedAtPictures {
  /** What is known; `begun` where another process looks; null where it is the caller's to look now. */
  claim(ref: ThreadRef, url: string): Promise<LookedAt | 'begun' | null>
  keep(ref: ThreadRef, url: string, found: LookedAt): Promise<void>
  /** It was claimed, and not looked at. */
  release(ref: ThreadRef, url: string): Promise<void>
  /**
   * Drops these images, which are kept beside the subject's post: it is on a list. By their hashes, for the post may have others by
   * now. What they are is known for as long as the post has them.
   */
  drop(ref: ThreadRef, images: ReadonlyMap<string, LookedAt>): Promise<void>
}
