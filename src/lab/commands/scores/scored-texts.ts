import type { Settings } from '../../../../config/schema.ts'
import { scoringPart } from '../../../app/composition/door.ts'
import { gatewayOf, memoryGatewayStores } from '../../../app/composition/gateway.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { ATTRIBUTES, type Attribute, questionOf } from '../../../door/scoring/attributes.ts'
import { NoScore, type NoScoreReason } from '../../../door/scoring/score-text.ts'
import type { TextWithScores } from '../../evaluation/thresholds.ts'
import type { LabelledText } from './labelled-texts.ts'

/** Keeps fences as they are from run to run, so that answers that were kept fit their questions. */
const SECRET = 'texts that people have labelled'
/** Whose texts they are: one tenant's, as one asker's. */
const WHOSE = { tenant: 'default', part: 'scores' }

export interface ScoredTexts {
  readonly texts: readonly TextWithScores[]
  /** Texts without a score, by why. */
  readonly unscored: Readonly<Partial<Record<NoScoreReason, number>>>
  /** What the endpoint calls the models that gave the scores. */
  readonly models: readonly string[]
}

/** Scores texts through this process's gateway, as the door does, some at a time. Rejects with the signal's reason if it is stopped. */
export async function scoredTexts(
  settings: Settings,
  { texts, attribute, model }: { texts: readonly LabelledText[]; attribute: Attribute; model: Model },
  { signal, done }: { signal: AbortSignal; done: () => void },
): Promise<ScoredTexts> {
  const clock = Date.now
  const stores = memoryGatewayStores(settings, clock)
  const gateway = gatewayOf(settings, { stores, secret: SECRET, clock, report: () => {}, model })
  const { scorer } = scoringPart(settings, { gateway, secret: SECRET, clock })
  const scored = new Map<number, TextWithScores>()
  const unscored: Partial<Record<NoScoreReason, number>> = {}
  const models = new Set<string>()
  const waiting = texts.entries()
  const work = async () => {
    for (const [at, { text, isPositive, old }] of waiting) {
      signal.throwIfAborted()
      try {
        const whole = text.toWellFormed()
        const given = { text: whole, pieces: scorer.pieces(whole), ...WHOSE, remember: true, gone: signal, signal }
        const { scores, model: by } = await scorer.attributes(given, questionOf(attribute))
        scored.set(at, { isPositive, old, ours: scores[ATTRIBUTES[attribute]] / 100 })
        models.add(by)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof NoScore)) throw error
        unscored[error.why] = (unscored[error.why] ?? 0) + 1
      }
      done()
    }
  }
  await Promise.all(Array.from({ length: settings.door.scores.atOnce }, work))
  return { texts: [...scored.values()], unscored, models: [...models].sort() }
}
