import { type FileHandle, open } from 'node:fs/promises'
import { OperatorError } from '../contracts/facts/errors.ts'

/** How many lines a file has that are ended, and the bytes that they take; null if there is no file. */
export async function wholeLines(file: string): Promise<{ lines: number; bytes: number; cut: boolean } | null> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new OperatorError(`${file} cannot be read: ${error.code}`, { cause: error })
  })
  if (handle === null) return null
  try {
    let [lines, bytes, size] = [0, 0, 0]
    for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) {
        lines++
        bytes = size + at + 1
      }
      size += chunk.length
    }
    return { lines, bytes, cut: bytes < size }
  } finally {
    await handle.close()
  }
}

/** Appends lines in order; what comes while one write is under way goes out in the next. */
export async function appendTo(file: string) {
  const handle: FileHandle = await open(file, 'a')
  let waiting: string[] = []
  let writing: Promise<void> = Promise.resolve()
  return {
    /** Resolves when the line is written: what this process is killed for afterwards no longer touches it. */
    append(line: object): Promise<void> {
      waiting.push(`${JSON.stringify(line)}\n`)
      writing = writing.then(async () => {
        if (waiting.length === 0) return
        const lines = waiting.join('')
        waiting = []
        await handle.appendFile(lines)
      })
      return writing
    },
    async close() {
      await writing
      await handle.close()
    },
  }
}
