import { randomUUID } from 'node:crypto'
import type { ModelCall } from '../../contracts/facts/case.ts'
import type { ClosedCase, Curation } from '../../contracts/facts/curation.ts'
import { PermanentError } from '../../contracts/facts/errors.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { askContext } from '../../models/context.ts'
import type { Gateway } from '../../models/gateway.ts'
import { type Retries, withRetry } from './with-retry.ts'

export interface AskSettings {
  /** Longest time for one case, waits included, in ms. */
  readonly deadlineMs: number
  readonly retries: Retries
}

export interface LearnIo {
  readonly signal: AbortSignal
  readonly progress: (line: string) => void
}

/** What the curator's questions have cost. */
export interface CuratorCost {
  readonly calls: number
  readonly costUsd: number
}

/** The lesson of a case, as it is stored with a precedent. */
export interface DistilledLesson {
  readonly keyCues: string
  readonly summary: string
}

/** The curator could not make anything of one case; another may fare better. */
export class CaseFailed extends Error {}

/** After so many rejected questions and no answered one the settings are taken to be at fault, not the cases. */
const REJECTED = 3

/** Puts closed cases to the curator, one question each, and keeps what that cost. */
export function askingCurator({
  gateway,
  clock,
  settings,
}: {
  readonly gateway: Pick<Gateway, 'ask'>
  readonly clock: Clock
  readonly settings: AskSettings
}) {
  const spent = { calls: 0, costUsd: 0 }
  let answered = 0
  let rejected = 0

  /**
   * Throws a `CaseFailed` where the curator can make nothing of the case; what else it throws holds for every case. `mayAsk`
   * is called just before each call, and throws if the case may not be asked about any more.
   */
  async function lessonOf(
    curation: Curation,
    closed: ClosedCase,
    io: LearnIo,
    mayAsk: () => Promise<void> = async () => {},
  ): Promise<DistilledLesson> {
    const calls: ModelCall[] = []
    const { signal } = io
    const asking = {
      protocol: 'curator',
      // People who say the same of one verdict share a question already; nothing of it is remembered beyond the run.
      subject: { tenant: 'default', postId: 'curator', kind: 'post' as const },
      remember: false,
      mayAsk,
      caseId: 'curator',
      askId: randomUUID(),
      last: false,
      signal,
      deadline: clock() + settings.deadlineMs,
      calls,
    }
    const ask = curation.ask(closed)
    try {
      const settled = await withRetry(
        (attempt) => gateway.ask(askContext({ ask, ...asking, attempt })),
        settings.retries,
        {
          signal,
          waiting: (why, ms) => io.progress(`${why}; trying again in ${Math.ceil(ms / 1000)} s`),
        },
      )
      spent.costUsd += settled.usage.costUsd
      answered++
      if (settled.failed !== undefined) throw new CaseFailed(`${settled.failed.code} (${settled.failed.detail})`)
      const { keyCues, summary } = ask.answer.parse(settled.answer)
      return { keyCues: keyCues.join('; '), summary }
    } catch (error) {
      if (!(error instanceof PermanentError) || error.code === 'deadline') throw error
      if (error.code === 'rejected' && answered === 0 && ++rejected >= REJECTED) throw error
      throw new CaseFailed(`${error.code} (${error.message})`)
    } finally {
      spent.calls += calls.length
    }
  }

  return { lessonOf, spent: (): CuratorCost => ({ ...spent }) }
}
