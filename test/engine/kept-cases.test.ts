import { expect, test } from 'vitest'
import type { CaseRecord } from '../../src/service/domain/case.ts'
import { openedCases } from '../../src/service/engine/opened-cases.ts'
import type { Progress } from '../../src/service/engine/replay.ts'
import { waitingScripts } from '../../src/service/engine/waiting-scripts.ts'

// What a process keeps of cases is bounded by what their subjects hold, too: a few threads may be as large as thousands.

/** The fields of a record that are weighed; the others are not read here. */
const record = (id: string, characters: number) =>
  ({
    id,
    openedAt: 0,
    subject: { post: { text: 'x'.repeat(characters / 2) }, comments: [{ text: 'y'.repeat(characters / 2) }] },
  }) as unknown as CaseRecord

test('records of opened cases are kept while their subjects have two million characters together', () => {
  const opened = openedCases(() => 0)
  opened.note(record('a', 1_500_000))
  opened.note(record('b', 1_000_000))
  opened.note(record('c', 400_000))
  expect(opened.use('b')).toBeUndefined()
  expect([opened.use('a')?.record.id, opened.use('c')?.record.id]).toEqual(['a', 'c'])
  opened.note(record('d', 2_000_000))
  expect(opened.use('d')?.record.id).toBe('d')
})

test('of scripts that wait the oldest goes when their subjects have sixteen million', () => {
  const scripts = waitingScripts(() => 0)
  // A script that waits; it is kept and never run here.
  const progress = { asked: [] } as unknown as Progress
  const keep = (id: string, characters: number) =>
    scripts.keep({ record: record(id, characters), run: 0, epoch: 1, journal: new Map(), lostCalls: [] }, progress, [])
  keep('a', 9_000_000)
  keep('b', 7_000_000)
  expect(scripts.of('a')?.subjectCharacters).toBe(9_000_000)
  keep('c', 2_000_000)
  expect([scripts.of('a'), scripts.of('b')?.run, scripts.of('c')?.run]).toEqual([undefined, 0, 0])
})
