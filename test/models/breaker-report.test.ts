import { expect, test } from 'vitest'
import type { OutageReason } from '../../src/contracts/facts/errors.ts'
import type { BreakerState, Report } from '../../src/contracts/ports/report.ts'
import { breakerReport } from '../../src/models/breaker-report.ts'

function setUp() {
  const began = Date.parse('2026-01-31T12:00:00Z')
  let now = began
  const told: unknown[] = []
  const report: Report = (name, event) => {
    if (name !== 'breaker:changed') told.push({ name, ...event })
  }
  const { changed, poll } = breakerReport(
    report,
    () => now,
    () => 'default',
  )
  const become = (to: BreakerState, reason: OutageReason = 'unreachable') =>
    changed({ model: 'small', from: 'closed', to, outage: { reason, why: 'status 503', since: now } })
  return { told, become, look: poll, pass: (ms: number) => (now += ms) }
}

test('a model that flickers is told of once when it goes, and once when it has come back, with both times', () => {
  const { told, become, look, pass } = setUp()
  for (let n = 0; n < 30; n++) {
    become('open')
    pass(5_000)
    become('half-open')
    pass(1_000)
    become('closed')
    pass(10_000)
    look()
  }
  expect(told).toMatchObject([{ name: 'model:away', model: 'small', reason: 'unreachable' }])
  pass(10_000)
  look()
  look()
  expect(told.slice(1)).toEqual([
    {
      name: 'model:answers',
      model: 'small',
      reason: 'unreachable',
      afterSeconds: 470,
      since: '2026-01-31T12:00:00.000Z',
      until: '2026-01-31T12:07:50.000Z',
    },
  ])
  become('open')
  expect(told).toHaveLength(3)
})

test('another reason is told, and the time counts from the first', () => {
  const { told, become, look, pass } = setUp()
  become('open')
  pass(60_000)
  become('open', 'key')
  pass(60_000)
  become('closed', 'key')
  pass(60_000)
  look()
  expect(told).toMatchObject([
    { name: 'model:away', reason: 'unreachable' },
    { name: 'model:away', reason: 'key' },
    { name: 'model:answers', reason: 'key', afterSeconds: 120 },
  ])
})
