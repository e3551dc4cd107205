import { randomUUID } from 'node:crypto'
import { open, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../../domain/errors.ts'

/** A holder shows this often, in ms, that it lives. */
const BEAT_MS = 1_000
/** Whoever has watched a lock for this long without a beat, in ms, takes its holder for dead. */
const DEAD_MS = 8_000
/** Longest wait for another writer, in ms: an import lets others in between its batches. */
const WAIT_MS = 120_000
const POLL_MS = 25

/**
 * Runs `work` while no other process that uses the same file does. A holder that died is noticed by its lock's age not
 * changing, so that neither clocks nor process ids of other machines and containers matter. Throws a `RetryLaterError` if
 * others write for too long.
 */
export async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const release = await acquire(file)
  try {
    return await work()
  } finally {
    await release()
  }
}

async function acquire(file: string): Promise<() => Promise<void>> {
  const token = randomUUID()
  const started = performance.now()
  let seen = { sign: '', since: started }
  while (!(await created(file, token))) {
    const sign = await signOf(file)
    const now = performance.now()
    if (sign !== seen.sign) seen = { sign, since: now }
    else if (sign !== '' && now - seen.since > DEAD_MS) await bury(file, sign)
    if (now - started > WAIT_MS)
      throw new RetryLaterError('library', `another process has been writing to the library for long (${file})`)
    await sleep(POLL_MS * (0.5 + Math.random()))
  }
  const beat = setInterval(() => {
    const now = new Date()
    // A beat that fails is one that others don't see; the next one may be seen.
    utimes(file, now, now).catch(() => {})
  }, BEAT_MS)
  beat.unref()
  return async () => {
    clearInterval(beat)
    // It may have been taken from a process that was stopped for a while: then it is another's.
    if ((await contentOf(file)) === token) await removed(file)
  }
}

/** Removes a dead holder's lock, by one process at a time: two at once could remove a living one's in its place. */
async function bury(file: string, sign: string): Promise<void> {
  const spade = `${file}.burial`
  if (!(await created(spade, ''))) {
    if (Date.now() - (await stat(spade).then(({ mtimeMs }) => mtimeMs, Date.now)) > 10 * DEAD_MS) await removed(spade)
    return
  }
  try {
    if ((await signOf(file)) === sign) await removed(file)
  } finally {
    await removed(spade)
  }
}

async function created(file: string, content: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx')
    await handle.writeFile(content)
    await handle.close()
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Changes with each beat; empty if there is no lock. */
async function signOf(file: string): Promise<string> {
  try {
    const { mtimeMs, ino } = await stat(file)
    return `${ino} ${mtimeMs}`
  } catch (error) {
    if (isCode(error, 'ENOENT')) return ''
    throw error
  }
}

async function contentOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null
    throw error
  }
}

async function removed(file: string): Promise<void> {
  try {
    await unlink(file)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

/** Whether the file system says this. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
