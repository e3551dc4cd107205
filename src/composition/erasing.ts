import { randomUUID } from 'node:crypto'
import type { Settings } from '../../config/schema.ts'
import { eraser } from '../engine/eraser.ts'
import type { Protocol } from '../engine/script.ts'
import { shownCaseCleaner } from '../engine/shown-cases.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Erasures } from '../ports/erasures.ts'
import type { Library } from '../ports/library.ts'
import type { Memo } from '../ports/memo.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { ThreadStore } from '../ports/threads.ts'
import type { Loops } from './loop.ts'

/** How often to look for what was deleted, in ms: it is gone from shelves and cases within two seconds. */
const LOOK_MS = 250

/** Erases what was deleted from the shelves, and from cases that were shown it. For processes that have the library. */
export function startErasing(
  settings: Settings,
  parts: {
    threads: ThreadStore
    cases: CaseStore
    memo: Memo
    erasures: Erasures
    library: Library
    protocols: readonly Protocol[]
    queues: StageQueues
    loops: Loops
    clock: Clock
    report: Report
  },
): void {
  const { threads, cases, memo, erasures, library, protocols, queues, loops, clock, report } = parts
  const { deadline: caseDeadlineMs, restartsPerSecond } = settings.cases
  const clean = shownCaseCleaner({
    ...{ threads, cases, memo, owners: erasures, protocols, clock },
    settings: { caseDeadlineMs },
  })
  const erase = eraser({
    ...{ erasures, library, clean, queues, report },
    settings: { name: randomUUID(), restartsPerSecond, keepOwnersMs: settings.threads.keepTombstone },
  })
  loops.start('erasure from shelves', LOOK_MS, erase.shelves)
  loops.start('erasure from cases', LOOK_MS, erase.cases)
}
