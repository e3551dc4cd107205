import { randomUUID } from 'node:crypto'
import type { Settings } from '../../../../config/schema.ts'
import { gatewayOf, memoryGatewayStores } from '../../../app/composition/gateway.ts'
import { filePartsOf, promptsOf } from '../../../app/composition/make-protocols.ts'
import { type Ask, keptAnswer } from '../../../contracts/facts/ask.ts'
import type { Calibration } from '../../../contracts/facts/calibration.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { type FailureCode, OperatorError, PermanentError, RetryLaterError } from '../../../contracts/facts/errors.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { askContext, type GivenAsk } from '../../../models/context.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { fenceUnder, presetIn } from '../../../protocols/preset.ts'
import { withRetry } from '../../../shelves/curator/with-retry.ts'
import type { CalibrationModel } from '../../calibration/calibrate.ts'

/** The same on every machine, so that a recording is good everywhere. */
const SECRET = 'gavel calibration'
const NO_DEADLINE_MS = 30 * 86_400_000

/** The questions of one aspect. Throws an `OperatorError` where the protocol has no such aspect, or its files have faults. */
export function calibrationOf(settings: Settings, kind: ProtocolKind, aspect: string): Calibration {
  if (kind.calibration === undefined)
    throw new OperatorError(`The protocol ${kind.name} has no evaluation steps to calibrate.`)
  try {
    const parts = filePartsOf(kind, entryOf(settings.protocols, kind.name) ?? { enabled: true })
    return kind.calibration(aspect, {
      ...parts,
      calibrationPrompts: promptsOf('calibration'),
      fence: fenceUnder(presetIn(parts.settings), fences(SECRET, settings.fences)),
    })
  } catch (error) {
    throw new OperatorError(`${kind.name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/**
 * What asks the model for a calibration, through the gateway: slots, limits, breaker, the repair question. The score of a text by
 * given steps is asked once; `scorers` are the models that
 * gave them, most first; `withoutTemperature` counts drafts and refinements whose model took no temperature. An answer that can't be had, also after all attempts, is null;
 * a stop is thrown, and an `OperatorError` where the next question would fare no better or too many were lost.
 */
export function askingFor(
  settings: Settings,
  { name }: Pick<ProtocolKind, 'name'>,
  calibration: Calibration,
  model: Model,
  io: { signal: AbortSignal; asked: () => void; waiting: (why: string) => void },
): CalibrationModel & { scorers(): readonly ScoringModel[]; withoutTemperature(): number } {
  const clock = Date.now
  const off = { ...settings, memo: { ...settings.memo, enabled: false } }
  const stores = memoryGatewayStores(off, clock)
  const gateway = gatewayOf(off, { stores, secret: SECRET, clock, report: () => {}, model })
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const scores = new Map<string, Promise<number | null>>()
  /** Scores by the model that gave them, as its endpoint names it. */
  const scorers = new Map<string, number>()
  let [asked, lost, withoutTemperature] = [0, 0, 0]

  async function answered<Answer>(ask: Ask<Answer>): Promise<Answer | null> {
    asked++
    try {
      const settled = await withRetry(
        (attempt) => gateway.ask(askContext({ ask, ...contextOf(name, attempt, io.signal) })),
        { attempts, backoffMs: backoff },
        { signal: io.signal, waiting: (why) => io.waiting(why) },
      )
      io.asked()
      if (settled.failed !== undefined) return null
      if (settled.remarks?.includes('temperature') && ask.role !== 'scorer') withoutTemperature++
      if (ask.role === 'scorer') scorers.set(settled.model, (scorers.get(settled.model) ?? 0) + 1)
      return keptAnswer(ask).parse(settled.answer)
    } catch (error) {
      if (io.signal.aborted) throw error
      if (error instanceof PermanentError && ENDS_ALL.has(error.code))
        throw new OperatorError(`The calibration can't continue (${error.code}): ${error.message}`, { cause: error })
      if (!(error instanceof PermanentError || error instanceof RetryLaterError)) throw error
      io.asked()
      lost++
      if (lost > MOST_LOST.least && lost > asked * MOST_LOST.share)
        throw new OperatorError(`${lost} of ${asked} questions have no answer; the last: ${error.message}`, {
          cause: error,
        })
      return null
    }
  }
  async function stepsOf(ask: Ask<{ readonly steps: string[] }>): Promise<string | null> {
    const reply = await answered(ask)
    const text = reply === null ? '' : calibration.textOf(reply.steps)
    return text === '' ? null : text
  }

  return {
    scorers: () => [...scorers].sort(([, one], [, other]) => other - one).map(([name, scores]) => ({ name, scores })),
    withoutTemperature: () => withoutTemperature,
    draft: (examples, how) => stepsOf(calibration.draft(examples, how)),
    refine: (steps, worst, how) => stepsOf(calibration.refine(steps, worst, how)),
    score(steps, item) {
      const key = JSON.stringify([steps, item.id])
      const known =
        scores.get(key) ??
        answered(calibration.score(steps, item)).then((reply) =>
          reply === null ? null : (reply.expected ?? reply.score),
        )
      scores.set(key, known)
      return known
    },
  }
}

/** Failures that the next question would meet as well: a model that takes none, a limit or a budget of the settings. */
const ENDS_ALL: ReadonlySet<FailureCode> = new Set(['rejected', 'budget', 'limited', 'deadline'])
/** Questions that may be lost to a model that is unwell: so many, and of more this share. */
const MOST_LOST = { least: 20, share: 0.1 }

/** A model that scored, as its endpoint names it, and how often. */
export interface ScoringModel {
  readonly name: string
  readonly scores: number
}

function contextOf(protocol: string, attempt: number, signal: AbortSignal): Omit<GivenAsk, 'ask'> {
  const id = randomUUID()
  return {
    // A case of its own each: what a verdict may cost is no limit of a calibration.
    protocol,
    attempt,
    signal,
    remember: false,
    last: false,
    caseId: `calibration ${id}`,
    askId: id,
    subject: { tenant: 'default', postId: 'calibration', kind: 'reply' },
    deadline: Date.now() + NO_DEADLINE_MS,
    calls: [],
  }
}
