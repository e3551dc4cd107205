import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { PermanentError } from '../../contracts/facts/errors.ts'
import { fairSlots, type SlotOwner } from '../../contracts/facts/slots.ts'
import { framePixelsOf } from './images.ts'

const DECODER = dirname(createRequire(import.meta.url).resolve('@silvia-odwyer/photon-node'))
/** What decoding and drawing takes for each pixel, in bytes, and beside that, in MiB: a small file may have a colour profile that unfolds to gigabytes. */
const [PIXEL_BYTES, BESIDE] = [14, 66]
/** Most memory of all decoders that run at a time, in MiB: the largest image by itself, else one of each of some tenants. */
const MOST_MEMORY = { all: () => 400, each: 2 * BESIDE }
/** Most pixels of a frame: as many as there is memory for, at most. */
const MOST_PIXELS = 25_000_000
/** Longest time of one, in ms: the largest takes two seconds where nothing else runs. */
const LONGEST_MS = 30_000
/** Longest answer, in bytes: a picture of 1,024 pixels each way is at most a fifth of it. */
const MOST_BYTES = 2 ** 23

/** Gives an image to a program that decodes it, and resolves to what that writes; tenants take turns. Throws as a `RedrawImage` does. */
export type DecodeImage = (image: Buffer, whose: SlotOwner, signal: AbortSignal) => Promise<Buffer>

/**
 * Runs a program of this folder, made of these files, for each image: in a process that has no variables of the environment, writes and
 * starts nothing, reads no file but its program, and ends with its answer.
 */
export function decoding(
  files: readonly [program: string, ...imported: string[]],
  {
    longestMs = LONGEST_MS,
    pixelBytes = PIXEL_BYTES,
  }: { readonly longestMs?: number; readonly pixelBytes?: number } = {},
): DecodeImage {
  const mostPixels = Math.min(MOST_PIXELS, Math.floor(((MOST_MEMORY.all() - BESIDE) * 2 ** 20) / pixelBytes))
  const paths = files.map((file) => join(import.meta.dirname, `${file}${extname(import.meta.filename)}`))
  const turns = fairSlots(MOST_MEMORY)
  return async (image, whose, signal) => {
    const pixels = framePixelsOf(image)
    if (pixels > mostPixels) throw new PermanentError('image', `more than ${mostPixels.toLocaleString('en')} pixels`)
    const memory = BESIDE + Math.ceil((pixels * pixelBytes) / 2 ** 20)
    const decode = async () => {
      const tooLong = AbortSignal.timeout(longestMs)
      try {
        return await decoded(paths, image, memory, AbortSignal.any([signal, tooLong]))
      } catch (error) {
        // Who has waited too long for its turn says nothing of the image.
        signal.throwIfAborted()
        if (!tooLong.aborted) throw error
        throw new PermanentError('image', 'it takes too long to draw', { cause: error })
      }
    }
    return turns.run(whose, signal, decode, memory)
  }
}

async function decoded(paths: readonly string[], image: Buffer, memory: number, signal: AbortSignal): Promise<Buffer> {
  const mayRead = [...paths, DECODER].map((path) => `--allow-fs-read=${path}`)
  const limits = ['--max-old-space-size=64', `--wasm-max-mem-pages=${16 * memory}`]
  const child = spawn(process.execPath, ['--permission', ...mayRead, ...limits, ...paths.slice(0, 1)], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  })
  const ended = new Promise<number | null>((resolve) => {
    child.on('error', () => resolve(null))
    child.on('close', resolve)
  })
  // A decoder that has given up reads no more.
  child.stdin.on('error', () => {})
  child.stdin.end(image)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of child.stdout) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) child.kill('SIGKILL')
    else chunks.push(chunk)
  }
  const code = await ended
  signal.throwIfAborted()
  if (code !== 0) throw damaged()
  return Buffer.concat(chunks)
}

/** What a decoder could make nothing of. */
export function damaged(): PermanentError {
  return new PermanentError('image', 'its data are damaged, or of a kind that is not read')
}
