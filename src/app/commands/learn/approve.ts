import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { byOption } from '../../../cli/options.ts'
import { printableJson } from '../../../cli/terminal.ts'
import type { LoggedChange } from '../../../contracts/ports/library.ts'
import { uncontested } from '../../../shelves/curator/proposals.ts'
import { withRetry } from '../../../shelves/curator/with-retry.ts'
import { operator, withLibrary } from '../library/with-library.ts'
import { ofTenant } from './of-tenant.ts'

/** Retries while the embedder is busy. */
const RETRIES = { attempts: 5, backoffMs: 1_000 }

interface ApproveOptions {
  readonly all?: boolean
  readonly by?: string
}

interface Approved {
  readonly changes: readonly LoggedChange[]
  /** Proposals that were left waiting because they contradict one another. */
  readonly contested: readonly string[]
}

/**
 * `gavel learn approve`: puts proposals on their shelves, where the next case finds them. With `--all`: all that are
 * waiting, except those that contradict one another: a person must choose between them.
 */
export const command: Command<ApproveOptions, Approved> = {
  options: [new Option('--all', 'all waiting proposals except conflicting ones'), byOption()],
  json: true,
  help: 'Example:\n  $ gavel learn approve 3f1c9a0b2d4e6f80 --by ann',
  run({ args: ids, options: { all = false, by = operator() }, settings, terminal, signal, misused }) {
    if (ids.length > 0 === all) misused('give ids, or --all')
    return withLibrary(settings(), async (library) => {
      const { chosen, contested } = all ? uncontested(await library.proposals()) : { chosen: ids, contested: [] }
      const changes = await withRetry(() => library.approve(chosen, by, signal), RETRIES, {
        signal,
        waiting: (why, ms) => terminal.progress(`${why}; trying again in ${Math.ceil(ms / 1000)} s`),
      })
      return { changes, contested }
    })
  },
  print({ changes, contested }, { json, terminal }) {
    for (const change of changes) terminal.out(json ? printableJson(JSON.stringify(change)) : changeLine(change))
    if (changes.length === 0) terminal.say('There was nothing to approve.')
    if (contested.length > 0)
      terminal.say(
        `${contested.length} contradict one another and were left waiting: ${contested.join(', ')}. Approve one by its id.`,
      )
  },
}

function changeLine({ id, shelf, tenant, added, unchanged, relabelled }: LoggedChange): string {
  const counts = `${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
  return `${shelf}${ofTenant(tenant)}: ${counts} (change ${id}; "gavel learn rollback ${id}" undoes it)`
}
