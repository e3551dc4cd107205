import type { IncomingMessage } from 'node:http'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import { AddressUnreachable, isPublic, pinnedRequest, type Reach } from './pinned-request.ts'
import { gifParts, jpegParts, pixelsOf, pngParts, webpParts } from './pixels.ts'

export interface ImageSettings extends Omit<Reach, 'mayReach'> {
  /** Longest image, in bytes. */
  readonly maxBytes: number
  /** Most pixels of an image, all its frames counted. */
  readonly maxPixels: number
  /** Limit for the whole fetch, including redirects, in ms. */
  readonly timeout: number
  readonly maxRedirects: number
  /** Which addresses may be connected to; by default public addresses at port 443. */
  readonly mayReach?: Reach['mayReach']
}

/** Fetches images from the public internet, and from nowhere else. */
export function imageLoader(settings: ImageSettings): LoadImage {
  return async (url, signal) => {
    if (/^data:/i.test(url)) return asDataUrl(dataUrlBytes(url, settings.maxBytes), settings.maxPixels)
    const timeout = AbortSignal.timeout(settings.timeout)
    const stop = AbortSignal.any([signal, timeout])
    try {
      return asDataUrl(await fetched(url, settings, stop), settings.maxPixels)
    } catch (error) {
      throw translated(error, { stopped: signal.aborted, timedOut: timeout.aborted, settings })
    }
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Follows redirects itself, since each address is checked before anything is sent to it. */
async function fetched(first: string, settings: ImageSettings, signal: AbortSignal): Promise<Buffer> {
  let url = addressOf(first)
  for (let hop = 0; hop <= settings.maxRedirects; hop++) {
    const response = await get(url, settings, signal)
    const status = response.statusCode ?? 0
    if (status === 200) return body(response, settings.maxBytes)
    response.destroy()
    if (status >= 500 || status === 408 || status === 429)
      throw new RetryLaterError('image', `the image's server answered with status ${status}`)
    if (!REDIRECTS.has(status) || response.headers.location === undefined)
      throw imageError(`image download failed (status ${status})`)
    url = addressOf(response.headers.location, url)
  }
  throw imageError(`more than ${settings.maxRedirects} redirects`)
}

function addressOf(said: string, base?: URL): URL {
  const url = URL.parse(said, base?.href)
  if (url === null) throw imageError('not a URL')
  if (url.protocol !== 'https:') throw imageError('neither an https nor a data URL')
  if (url.username !== '' || url.password !== '') throw imageError('a URL with credentials')
  return url
}

async function get(url: URL, settings: ImageSettings, signal: AbortSignal): Promise<IncomingMessage> {
  const { mayReach = (address, port) => port === 443 && isPublic(address) } = settings
  const headers = { accept: 'image/png, image/jpeg, image/gif, image/webp', 'accept-encoding': 'identity' }
  try {
    return await pinnedRequest(url, { ...settings, mayReach, headers }, signal)
  } catch (error) {
    if (!(error instanceof AddressUnreachable)) throw error
    if (error.why === 'no-address') throw imageError("the image's host has no address")
    throw imageError('at an address that is not public, or at a port other than 443')
  }
}

/** Reads at most `maxBytes`, and stops as soon as there are more, whatever length the server announced. */
async function body(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    const { 'content-encoding': encoding = 'identity', 'content-length': announced } = response.headers
    if (encoding !== 'identity') throw imageError('sent compressed without being asked to')
    if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    response.destroy()
  }
}

function dataUrlBytes(url: string, maxBytes: number): Buffer {
  const comma = url.indexOf(',')
  if (comma === -1 || !/;base64$/i.test(url.slice(0, comma))) throw imageError('a data URL without base64 data')
  const data = url.slice(comma + 1).replace(/={1,2}$/, '')
  const bytes = Math.floor((data.length * 3) / 4)
  if (bytes > maxBytes) throw tooLarge(maxBytes)
  const decoded = Buffer.from(data, 'base64')
  // Node skips characters that are not base64, and then decodes fewer bytes.
  if (decoded.length !== bytes || data.length % 4 === 1) throw imageError('a data URL with invalid base64')
  return decoded
}

/**
 * Formats are recognised by their bytes: the type that a server or a data URL gives proves nothing. SVG is refused,
 * since it can contain scripts.
 */
const FORMATS: readonly {
  readonly type: string
  begins(bytes: Buffer): boolean
  ends(bytes: Buffer): boolean
  readonly parts: typeof pngParts
}[] = [
  {
    type: 'image/png',
    begins: (bytes) => bytes.indexOf('\x89PNG\r\n\x1a\n', 0, 'latin1') === 0,
    ends: (bytes) => bytes.includes('IEND\xae\x42\x60\x82', 8, 'latin1'),
    parts: pngParts,
  },
  {
    type: 'image/jpeg',
    begins: (bytes) => bytes.indexOf('\xff\xd8\xff', 0, 'latin1') === 0,
    ends: (bytes) => bytes.includes('\xff\xd9', 3, 'latin1'),
    parts: jpegParts,
  },
  {
    type: 'image/gif',
    begins: (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
    ends: (bytes) => bytes.includes(0x3b, -16),
    parts: gifParts,
  },
  {
    type: 'image/webp',
    begins: (bytes) => /^RIFF.{4}WEBP$/s.test(bytes.toString('latin1', 0, 12)),
    ends: (bytes) => bytes.readUInt32LE(4) + 8 <= bytes.length,
    parts: webpParts,
  },
]

/** Some kilobytes can unfold to gigabytes in the model's server: the size that they state is bounded before they go there. */
function asDataUrl(bytes: Buffer, maxPixels: number): string {
  const format = FORMATS.find(({ begins }) => begins(bytes))
  if (format === undefined) throw imageError('not a PNG, JPEG, GIF or WebP image')
  if (!format.ends(bytes)) throw imageError('a truncated image')
  const pixels = pixelsOf(fewParts(format.parts(bytes)), maxPixels)
  if (pixels === 0) throw imageError('an image that names no size')
  if (pixels > maxPixels) throw imageError(`more than ${maxPixels} pixels, all frames counted`)
  return `data:${format.type};base64,${bytes.toString('base64')}`
}

/** The pixels of one frame of an image that was loaded. */
export function framePixelsOf(bytes: Buffer): number {
  const format = FORMATS.find(({ begins }) => begins(bytes))
  return format === undefined ? 0 : pixelsOf(stills(format.parts(bytes)))
}

function* stills(parts: ReturnType<typeof pngParts>): ReturnType<typeof pngParts> {
  for (const { width = 0, height = 0 } of parts) yield { width, height }
}

/**
 * Most segments, chunks or frames of an image: encoders write some thousands at most, and a decoder may work on its whole picture
 * for each of them.
 */
const MOST_PARTS = 10_000

function* fewParts<Part>(parts: Iterable<Part>): Generator<Part> {
  let count = 0
  for (const part of parts) {
    if (++count > MOST_PARTS) throw imageError(`an image of more than ${MOST_PARTS} parts`)
    yield part
  }
}

/** The kind of the failure in words, without the URL. */
function translated(error: unknown, how: { stopped: boolean; timedOut: boolean; settings: ImageSettings }): Error {
  if (error instanceof PermanentError || error instanceof RetryLaterError) return error
  if (how.stopped)
    return new RetryLaterError('aborted', 'the fetch was stopped', { costsAttempt: false, delayMs: 0, cause: error })
  if (how.timedOut) return new RetryLaterError('image', `no image within ${how.settings.timeout} ms`, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND' || code === 'ENODATA') return imageError("the image's host does not exist", error)
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code))
    return imageError("the image's server has no valid certificate", error)
  return new RetryLaterError('image', "the image's server could not be reached", { cause: error })
}

function tooLarge(maxBytes: number): PermanentError {
  return imageError(`larger than ${maxBytes} bytes`)
}

function imageError(message: string, cause?: unknown): PermanentError {
  return new PermanentError('image', message, cause === undefined ? {} : { cause })
}
