import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Policy } from '../../../protocols/policy.ts'
import { publishedName } from '../../../protocols/published-policy.ts'

/** A policy as it was read from its file, whose name has no ending here. */
export interface PolicyFile {
  readonly name: string
  readonly source: string
  readonly policy: Policy
}

/**
 * Writes the texts that are in force together into a folder of their own, and returns the switches by which they judge: whoever goes
 * on writing in the files that they came from changes nothing that is live. Throws an `OperatorError` where they cannot be written.
 */
export async function keepPublished(
  folder: string,
  files: readonly PolicyFile[],
): Promise<{ readonly policies: string[]; readonly policiesPath: string }> {
  const named = files.map((one) => ({ ...one, name: publishedName(one.name, one.policy) }))
  try {
    await mkdir(folder, { recursive: true })
    for (const { name, source } of named) await writeOnce(folder, name, source)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `Nothing is published: ${folder} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      {
        cause: error,
      },
    )
  }
  return { policies: named.map(({ name }) => name), policiesPath: folder }
}

/** The same text may be published again after it was taken back. A file that a kill left is hidden, so that nothing reads it. */
async function writeOnce(folder: string, name: string, source: string): Promise<void> {
  const path = join(folder, `${name}.md`)
  const known = await readFile(path, 'utf8').catch(() => null)
  if (known === null) {
    const fresh = join(folder, `.${name}.new`)
    await writeFile(fresh, source)
    await rename(fresh, path)
  } else if (known !== source)
    throw new OperatorError(
      `Nothing is published: ${path} was edited since it was published; delete it, and try again.`,
    )
}
