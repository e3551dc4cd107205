import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import type { ServiceState } from '../../src/commands/top/parts.ts'
import type { Stack } from '../../src/kit/stack/stack.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { commandIn } from '../support/command-in.ts'
import {
  environmentOn,
  eventually,
  PERSPECTIVES_WITH_SHELVES,
  protocolsOn,
  type Service,
  send,
  startServers,
  startService,
  tell,
} from '../support/pipeline.ts'

const SCRIPT = '/usr/bin/script'
const folder = mkdtempSync(join(tmpdir(), 'gavel-top-'))
let stack: Stack
let service: Service | undefined
let environment: Record<string, string>
let replica: string
beforeAll(async () => {
  stack = await startServers({ faults: { rate: 1, kinds: ['429'], retryAfterSeconds: 600 } })
  environment = environmentOn(stack, {
    ...{ ...protocolsOn('hate'), ...PERSPECTIVES_WITH_SHELVES },
    GAVEL_BREAKER_WINDOW: '1000',
    GAVEL_BREAKER_MIN_CALLS: '1000',
    GAVEL_CASES_DEADLINE: '30m',
  })
  service = await startService(environment)
  replica = `http://127.0.0.1:${service.httpPort}`
  const file = join(folder, 'posts')
  const posts = ['a', 'b', 'c'].map((id) => ({
    ...{ type: 'post', id, text: `Post ${id}.`, createdAt: '2025-03-01T10:00:00Z' },
    tenant: id === 'c' ? 'acme' : 'default',
  }))
  writeFileSync(file, posts.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => (await look()).openCases === 3, 60_000)
}, 120_000)
afterAll(async () => {
  await service?.kill('SIGKILL')
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

async function look(...more: string[]): Promise<ServiceState> {
  const { code, out, said } = await commandIn(folder, ['top', '--json', '--replica', replica, ...more], environment)
  if (code !== 0) throw new Error(said)
  return JSON.parse(out) as ServiceState
}

describe('gavel top', () => {
  it('with --json says once how the service stands', { timeout: 30_000 }, async () => {
    let now = await look()
    await eventually(
      async () => {
        now = await look()
        return now.stages.some(({ stage, states }) => stage === 'perspective' && states.delayed === 15)
      },
      20_000,
      () => JSON.stringify(now.stages),
    )
    expect(now.tenants).toEqual([
      { tenant: 'default', openCases: 2 },
      { tenant: 'acme', openCases: 1 },
    ])
    expect(now.lag?.map(({ messages }) => messages)).toEqual([0, 0, 0])
    expect(now).toMatchObject({ outbox: { size: 0, oldestSeconds: 0 }, paused: [] })
    expect(now.replicas).toMatchObject([{ url: replica, says: { slots: { busy: 0, waiting: 0, all: 64 } } }])
    expect(now.replicas[0]?.says?.models.map(({ model }) => model)).toContain('gpt-6-luna')
  })

  it('where there is no terminal prints one look, and says which replica does not answer', {
    timeout: 30_000,
  }, async () => {
    const args = ['top', '--replica', replica, 'http://127.0.0.1:1']
    const { code, out } = await commandIn(folder, args, environment)
    expect(code).toBe(0)
    expect(out).toMatch(/^hate\.perspective +0 +0 +15/m)
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:1 +no answer$/m)
    expect(out).not.toContain('\u001b')
  })

  it('on a terminal draws anew until Ctrl-C, and leaves it as it was', { timeout: 30_000 }, async (context) => {
    if (!existsSync(SCRIPT)) {
      tell('SKIPPED gavel top on a terminal: there is no script(1), which brings one')
      return context.skip()
    }
    const main = `${process.execPath} --disable-warning=TimeoutNegativeWarning ${join(PROJECT, 'src', 'main.ts')}`
    const child = spawn(SCRIPT, ['-qefc', `exec ${main} top --every 300ms --replica ${replica}`, '/dev/null'], {
      cwd: folder,
      env: bareEnvironment({ TERM: 'xterm', ...environment }),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    const drawn = () => out.split('gavel top  ').length - 1
    await eventually(
      async () => drawn() >= 3,
      20_000,
      () => JSON.stringify(out.slice(-500)),
    )
    expect(out).toMatch(/hate\.perspective +0 +0 +15/)
    const ended = once(child, 'exit')
    // As a terminal sends it: to the process in front.
    child.stdin.write('\u0003')
    expect((await ended)[0]).toBe(0)
    expect(out.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true)
    expect(out.trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
  })
})
