import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { positiveWhole, time } from '../../../cli/options.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { TENANT_RULE, tenantName } from '../../../contracts/facts/messages.ts'
import { STREAMED_KINDS, type SubjectKind } from '../../../contracts/facts/thread.ts'
import { traceIdOf } from '../../../contracts/facts/trace.ts'
import { commentKey } from '../../../contracts/facts/verdict-id.ts'
import type { SubjectRecord } from '../../../contracts/ports/record.ts'
import { type Inspection, inspect } from '../../../recovery/inspection/inspection.ts'
import { type SubjectInspection, standingOf } from '../../../recovery/inspection/subject-status.ts'
import { readingClient } from '../reading-client.ts'
import { meaningsOf } from './meanings.ts'
import { ofRecord, printRecord } from './of-record.ts'
import { inspectionParts } from './parts.ts'
import { printInspection } from './print.ts'

export interface ShowOptions {
  readonly tenant: string
  readonly kind?: SubjectKind
  readonly post?: string
  readonly offsets?: boolean
  readonly transcript?: boolean
  readonly prompts?: boolean
  readonly since?: number
  readonly most: number
  readonly allPartitions?: boolean
  readonly record?: true
}

/** Neither the store nor any topic knows it. */
function isUnknown({ thread, messages, verdicts }: Inspection): boolean {
  return thread === null && messages.length === 0 && verdicts.length === 0
}

interface Traces {
  /** The ids of traces, by verdict or case; absent where none are sent. */
  readonly traces?: Readonly<Record<string, string>>
}

function tracesOf({ traces, name }: Pick<Settings, 'traces' | 'name'>, { verdicts, cases }: Inspection): Traces {
  if (traces.endpoint === '') return {}
  const ids = [...verdicts.map(({ verdict }) => verdict.id), ...cases.map(({ id }) => id)]
  return { traces: Object.fromEntries(ids.map((id) => [id, traceIdOf(name, id)])) }
}

/** `gavel show`: everything that is known of one subject, from Redis and its own partitions of the topics. */
export const command: Command<ShowOptions, (SubjectInspection & Traces) | SubjectRecord> = {
  options: [
    new Option('--tenant <name>', 'the tenant of the subject').default('default'),
    new Option('--kind <kind>', 'post, or reply on the counterspeech topic (default: a post, or else a reply)').choices(
      STREAMED_KINDS,
    ),
    new Option('--post <id>', 'of a comment that is judged by itself: its post').conflicts('kind'),
    new Option('--offsets', 'print where each record is in Kafka, and which offsets were read'),
    new Option('--transcript', 'print the debates too, also of open cases'),
    new Option('--prompts', 'with --transcript: print the prompts too'),
    new Option('--since <time>', 'read only records sent at or after this time (ISO 8601)').argParser(time),
    new Option('--most <records>', 'read only this many of the newest records of each partition')
      .argParser(positiveWhole)
      .default(200_000),
    new Option('--all-partitions', 'read all partitions: for producers that do not key their records by the post’s id'),
    new Option(
      '--record',
      "read the record of this machine, which goes back further: verdicts and people's decisions",
    ).conflicts(['offsets', 'transcript', 'since', 'allPartitions']),
  ],
  json: true,
  help: 'It changes nothing. Texts of deleted posts are not shown. See docs/show.md.\n\nExamples:\n  $ gavel show 3lbw2k4\n  $ gavel show 3lbw2k4 --transcript\n  $ gavel show 3lbw2k4 --record\n  $ gavel show c81 --post 3lbw2k4\n  $ gavel show 3lbw2k4 --json | jq .standing',
  async run({ args: [id = ''], options, settings: read, terminal, signal, misused }) {
    const { tenant, transcript = false, prompts = false, since = null, most, allPartitions = false } = options
    if (!tenantName.safeParse(tenant).success) misused(`--tenant: ${TENANT_RULE}.`)
    if (prompts && !transcript) misused('--prompts goes with --transcript.')
    const settings = read()
    const { post: postId, kind = postId === undefined ? undefined : 'comment' } = options
    const key = postId === undefined ? id : commentKey(postId, id)
    if (options.record === true) return ofRecord(settings, { tenant, id: key, kind })
    let records = 0
    const progress = (topic: string, more: number) => {
      records += more
      terminal.progress(`${records} records read (${topic})`)
    }
    const waiting = { signal, say: terminal.say, progress }
    try {
      const parts = await inspectionParts(settings, () => readingClient(settings, terminal), waiting)
      try {
        const bound = { since, most, everywhere: allPartitions }
        const inspected = (kind: SubjectKind) =>
          inspect(parts, { tenant, postId: key, kind }, { bound, transcripts: transcript })
        const post = await inspected(kind ?? 'post')
        const reply = kind === undefined && isUnknown(post) ? await inspected('reply') : null
        const found = reply === null || isUnknown(reply) ? post : reply
        return { standing: standingOf(found), ...found, ...tracesOf(settings, found) }
      } finally {
        await parts.close()
      }
    } catch (error) {
      if (!signal.aborted) throw error
      throw new OperatorError('Stopped before everything was read; nothing was changed.', { cause: error })
    }
  },
  print(shown, { options, settings, json, terminal }) {
    if (json) terminal.out(JSON.stringify(shown))
    else if ('said' in shown) printRecord(shown, terminal)
    else {
      const { traces = {} } = shown
      printInspection(shown, options, { terminal, meanings: meaningsOf(settings()), traces })
    }
  },
}
