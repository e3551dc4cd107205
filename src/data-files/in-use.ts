import { readFileSync } from 'node:fs'
import { readFile, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../contracts/facts/errors.ts'

/** Names the process that works with the folder: its host, and its id there. */
const IN_USE = 'in-use'

/**
 * Takes a folder into use for this process. Throws an `OperatorError` if another that is still there has it, or one on another host,
 * of which nobody here can tell. Returns what gives it back.
 */
export async function takeFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, IN_USE)
  const own = `${hostname()} ${process.pid}`
  if (!(await created(file, own))) {
    const { holder, host, id, isThere } = await holderOf(file)
    if (isThere && holder !== own)
      throw new OperatorError(`${folder} is in use by process ${id} on ${host}. If that has ended, delete ${file}.`)
    await writeFile(file, own)
  }
  return () => unlink(file).catch(() => {})
}

/** Who works with the folder, in words: a process that is still there, or one on another host; null if nobody does. */
export async function userOf(folder: string): Promise<{ readonly who: string; readonly file: string } | null> {
  const file = join(folder, IN_USE)
  const { host, id, isThere } = await holderOf(file)
  return isThere ? { who: `process ${id} on ${host}`, file } : null
}

async function holderOf(file: string) {
  const holder = await readFile(file, 'utf8').catch(() => '')
  const [host, id] = holder.split(' ')
  return { holder, host, id, isThere: holder !== '' && (host !== hostname() || isRunning(Number(id))) }
}

async function created(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0) && !hasEnded(id)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether a process is over, and only waits for its parent to take note. Nobody may ever, in a container. */
function hasEnded(id: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${id}/status`, 'utf8'))
  } catch {
    return false // Not Linux.
  }
}
