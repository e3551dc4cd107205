import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { COMMANDS } from './commands.ts'

/**
 * A clone of the tree in this folder, with what is not committed yet. Its packages are this tree's, unless `npm ci` is to bring
 * them. False if the tree is no repository of Git.
 */
export function cloned(folder: string, packages: 'linked' | 'none'): boolean {
  if (!existsSync(join(PROJECT, '.git'))) return false
  const git = (...args: string[]) => execFileSync('git', args, { cwd: PROJECT, encoding: 'utf8' })
  git('clone', '--quiet', '--no-local', '--depth', '1', '--', PROJECT, folder)
  const changed = git('ls-files', '-z', '--modified', '--others', '--exclude-standard', '--deduplicate').split('\0')
  for (const file of changed.filter((name) => name !== '' && existsSync(join(PROJECT, name)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(PROJECT, file), join(folder, file))
  }
  if (packages === 'linked') symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'))
  return true
}

/** Runs commands of the pages in a shell, and notes which. */
export function shellIn(folder: string, environment: Readonly<Record<string, string>>) {
  const tried = new Set<string>()
  const begin = (lines: readonly string[], as: (script: string) => string) => {
    for (const line of lines) {
      expect(Object.keys(COMMANDS)).toContain(line)
      tried.add(line)
    }
    const child = spawn('bash', ['-c', as(lines.join('\n'))], {
      cwd: folder,
      env: bareEnvironment(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk) => {
      said.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      said.err += chunk
    })
    return { child, said, ended: once(child, 'close') }
  }

  return {
    tried,
    /** Runs the lines in one shell to their end; `as` may change the script, as where a port is not free. */
    async run(lines: readonly string[], as: (script: string) => string = (script) => script) {
      const { child, said, ended } = begin(lines, as)
      await ended
      return { code: child.exitCode, ...said }
    },
    /** Starts what goes on until it is stopped. */
    start(lines: readonly string[], as: (script: string) => string = (script) => script) {
      const { child, said, ended } = begin(lines, as)
      return {
        printed: () => said.out + said.err,
        /** Waits until it has printed this. */
        async until(text: string | RegExp, withinMs: number) {
          const end = Date.now() + withinMs
          const all = () => said.out + said.err
          while (!(typeof text === 'string' ? all().includes(text) : text.test(all()))) {
            if (child.exitCode !== null || Date.now() > end) throw new Error(`no ${text}: ${all().slice(-3_000)}`)
            await sleep(100)
          }
        },
        /** Ends it as Ctrl-C in its terminal does. */
        async stop() {
          signalGroup(child, 'SIGINT')
          await Promise.race([ended, sleep(60_000, undefined, { ref: false })])
          signalGroup(child, 'SIGKILL')
          await ended
        },
      }
    },
  }
}

function signalGroup({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  process.kill(-pid, signal)
}
