import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { onServers } from '../support/on-servers.ts'
import { tell } from '../support/pipeline.ts'

// 256 slots of 500 ms in one process, which has a third of one core: it shares the core with two processes that only calculate.

const it = onServers({})
/** All of it is over by itself after this, in ms. */
const AT_MOST_MS = 420_000

const ONE_CORE = ['-c', '0', process.execPath]
const CALCULATING = `const until = Date.now() + ${AT_MOST_MS}; while (Date.now() < until);`
const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0

interface Row {
  readonly verdicts: number
  readonly lost: number
  readonly lapsedLocks: number
  readonly leastShare: number
}

it('full slots on a third of a core let no lock lapse, or fewer are taken, which is said', {
  timeout: AT_MOST_MS + 60_000,
}, async ({ stack, skip }) => {
  skip(!canPin, 'taskset (util-linux) is needed to share one core')
  const others = [0, 1].map(() => spawn('taskset', [...ONE_CORE, '-e', CALCULATING], { stdio: 'ignore' }))
  try {
    const main = join(PROJECT, 'src', 'main.ts')
    const args = ['bench', '--latencies', '500', '--slots', '256', '--seconds', '5', '--json']
    const bench = spawn('taskset', [...ONE_CORE, main, ...args], {
      env: bareEnvironment(stack.settings),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, said] = ['', '']
    bench.stdout.on('data', (chunk) => {
      out += chunk
    })
    bench.stderr.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(bench, 'close')
    tell(said)
    expect(code, said).toBe(0)
    const [row] = (JSON.parse(out) as { rows: Row[] }).rows
    expect(row?.verdicts).toBeGreaterThan(0)
    expect(row?.lost).toBe(0)
    // Fewer slots are said by `slots:shared`, from which the bench has the share.
    if (row?.lapsedLocks !== 0) expect(row?.leastShare).toBeLessThan(1)
  } finally {
    for (const other of others) other.kill('SIGKILL')
  }
})
