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

/**
 * Runs `work`, which asks about so many texts, with the settings' model; answers are kept in the folder `keep`, and what it has cost is
 * shown. Throws an `OperatorError` in words where it is stopped, its money is spent, or nothing answers. `did` is what became of the texts.
 */
export async function paidRun<Result>(
  settings: Settings,
  { terminal, startStandIn, signal: stopping }: Pick<Invocation, 'terminal' | 'startStandIn' | 'signal'>,
  of: {
    readonly texts: number
    readonly did: string
    readonly keep: string | undefined
    readonly keepOption: string
    readonly maxCost: number | undefined
  },
  work: (run: PaidRun) => Promise<Result>,
): Promise<Result> {
  const { keep, maxCost = Number.POSITIVE_INFINITY } = of
  const texts = counted(of.texts, 'text')
  return withModel(settings, { terminal, ...(startStandIn && { startStandIn }) }, (reachable) =>
    withRecording(keep, terminal, async (recording) => {
      const [broke, dead] = [new AbortController(), new AbortController()]
      const endpoint = watchedModel(reachable, () => dead.abort())
      const meter = metered(endpoint.model, reachable.models, maxCost, () => broke.abort())
      const signal = AbortSignal.any([stopping, broke.signal, dead.signal])
      let ended = 0
      const done = () => {
        ended++
        const money = meter.spent.usd === 0 ? '' : `, $${meter.spent.usd.toFixed(4)}`
        terminal.progress(`${ended} of ${texts}, ${counted(meter.spent.calls, 'call')}${money}`)
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
        const stopped = broke.signal.aborted ? `Stopped at --max-cost, $${meter.spent.usd.toFixed(4)} paid` : 'Stopped'
        const how =
          keep === undefined
            ? `With ${of.keepOption} answers are kept, and the next run continues`
            : 'The answers are kept: run it again to continue'
        throw new OperatorError(`${stopped}: ${ended} of ${texts} were ${of.did}. ${how}.`)
      }
    }),
  )
}
