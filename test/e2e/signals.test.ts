import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { environmentOn, eventually, send, tell } from '../support/pipeline.ts'

// A service as a shell, systemd, a container and an npm script run it: reloaded, ended, and nothing of it left. `npm test` tries one
// of each kind; the proof all.

const LAUNCH = [process.execPath, join(PROJECT, 'src', 'launch.js'), 'run']
const NPX = ['npx', 'gavel', 'run']
const NPM = ['npm', 'run', 'gavel', '--', 'run']
/** As a container does: a first process of its own, which nobody else may end for it. */
const UNSHARE = '/usr/bin/unshare'
const noContainers = process.platform !== 'linux' || !existsSync(UNSHARE) || process.getuid?.() !== 0
if (noContainers) tell('NO TEST HERE RUNS GAVEL AS PROCESS 1: that takes unshare(1) of Linux, and root')
const LATENCY_MS = 800

let stack: Stack
const folder = mkdtempSync(join(tmpdir(), 'gavel-signals-'))
const posts = join(folder, 'posts.jsonl')
const started: Running[] = []
beforeAll(async () => {
  const lines = Array.from({ length: 6 }, (_, n) => ({
    post: { id: `p${n}`, text: `They drive on number ${n}.`, createdAt: new Date(Date.UTC(2025, 2, 1, 10, n)) },
  }))
  writeFileSync(posts, lines.map(({ post }) => `${JSON.stringify({ type: 'post', ...post })}\n`).join(''))
  stack = await startStack({}, { kafka: 'memory', say: () => {}, understudy: { latencyMs: LATENCY_MS } })
})
afterEach(() => {
  for (const { marker } of started.splice(0)) for (const pid of processesOf(marker)) process.kill(pid, 'SIGKILL')
})
afterAll(async () => {
  await stack?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** How the service is started, and how whoever runs it asks it to end. */
interface Way {
  readonly how: string
  readonly command: readonly string[]
  readonly end: (running: Running) => void
  /** Whether its caller sees the exit code of the service. */
  readonly code?: number | null
  readonly isTried?: boolean
}

const WAYS: readonly Way[] = [
  {
    how: 'in the background of a shell, at SIGTERM to its process group',
    command: ['/bin/sh', '-c', `'${LAUNCH.join("' '")}' & wait $!; exit $?`],
    end: (running) => signal(-running.pid, 'SIGTERM'),
    code: null,
    isTried: IN_PROOF,
  },
  {
    how: "systemd's way, KillMode=control-group: SIGTERM to each process, and SIGHUP behind it",
    command: LAUNCH,
    end: ({ marker }) => {
      const all = processesOf(marker)
      for (const name of ['SIGTERM', 'SIGHUP'] as const) for (const pid of all) signal(pid, name)
    },
    code: 0,
  },
  {
    how: "systemd's way, KillMode=mixed: SIGTERM to the first process, SIGKILL to what is left when that has ended",
    command: LAUNCH,
    end: mixed,
    code: 0,
    isTried: IN_PROOF,
  },
  {
    how: 'as process 1, at SIGTERM',
    command: [UNSHARE, '--pid', '--fork', '--mount-proc', '--kill-child', ...LAUNCH],
    end: ({ marker, pid }) => {
      for (const one of processesOf(marker)) if (one !== pid) signal(one, 'SIGTERM')
    },
    code: 0,
    isTried: !noContainers,
  },
  {
    how: 'by npx, mixed',
    command: NPX,
    end: mixed,
    isTried: IN_PROOF,
  },
  {
    how: 'by an npm script, at SIGTERM to npm',
    command: NPM,
    end: ({ pid }) => signal(pid, 'SIGTERM'),
    isTried: IN_PROOF,
  },
  { how: 'by an npm script, npm killed', command: NPM, end: ({ pid }) => signal(pid, 'SIGKILL') },
  { how: 'by npx, which a SIGHUP ends', command: NPX, end: ({ pid }) => signal(pid, 'SIGHUP'), isTried: IN_PROOF },
  { how: 'by npx, killed', command: NPX, end: ({ pid }) => signal(pid, 'SIGKILL'), isTried: IN_PROOF },
]

describe('a service with calls in flight', () => {
  for (const { how, command, end, code, isTried = true } of WAYS)
    it.runIf(isTried)(`${how}: is reloaded, drains, and leaves nothing`, async () => {
      const running = await start(command)
      running.write('routes: { safety: [{ tenants: [default] }] }')
      const said = await reload(running)
      expect(said).toMatchObject({ code: 0, answers: [{ outcome: 'reloaded', changed: ['routes.safety'] }] })
      await send(running.environment, posts, 'gavel', { kind: 'flat-out' })
      await eventually(async () => running.calls().includes(null), 20_000, running.output)
      end(running)
      const exit = await running.ended
      if (code !== undefined) expect(exit, running.output()).toBe(code)
      await eventually(async () => processesOf(running.marker).length === 0, 10_000, running.output)
      expect(running.output()).toContain('"service:stopped"')
      expect(running.calls().filter((status) => status !== 'answered')).toEqual([])
      expect(readdirSync(running.environment.TMPDIR ?? '').filter((name) => name.startsWith('gavel-'))).toEqual([])
    })
})

it.runIf(IN_PROOF)('outlives npm where it is told to, and gavel reload still reaches it', async () => {
  const running = await start(NPM, { GAVEL_OUTLIVES_NPM: 'true' })
  signal(running.pid, 'SIGKILL')
  await running.ended
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(await reload(running)).toMatchObject({ code: 0, answers: [{ outcome: 'reloaded', changed: [] }] })
  expect(running.output()).not.toContain('"service:stopping"')
})

it('gavel reload says why settings are refused, what needs a restart, and that nobody is there', async () => {
  const running = await start(LAUNCH)
  running.write('protocols: { hate: { rounds: many } }')
  const refused = await reload(running)
  expect(refused).toMatchObject({ code: 1, answers: [{ outcome: 'refused' }] })
  expect(refused.answers[0]?.why).toContain('protocols.hate.rounds')
  running.write('cases: { maxOpen: 7 }')
  expect(await reload(running)).toMatchObject({ code: 1, answers: [{ outcome: 'fixed', paths: ['cases.maxOpen'] }] })
  signal(running.pid, 'SIGTERM')
  expect(await running.ended).toBe(0)
  expect(await reload(running)).toMatchObject({ code: 1, answers: [], said: expect.stringContaining('No service') })
})

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error // it has ended already
  }
}

function mixed({ pid, marker, ended }: Running): void {
  signal(pid, 'SIGTERM')
  void ended.then(() => {
    for (const left of processesOf(marker)) signal(left, 'SIGKILL')
  })
}

interface Running {
  /** Of the process that was started: shell, launcher, npm or npx. */
  readonly pid: number
  /** What stands in the environment of all its processes, and of no other's. */
  readonly marker: string
  readonly environment: Readonly<Record<string, string>>
  readonly output: () => string
  readonly ended: Promise<number | null>
  /** What became of the calls of models since it was started; null: in flight. */
  readonly calls: () => (string | null)[]
  /** Writes its file of settings. */
  readonly write: (yaml: string) => void
}

async function start(command: readonly string[], more: Record<string, string> = {}): Promise<Running> {
  const before = stack.understudy?.calls().length ?? 0
  const own = mkdtempSync(join(folder, 'own-'))
  const [file, temporary] = [join(own, 'gavel.yaml'), join(own, 't')]
  mkdirSync(temporary)
  writeFileSync(file, '')
  const marker = `GAVEL_NAME=n${own.slice(-6).toLowerCase()}`
  const changes = { GAVEL_CLOCK_IDLE_AFTER: '300ms', GAVEL_PROTOCOLS_RUMOR_ENABLED: 'false', TMPDIR: temporary }
  const environment = {
    ...environmentOn(stack, { ...changes, GAVEL_PROTOCOLS_SAFETY_ENABLED: 'true' }),
    GAVEL_NAME: marker.slice('GAVEL_NAME='.length),
    ...more,
  }
  const [program = '', ...args] = [...command, '--config', file]
  const isShell = args[0] === '-c'
  const words = isShell ? ['-c', args[1]?.replace(' & ', ` --config '${file}' & `) ?? ''] : args
  const child: ChildProcess = spawn(program, words, {
    cwd: PROJECT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const running: Running = {
    pid: child.pid ?? Number.NaN,
    marker,
    environment,
    output: () => output,
    ended: new Promise((resolve) => child.once('exit', resolve)),
    calls: () => (stack.understudy?.calls() ?? []).slice(before).map(({ status }) => status),
    write: (yaml) => writeFileSync(file, yaml),
  }
  started.push(running)
  await eventually(
    async () => output.includes('"service:started"'),
    30_000,
    () => output,
  )
  return running
}

/** `gavel reload` of this user, on the machine of that service. */
async function reload({ environment }: Running) {
  const args = [join(PROJECT, 'src', 'launch.js'), 'reload', '--json']
  const env = { PATH: process.env.PATH, TMPDIR: environment.TMPDIR }
  return new Promise<{ code: number; answers: { outcome?: string; why?: string }[]; said: string }>((resolve) => {
    execFile(process.execPath, args, { env }, (error, out, said) => {
      const answers = out === '' ? [] : (JSON.parse(out) as { result?: { outcome: string; why?: string } }[])
      resolve({ code: Number(error?.code ?? 0), answers: answers.map(({ result }) => ({ ...result })), said })
    })
  })
}

/** The processes with this text in their environment. */
function processesOf(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(marker)
      } catch {
        return false // it has ended, or belongs to another user
      }
    })
    .map(Number)
}
