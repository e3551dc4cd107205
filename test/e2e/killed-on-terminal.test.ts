import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { eventually, tell } from '../support/pipeline.ts'

const SCRIPT = '/usr/bin/script'

it('a command that hangs, and is killed at the second request to stop, leaves the terminal as it was', async (context) => {
  if (!existsSync(SCRIPT)) {
    tell('SKIPPED the terminal of a killed command: there is no script(1), which brings one')
    context.skip() // script(1) alone gives a test a terminal.
  }
  const launch = `${process.execPath} ${join(PROJECT, 'src', 'launch.js')} top --every 300ms`
  const child = spawn(SCRIPT, ['-qefc', `echo shell $$; ${launch}; echo code $?; stty -a`, '/dev/null'], {
    env: bareEnvironment({ TERM: 'xterm', REDIS_URL: 'redis://127.0.0.1:1', KAFKA_BROKERS: '127.0.0.1:1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  const ended = once(child, 'exit')
  await eventually(
    async () => out.includes('\u001b[H'),
    60_000,
    () => out,
  )
  const childOf = (pid: number) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
  const launcher = childOf(Number(/shell (\d+)/.exec(out)?.[1]))
  // It reads neither messages nor signals any more.
  process.kill(childOf(launcher), 'SIGSTOP')
  process.kill(launcher, 'SIGTERM')
  // Two signals within half a second are one.
  await new Promise((resolve) => setTimeout(resolve, 600))
  process.kill(launcher, 'SIGTERM')
  await ended
  expect(out).toContain('code 130')
  const [, after = ''] = out.split('code 130')
  expect(out.slice(0, -after.length)).toContain('\u001b[?25h\u001b[?1049l')
  for (const flag of ['icanon', 'echo', 'isig', 'icrnl', 'opost']) expect(after).toMatch(new RegExp(`\\s${flag}\\s`))
})
