import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { lastLines } from './command.ts'

/** Takes one line of progress, for a person. */
export type SayLine = (line: string) => void

/** A private server on this machine: nobody else uses it, and it lives no longer than this process. */
export interface LocalServer {
  /** What it is, in one line for a person. */
  readonly what: string
  /** The settings that lead to it, by their environment names. */
  readonly settings: Record<string, string>
  /** Its process; undefined while there is none. */
  readonly pid: number | undefined
  /** Stops it and removes its temporary folder. Asking again changes nothing. */
  close(): Promise<void>
}

/** A local server whose data outlive its process, for rehearsing crashes. */
export interface RestartableServer extends LocalServer {
  /** Stops it at once with SIGKILL, as a crash would; port and data stay. */
  kill(): Promise<void>
  /** Starts it again on the same port and data, stopping it first (SIGTERM) if it is running. */
  restart(): Promise<void>
}

/** This machine lacks something that the server needs. The message names it, and the ways to get it. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
}

/** A server ended before it was ready, or was not ready in time. The message has its last words. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError'
}

export interface ServerCommand {
  /** For messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Is removed when the server is closed, and also when this process dies. */
  readonly temporaryFolder?: string | undefined
  /**
   * Asked again and again until true; a throw means not yet, and is quoted if the deadline passes. Gets what the
   * server wrote so far. Must settle by itself within a few seconds.
   */
  readonly ready: (output: string) => Promise<boolean>
  readonly readyWithinMs: number
  /** How long SIGTERM may take before SIGKILL follows. */
  readonly stopWithinMs?: number
  readonly say: SayLine
}

export type SpawnedServer = Pick<RestartableServer, 'pid' | 'kill' | 'restart' | 'close'>

/**
 * Starts a server and waits until it is ready. Fails, with the end of what the server wrote, when it ends before that
 * or takes too long; nothing is left behind then. The server dies with this process, even when that is killed with
 * SIGKILL, and hears nothing of a Ctrl-C, so that the caller can close things in order. When it ends unasked, that is
 * said.
 */
export async function spawnServer(command: ServerCommand): Promise<SpawnedServer> {
  let running = await launch(command).catch(async (error: unknown) => {
    await removeFolder(command.temporaryFolder)
    throw error
  })
  let closing: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()
  // One at a time: a close that comes during a restart stops what that started.
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  return {
    get pid() {
      return running.pid()
    },
    kill: () => inTurn(() => running.stop('SIGKILL')),
    async restart() {
      if (closing !== undefined) throw new Error(`${command.name} is closed: it can't be started again`)
      await inTurn(async () => {
        await running.stop('SIGTERM')
        running = await launch(command)
      })
    },
    close() {
      closing ??= inTurn(async () => {
        await running.stop('SIGTERM')
        await removeFolder(command.temporaryFolder)
      })
      return closing
    },
  }
}

/**
 * A port of 127.0.0.1 that is free now and was not given out before. It lies below the range from which systems take
 * the ports of outgoing connections: else a client that calls a server while it restarts could be given that very port.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(15_000, 32_000)
    if (!givenOut.has(port) && (await isFree(port))) {
      givenOut.add(port)
      return port
    }
  }
  throw new Error('No free port found between 15000 and 32000 on 127.0.0.1')
}

/** A new empty folder under the system's place for temporary files. */
export async function temporaryFolder(name: string): Promise<string> {
  return await mkdtemp(join(tmpdir(), `gavel-${name}-`))
}

const givenOut = new Set<number>()

async function isFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

// The shell becomes the server, so that its process id is the server's. Before that it leaves a watch behind, which
// reads from a pipe that only our process holds: the word `done` means that the server has ended, an end of file that our
// process is gone.
const WATCHED = `
folder=$1; server=$$; shift
( (
  trap '' INT TERM HUP
  read -r word <&3
  [ "$word" = done ] && exit
  kill -KILL "$server"
  tries=0
  while kill -0 "$server" && [ "$tries" -lt 40 ]; do sleep 0.05; tries=$((tries + 1)); done
  [ -z "$folder" ] || rm -rf "$folder"
) </dev/null >/dev/null 2>&1 & )
exec "$@" </dev/null 3<&-
`

interface Running {
  pid(): number | undefined
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

async function launch(command: ServerCommand): Promise<Running> {
  const { name, say, temporaryFolder: folder = '', stopWithinMs = 10_000 } = command
  // Its own session: a Ctrl-C in the terminal reaches us only.
  const child = spawn('/bin/sh', ['-c', WATCHED, name, folder, command.command, ...command.args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-64 * 1024)
    })
  }

  let ended: string | undefined
  let expected = false
  const exit = new Promise<void>((resolve) => {
    const end = (how: string) => {
      ended ??= how
      releaseWatch(child)
      resolve()
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))
  })
  const streamsClosed = new Promise<void>((resolve) => child.once('close', () => resolve()))

  const stop = async (signal: 'SIGTERM' | 'SIGKILL') => {
    expected = true
    if (ended === undefined) child.kill(signal)
    const deadline = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
    await exit
    clearTimeout(deadline)
  }

  try {
    await untilReady()
  } catch (error) {
    await stop('SIGKILL')
    throw error
  }
  void exit.then(() => {
    if (!expected) say(`${name} ended by itself (${ended}). Its last words:\n${lastLines(output)}`)
  })
  return { pid: () => (ended === undefined ? child.pid : undefined), stop }

  async function untilReady(): Promise<void> {
    const deadline = Date.now() + command.readyWithinMs
    let lastError: unknown
    while (Date.now() < deadline) {
      const ready = await command.ready(output).catch((error: unknown) => {
        lastError = error
        return false
      })
      if (ended !== undefined) {
        await Promise.race([streamsClosed, sleep(500)])
        throw new NotReadyError(`${name} ended (${ended}) before it was ready:\n${lastLines(output)}`)
      }
      if (ready) return
      await sleep(25)
    }
    const words = lastLines(output) || 'It wrote nothing.'
    throw new NotReadyError(`${name} was not ready after ${command.readyWithinMs / 1000} s:\n${words}`, {
      cause: lastError,
    })
  }
}

function releaseWatch(child: ChildProcess): void {
  const watch = child.stdio[3] as Writable | null | undefined
  watch?.on('error', () => {}) // the watch may be gone already: then there is nothing to tell it
  watch?.end('done\n')
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
