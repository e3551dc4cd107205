import { expect, test } from 'vitest'
import type { CaseRecord } from '../../../src/contracts/facts/case.ts'
import type { ScriptProgress } from '../../../src/judging/engine/replay.ts'
import { waitingScripts } from '../../../src/judging/engine/waiting-scripts.ts'

// What a process keeps of scripts is bounded by what their subjects hold, too: a few threads may be as large as thousands.

/** The fields of a record that are weighed; the others are not read here. */
const record = (id: string, characters: number) =>
  ({
    id,
    subject: { post: { text: 'x'.repeat(characters / 2) }, comments: [{ text: 'y'.repeat(characters / 2) }] },
  }) as unknown as CaseRecord

test('of scripts that wait the oldest goes when their subjects have sixteen million', () => {
  const scripts = waitingScripts(() => 0)
  // A script that waits; it is kept and never run here.
  const progress = { asked: [] } as unknown as ScriptProgress
  const keep = (id: string, characters: number) =>
    scripts.keep({ record: record(id, characters), run: 0, epoch: 1, journal: new Map(), lostCalls: [] }, progress, [])
  keep('a', 9_000_000)
  keep('b', 7_000_000)
  expect(scripts.of('a')?.subjectCharacters).toBe(9_000_000)
  keep('c', 2_000_000)
  expect([scripts.of('a'), scripts.of('b')?.run, scripts.of('c')?.run]).toEqual([undefined, 0, 0])
})
