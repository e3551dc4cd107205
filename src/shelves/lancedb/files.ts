import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { z } from 'zod'

/** Records as JSON files in one folder, one per name. A missing folder has none. */
export function jsonFiles<Kept>(folder: string, schema: z.ZodType<Kept>) {
  const pathOf = (name: string) => join(folder, `${name}.json`)
  return {
    async names(): Promise<string[]> {
      return (await namesIn(folder)).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -'.json'.length)] : []))
    },
    /** Null if there is none (any more). */
    async read(name: string): Promise<Kept | null> {
      const text = await textOf(pathOf(name))
      return text === null ? null : schema.parse(JSON.parse(text))
    },
    async put(name: string, kept: Kept): Promise<void> {
      await replaceFile(pathOf(name), JSON.stringify(kept))
    },
    async remove(name: string): Promise<void> {
      await rm(pathOf(name), { force: true })
    },
  }
}

/** As {@link jsonFiles}, for files that are read often: one is read again only when it has been replaced. */
export function watchedJsonFiles<Kept>(folder: string, schema: z.ZodType<Kept>) {
  const files = jsonFiles(folder, schema)
  const known = new Map<string, { readonly state: string; readonly kept: Kept }>()
  const reading = new Map<string, Promise<Kept | null>>()
  const changed = (name: string) => {
    known.delete(name)
    reading.delete(name)
  }

  async function readNow(name: string): Promise<Kept | null> {
    const state = await stateOf(join(folder, `${name}.json`))
    const last = known.get(name)
    if (state === null || last?.state === state) return state === null ? null : (last?.kept ?? null)
    const kept = await files.read(name)
    if (kept !== null) known.set(name, { state, kept })
    return kept
  }

  return {
    ...files,
    /** Null if there is none (any more). Callers at the same time get the same result. */
    read(name: string): Promise<Kept | null> {
      const under = reading.get(name)
      if (under !== undefined) return under
      const mine = readNow(name).finally(() => {
        if (reading.get(name) === mine) reading.delete(name)
      })
      reading.set(name, mine)
      return mine
    },
    async put(name: string, kept: Kept): Promise<void> {
      await files.put(name, kept)
      changed(name)
    },
    async remove(name: string): Promise<void> {
      await files.remove(name)
      changed(name)
    },
  }
}

/** Differs whenever a file has been replaced; null if it is missing. */
async function stateOf(path: string): Promise<string | null> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null
    throw error
  }
}

/** The names in a folder, sorted; none if it is missing. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}

/** A file's text; null if it is missing. */
export async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null
    throw error
  }
}

/** Replaces a file atomically: a reader gets all of the old one or all of the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  // Only one writer works at a time, so a fixed name leaves no extra files behind after a crash.
  const fresh = `${path}.new`
  const handle = await open(fresh, 'w')
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(fresh, path)
}

/** Appends one line to a file; it is on the disk when this resolves. */
export async function appendLine(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const handle = await open(path, 'a')
  try {
    await handle.writeFile(`${line}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether this is a file system error with this code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
