import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { z } from 'zod'
import { isCode } from './lock.ts'

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
