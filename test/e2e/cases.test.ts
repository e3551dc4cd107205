import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { ListedCase } from '../../src/recovery/inspection/open-cases.ts'
import { commandHere, performWords } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  PERSPECTIVES_WITH_SHELVES,
  protocolsOn,
  send,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const folder = ownFolder('cases')
const HELD = { faults: { rate: 1, kinds: ['429' as const], retryAfterSeconds: 600 } }
let environment: Record<string, string>
const it = onServers({ latencyMs: 5, ...HELD })
it.beforeAll(async ({ stack, startForFile }) => {
  environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    ...PERSPECTIVES_WITH_SHELVES,
    GAVEL_BREAKER_WINDOW: '1000',
    GAVEL_BREAKER_MIN_CALLS: '1000',
    GAVEL_CASES_DEADLINE: '30m',
  })
  await startForFile(environment)
  const file = join(folder, 'posts')
  const posts = ['a', 'b', 'c'].map((id) => ({
    type: 'post',
    id,
    text: `Post ${id}.`,
    createdAt: '2025-03-01T10:00:00Z',
    tenant: id === 'c' ? 'acme' : 'default',
  }))
  writeFileSync(file, posts.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => (await list('--state', 'deferred')).length === 3, 60_000)
})

const gavel = (...args: string[]) => commandHere(['cases', ...args], environment)

async function list(...more: string[]): Promise<ListedCase[]> {
  const { out } = await performWords(['cases', 'list', '--json', ...more], settingsOf(environment))
  return out.map((line) => JSON.parse(line) as ListedCase)
}

describe('gavel cases', () => {
  it('lists open cases by state, tenant and protocol, with what each waits for', async () => {
    const all = await list()
    expect(all.map(({ id, tenant, state, overdue }) => [id, tenant, state, overdue]).sort()).toEqual([
      ['hate@acme~c~r1', 'acme', 'deferred', false],
      ['hate~a~r1', 'default', 'deferred', false],
      ['hate~b~r1', 'default', 'deferred', false],
    ])
    for (const { round, answers, waits } of all) {
      expect([round, answers.length, waits.length]).toEqual([1, 1, 5])
      expect(waits.every(({ why }) => why?.startsWith('rate-limited: status 429'))).toBe(true)
    }
    expect((await list('--tenant', 'acme')).map(({ id }) => id)).toEqual(['hate@acme~c~r1'])
    expect(await list('--protocol', 'rumor')).toEqual([])
    expect(await list('--state', 'stranded')).toEqual([])
    expect(await list('--most', '1')).toHaveLength(1)
    const { out } = await gavel('list')
    expect(out).toMatch(/hate~a~r1.*deferred.*\d+ s: rate-limited: status 429/)
  })

  it('ends a case without a label, whose verdict says so and whose calls are on the bill', async () => {
    const { code, out } = await gavel('give-up', 'hate~a~r1', '--why', 'the model is gone')
    expect([code, out]).toEqual([0, 'hate~a~r1: ended without a label\n'])
    await eventually(async () => (await verdictsOf(environment)).length === 1, 20_000)
    const [verdict] = await verdictsOf(environment)
    expect(verdict).toMatchObject({
      id: 'hate~a~r1',
      label: null,
      decidedBy: 'none',
      degraded: ['the model is gone'],
      faults: ['ours'],
      usage: { calls: 5 },
    })
    expect((await list()).map(({ id }) => id).sort()).toEqual(['hate@acme~c~r1', 'hate~b~r1'])
    const again = await gavel('give-up', 'hate~a~r1')
    expect(again.code).toBe(1)
    expect(again.said).toContain('No case was ended.')
  })

  it('lets what is deferred be tried now: nothing is asked twice that was answered', async ({ stack }) => {
    stack.understudy?.behave({ faults: { rate: 0 } })
    expect((await gavel('retry', 'hate~b~r1')).out).toBe('hate~b~r1: 5 asks may be tried now\n')
    await eventually(async () => (await verdictsOf(environment)).some(({ id }) => id === 'hate~b~r1'), 20_000)
    const verdict = (await verdictsOf(environment)).find(({ id }) => id === 'hate~b~r1')
    expect(verdict).toMatchObject({ label: 'non-hate', decidedBy: 'judge' })
    // Ten minutes had been set: the other case still waits for its own.
    expect((await list()).map(({ id, state }) => [id, state])).toEqual([['hate@acme~c~r1', 'deferred']])
    expect((await gavel('retry', 'hate~b~r1')).out).toContain('not open')
  })
})
