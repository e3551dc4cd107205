import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A new empty folder, which is gone after the file's tests. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gavel-${name}-`))
  folders.push(folder)
  return folder
}
