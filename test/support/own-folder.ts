import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders: string[] = []

/** A new empty folder, which is gone after the file's tests. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gavel-${name}-`))
  folders.push(folder)
  return folder
}

/** Deletes those that were made until now. */
export function removeOwnFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}
