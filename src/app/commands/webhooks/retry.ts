import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import type { Webhooks } from '../../../contracts/ports/webhooks.ts'
import { commandRedis } from '../../composition/redis.ts'

interface Retried {
  readonly id: string
  readonly became: Awaited<ReturnType<Webhooks['retry']>>
}

const OUTCOMES = {
  queued: 'is tried again now',
  superseded: 'stays: its receiver was sent, or will be sent, a newer verdict on the same subject',
  erased: 'stays: its subject was deleted, and its content with it',
  unknown: 'is not parked',
} as const satisfies Record<Retried['became'], string>

/** `gavel webhooks retry`: parked verdicts are tried again, but none behind a newer one. */
export const command: Command<object, readonly Retried[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel webhooks retry msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
  async run({ args, settings }) {
    const redis = await commandRedis(settings())
    try {
      const all: Retried[] = []
      for (const id of args) all.push({ id, became: await redis.webhooks.retry(id) })
      return all
    } finally {
      await redis.close()
    }
  },
  print(all, { json, terminal }) {
    for (const one of all) terminal.out(json ? JSON.stringify(one) : `${printable(one.id, 80)} ${OUTCOMES[one.became]}`)
  },
}
