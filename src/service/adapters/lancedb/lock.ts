import { randomUUID } from 'node:crypto'
import { open, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../../domain/errors.ts'
import { isCode } from './files.ts'
import { isGone, thisProcess } from './process-identity.ts'

/** How often a holder touches its lock file, in ms. */
const HEARTBEAT_MS = 100
/** A lock without a heartbeat for this long, in ms, is stale if its holder's process is known to be gone. */
const SILENT_MS = 300
/** One whose holder can't be looked for from here is stale after this long, in ms: longer than any holder stands still. */
const STALE_MS = 8_000
/** Longest wait for other writers, in ms: an import releases the lock between its batches. */
const WAIT_MS = 120_000
const POLL_MS = 25

/**
 * Runs `work` while no other process holds the lock in the same file. A dead holder is noticed because its file no longer
 * changes, so that clocks and process ids of other machines and containers don't matter: within half a second where the holder ran
 * beside this process and is gone, else after `staleMs`. Throws a `RetryLaterError` if others hold the lock for more than two
 * minutes.
 */
export async function withLock<Result>(
  file: string,
  work: () => Promise<Result>,
  { staleMs = STALE_MS }: { staleMs?: number } = {},
): Promise<Result> {
  const release = await acquire(file, staleMs)
  try {
    return await work()
  } finally {
    await release()
  }
}

async function acquire(file: string, staleMs: number): Promise<() => Promise<void>> {
  const mine = `${randomUUID()} ${await thisProcess()}`
  const started = performance.now()
  let seen = { state: '', since: started }
  while (!(await created(file, mine))) {
    const state = await stateOf(file)
    const now = performance.now()
    if (state !== seen.state) seen = { state, since: now }
    else if (state !== '' && (await isStale(file, now - seen.since, staleMs))) await breakStaleLock(file, state, mine)
    if (now - started > WAIT_MS)
      throw new RetryLaterError('library', `another process has held the library's lock for too long (${file})`)
    await sleep(POLL_MS * (0.5 + Math.random()))
  }
  const heartbeat = setInterval(() => {
    const now = new Date()
    // If one heartbeat fails, the next may be seen.
    utimes(file, now, now).catch(() => {})
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return async () => {
    clearInterval(heartbeat)
    // A process that was suspended may have lost the lock to another.
    if ((await contentOf(file)) === mine) await removed(file)
  }
}

/** `silentMs`: how long its holder has not touched it, as seen from here. */
async function isStale(file: string, silentMs: number, staleMs: number): Promise<boolean> {
  return silentMs > staleMs || (silentMs > SILENT_MS && (await isHeldByNobody(file)))
}

/** Whether the process that made the file ran on this machine and is gone. */
async function isHeldByNobody(file: string): Promise<boolean> {
  const content = (await contentOf(file)) ?? ''
  // One whose maker died before it wrote names no process.
  return isGone(content.slice(content.indexOf(' ') + 1))
}

/** The file of the one process that removes a stale lock. */
export function breakingFile(file: string): string {
  return `${file}.breaking`
}

/** Removes a stale lock, one process at a time: a second one could remove the lock of the next holder. */
async function breakStaleLock(file: string, state: string, mine: string): Promise<void> {
  const breaking = breakingFile(file)
  if (!(await created(breaking, mine))) {
    const made = await stat(breaking).then(({ mtimeMs }) => mtimeMs, Date.now)
    if (Date.now() - made > 10 * STALE_MS || (await isHeldByNobody(breaking))) await removed(breaking)
    return
  }
  try {
    if ((await stateOf(file)) === state) await removed(file)
  } finally {
    await removed(breaking)
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

/** Changes with each heartbeat; empty if there is no lock. */
async function stateOf(file: string): Promise<string> {
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
