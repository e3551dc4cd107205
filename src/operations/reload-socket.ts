import { lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { createServer, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

/** What came of reading the settings again. */
export const reloadOutcome = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('reloaded'), changed: z.array(z.string()) }),
  /** A restart alone can change what stands at these paths: nothing was taken. */
  z.object({ outcome: z.literal('fixed'), paths: z.array(z.string()), advice: z.string() }),
  z.object({ outcome: z.literal('refused'), why: z.string(), advice: z.string() }),
  /** It reads them itself once it has started, or reads none any more, for it stops. */
  z.object({ outcome: z.literal('starting') }),
  z.object({ outcome: z.literal('stopping') }),
])
export type ReloadOutcome = z.infer<typeof reloadOutcome>

/** What a process answers who asks it to reload. */
const reloadAnswer = z.object({ name: z.string(), roles: z.array(z.string()), result: reloadOutcome })

/** A service on this machine, and what came of its reload; null: it gave no answer that Gavel gives. */
export interface ReloadAnswer {
  readonly pid: number
  readonly answer: z.infer<typeof reloadAnswer> | null
}

/** Only the user that runs the services may enter: whoever reaches a socket in it has them read their settings again. */
export function reloadFolder(): string {
  return join(tmpdir(), `gavel-${process.getuid?.() ?? 'user'}`)
}

const SUFFIX = '.sock'
/** Reading settings and prompts again takes a part of a second; lists of vetoes may take longer. */
const ANSWERS_WITHIN_MS = 60_000

/**
 * Opens this process's socket, by which a command has it read its settings again. Throws where the folder belongs to another user,
 * or can't be written.
 */
export async function serveReload(
  process: { readonly name: string; readonly roles: readonly string[]; readonly pid: number },
  reload: () => Promise<ReloadOutcome>,
): Promise<{ close(): Promise<void> }> {
  const folder = reloadFolder()
  const path = join(folder, `${process.pid}${SUFFIX}`)
  const { name, roles } = process
  const answer = async (response: ServerResponse) => {
    const body: z.input<typeof reloadAnswer> = { name, roles: [...roles], result: await reload() }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer(({ method }, response) => {
    if (method !== 'POST') response.writeHead(405).end()
    else answer(response).catch(() => response.writeHead(500).end())
  })
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      mustBeOwn(folder)
      // Of a killed process that had the same id.
      rmSync(path, { force: true })
      server.once('error', reject)
      server.listen(path, resolve)
    })
  // Another process that ended may have removed the folder in between: for a socket Node calls that EACCES.
  await listen().catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT', 'EACCES')) throw error
    return listen()
  })
  server.unref()
  return {
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      removeIfEmpty(folder)
    },
  }
}

/** In a folder that everybody may write, somebody else may have made this one first. */
function mustBeOwn(folder: string): void {
  const state = lstatSync(folder)
  const isOwn = process.getuid === undefined || (state.uid === process.getuid() && (state.mode & 0o077) === 0)
  if (!state.isDirectory() || !isOwn) throw new Error(`${folder} is no folder that only this user may enter`)
}

/** Not so while another process has its socket there. A folder that stays harms nobody, and must not keep a process from ending. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It stays.
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Asks every service of this user on this machine, or the one with this process id, to read its settings again. */
export async function askToReload(pid?: number): Promise<ReloadAnswer[]> {
  const folder = reloadFolder()
  const found = socketsIn(folder).filter((one) => pid === undefined || one === pid)
  const answers = await Promise.all(found.map((one) => ask(join(folder, `${one}${SUFFIX}`), one)))
  return answers.filter((one) => one !== null)
}

function socketsIn(folder: string): number[] {
  try {
    mustBeOwn(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => Number(basename(name, SUFFIX)))
    .sort((one, other) => one - other)
}

/** Null if the process has ended, and left its socket. */
async function ask(socketPath: string, pid: number): Promise<ReloadAnswer | null> {
  try {
    return { pid, answer: await answerOf(socketPath) }
  } catch (error) {
    if (!hasCode(error, 'ECONNREFUSED', 'ENOENT')) return { pid, answer: null }
    rmSync(socketPath, { force: true })
    return null
  }
}

async function answerOf(socketPath: string): Promise<z.infer<typeof reloadAnswer>> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS)
  const body = await new Promise<string>((resolve, reject) => {
    request({ socketPath, method: 'POST', path: '/reload', signal }, (response) => text(response).then(resolve, reject))
      .once('error', reject)
      .end()
  })
  return reloadAnswer.parse(JSON.parse(body))
}
