import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { percentiles, round } from './percentiles.ts'

/** Medians; what counts is how many bare starts of Node something takes, on any machine. */
export interface StartReport {
  /** `node -e 0`, in ms. */
  readonly bareMs: number
  readonly help: Measured
  /** From the start of `gavel judge` to its first call of the model, by protocol. */
  readonly firstCall: Readonly<Record<string, Measured>>
}
interface Measured {
  readonly ms: number
  readonly bareStarts: number
}

const TIMES = 5
const LAUNCH = join(PROJECT, 'src', 'launch.js')
const DEMO = join(PROJECT, 'config', 'demo')
/** The shelves of the shipped perspectives. */
const SHELVES = ['k-haters', 'k-mhas', 'kodoli', 'kold', 'unsmile']

/** Measures how soon commands begin, each time beside a bare start of Node. Throws an `OperatorError` if no call comes. */
export async function startBench(
  environment: Readonly<Record<string, string | undefined>>,
  { say }: { say: (line: string) => void },
): Promise<StartReport> {
  const library = mkdtempSync(join(tmpdir(), 'gavel-start-'))
  const model = await modelServer()
  const own = {
    ...environment,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'bench',
    GAVEL_LIBRARY_PATH: library,
  }
  const bares: number[] = []
  const bare = () => bares.push(timed(['-e', '0'], own))

  async function firstCall(protocol: string): Promise<number> {
    const began = performance.now()
    const called = model.call()
    const judge = [LAUNCH, 'judge', join(DEMO, 'event.jsonl'), '--protocol', protocol]
    const child = spawn(process.execPath, judge, { env: own, stdio: 'ignore' })
    const exit = once(child, 'exit')
    const came = await Promise.race([called.then(() => true), exit.then(() => false)])
    const ms = performance.now() - began
    if (!came) throw new OperatorError(`gavel judge --protocol ${protocol} ended without a call.`)
    // The first asks it to end in order, the second at once.
    for (const after of [0, 700]) setTimeout(() => child.kill('SIGTERM'), after)
    await exit
    return ms
  }

  try {
    for (const shelf of SHELVES)
      timed([LAUNCH, 'library', 'import', join(DEMO, 'shelves', `${shelf}.jsonl`), '--shelf', shelf], own)
    const helps: number[] = []
    const calls: Record<string, number[]> = { rumor: [], hate: [] }
    // The first time fills the cache of compiled code, and is not counted.
    for (let time = 0; time <= TIMES; time++) {
      if (time === 1) for (const all of [bares, helps, ...Object.values(calls)]) all.splice(0)
      bare()
      helps.push(timed([LAUNCH, '--help'], own))
      for (const [protocol, all] of Object.entries(calls)) {
        bare()
        all.push(await firstCall(protocol))
      }
      say(`${time} of ${TIMES}`)
    }
    const bareMs = percentiles(bares).p50
    const measured = (all: readonly number[]): Measured => {
      const ms = percentiles(all).p50
      return { ms, bareStarts: round(ms / bareMs) }
    }
    const firstCalls = Object.entries(calls).map(([protocol, all]) => [protocol, measured(all)] as const)
    return { bareMs, help: measured(helps), firstCall: Object.fromEntries(firstCalls) }
  } finally {
    model.close()
    rmSync(library, { recursive: true, force: true })
  }
}

/** How long Node takes for this, in ms. */
function timed(args: readonly string[], env: Readonly<Record<string, string | undefined>>): number {
  const began = performance.now()
  spawnSync(process.execPath, args, { env, stdio: 'ignore' })
  return performance.now() - began
}

/** A model that fails; `call` resolves when it is called next. */
async function modelServer() {
  let called = () => {}
  const server = createServer((request, response) => {
    called()
    request.resume().on('end', () => response.writeHead(500).end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/v1`,
    call: () =>
      new Promise<void>((resolve) => {
        called = resolve
      }),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
