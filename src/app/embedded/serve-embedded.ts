import type { Settings } from '../../../config/schema.ts'
import type { Invocation } from '../../cli/command.ts'
import { withModel } from '../commands/with-model.ts'
import { boundedIfFresh, freshBudget } from '../composition/fresh-budget.ts'
import { startEmbedded } from './embedded.ts'

/** `gavel serve --embedded`: until it is asked to stop. If no model is set, the understudy answers, and a line reports that. */
export async function serveEmbedded(
  settings: Settings,
  io: Pick<Invocation, 'terminal' | 'startStandIn' | 'stopped'>,
): Promise<void> {
  const { terminal, stopped } = io
  await withModel(settings, io, async (reachable) => {
    const embedded = await startEmbedded(reachable)
    const address = `http://${settings.door.host}:${embedded.doorPort}`
    for (const line of [
      `Gavel answers on ${address}, all of it in this process: no Kafka, no Redis, and no key for whoever is on this machine.`,
      ...dayBound(reachable),
      'With it end all threads, verdicts that were not fetched, the memo and the budgets; what it judged is kept nowhere.',
      `Try: curl --json '{"post": {"text": "The bridge is closed, they say."}, "protocols": ["hate"]}' ${address}/v1/judge`,
      `${address}/v1/messages takes messages to judge; ${address}/v1/subjects/ID shows the verdicts.`,
      `All routes: ${address}/openapi.json`,
    ])
      terminal.say(line)
    await stopped
    await embedded.close()
  })
}

function dayBound(settings: Settings): string[] {
  const bounded = boundedIfFresh(settings, true)
  return bounded === settings ? [] : [`Models cost at most $${freshBudget(bounded).usd} a day (budgets.fresh).`]
}
