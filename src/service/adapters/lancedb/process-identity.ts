import { readFile, readlink } from 'node:fs/promises'
import { isCode } from './files.ts'

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
