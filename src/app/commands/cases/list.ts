import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { positiveWhole, protocolName } from '../../../cli/options.ts'
import { printable, printableJson, table } from '../../../cli/terminal.ts'
import { CASE_STATES, type CaseState, type ListedCase, listCases } from '../../../recovery/inspection/open-cases.ts'
import { casesParts } from '../show/parts.ts'

interface ListOptions {
  readonly state?: CaseState
  readonly tenant?: string
  readonly protocol?: string
  readonly most: number
}

interface Listed {
  readonly at: number
  readonly cases: readonly ListedCase[]
  readonly unseen: number
}

/** `gavel cases list`: the open cases, what each waits for, and until when. */
export const command: Command<ListOptions, Listed> = {
  options: [
    new Option('--state <state>', 'only cases in this state').choices(CASE_STATES),
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
    new Option('--most <cases>', 'list at most this many, the longest idle first')
      .argParser(positiveWhole)
      .default(100),
  ],
  json: true,
  help: `States: active (a worker runs one of its asks), waiting (for a worker), deferred (no ask may run before its time), stranded (its job is lost until the reconciler finds it), advancing (its round has ended), elsewhere (only a service with other versions can read it), withheld (a subject in its prompts was deleted; it restarts without that).\n\nExamples:\n  $ gavel cases list --state deferred\n  $ gavel cases list --tenant acme --json | jq .id`,
  async run({ options: { most, state, tenant, protocol }, settings, signal, terminal }) {
    const parts = await casesParts(settings())
    try {
      const filter = { state, tenant, protocol }
      const progress = (seen: number) => terminal.progress(`${seen} cases looked at`)
      return { at: parts.clock(), ...(await listCases(parts, filter, { most, signal, progress })) }
    } finally {
      await parts.close()
    }
  },
  print({ at, cases, unseen }, { json, terminal }) {
    if (json) for (const one of cases) terminal.out(printableJson(JSON.stringify(one)))
    else if (cases.length > 0)
      terminal.out(
        table(
          ['case', 'state', 'age', 'round', 'answered', 'open', 'waits for', '$', 'deadline in'],
          cases.map((one) => row(one, at)),
          { dispensable: ['$', 'answered', 'round', 'open', 'age'] },
        ),
      )
    if (cases.length === 0) terminal.say('No open case is like this.')
    if (unseen > 0) terminal.say(`${unseen} more were not looked at: --most.`)
  },
}

function row(one: ListedCase, at: number): string[] {
  const { id, state, openedAt, round, answers, waits, usage, overdue, deadline, note } = one
  return [
    printable(id, 60),
    state,
    seconds(at - openedAt),
    round === null ? '' : String(round),
    String(answers.length),
    String(waits.length),
    waitsFor(one, at) || printable(note ?? '', 60),
    usage.costUsd.toFixed(4),
    overdue ? 'overdue' : seconds(deadline - at),
  ]
}

/** What most of its asks wait for. */
function waitsFor({ waits }: ListedCase, at: number): string {
  const deferred = waits.filter(({ state }) => state === 'deferred')
  const [first] = deferred
  if (first === undefined) return [...new Set(waits.map(({ stage, role }) => `${stage}/${role}`))].join(', ')
  const until = Math.min(...deferred.map(({ readyAt }) => readyAt ?? at))
  return `${seconds(until - at)}: ${printable(first.why ?? 'its time', 80)}`
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
