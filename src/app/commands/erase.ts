import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { counted, printable } from '../../cli/terminal.ts'
import {
  type AuthorErasure,
  NOBODYS_NAME,
  newAuthorErasure,
  toldErasure,
} from '../../contracts/facts/author-erasure.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { TENANT_RULE, tenantName } from '../../contracts/facts/messages.ts'
import { placeholders } from '../../judging/threads/rules.ts'
import { knownSecretOf } from '../../store/redis/shared-key.ts'
import { commandRedis } from '../composition/redis.ts'

interface EraseOptions {
  readonly author: string
  readonly tenant: string
  readonly by: string
}

/** How often it is looked how far it is, and after how long without progress that is said, in ms. */
const [LOOK_MS, SILENT_MS] = [500, 15_000]

const WAITS = {
  intake: 'the role intake reads the topics',
  record: 'the role record searches the record, or reads the deletions',
  shelves: 'the role judge erases what was learnt, or shown',
} as const

function lost(): never {
  throw new OperatorError(
    'Redis has lost the erasure before it was done. Recover Redis (gavel recover), then call this again.',
  )
}

/** `gavel erase`: all that somebody wrote, wherever Gavel holds it. The service does it; the command looks on. */
export const command: Command<EraseOptions, AuthorErasure> = {
  options: [
    new Option('--author <id>', 'the person, as their messages name them').makeOptionMandatory(),
    new Option('--tenant <name>', 'the tenant of their messages').default('default'),
    new Option('--by <name>', 'who asks for it, for the audit').makeOptionMandatory(),
  ],
  json: true,
  help: 'A running service (role intake) does it, and goes on when the command is stopped: called again, it looks on. See docs/erasure.md.\n\nExample:\n  $ gavel erase --author did:plc:3f --by ann',
  async run({ options: { author, tenant, by }, settings: read, terminal, signal, misused }) {
    if (!tenantName.safeParse(tenant).success) misused(`--tenant: ${TENANT_RULE}.`)
    const settings = read()
    const redis = await commandRedis(settings)
    try {
      const secret = await knownSecretOf(redis.client, redis.keys, settings.fences.key, (_, event) => {
        if ('advice' in event) terminal.say(event.advice)
      })
      const rules = { hashOf: authorHashes(secret), isPlaceholder: placeholders(settings.threads.placeholders) }
      const asked = newAuthorErasure({ tenant, author, by, now: redis.time.now() }, rules)
      if (asked === null) return misused(`--author: ${NOBODYS_NAME}.`)
      let one = (await redis.authorErasures.ask(asked)) ?? lost()
      let [changed, silent] = [performance.now(), false]
      while (one.state !== 'done' && !signal.aborted) {
        await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
        const before = one
        one = (await redis.authorErasures.read(one.id)) ?? lost()
        if (one.sent !== before.sent) terminal.say(`${counted(one.sent, 'deletion')} sent`)
        if (one.sent !== before.sent || one.state !== before.state) [changed, silent] = [performance.now(), false]
        else if (!silent && performance.now() - changed > SILENT_MS && one.waitsFor !== null) {
          silent = true
          terminal.say(`Waits until ${WAITS[one.waitsFor]}.`)
        }
      }
      return one
    } finally {
      await redis.close()
    }
  },
  print(one, { json, terminal }) {
    const told = toldErasure(one)
    if (json) terminal.out(JSON.stringify(told))
    else if (one.state === 'done') {
      terminal.out(`Erased: ${counted(one.sent, 'deletion')} carried out.`)
      terminal.say(['These stay for longer:', ...told.stays.map((line) => `- ${line}`)].join('\n'))
    }
    if (one.state !== 'done')
      throw new OperatorError(
        `Erasure ${printable(one.id, 60)} goes on in the service (${one.state}, ${counted(one.sent, 'deletion')} sent). Call it again to look on.`,
      )
  },
}
