import type { Settings } from '../../../config/schema.ts'
import { type MeteredModel, metered } from '../../app/commands/judging/metered.ts'
import { watchedModel } from '../../app/commands/judging/watched-endpoint.ts'
import { withModel } from '../../app/commands/with-model.ts'
import { withRecording } from '../../app/commands/with-recording.ts'
import type { Invocation } from '../../cli/command.ts'
import { counted } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Model } from '../../contracts/ports/model.ts'

/** What a run over many texts is given: a model that counts what it costs, and what it tells of its progress. */
export interface PaidRun {
  readonly settings: Settings
  readonly model: Model
  readonly signal: AbortSignal
  readonly done: () => void
  readonly spent: MeteredModel['spent']
}

type RunParts = Pick<Invocation, 'terminal' | 'startStandIn' | 'signal'>

/**
 * Runs `work`, which asks about so many texts, with the settings' model; answers are kept in the folder `keep`, and what it has cost is
 * shown. Throws an `OperatorError` in words where it is stopped, its money is spent, or nothing answers. `did` is what became of the texts.
 */
export async function paidRun<Result>(
  settings: Settings,
  parts: RunParts,
  of: {
    readonly texts: number
    readonly did: string
    readonly keep: string | undefined
    readonly keepOption: string
    readonly maxCost: number | undefined
  },
  work: (run: PaidRun) => Promise<Result>,
): Promise<Result> {
  const { keep, maxCost } = of
  const texts = counted(of.texts, 'text')
  const how =
    keep === undefined
      ? `With ${of.keepOption} answers are kept, and the next run continues`
      : 'The answers are kept: run it again to continue'
  const words = {
    progress(ended: number, spent: PaidRun['spent']) {
      const money = spent.usd === 0 ? '' : `, $${spent.usd.toFixed(4)}`
      return `${ended} of ${texts}, ${counted(spent.calls, 'call')}${money}`
    },
    stopped: (ended: number) => `${ended} of ${texts} were ${of.did}. ${how}.`,
  }
  return paidWork(settings, parts, { keep, maxCost, ...words }, work)
}

/** The same of any work, in its own words for how much of it is done. */
export async function paidWork<Result>(
  settings: Settings,
  { terminal, startStandIn, signal: stopping }: RunParts,
  of: {
    readonly keep: string | undefined
    readonly maxCost: number | undefined
    readonly progress: (done: number, spent: PaidRun['spent']) => string
    readonly stopped: (done: number) => string
  },
  work: (run: PaidRun) => Promise<Result>,
): Promise<Result> {
  const { keep, maxCost = Number.POSITIVE_INFINITY } = of
  return withModel(settings, { terminal, ...(startStandIn && { startStandIn }) }, (reachable) =>
    withRecording(keep, terminal, async (recording) => {
      const [broke, dead] = [new AbortController(), new AbortController()]
      const endpoint = watchedModel(reachable, () => dead.abort())
      const meter = metered(endpoint.model, reachable.models, maxCost, () => broke.abort())
      const signal = AbortSignal.any([stopping, broke.signal, dead.signal])
      let ended = 0
      const done = () => {
        ended++
        terminal.progress(of.progress(ended, meter.spent))
      }
      try {
        const model = recording?.model(meter.model) ?? meter.model
        return await work({ settings: reachable, model, signal, done, spent: meter.spent })
      } catch (error) {
        if (!signal.aborted) throw error
        const gone = endpoint.dead()
        if (gone !== null && !stopping.aborted) throw gone
        if (meter.unpriced() !== null)
          throw new OperatorError(
            `--max-cost needs a price of ${meter.unpriced()}, and models.prices has none (0 if it is free).`,
          )
        const why = broke.signal.aborted ? `Stopped at --max-cost, $${meter.spent.usd.toFixed(4)} paid` : 'Stopped'
        throw new OperatorError(`${why}: ${of.stopped(ended)}`)
      }
    }),
  )
}
