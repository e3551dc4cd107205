import type { Settings } from '../../../../config/schema.ts'
import { gatewayOf, memoryGatewayStores } from '../../../app/composition/gateway.ts'
import { filePartsOf } from '../../../app/composition/make-protocols.ts'
import { type DecisionWire, keptAnswer } from '../../../contracts/facts/ask.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../../../contracts/facts/errors.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import { samplingRanks } from '../../../contracts/facts/sampling-rank.ts'
import { askContext } from '../../../models/context.ts'
import { chainOf } from '../../../models/fallback.ts'
import { dialectLookup } from '../../../models/openai/models-of-endpoints.ts'
import { type DeciderQuestion, deciderQuestion } from '../../../protocols/decider-question.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { surest } from '../../../protocols/lane-file.ts'
import { fenceUnder, presetIn } from '../../../protocols/preset.ts'
import { withRetry } from '../../../shelves/curator/with-retry.ts'
import type { GoldItem } from '../../evaluation/gold-item.ts'
import type { DeciderAnswers } from '../../lane/read-answers.ts'
import type { PaidRun } from '../paid-run.ts'

/** The same on every machine, so that answers that were kept fit their questions. */
const SECRET = 'gavel lane'
const NO_DEADLINE_MS = 30 * 86_400_000

/** What a decider is asked of a text by these settings. */
export function questionIn(settings: Settings, kind: ProtocolKind): DeciderQuestion {
  const parts = filePartsOf(kind, entryOf(settings.protocols, kind.name) ?? { enabled: true })
  const [asked] = chainOf(settings.models.roles, kind.name, 'decider')
  const own = {
    ...parts,
    fence: fenceUnder(presetIn(parts.settings), fences(SECRET, settings.fences)),
    samplingRank: samplingRanks(SECRET),
  }
  return deciderQuestion(kind, own, asked === undefined ? undefined : dialectLookup(settings)(asked))
}

/** So many answers without probabilities, and none with, show that the model gives none. */
const SHOWN_BY = 20
/** Questions that may be lost to a model that is unwell: so many, and of more this share. */
const MOST_LOST = { least: 20, share: 0.1 }

/**
 * Asks a decider about each text, through the gateway: slots, limits, breaker, the repair question. An item whose question fails is
 * not answered, nor is one with a benign label of a text that it was not shown whole. Throws an `OperatorError` where the model gives no probabilities, several models answered, or too many questions failed.
 */
export async function askedDecider(
  { name: protocol, labels }: Pick<ProtocolKind, 'name' | 'labels'>,
  question: DeciderQuestion,
  items: readonly GoldItem[],
  { settings: given, model, signal, done }: PaidRun,
): Promise<DeciderAnswers> {
  const settings = { ...given, memo: { ...given.memo, enabled: false } }
  const gateway = gatewayOf(settings, {
    stores: memoryGatewayStores(settings, Date.now),
    secret: SECRET,
    clock: Date.now,
    report: () => {},
    model,
  })
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const said: DeciderAnswers['said'] extends ReadonlyMap<infer Id, infer Said> ? Map<Id, Said> : never = new Map()
  const [models, wires] = [new Set<string>(), new Set<DecisionWire>()]
  let [lost, plain, unread] = [0, 0, 0]
  const answered = async (item: GoldItem) => {
    const ask = question.ask({ id: item.id, text: item.text ?? '' })
    const context = (attempt: number) =>
      askContext({
        ask,
        protocol,
        subject: { tenant: 'default', postId: item.id, kind: 'post' },
        caseId: `lane ${item.id}`,
        askId: `lane ${item.id}`,
        attempt,
        last: false,
        remember: false,
        signal,
        deadline: Date.now() + NO_DEADLINE_MS,
        calls: [],
      })
    const settled = await withRetry(
      (attempt) => gateway.ask(context(attempt)),
      { attempts, backoffMs: backoff },
      { signal, waiting: () => {} },
    )
    if (settled.failed !== undefined) throw new PermanentError('unreadable', settled.failed.detail)
    const { probabilities, wire } = keptAnswer(ask).parse(settled.answer)
    models.add(settled.model)
    if (wire !== undefined) wires.add(wire)
    if (probabilities === undefined) plain++
    else {
      const surely = surest(new Map(Object.entries(probabilities)))
      // In use no benign label is settled where something was not read.
      if (surely.label === labels?.harmful || question.isWhole(item.text ?? '')) said.set(item.id, surely)
      else unread++
    }
  }
  const waiting = items.values()
  /** Nothing more is asked, and paid for, where one has found that it leads to nothing. */
  let isOver = false
  const work = async () => {
    for (const item of waiting) {
      signal.throwIfAborted()
      if (isOver) return
      try {
        await answered(item)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof PermanentError || error instanceof RetryLaterError)) throw error
        lost++
        if (lost > MOST_LOST.least && lost > (lost + plain + unread + said.size) * MOST_LOST.share)
          throw new OperatorError(`${lost} questions have no answer; the last: ${error.message}`, { cause: error })
      }
      if (plain >= SHOWN_BY && said.size === 0)
        throw new OperatorError(
          `${[...models].join(', ')} gives no log-probabilities: without them nobody knows how sure it is. Name another with --model, or have one that tells them elsewhere answer (--answers).`,
        )
      done()
    }
  }
  const worked = Array.from({ length: settings.models.slots }, () =>
    work().finally(() => {
      isOver = true
    }),
  )
  await Promise.all(worked)
  const [only, ...others] = models
  if (others.length > 0)
    throw new OperatorError(
      `Several models answered (${[...models].join(', ')}): a lane is for one. Name it with --model.`,
    )
  const [wire, ...otherWires] = wires
  if (otherWires.length > 0)
    throw new OperatorError(
      `${only} answered in several ways (${[...wires].join(', ')}), and its probabilities mean something else in each: set one in models.dialects (decisions).`,
    )
  return { model: only ?? null, wire: wire ?? null, said }
}
