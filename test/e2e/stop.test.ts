import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { command as doctor } from '../../src/app/commands/doctor.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { invocation } from '../support/commands.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { environmentOn, eventually, send, silent, tell } from '../support/pipeline.ts'

/** Long enough that calls are in flight whenever a signal comes, and far within what a drain waits for. */
const LATENCY_MS = 1_200
/** Long enough for a second signal, or for looking at how it ends. */
const LONGER_MS = 2_000
const CTRL_C = '\x03'
const LAUNCHER = [process.execPath, join(PROJECT, 'src', 'launch.js')]
const NPX = ['npx', 'gavel']
const NPM = ['npm', 'run', 'gavel', '--']
/** Of util-linux: runs a command on a terminal of its own, whose keyboard is its standard input. */
const SCRIPT = '/usr/bin/script'
const noTerminal = process.platform !== 'linux' || !existsSync(SCRIPT)
/** `npm test` tries the launcher alone, which npx and npm run start. */
const isTried = (command: readonly string[], where: 'terminal' | 'plain') =>
  !(where === 'terminal' && noTerminal) && (IN_PROOF || command === LAUNCHER)
if (noTerminal) tell(`NO TEST HERE PRESSES CTRL-C IN A TERMINAL: there is no ${SCRIPT} of Linux`)

let stack: Stack
const folder = mkdtempSync(join(tmpdir(), 'gavel-stop-'))
const file = join(folder, 'threads.jsonl')
const started: Running[] = []
beforeAll(async () => {
  writeFileSync(file, threads(12))
  stack = await startStack({}, { kafka: 'memory', say: tell, understudy: { latencyMs: LATENCY_MS } })
})
afterEach(async () => {
  for (const running of started.splice(0)) {
    signalGroup(running, 'SIGKILL')
    await running.ended
  }
})
afterAll(async () => {
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

describe('gavel run with model calls in flight', () => {
  const drains: [string, string[], 'terminal' | 'plain', (running: Running) => void][] = [
    ['a Ctrl-C in a terminal', LAUNCHER, 'terminal', press],
    ['a Ctrl-C in a terminal, through npx', NPX, 'terminal', press],
    ['a Ctrl-C in a terminal, through npm run', NPM, 'terminal', press],
    ['a SIGINT to the whole process group', LAUNCHER, 'plain', (running) => signalGroup(running, 'SIGINT')],
    ['a SIGTERM to the whole process group', LAUNCHER, 'plain', (running) => signalGroup(running, 'SIGTERM')],
    ['a SIGTERM to the group of npm run', NPM, 'plain', (running) => signalGroup(running, 'SIGTERM')],
    ['a SIGTERM to the launcher alone', LAUNCHER, 'plain', ({ child }) => child.kill('SIGTERM')],
    ['a SIGTERM to npx alone', NPX, 'plain', ({ child }) => child.kill('SIGTERM')],
  ]
  for (const [what, command, where, stop] of drains)
    it.runIf(isTried(command, where))(`ends them, and then itself, at ${what}`, async () => {
      const running = await busy(command, where)
      stop(running)
      expect(await running.ended, running.output()).toBe(0)
      expect(running.output()).toContain('"service:stopped"')
      await expectNothingListens(running)
      expect(running.calls()).toContain('answered')
      expect(running.calls().filter((status) => status !== 'answered')).toEqual([])
    })

  it('shows how they end: metrics to the last of them, alive and not ready', async () => {
    const running = await busy(LAUNCHER, 'plain', LONGER_MS)
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${portOf(running)}${path}`, { signal: AbortSignal.timeout(2_000) })
      return { status: response.status, text: await response.text() }
    }
    const before = (await ask('/metrics')).text
    expect(before).toContain('gavel_loop_last_success_timestamp_seconds{loop="store-watch"')
    running.child.kill('SIGTERM')
    await eventually(async () => running.output().includes('"service:stopping"'), 10_000, running.output)
    expect(await ask('/health/ready')).toMatchObject({ status: 503, text: expect.stringContaining('stopping') })
    expect(await ask('/health/live')).toMatchObject({ status: 200 })
    const scrapes: string[] = []
    for (;;) {
      const scrape = await ask('/metrics').catch(() => null)
      if (scrape === null) break
      scrapes.push(scrape.text)
      await pause(20)
    }
    expect(await running.ended, running.output()).toBe(0)
    // Each call that was in flight is counted, and no loop that was stopped looks like an outage.
    const answered = running.calls().filter((status) => status === 'answered').length
    const counted = scrapes.at(-1)?.matchAll(/^gavel_model_calls_total\{[^}]*outcome="answered"[^}]*\} (\d+)/gm) ?? []
    expect([...counted].reduce((sum, [, value]) => sum + Number(value), 0)).toBe(answered)
    for (const scrape of scrapes) expect(scrape).not.toContain('gavel_loop_last_success_timestamp_seconds{')
  })

  it('ends them though the launcher is killed', async () => {
    const running = await busy(LAUNCHER, 'plain')
    running.child.kill('SIGKILL')
    await eventually(async () => running.output().includes('"service:stopped"'), 20_000, running.output)
    await expectNothingListens(running)
    expect(running.calls().filter((status) => status !== 'answered')).toEqual([])
  })

  const insists: typeof drains = [
    ['second Ctrl-C in a terminal', LAUNCHER, 'terminal', press],
    ['second Ctrl-C in a terminal, through npx', NPX, 'terminal', press],
    ['second SIGINT to the whole process group', LAUNCHER, 'plain', (running) => signalGroup(running, 'SIGINT')],
    ['second SIGTERM to the launcher alone', LAUNCHER, 'plain', ({ child }) => child.kill('SIGTERM')],
  ]
  for (const [what, command, where, stop] of insists)
    it.runIf(isTried(command, where))(`drops them at a ${what}`, async () => {
      const running = await busy(command, where, LONGER_MS)
      stop(running)
      await eventually(async () => running.output().includes('"service:stopping"'), 10_000, running.output)
      await pause(600)
      stop(running)
      expect(await running.ended, running.output()).toBe(130)
      expect(running.output()).not.toContain('"service:stopped"')
      await expectNothingListens(running)
      await eventually(async () => running.calls().includes('aborted'), 5_000)
    })
})

describe('a command that computes, and so hears nothing', () => {
  /** As soon as the command could be stopped its event loop stands still, for ever. */
  const computing = join(folder, 'computing.mjs')
  beforeAll(() =>
    writeFileSync(
      computing,
      `if (/main\\.[jt]s$/.test(process.argv[1] ?? '')) process.on('newListener', (name) => {
        if (name !== 'SIGHUP') return
        process.stdout.write('computing')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`,
    ),
  )
  const where = noTerminal ? 'plain' : 'terminal'
  it.each<[string, 'terminal' | 'plain', (running: Running) => unknown]>([
    ['Ctrl-C', where, noTerminal ? (running) => signalGroup(running, 'SIGINT') : press],
    ['SIGTERM to the launcher', 'plain', ({ child }) => child.kill('SIGTERM')],
  ])('goes on at the first %s, and ends at the second one', async (_what, on, stop) => {
    const running = start([...LAUNCHER, 'produce', file], on, { NODE_OPTIONS: `--import=${computing}` })
    await eventually(async () => running.output().includes('computing'), 20_000, running.output)
    const ended = running.ended.then((code) => `ended: ${code}`)
    const within = (ms: number) => Promise.race([ended, pause(ms).then(() => 'goes on')])
    stop(running)
    expect(await within(LONGER_MS)).toBe('goes on')
    stop(running)
    expect(await within(10_000)).toBe('ended: 130')
  })
})

describe('a Ctrl-C', () => {
  const where = noTerminal ? 'plain' : 'terminal'
  const interrupt = noTerminal ? (running: Running) => signalGroup(running, 'SIGINT') : press

  it('makes gavel stack stop its servers and remove their folders', async () => {
    const own = ownFolder()
    const env = join(own.TMPDIR, '.env.local')
    writeFileSync(env, 'anybody may read this\n', { mode: 0o644 })
    const first = await freePort()
    const options = ['--kafka', 'memory', '--json', '--env', env, '--port', String(first)]
    const running = start([...LAUNCHER, 'stack', ...options], where, own)
    await eventually(async () => running.output().includes('Ctrl-C stops it'), 60_000, running.output)
    const given = JSON.parse(/\{.*\}/.exec(running.output())?.[0] ?? '{}') as Record<string, string>
    const { REDIS_URL = '', KAFKA_BROKERS = '', OPENAI_BASE_URL = '' } = given
    const ports = [new URL(REDIS_URL).port, KAFKA_BROKERS.split(':')[1], new URL(OPENAI_BASE_URL).port].map(Number)
    expect(ports).toEqual([first, first + 1, first + 2])
    for (const port of ports) expect(await listens(port)).toBe(true)
    expect(statSync(env).mode & 0o777).toBe(0o600)
    const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\n`)
    expect(readFileSync(env, 'utf8')).toBe(lines.join(''))
    const io = { terminal: silent, signal: new AbortController().signal }
    const settings = loadSettings({ ...given, GAVEL_LIBRARY_PATH: own.TMPDIR })
    const warned = (await doctor.run(invocation(settings, [], {}, io))).filter(({ state }) => state !== 'ok')
    expect(warned.map(({ what, detail }) => `${what}: ${detail}`)).toEqual([
      expect.stringMatching(/^library: shelves without examples/),
    ])
    rmSync(env)
    interrupt(running)
    expect(await running.ended, running.output()).toBe(0)
    for (const port of ports) expect(await listens(port)).toBe(false)
    expect(left(running)).toEqual([])
  }, 90_000)

  it.runIf(IN_PROOF)(
    'makes gavel demo stop its servers and remove its folders',
    async () => {
      const running = start([...LAUNCHER, 'demo'], where, ownFolder())
      await eventually(async () => /rumor r1/.test(running.output()), 90_000, running.output)
      const ports = [...running.output().matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port))
      expect(new Set(ports).size).toBe(4)
      interrupt(running)
      expect(await running.ended, running.output()).toBe(1)
      expect(running.output()).toContain('gavel: Stopped before the end.')
      expect(running.output()).not.toContain('All messages are sent')
      for (const port of ports) expect(await listens(port)).toBe(false)
      expect(left(running)).toEqual([])
    },
    120_000,
  )

  it('makes gavel judge say what it has, and leave no server', async () => {
    const running = start([...LAUNCHER, 'judge', file, '--protocol', 'rumor'], where, {
      ...ownFolder(),
      ...environmentOn(stack),
    })
    await eventually(async () => running.calls().includes(null), 30_000, running.output)
    interrupt(running)
    expect(await running.ended, running.output()).toBe(1)
    expect(running.output()).toMatch(/\d+ verdicts?, \d+ undecided/)
    expect(running.output()).toContain('The same command goes on from here.')
    expect(left(running)).toEqual([])
  })
})

interface Running {
  readonly child: ChildProcess
  /** Everything that it has written. */
  readonly output: () => string
  /** The exit code that its caller sees. */
  readonly ended: Promise<number | null>
  /** What became of the model calls since it was started; null: in flight. */
  readonly calls: () => (string | null)[]
  readonly temporary: string | undefined
}

/** Starts a command as the leader of a process group: as a shell or a service manager does, or on a terminal of its own. */
function start(command: string[], where: 'terminal' | 'plain', environment: Record<string, string>): Running {
  const before = stack.understudy?.calls().length ?? 0
  const quoted = command.map((word) => `'${word}'`).join(' ')
  const [program = '', ...args] = where === 'terminal' ? [SCRIPT, '-qec', `exec ${quoted}`, '/dev/null'] : command
  const child = spawn(program, args, {
    cwd: PROJECT,
    detached: true,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, SHELL: '/bin/sh', ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const running: Running = {
    child,
    output: () => output,
    ended: new Promise((resolve) => child.once('exit', resolve)),
    calls: () => (stack.understudy?.calls() ?? []).slice(before).map(({ status }) => status),
    temporary: environment.TMPDIR,
  }
  started.push(running)
  return running
}

/** `gavel run` with calls in flight. */
async function busy(command: string[], where: 'terminal' | 'plain', latencyMs = LATENCY_MS): Promise<Running> {
  stack.understudy?.behave({ latencyMs })
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '500ms' })
  const running = start([...command, 'run'], where, environment)
  await eventually(async () => running.output().includes('"service:started"'), 30_000, running.output)
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => running.calls().filter((status) => status === null).length >= 7, 20_000, running.output)
  return running
}

/** What a terminal does at the keys: a signal to everything that runs in its foreground. */
function press({ child }: Running): void {
  child.stdin?.write(CTRL_C)
}

function signalGroup({ child }: Running, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? Number.NaN), signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error // all gone already
  }
}

/** No process of the service is left behind whoever has ended before it. */
async function expectNothingListens(running: Running): Promise<void> {
  const port = portOf(running)
  await eventually(async () => !(await listens(port)), 2_000)
}

function portOf(running: Running): number {
  return Number(/"httpPort":(\d+)/.exec(running.output())?.[1])
}

async function listens(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(1_000) }).then(
    () => true,
    ({ cause }: { cause?: { code?: string } }) => cause?.code !== 'ECONNREFUSED',
  )
}

/** A place for temporary files that nobody else uses, so that what is left there can be told. */
function ownFolder(): { TMPDIR: string } {
  return { TMPDIR: mkdtempSync(join(folder, 'temporary-')) }
}

function left({ temporary = '' }: Running): string[] {
  return readdirSync(temporary).filter((name) => name.startsWith('gavel-'))
}

function threads(posts: number): string {
  const lines = Array.from({ length: posts }, (_, n) => {
    const at = (second: number) => new Date(Date.UTC(2025, 2, 1, 10, n, second)).toISOString()
    const comments = ['I saw it fall.', 'Fake, that picture is old.', 'My cousin works there, it is true.']
    return [
      { type: 'post', id: `p${n}`, text: `The bridge ${n} has come down, they say.`, createdAt: at(0) },
      ...comments.map((text, index) => ({
        type: 'comment',
        id: `p${n}-c${index}`,
        postId: `p${n}`,
        text,
        createdAt: at(index + 1),
      })),
    ]
  })
  return lines.map((thread) => thread.map((line) => `${JSON.stringify(line)}\n`).join('')).join('')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
