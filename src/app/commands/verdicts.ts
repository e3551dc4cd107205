import { InvalidArgumentError, Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import type { Command } from '../../cli/command.ts'
import { positiveWhole, protocolName, time } from '../../cli/options.ts'
import { counted, printable, printableJson, type Terminal } from '../../cli/terminal.ts'
import { didYouMean } from '../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { type Verdict, verdict } from '../../contracts/facts/verdict.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { recordReaderOf } from '../../record/record-store.ts'
import { type VerdictAudit, verdictAudit } from '../../recovery/audit.ts'
import { readTopic } from '../../stream/bounded-reader.ts'
import { readingClient } from './reading-client.ts'
import { verdictLine } from './verdict-line.ts'

interface VerdictsOptions {
  readonly follow?: boolean
  readonly protocol?: string
  readonly since?: number
  readonly last?: number
  readonly check?: true
  readonly label?: string
  readonly tenant?: string
  readonly degraded?: true
  readonly record?: true
  readonly search?: string
  readonly until?: number
  readonly contested?: true
  readonly author?: string
  readonly lang?: string
  readonly model?: string
  readonly prompts?: string
  readonly fault?: string
}

/** Options that the record alone can answer. */
const OF_RECORD = ['search', 'until', 'contested', 'author', 'lang', 'model', 'prompts', 'fault'] as const

/** How many verdicts were found, or what a check of them found. */
type Found = number | VerdictAudit

/**
 * `gavel verdicts`: prints the verdicts topic, or its newest verdicts in the order in which they were decided, and with
 * `--follow` new verdicts as they arrive; resolves to how many were found. With `--check` it looks instead whether an id
 * stands there with two contents, and ends with an `OperatorError` if one does that no later revision supersedes.
 */
export const command: Command<VerdictsOptions, Found> = {
  options: [
    new Option('--follow', 'keep printing new verdicts'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
    new Option('--label <label>', 'only those with this label; "none": only those without one').argParser(labelName),
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--degraded', 'only degraded verdicts'),
    new Option('--since <time>', 'only those sent at or after this time (ISO 8601)').argParser(time),
    new Option('--last <n>', 'only the newest n, in order of decision').argParser(positiveWhole).conflicts('follow'),
    new Option('--record', 'read the record of this machine, which goes back further than the topic').conflicts(
      'follow',
    ),
    new Option(
      '--search <words>',
      'with --record: only current verdicts with all these words in post, comments or rationale; quotation marks make a phrase',
    ),
    new Option('--until <time>', 'with --record: only those decided before this time (ISO 8601)').argParser(time),
    new Option('--contested', 'with --record: only narrow results, such as perspectives that split 3 to 2'),
    new Option('--author <name>', 'with --record: only on posts and replies by this author'),
    new Option('--lang <tag>', 'with --record: only those in this language'),
    new Option('--model <name>', 'with --record: only those by this model'),
    new Option('--prompts <hash>', 'with --record: only those under these prompts (versions.prompts)'),
    new Option('--fault <class>', 'with --record: only those degraded by this fault (ours, model, evidence)'),
    new Option('--check', 'only check for ids with two contents').conflicts([
      'follow',
      'protocol',
      'label',
      'tenant',
      'degraded',
      'since',
      'last',
      'record',
      ...OF_RECORD,
    ]),
  ],
  json: true,
  help: [
    'Examples:',
    '  $ gavel verdicts --last 20',
    '  $ gavel verdicts --follow --json | jq .label',
    '  $ gavel verdicts --label unsafe --tenant acme',
    '  $ gavel verdicts --check',
    '  $ gavel verdicts --record --search "dam broken"',
    '  $ gavel verdicts --record --contested --lang ko --until 2026-01-31T12:00:00Z',
    '  $ gavel verdicts --since 2026-01-31T12:00:00Z --json | jq -r ".degraded[]"',
  ].join('\n'),
  async run({ options, json, settings: read, terminal, signal, misused }) {
    const { follow = false, since, last, check = false, record = false, ...wanted } = options
    const alone = record ? undefined : OF_RECORD.find((name) => options[name] !== undefined)
    if (alone !== undefined) misused(`--${alone} goes with --record.`)
    const settings = read()
    if (record) return fromRecord(settings, options, json, terminal)
    const kafka = await readingClient(settings, terminal)
    const print = (one: Verdict) => terminal.out(json ? printableJson(JSON.stringify(one)) : verdictLine(one))
    const audit = verdictAudit()
    const newest = last === undefined ? null : newestOf(last)
    let [count, checked, skipped] = [0, 0, 0]
    const reading = { follow, since, signal, say: terminal.say }
    await readTopic(kafka, topicsOf(settings).verdicts, reading, ({ partition, message }) => {
      if (check && ++checked % CHECKED_AT_ONCE === 0) terminal.progress(`checked: ${counted(checked, 'record')}`)
      const one = verdict.safeParse(jsonOf(message))
      if (!one.success) {
        if (check) audit.skip()
        if (++skipped > MOST_SKIPPED_NAMED && check) return
        return terminal.say(`partition ${partition}, offset ${message.offset}: not a verdict of schema 1 or 2; skipped`)
      }
      if (check) return audit.take(one.data, message.value?.toString('utf8') ?? '')
      if (!isWanted(one.data, wanted)) return
      count++
      if (newest === null) print(one.data)
      else newest.add(one.data)
    })
    if (check && signal.aborted) throw new OperatorError('Stopped before the end of the topic: nothing is known.')
    if (check) return audit.result()
    // Those read before Ctrl-C are not the newest.
    if (newest !== null && signal.aborted) terminal.say('Stopped before the end of the topic: nothing to print.')
    else for (const one of newest?.all() ?? []) print(one)
    return count
  },
  print(found, { options, json, signal, terminal }) {
    if (typeof found !== 'number') return printAudit(found, json, terminal)
    const { follow = false, record: _, last: __, since: ___, check: ____, ...wanted } = options
    const like = Object.values(wanted).some((one) => one !== undefined) ? ' like this' : ''
    if (found === 0 && !follow && !signal.aborted) terminal.say(`There are no verdicts${like}.`)
  },
}

/** Most verdicts of the record that are printed, unless `--last` sets another number. */
const FROM_RECORD = 50

/** Prints the newest verdicts of the record that fit, the newest last. */
async function fromRecord(
  settings: Settings,
  { label, tenant, search, last = FROM_RECORD, follow: _, check: __, record: ___, ...others }: VerdictsOptions,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  const record = await recordReaderOf(settings)
  try {
    const filter = {
      ...others,
      ...(label === undefined ? {} : { label: label === NO_LABEL ? null : label }),
      ...(tenant === undefined ? {} : { tenants: [tenant] }),
    }
    const { found, stoppedEarly, reindexing } =
      search === undefined
        ? { found: await record.find(filter, last), stoppedEarly: false, reindexing: false }
        : await record.search(search, filter, last)
    for (const { verdict: one, words } of found.toReversed())
      terminal.out(json ? printableJson(JSON.stringify(one)) : verdictLine(one, words ?? ''))
    if (found.length === last) terminal.say(`These are the newest ${last}; there may be more (--last).`)
    if (stoppedEarly)
      terminal.say('The search ended early: too many verdicts hold parts of these words. Name rarer ones.')
    if (reindexing)
      terminal.say(
        'There may be more: older texts are being indexed anew, so that their letters are searched by new rules (docs/record.md).',
      )
    return found.length
  } finally {
    await record.close()
  }
}

function isWanted(
  { protocol, label, tenant, degraded }: Verdict,
  wanted: Pick<VerdictsOptions, 'protocol' | 'label' | 'tenant' | 'degraded'>,
): boolean {
  return (
    (wanted.protocol === undefined || protocol === wanted.protocol) &&
    (wanted.label === undefined || (label ?? NO_LABEL) === wanted.label) &&
    (wanted.tenant === undefined || tenant === wanted.tenant) &&
    (wanted.degraded === undefined || degraded.length > 0)
  )
}

const CHECKED_AT_ONCE = 10_000
/** Most records without a verdict that a check names; it counts all. */
const MOST_SKIPPED_NAMED = 10

export function printAudit(found: VerdictAudit, json: boolean, terminal: Terminal): void {
  const { records, unreadable, ids, repeats, contested } = found
  const open = contested.filter(({ superseded }) => !superseded)
  if (json) terminal.out(printableJson(JSON.stringify(found)))
  else {
    terminal.out(
      `${counted(ids, 'verdict')} in ${counted(records, 'record')}, ${repeats} of them byte-identical repeats`,
    )
    if (unreadable > 0)
      terminal.out(`${counted(unreadable, 'record')} without a verdict of schema 1 or 2: what stood there is not known`)
    for (const { id, contents, superseded } of contested)
      terminal.out(`${printable(id, 200)}: ${contents} contents${superseded ? ', superseded by a later revision' : ''}`)
    if (contested.length === 0) terminal.out('No id has two contents there.')
  }
  if (open.length > 0)
    throw new OperatorError(
      `${counted(open.length, 'id')} with two contents and no later revision: run "gavel recover", which has the next one judged.`,
    )
}

/** Keeps the `most` verdicts that were decided last, in that order; at most twice as many are in memory. */
function newestOf(most: number) {
  const kept: Verdict[] = []
  const trim = () => {
    kept.sort((a, b) => (Date.parse(a.timing.decidedAt) || 0) - (Date.parse(b.timing.decidedAt) || 0))
    kept.splice(0, kept.length - most)
  }
  return {
    add(one: Verdict) {
      if (kept.push(one) >= 2 * most) trim()
    },
    all() {
      trim()
      return kept
    },
  }
}

/** What stands for verdicts without a label. */
export const NO_LABEL = 'none'

/** A label that a protocol gives, or the word for none; a list of all, and the one that was probably meant, for any other. */
export function labelName(text: string): string {
  const known = [
    ...new Set(
      PROTOCOLS.flatMap(({ labels, reading }) => [
        ...Object.values(labels ?? {}),
        ...Object.keys(reading?.labels ?? {}),
      ]),
    ),
    NO_LABEL,
  ]
  if (known.includes(text)) return text
  throw new InvalidArgumentError(`labels are ${known.join(', ')}.${didYouMean(text, known)}`)
}
