import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiKey, type ApiKeys, apiKeys } from '../../contracts/facts/api-key.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Report } from '../../contracts/ports/report.ts'

/** Longest wait for another command that changes the keys, in ms, and for how long its lock counts. */
const LOCK_MS = 5_000
const TRY_MS = 50

/** The keys in a file, as they were when it was last read well. */
export interface KeyFile {
  readonly byId: ReadonlyMap<string, ApiKey>
  /** When the file was last seen to be as it was read, ms since 1970. */
  readonly seenAt: number
  /** Reads it again if it has changed, and reports how many there are and how old they are. Rejects if it can't be read: then the keys stay as they are. */
  poll(): Promise<void>
}

/**
 * The keys of a file that may change at any time. Throws an `OperatorError` if it can't be read at the start; one that `mayCome`
 * later is no fault, and holds no key until then.
 */
export function openKeyFile(
  path: string,
  now: () => number,
  { mayCome = false, report = () => {} }: { mayCome?: boolean; report?: Report } = {},
): KeyFile {
  let mark = markOf(path)
  let byId: ReadonlyMap<string, ApiKey> = mayCome && mark === NO_FILE ? new Map() : byIdOf(readKeys(path))
  let seenAt = now()
  return {
    get byId() {
      return byId
    },
    get seenAt() {
      return seenAt
    },
    async poll() {
      try {
        const found = markOf(path)
        if (found !== mark) {
          byId = byIdOf(readKeys(path))
          mark = found
        }
        seenAt = now()
      } finally {
        report('keys:read', { keys: byId.size, ageSeconds: Math.max(0, now() - seenAt) / 1000 })
      }
    },
  }
}

function byIdOf({ keys }: ApiKeys): ReadonlyMap<string, ApiKey> {
  return new Map(keys.map((key) => [key.id, key]))
}

const NO_FILE = 'none'
/** Another content has another of these: the file is replaced, never written into. */
function markOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? NO_FILE : [found.ino, found.ctimeMs, found.size].join(' ')
}

/** The keys in the file. Throws an `OperatorError`, which quotes nothing of it, if there is none, or it is no file of keys. */
export function readKeys(path: string): ApiKeys {
  let text: string
  let mode: number
  try {
    mode = statSync(path).mode
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new OperatorError(
      code === 'ENOENT'
        ? `There is no file of keys at ${path} (door.keys). Make a key with "gavel keys create --tenant NAME".`
        : `The keys in ${path} cannot be read (${code}).`,
    )
  }
  // Windows has no such bits.
  if (process.platform !== 'win32' && (mode & 0o002) !== 0)
    throw new OperatorError(`Every user of this machine may write the keys in ${path}. Run: chmod o-w ${path}`)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new OperatorError(`The keys in ${path} are not JSON.`)
  }
  return checked(json, `The keys in ${path} are not as "gavel keys" writes them`)
}

/** Throws an `OperatorError`, which begins with these words, if it is no file of keys. */
function checked(json: unknown, otherwise: string): ApiKeys {
  const read = apiKeys.safeParse(json)
  if (read.success) return read.data
  const [fault] = read.error.issues
  throw new OperatorError(`${otherwise}: ${fault?.path.join('.')}: ${fault?.message}.`)
}

/**
 * Changes the keys in the file, which is made if there is none. Readers see the old file or the new one; of several that change it at once
 * each sees what those before it have done. Owner, mode and a link to the file stay. Throws an `OperatorError` for keys that no door would read.
 */
export async function changeKeys<Result>(
  path: string,
  change: (keys: readonly ApiKey[]) => { readonly keys: readonly ApiKey[]; readonly result: Result },
): Promise<Result> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined
  // Renamed onto a link, the new file would stand in its place, and who reads the old one would not see it.
  const file = isThere ? realpathSync(path) : path
  const lock = `${file}.lock`
  await takeLock(lock)
  try {
    const old = statSync(file, { throwIfNoEntry: false })
    const { keys, result } = change(old === undefined ? [] : readKeys(file).keys)
    replace(file, checked({ schema: 1, keys }, 'Nothing was changed, for no door would read these keys'), old)
    return result
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Puts other keys in the place of a file, for the same readers. */
function replace(path: string, keys: ApiKeys, old: Stats | undefined): void {
  const written = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(written, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true })
    if (old !== undefined) {
      const made = statSync(written)
      if (made.uid !== old.uid || made.gid !== old.gid) giveTo(written, old, path)
      chmodSync(written, old.mode & 0o777)
    }
    renameSync(written, path)
  } catch (error) {
    rmSync(written, { force: true })
    throw error
  }
}

function giveTo(written: string, { uid, gid }: Stats, path: string): void {
  try {
    chownSync(written, uid, gid)
  } catch (error) {
    throw new OperatorError(
      `Nothing was changed. ${path} belongs to user ${uid} and group ${gid}: run this as that user, or the doors could not read the new file.`,
      { cause: error },
    )
  }
}

async function takeLock(lock: string): Promise<void> {
  for (const until = Date.now() + LOCK_MS; ; await sleep(TRY_MS))
    try {
      closeSync(openSync(lock, 'wx', 0o600))
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      if (Date.now() > until)
        throw new OperatorError(`Another command is changing the keys. If none is, remove ${lock}.`)
    }
}
