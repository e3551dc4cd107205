import { randomUUID } from 'node:crypto'
import { open, readFile, readlink, stat, unlink, utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { isCode } from './files.ts'

/** How often a holder touches its lock file, in ms. */
const HEARTBEAT_MS = 100
/** A lock without a heartbeat for this long, in ms, is stale if its holder's process is known to be gone. */
const SILENT_MS = 300
/** One whose holder can't be looked for from here is stale after this long, in ms: longer than any holder stands still. */
const STALE_MS = 8_000
/** Longest wait for other writers, in ms: an import releases the lock between its batches. */
const WAIT_MS = 120_000
const POLL_MS = 25

/** Rejects with a `RetryLaterError` once another process has taken the lock, as from one that stood still for too long. */
export type LockCheck = () => Promise<void>

/**
 * Runs `work` while no other process holds the lock in the same file; before each write, `work` asks whether it is still held. A
 * dead holder is noticed because its file no longer changes, so that clocks and process ids of other machines and containers don't
 * matter: within half a second where the holder ran beside this process and is gone, else after `staleMs`. Throws a
 * `RetryLaterError` if others hold the lock for more than two minutes.
 */
export async function withLock<Result>(
  file: string,
  work: (stillHeld: LockCheck) => Promise<Result>,
  { staleMs = STALE_MS }: { staleMs?: number } = {},
): Promise<Result> {
  const { stillHeld, release } = await acquire(file, staleMs)
  try {
    return await work(stillHeld)
  } finally {
    await release()
  }
}

async function acquire(file: string, staleMs: number) {
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
  // A process that was suspended may have lost the lock to another.
  const isMine = async () => (await contentOf(file)) === mine
  return {
    async stillHeld() {
      if (!(await isMine()))
        throw new RetryLaterError('library', `another process has taken the library's lock (${file})`)
    },
    async release() {
      clearInterval(heartbeat)
      if (await isMine()) await removed(file)
    },
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

/**
 * A process as a line of text, unlike any other's, on whatever machine: the machine's boot, the namespace of process ids, the id
 * and when it started.
 */
const LINE = /^(\S+ pid:\[\d+\]) (\d+) (\d+)$/

let identity: Promise<string> | null = null

/** This process; empty where the system does not tell (other systems than Linux, sandboxes). */
export function thisProcess(): Promise<string> {
  identity ??= (async () => {
    try {
      const [place, started] = await Promise.all([thisPlace(), startOf(process.pid)])
      return `${place} ${process.pid} ${started}`
    } catch {
      return ''
    }
  })()
  return identity
}

/**
 * Whether the process that a line names is known to be gone. False for one of another machine or container, whose processes
 * can't be looked for from here.
 */
export async function isGone(line: string): Promise<boolean> {
  const [, place, pid, started] = LINE.exec(line) ?? []
  const [, here] = LINE.exec(await thisProcess()) ?? []
  if (place === undefined || place !== here) return false
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (isCode(error, 'ESRCH')) return true
  }
  // Its id may have been given to another process; one that its parent has not collected yet runs no more.
  return startOf(Number(pid)).then(
    (now) => now !== started,
    () => false,
  )
}

/** Where process ids mean the same processes as here, since the machine was started. */
async function thisPlace(): Promise<string> {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
  ])
  return `${boot.trim()} ${namespace}`
}

/** When a process started, in ticks of the machine's clock since its boot; `ended` for one that runs no more. */
async function startOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The second field is the command, which may hold anything; the state is the third, the start the 22nd.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  return state === 'Z' || state === 'X' ? 'ended' : (fields[19] ?? '')
}
