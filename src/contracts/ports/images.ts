import type { SlotOwner } from '../facts/slots.ts'

/**
 * Fetches an image (https or data URL) and returns it as a data URL, so that no model endpoint fetches for us. Throws
 * `PermanentError('image')` if it is not an image, too large, gone, or at an address that is not public — checked after
 * resolution, at every redirect, before anything is sent there — and `RetryLaterError('image')` if trying again may help:
 * a stranger's host that is silent is no model that is away, for which asks would wait.
 */
export type LoadImage = (url: string, signal: AbortSignal) => Promise<string>

/** An image drawn anew, as JPEG: the picture, and a cover of it that shows no more than where it is light and dark. */
export interface DrawnPicture {
  readonly picture: Uint8Array<ArrayBuffer>
  readonly cover: Uint8Array<ArrayBuffer>
}

/**
 * Draws an image anew for people to see, smaller and without its metadata; tenants take turns. Throws `PermanentError('image')` where
 * it can't be drawn, and the signal's reason.
 */
export type RedrawImage = (image: Buffer, whose: SlotOwner, signal: AbortSignal) => Promise<DrawnPicture>
