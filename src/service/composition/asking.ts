import type { Settings } from '../../../config/schema.ts'
import type { StoreWatch } from '../../../consumers/store-watch.ts'
import type { SamplingRank } from '../domain/sampling-rank.ts'
import { asking } from '../engine/asking.ts'
import type { Protocol } from '../engine/script.ts'
import type { Loops } from '../operations/loop.ts'
import type { Answers, Asking } from '../ports/answers.ts'
import type { Memo } from '../ports/memo.ts'
import { openerOf, threadRules } from './intake.ts'

/** Takes what clients ask to have judged apart from the stream, and opens its cases at once; other openers do so as well. */
export function askingPart(
  settings: Settings,
  parts: Parameters<typeof openerOf>[1] & {
    memo: Pick<Memo, 'forget'>
    answers: Pick<Answers, 'tellDropped'>
    protocols: readonly Protocol[]
    samplingRank: SamplingRank
    watch: Pick<StoreWatch, 'problem'>
    loops: Loops
  },
): Asking {
  const { memo, answers, protocols, samplingRank, watch, loops, ...stream } = parts
  const opener = openerOf(settings, { ...stream, onlyAsked: true })
  const opening = loops.start('opener requests', settings.clock.poll, async () => {
    while (watch.problem === null && (await opener.openDue()) > 0);
  })
  const { threads, routes, clock } = stream
  return asking({
    ...{ threads, memo, answers, protocols, routes, clock },
    rules: threadRules(settings, samplingRank),
    settings: { keepAnswers: settings.door.keepAnswers, keepMemo: settings.memo.keep },
    wake: () => opening.wake(),
  })
}
