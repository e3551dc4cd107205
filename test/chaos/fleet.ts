import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from '../../src/platform/node-flags.js'
import { bareEnvironment } from '../support/bare-environment.ts'
import type { Way } from './proxy.ts'

/** The ways of one process to what it needs, each through a proxy of its own. */
export interface Ways {
  readonly redis: Way
  readonly kafka: Way
  readonly model: Way
}

/** A process that ended by itself. */
export interface Death {
  readonly worker: string
  readonly at: number
  readonly how: string
}

export interface Worker {
  readonly name: string
  readonly roles: string
  readonly ways: Ways
  /** What it logs, of all its lives. */
  readonly logFile: string
  readonly running: boolean
  /** Whether it says that its intake is paused. */
  readonly paused: boolean
  /** How often it says that its intake goes on. */
  readonly resumes: number
  readonly httpPort: number
  /** Whether it says that Redis has lost data. */
  readonly hasLost: boolean
  /** Whether it says of its last life that the machine kept it waiting, and that its time to stop ran out for that. */
  readonly wasKeptWaiting: boolean
  /** How often it says that it gave up a Kafka consumer for a new one. */
  readonly consumersReplaced: number
  /** Changes nothing where it runs already. */
  start(): Promise<void>
  /** Resolves when it has ended, with its exit code or signal; null where it was gone already. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<string | null>
  freeze(): void
  thaw(): void
  /** Makes its wall clock wrong by so much, ms. */
  moveClock(ms: number): void
}

const PRELOAD = fileURLToPath(new URL('preload.ts', import.meta.url))
/** A process that does not end so long after a signal, in ms, is killed, and the fault fails. */
const END_WITHIN_MS = 180_000
const START_WITHIN_MS = 180_000
const STARTS = 4

/** A service process that can be ended, frozen and started again. What ends unasked is told and started again. */
export function workerOf(settings: {
  name: string
  roles: string
  ways: Ways
  project: string
  folder: string
  environment: Readonly<Record<string, string>>
  died: (death: Death) => void
}): Worker {
  const { name, roles, ways, project, folder, died } = settings
  const logFile = join(folder, `${name}.log`)
  const clockFile = join(folder, `${name}.clock`)
  const log = createWriteStream(logFile, { flags: 'a' })
  let child: ChildProcess | undefined
  let paused = false
  let resumes = 0
  let httpPort = 0
  let consumersReplaced = 0
  let hasLost = false
  let [lagged, cutOff] = [false, false]
  let expected = true
  let frozen = false

  async function start(): Promise<void> {
    if (child !== undefined) return
    for (let attempt = 1; ; attempt++) {
      try {
        return await launch()
      } catch (error) {
        if (attempt === STARTS) throw error
      }
    }
  }

  async function launch(): Promise<void> {
    const flags = [...nodeFlags(), '--import', PRELOAD]
    const main = join(project, 'src', 'main.ts')
    const own = spawn(
      process.execPath,
      [...flags, main, 'run', '--roles', roles, '--config', join(folder, 'gavel.yaml')],
      {
        // A Ctrl-C reaches the suite alone, which ends its processes in order.
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
        env: bareEnvironment({ ...settings.environment, CHAOS_CLOCK: clockFile }),
      },
    )
    child = own
    paused = false
    frozen = false
    expected = true
    ;[lagged, cutOff] = [false, false]
    await new Promise<void>((resolve, reject) => {
      const deadline = setTimeout(() => own.kill('SIGKILL'), START_WITHIN_MS)
      createInterface({ input: own.stderr }).on('line', (line) => {
        log.write(`${line}\n`)
        if (line.includes('"intake:paused"')) paused = true
        if (line.includes('"intake:resumed"')) {
          paused = false
          resumes++
        }
        if (line.includes('"where":"kafka consumer"')) consumersReplaced++
        if (line.includes('"store:lost"')) hasLost = true
        if (line.includes('"loop:lagged"')) lagged = true
        if (line.includes('"service:cut-off"')) cutOff = true
        if (!line.includes('"service:started"')) return
        clearTimeout(deadline)
        httpPort = (JSON.parse(line) as { httpPort: number }).httpPort
        expected = false
        resolve()
      })
      own.once('exit', (code, signal) => {
        clearTimeout(deadline)
        log.write(`-- ${new Date().toISOString()} ended: ${signal ?? `exit code ${code}`}\n`)
        if (child === own) child = undefined
        reject(new Error(`${name} ended (${signal ?? `exit code ${code}`}) before it had started; see ${logFile}`))
        if (expected) return
        died({ worker: name, at: Date.now(), how: signal ?? `exit code ${code}` })
        setTimeout(() => {
          if (child === undefined && !expected) void start().catch(() => undefined)
        }, 500)
      })
    })
  }

  return {
    name,
    roles,
    ways,
    logFile,
    get running() {
      return child !== undefined && !frozen
    },
    get paused() {
      return paused
    },
    get resumes() {
      return resumes
    },
    get consumersReplaced() {
      return consumersReplaced
    },
    get hasLost() {
      return hasLost
    },
    get wasKeptWaiting() {
      return lagged && cutOff
    },
    get httpPort() {
      return httpPort
    },
    start,
    async end(signal) {
      expected = true
      const own = child
      if (own === undefined) return null
      const gone = once(own, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
      own.kill(signal)
      if (frozen) own.kill('SIGCONT')
      frozen = false
      const late = setTimeout(() => own.kill('SIGKILL'), END_WITHIN_MS)
      const [code, by] = await gone
      clearTimeout(late)
      return by ?? `exit code ${code}`
    },
    freeze() {
      frozen = true
      child?.kill('SIGSTOP')
    },
    thaw() {
      frozen = false
      child?.kill('SIGCONT')
    },
    moveClock(ms) {
      writeFileSync(clockFile, String(ms))
      child?.kill('SIGUSR2')
    },
  }
}
