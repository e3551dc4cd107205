/**
 * Fetches an image (https or data URL) and hands it back as a data URL, so that no model endpoint fetches for us. Throws
 * `PermanentError('image')` if it is no image, too large, gone, or at an address that is not public — checked after
 * resolution, at every redirect, before anything is sent there — and `RetryLaterError` where trying again may help.
 */
export type LoadImage = (url: string, signal: AbortSignal) => Promise<string>
