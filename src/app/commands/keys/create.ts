import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { durationMs, listOf, positive } from '../../../cli/options.ts'
import { newApiKey, SCOPES, type Scope } from '../../../contracts/facts/api-key.ts'
import { tenantName } from '../../../contracts/facts/messages.ts'
import { changeKeys } from '../../../door/server/key-file.ts'

interface Options {
  readonly tenant: string
  readonly scopes: readonly Scope[]
  readonly by?: string
  readonly rate?: number
  readonly burst?: number
  readonly expires?: number
}

interface Created {
  readonly key: string
  readonly id: string
  readonly tenant: string
  readonly scopes: readonly Scope[]
}

/** The last time that is written with a year of four digits, ms since 1970. */
const LAST_MS = Date.parse('9999-12-31T23:59:59Z')

/** `gavel keys create`: a new key for the door, printed this once. */
export const command: Command<Options, Created> = {
  options: [
    new Option('--tenant <name>', 'the tenant for which it sends and reads').makeOptionMandatory(),
    new Option('--scopes <scopes>', `comma-separated: ${SCOPES.join(', ')}`)
      .argParser(listOf(SCOPES, 'scopes'))
      .default(['send', 'judge', 'read']),
    new Option('--by <name>', 'the person or tool that uses it, as named in decisions (default: the tenant)'),
    new Option('--rate <n>', 'units a second: messages, and calls of models at most (default: door.rate)').argParser(
      positive,
    ),
    new Option('--burst <n>', 'most of them at once (default: ten times the rate)').argParser(positive),
    new Option('--expires <duration>', 'its lifetime, such as 90d (default: until revoked)').argParser(durationMs),
  ],
  json: true,
  help: 'Example:\n  $ gavel keys create --tenant acme --scopes send,judge\nThe HTTP API accepts it within 2 s.',
  async run({ options: { tenant, scopes, by, rate, burst, expires }, settings, misused }) {
    if (!tenantName.safeParse(tenant).success)
      misused('--tenant is 1 to 64 letters, digits, dots, dashes or underscores.')
    if (by !== undefined && (by === '' || by.length > 256)) misused('--by is 1 to 256 characters.')
    if (rate === undefined && burst !== undefined) misused('--burst goes with --rate.')
    const now = Date.now()
    if (expires !== undefined && now + expires > LAST_MS) misused('--expires is in the year 9999 at the latest.')
    const { key, kept } = newApiKey({
      tenant,
      scopes: [...scopes],
      by: by ?? tenant,
      ...(rate === undefined ? {} : { rate: { perSecond: rate, burst: Math.ceil(burst ?? 10 * rate) } }),
      createdAt: new Date(now).toISOString(),
      expiresAt: expires === undefined ? null : new Date(now + expires).toISOString(),
    })
    await changeKeys(settings().door.keys, (keys) => ({ keys: [...keys, kept], result: undefined }))
    return { key, id: kept.id, tenant, scopes }
  },
  print(created, { json, settings, terminal }) {
    if (json) return terminal.out(JSON.stringify(created))
    terminal.out(created.key)
    terminal.say(
      `Key ${created.id} of ${created.tenant} (${created.scopes.join(', ')}). It is shown this once: ${settings().door.keys} holds its hash alone.`,
    )
  },
}
