import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Where a record is made anew, beside the file that it takes the place of. */
export const besides = (path: string) => `${path}.rebuilt`

export const isThere = (path: string) => existsSync(path)

/** Removes what an earlier attempt left there. */
export async function cleared(place: string): Promise<void> {
  await mkdir(dirname(place), { recursive: true, mode: 0o700 })
  await Promise.all(['', '-wal', '-shm'].map((end) => rm(`${place}${end}`, { force: true })))
}

/** The file at `place`, which nobody has open, becomes the one at `path`: at every moment there is one or the other. */
export async function putInPlace(place: string, path: string): Promise<void> {
  // A log belongs to the file that it was written for.
  await Promise.all(['-wal', '-shm'].map((end) => rm(`${path}${end}`, { force: true })))
  await rename(place, path)
}
