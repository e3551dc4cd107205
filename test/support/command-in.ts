import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROJECT } from '../../config/load.ts'
import { bareEnvironment } from './bare-environment.ts'

/**
 * `gavel` with these arguments in a process of its own, which sees only this environment; with `kill` ended by SIGKILL, or that signal, so many
 * ms after its first call to the model, which `calls` counts: before it there is nothing to lose. Resolves to its exit code and what it printed.
 */
export async function commandIn(
  folder: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  {
    flags = [],
    kill,
  }: { flags?: readonly string[]; kill?: { calls: () => number; afterMs: number; by?: NodeJS.Signals } } = {},
) {
  const main = ['--disable-warning=TimeoutNegativeWarning', ...flags, join(PROJECT, 'src', 'main.ts')]
  const child = spawn(process.execPath, [...main, ...args], {
    cwd: folder,
    env: bareEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, said] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'exit')
  if (kill !== undefined) {
    const calls = kill.calls()
    while (kill.calls() === calls && child.exitCode === null) await sleep(10)
    await Promise.race([ended, sleep(kill.afterMs)])
    child.kill(kill.by ?? 'SIGKILL')
  }
  const [code] = await ended
  return { code, out, said }
}
