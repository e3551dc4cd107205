import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { modelsWithoutKey } from '../../../../config/models.ts'
import type { Settings } from '../../../../config/schema.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { userOf } from '../../../data-files/in-use.ts'
import { ANSWERS } from '../../../data-files/recordings.ts'

/** Where a run's answers are kept unless the command names a folder, in the folder in which it is run. */
export const RUNS = join('.gavel', 'runs')
/** Runs that are kept, and what they may take together: when another begins, those that were used longest ago go. */
const MOST_RUNS = 20
const MOST_BYTES = 1024 ** 3
/** Commands that judge the same file at once have a folder each, up to so many. */
const MOST_AT_ONCE = 20

/** What tells a run from others: the same command has the same folder again. */
export interface RunIdentity {
  /** The file's path, or what else is the same for the same input alone. */
  readonly source: string
  /** What people call it. */
  readonly called: string
  readonly protocol?: string | undefined
}

/**
 * A folder for the answers of this run: of the same file, protocol and endpoints always the same one, so that the command goes on
 * where it stopped; if another process is at work in it, which is said, the next. Only this user can read it. Runs that are too many or too large
 * together are deleted. Throws an `OperatorError` where nothing can be kept.
 */
export async function runFolder(
  settings: Settings,
  of: RunIdentity,
  say: (line: string) => void,
  runs = RUNS,
): Promise<string> {
  await makePrivate(runs)
  const name = nameOf(settings, of)
  for (let nth = 1; nth <= MOST_AT_ONCE; nth++) {
    const folder = join(runs, nth === 1 ? name : `${name}-${nth}`)
    const user = await userOf(folder)
    if (user === null) {
      await deleteOldest(runs, folder)
      return folder
    }
    say(
      `${folder} is in use by ${user.who}: its answers are not used here. If that has ended, stop this command, delete ${user.file}, and run it again.`,
    )
  }
  throw new OperatorError(`${MOST_AT_ONCE} processes judge ${of.called} now`)
}

/** The file's name, and a digest of what else makes the run: who answers is part of it, so that no answer passes for another's. */
function nameOf(settings: Settings, { source, called, protocol }: RunIdentity): string {
  const standsIn = modelsWithoutKey(settings).length > 0
  const others = Object.values(settings.endpoints).map(({ baseUrl }) => baseUrl)
  const answering = standsIn ? ['understudy', ...others] : [settings.openai.baseUrl, ...others]
  const digest = createHash('sha256').update(JSON.stringify([resolve(source), protocol ?? null, answering]))
  const readable = basename(called)
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
  return `${[...readable].slice(0, 40).join('') || 'run'}-${digest.digest('hex').slice(0, 8)}`
}

/** What git reads, and the mark of a folder that was made here. */
const MARK = '.gitignore'

/** Makes the folder of runs for this user alone. Somebody else's, a link to elsewhere, or one with other things in it is refused. */
async function makePrivate(runs: string): Promise<void> {
  try {
    await mkdir(runs, { recursive: true, mode: 0o700 })
    const made = await lstat(runs)
    if (!made.isDirectory()) throw new OperatorError(`${runs} is a link, or no folder`)
    const names = await readdir(runs)
    if (names.length > 0 && !names.includes(MARK))
      throw new OperatorError(`${runs} holds other things: old runs are deleted there, so name a folder for runs alone`)
    const uid = process.getuid?.()
    if (uid !== undefined && made.uid !== uid) throw new OperatorError(`${runs} is another user's`)
    if ((made.mode & 0o077) !== 0) await chmod(runs, 0o700)
    // People run this in repositories of their own.
    await writeFile(join(runs, MARK), '*\n')
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`${runs} cannot be written (${(error as NodeJS.ErrnoException).code})`, { cause: error })
  }
}

/** Makes room for `next`: of the other runs the newest stay, up to the bounds, and those that are in use. */
async function deleteOldest(runs: string, next: string): Promise<void> {
  const others = (await readdir(runs, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(runs, name))
    .filter((folder) => folder !== next)
  const used = await Promise.all(others.map(async (folder) => ({ folder, ...(await usedIn(folder)) })))
  const known = used.filter(({ names }) => names.includes(ANSWERS))
  known.sort((one, other) => other.at - one.at)
  let bytes = (await usedIn(next)).bytes
  for (const [place, run] of known.entries()) {
    bytes += run.bytes
    if ((place + 1 < MOST_RUNS && bytes <= MOST_BYTES) || (await userOf(run.folder)) !== null) continue
    await rm(run.folder, { recursive: true, force: true })
  }
}

/** A run's files, their bytes, and when they were last written, in ms since 1970; nothing of a folder that is not there. */
async function usedIn(
  folder: string,
): Promise<{ readonly names: readonly string[]; readonly bytes: number; readonly at: number }> {
  const names = await readdir(folder).catch(() => [])
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => null)))
  const found = files.filter((file) => file !== null)
  return {
    names,
    bytes: found.reduce((sum, { size }) => sum + size, 0),
    at: Math.max(0, ...found.map(({ mtimeMs }) => mtimeMs)),
  }
}
