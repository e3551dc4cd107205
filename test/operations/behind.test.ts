import { expect, test } from 'vitest'
import type { Report } from '../../src/contracts/ports/report.ts'
import { behindReport } from '../../src/operations/overdue.ts'

function setUp() {
  let now = Date.parse('2026-01-31T12:00:00Z')
  const told: unknown[] = []
  const report: Report = (name, event) => void told.push({ name, ...event })
  const listen = behindReport(report, () => now)
  const state = { openCases: 0, outbox: 0, due: 0, clockLagSeconds: 0, tenants: new Map<string, number>() }
  /** So many seconds with so many overdue cases. */
  const seconds = (length: number, open: number, unread: number | null = 0) => {
    for (let second = 0; second < length; second++) {
      now += 1_000
      listen('kafka:lag', { partitions: [], overdue: unread })
      listen('state:counted', { ...state, overdue: [{ protocol: 'rumor', at: 'open', count: open }] })
    }
  }
  return { told, seconds, away: (ms: number) => (now += ms) }
}

test('falling behind and catching up are told once each, with how many at most, since when and for how long', () => {
  const { told, seconds } = setUp()
  seconds(60, 0)
  expect(told).toEqual([])
  seconds(30, 40)
  expect(told).toEqual([
    {
      name: 'service:behind',
      overdue: { kafka: 0, due: 0, open: 40, outbox: 0 },
      advice: expect.stringContaining('nothing is lost'),
    },
  ])
  seconds(30, 400, 50)
  seconds(30, 12)
  expect(told).toHaveLength(1)
  seconds(30, 1, null)
  expect(told.slice(1)).toEqual([
    { name: 'service:caught-up', since: '2026-01-31T12:01:01.000Z', afterSeconds: 90, mostOverdue: 450, left: 1 },
  ])
  seconds(60, 0)
  expect(told).toHaveLength(2)
})

test('a few that are stuck, and a moment, are not called behind', () => {
  const { told, seconds } = setUp()
  seconds(600, 9)
  for (let n = 0; n < 20; n++) {
    seconds(10, 100)
    seconds(5, 0)
  }
  expect(told).toEqual([])
})

test('a process that has not counted for long has nothing to say of what was before', () => {
  const { told, seconds, away } = setUp()
  seconds(30, 40)
  away(3_600_000)
  seconds(60, 0)
  expect(told).toHaveLength(1)
})
