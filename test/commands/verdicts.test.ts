import { expect, test } from 'vitest'
import { printAudit } from '../../src/commands/verdicts.ts'
import type { VerdictAudit } from '../../src/service/recovery/audit.ts'

const CLEAN: VerdictAudit = { records: 4, unreadable: 0, ids: 3, repeats: 1, contested: [] }
const open = { id: 'rumor~p~r1', contents: 2, superseded: false }

function printed(found: VerdictAudit, json = false) {
  const out: string[] = []
  const terminal = { out: (line: unknown) => void out.push(String(line)), say: () => {}, progress: () => {} }
  try {
    printAudit(found, json, terminal)
    return { out, error: null }
  } catch (error) {
    return { out, error: (error as Error).message }
  }
}

test('a check says what it found, and fails only where no later revision settles it', () => {
  expect(printed(CLEAN)).toEqual({
    out: ['3 verdicts in 4 records, 1 of them byte-identical repeats', 'No id stands there with two contents.'],
    error: null,
  })
  const settled = printed({ ...CLEAN, contested: [{ ...open, superseded: true }] })
  expect(settled).toEqual({ out: [expect.any(String), expect.stringContaining('superseded by a later')], error: null })
  const unsettled = printed({ ...CLEAN, contested: [open, { ...open, id: 'rumor~q~r1', superseded: true }] })
  expect(unsettled.error).toMatch(/^1 id with two contents.*"gavel recover"/)
})

test('a check counts what it could not read, in words and as JSON', () => {
  const damaged = { ...CLEAN, records: 6, unreadable: 2 }
  expect(printed(damaged).out[1]).toBe('2 records without a schema-1 verdict: what stood there is not known')
  expect(printed(damaged, true)).toEqual({ out: [JSON.stringify(damaged)], error: null })
})
