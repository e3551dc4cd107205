import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import type { Command } from '../../cli/command.ts'
import { positive, protocolName, time } from '../../cli/options.ts'
import { counted, type Drawing, printable, type Terminal, table } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { FAULTS, type Fault } from '../../contracts/facts/verdict.ts'
import { StoreSuspended } from '../../contracts/ports/cases.ts'
import type { AgainFilter, AgainPlan } from '../../recovery/again-plan.ts'
import { type AgainReport, judgeAgain } from '../../recovery/judge-again.ts'
import { judgeAgainParts } from './judge-again-parts.ts'
import { mustExist } from './protocols/store.ts'
import { readingClient } from './reading-client.ts'

export interface JudgeAgainOptions {
  readonly since?: number
  readonly until?: number
  readonly protocol?: string
  readonly tenant?: string
  readonly fault?: Fault
  readonly reason?: string
  readonly unverified?: boolean
  readonly listed?: boolean
  readonly rate: number
  readonly dryRun?: boolean
}

/** Verdicts asked for a second, if nothing else is said. */
const RATE = 5

/** `gavel judge-again`: has the services judge again what ended without a label, or as unverified, or is on a list now. */
export const command: Command<JudgeAgainOptions, AgainReport> = {
  options: [
    new Option('--since <time>', 'only verdicts decided at or after this time (ISO 8601)').argParser(time),
    new Option('--until <time>', 'only verdicts decided at or before this time (ISO 8601)').argParser(time),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--fault <whose>', 'only verdicts with this fault').choices(FAULTS),
    new Option('--reason <text>', 'only verdicts with this text in one of the reasons in "degraded"'),
    new Option('--unverified', 'verdicts with the label unverified, instead of those without a label'),
    new Option('--listed', 'verdicts of what is on a list of vetoes now, instead of those without a label'),
    new Option('--rate <n>', 'verdicts a second').argParser(positive).default(RATE),
    new Option('--dry-run', 'only print what would be judged again, why, and the cost'),
  ],
  json: true,
  help: [
    'Running services judge each subject under its next revision. An interrupted run resumes: nothing is asked',
    'for twice. See docs/judge-again.md.',
    '',
    'Examples:',
    '  $ gavel judge-again --dry-run',
    '  $ gavel judge-again --since 2026-01-31T12:00:00Z --fault model --rate 20',
  ].join('\n'),
  run({ options, json, settings, terminal, signal, misused }) {
    const { since, until } = options
    if (options.listed && (options.unverified ?? options.fault ?? options.reason) !== undefined)
      misused('--listed takes neither --unverified nor --fault nor --reason')
    if (since !== undefined && until !== undefined && since > until) misused('--since is later than --until')
    return runAgain(settings(), options, { json, terminal, signal })
  },
  print(done, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(done))
    else tellAsked(done, terminal)
  },
}

/** Asks for the verdicts that the options name; what was found is said first. */
export async function runAgain(
  settings: Settings,
  { since, until, protocol, tenant, fault, reason, unverified, listed, rate, dryRun = false }: JudgeAgainOptions,
  { json, terminal, signal }: { json: boolean; terminal: Terminal; signal: AbortSignal },
): Promise<AgainReport> {
  const filter: AgainFilter = {
    since: since ?? null,
    until: until ?? null,
    protocol: protocol ?? null,
    tenant: tenant ?? null,
    fault: fault ?? null,
    reason: reason ?? null,
    unverified,
    listed,
  }
  if (protocol !== undefined) mustExist(settings, protocol)
  let [looked, verdicts] = [0, 0]
  try {
    const parts = await judgeAgainParts(settings, () => readingClient(settings, terminal), {
      signal,
      say: terminal.say,
      listed,
    })
    try {
      return await judgeAgain({
        ...parts,
        filter,
        rate,
        dryRun,
        signal,
        say: terminal.say,
        told: reading(terminal),
        planned(plan, { begun, isContinued, decidedSince }) {
          const tell = json ? terminal.say : terminal.out
          if (isContinued) terminal.say(`Going on with the run of ${iso(begun)}, which did not end.`)
          tellPlan(plan, { rate, filter }, tell)
          if (decidedSince > 0)
            tell(`${counted(decidedSince, 'verdict')} decided since that run began: run this again afterwards for them`)
        },
        progress(done, of) {
          ;[looked, verdicts] = [done, of]
          terminal.progress(`asked for ${done} of ${of}`)
        },
      })
    } finally {
      await parts.close()
    }
  } catch (error) {
    if (error instanceof StoreSuspended)
      throw new OperatorError('Redis has lost data: run "gavel recover" first, and then this again.', { cause: error })
    if (!signal.aborted) throw error
    const where = verdicts === 0 ? 'Stopped before anything was asked for.' : `Stopped at ${looked} of ${verdicts}.`
    const left = dryRun
      ? 'Stopped; nothing was changed.'
      : `${where} Run it again to go on; nothing is asked for twice.`
    throw new OperatorError(left, { cause: error })
  }
}

/** Most reasons that are named. */
const MOST_REASONS = 10

/** Prints what a run would ask for, or why it would ask for nothing. */
export function tellPlan(
  plan: AgainPlan,
  { rate, filter }: { rate: number; filter: AgainFilter },
  tell: (line: string | Drawing) => void,
): void {
  const { subjects, verdicts, byProtocol, byReason, off, looked } = plan
  const { since, until, tenant, unverified, listed } = filter
  const which = listed ? 'of what is on a list' : unverified ? 'labelled unverified' : 'without a label'
  // As they were understood: a time without a zone is this machine's.
  if (since !== null || until !== null)
    tell(
      `Decided ${[since === null ? '' : `from ${iso(since)}`, until === null ? '' : `to ${iso(until)}`].join(' ').trim()}:`,
    )
  const others = listed ? 'are off, or compare with no list (preset: paper)' : 'are off'
  if (off > 0) tell(`${counted(off, 'verdict')} ${which} of protocols that ${others}: left as they are`)
  if (verdicts === 0) {
    const of = tenant === null ? '' : ` of tenant ${printable(tenant, 100)}`
    tell(`No last verdict ${which} fits; the verdicts topic has ${counted(looked, 'subject')}${of}.`)
    return
  }
  tell(
    `${counted(verdicts, 'verdict')} ${which}, of ${counted(subjects.length, 'subject')}; at ${rate} a second in ${lasts(verdicts / rate)}`,
  )
  for (const { protocol, verdicts: own, costUsd } of byProtocol)
    tell(`  ${printable(protocol, 100)}: ${own}, ${listed ? FOR_NOTHING : priceOf(costUsd)}`)
  tell(table(['why', 'verdicts'], byReason.slice(0, MOST_REASONS).map(rowOf)))
  if (byReason.length > MOST_REASONS) tell(`and ${counted(byReason.length - MOST_REASONS, 'other reason')}`)
}

const FOR_NOTHING = 'at no cost: no model is asked about what is on a list'

function priceOf(costUsd: number | null): string {
  if (costUsd === null) return 'at an unknown price: no verdict of it on the topic decided anything'
  if (costUsd === 0)
    return 'at an unknown price: those that decided something cost nothing, as where models.prices lacks the model'
  const usd = costUsd < 0.01 ? 'less than $0.01' : `about $${costUsd.toFixed(2)}`
  return `${usd}, by the mean of those that decided something`
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

function lasts(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} minutes`
}

function rowOf({ reason, verdicts }: AgainPlan['byReason'][number]): [string, string] {
  return [printable(reason, 100), String(verdicts)]
}

function tellAsked({ dryRun, plan, outcomes, shortened, unchecked }: AgainReport, terminal: Terminal): void {
  if (unchecked > 0)
    terminal.out(
      `${counted(unchecked, 'verdict')} of posts with a picture that could not be compared: left as they are`,
    )
  if (dryRun) terminal.say('Nothing was changed.')
  if (dryRun || plan.verdicts === 0) return
  const { due = 0, newer = 0, deleted = 0, gone = 0, changed = 0 } = outcomes
  terminal.out(`${counted(due, 'verdict')} asked for; the services judge them under their next revisions`)
  if (newer > 0) terminal.out(`${newer} had a later revision, or one on its way`)
  if (deleted > 0) terminal.out(`${deleted} of subjects that were deleted meanwhile`)
  if (gone > 0)
    terminal.out(`${gone} that can't be judged: neither Redis nor the topics have the subject, or no route leads to it`)
  if (shortened.subjects > 0)
    terminal.out(
      `${counted(shortened.subjects, 'thread')} came back without ${counted(shortened.comments, 'comment')} that had expired from the topic; "degraded" in their verdicts names this`,
    )
  if (changed > 0) terminal.out(`${changed} whose threads were changing: run this again for them`)
}

const PROGRESS_EVERY = 10_000

/** Shows how far each reading is. */
function reading(terminal: Terminal): (what: string, messages: number) => void {
  const counts = new Map<string, number>()
  return (what, messages) => {
    const now = (counts.get(what) ?? 0) + messages
    counts.set(what, now)
    if (Math.floor(now / PROGRESS_EVERY) > Math.floor((now - messages) / PROGRESS_EVERY))
      terminal.progress(`${what}: ${now}`)
  }
}
