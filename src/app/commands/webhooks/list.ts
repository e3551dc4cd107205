import type { Command } from '../../../cli/command.ts'
import { counted, printable, table } from '../../../cli/terminal.ts'
import type { ParkedDelivery } from '../../../contracts/ports/webhooks.ts'
import { commandRedis } from '../../composition/redis.ts'

/** Most parked deliveries that are listed. */
const MOST = 1_000

interface Listed {
  readonly parked: readonly ParkedDelivery[]
  readonly waiting: number
  readonly oldestMs: number | null
}

/** `gavel webhooks list`: verdicts that no try has brought to their receivers, those first that were parked first. */
export const command: Command<object, Listed> = {
  options: [],
  json: true,
  help: 'A verdict is parked (not tried again) after its last retry, after a 410, or if its address is not allowed.\n\nExample:\n  $ gavel webhooks list',
  async run({ settings }) {
    const redis = await commandRedis(settings())
    try {
      const { waiting, oldestMs } = await redis.webhooks.counts()
      return { parked: await redis.webhooks.parked(MOST), waiting, oldestMs }
    } finally {
      await redis.close()
    }
  },
  print({ parked, waiting, oldestMs }, { json, terminal }) {
    if (json) for (const one of parked) terminal.out(JSON.stringify(one))
    else if (parked.length > 0)
      terminal.out(
        table(
          ['id', 'hook', 'verdict', 'since', 'why'],
          parked.map(({ id, hook, verdictId, at, why, erased }) => [
            id,
            hook,
            printable(verdictId, 80),
            new Date(at).toISOString(),
            erased ? `${why}; its content was erased` : why,
          ]),
        ),
      )
    const since = oldestMs === null ? '' : `, the longest for ${Math.round(oldestMs / 1_000)} s`
    terminal.say(`${counted(parked.length, 'verdict')} parked; ${waiting} on the way${since}.`)
  },
}
