import { type JournalEntry, usageOf } from '../../contracts/facts/case.ts'
import { addUsage, noUsage, type Usage } from '../../contracts/facts/verdict.ts'
import type { CaseStore, UnpublishedCase } from '../../contracts/ports/cases.ts'
import type { AskGroup, AskWait } from '../../contracts/ports/stage-queues.ts'
import { groupsOf } from '../../judging/engine/ask-groups.ts'
import { type DeadlineSettings, extendedDeadline } from '../../judging/engine/deadline.ts'
import { type KeyedAsk, type ReplayState, replay, scriptOf } from '../../judging/engine/replay.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { otherVersion, pinned } from '../../judging/engine/versions.ts'

/** What a withheld case is waiting for, after its id. */
export const WITHHELD =
  'was shown content of a subject that was deleted since: it is withheld, and begins again without it'

/** A case that is open, or decided and not yet published. Times are ms since 1970. */
export interface InspectedCase {
  readonly id: string
  readonly protocol: string
  readonly revision: number
  readonly final: boolean
  /** `decided`: its verdict waits for Kafka. */
  readonly state: 'open' | 'decided'
  /** It was shown content of a subject that was deleted since, and waits to begin again without it. */
  readonly withheld: boolean
  readonly openedAt: number
  /** With the time for which its asks waited for a model. */
  readonly deadline: number
  /** How often a worker took it over; once for each round where nobody died. */
  readonly takeovers: number
  /** The round of the script that it waits in, from 0; null if it is decided, or can't be replayed here. */
  readonly round: number | null
  readonly answers: readonly ShownAnswer[]
  readonly waits: readonly ShownWait[]
  /** What it has cost so far. */
  readonly usage: Usage
  /** Why what it waits for can't be shown; null if it can. */
  readonly note: string | null
  /** The groups of asks that share a job, of those that wait. */
  readonly groups: readonly AskGroup[]
}

export interface ShownAnswer {
  readonly key: string
  readonly stage: string
  readonly role: string
  readonly label: string | null
  readonly model: string
  readonly startedAt: number
  readonly ms: number
  readonly calls: number
  readonly costUsd: number
  readonly memo: boolean
  /** Null for an answer. */
  readonly failed: { readonly code: string; readonly detail: string } | null
  /** What was answered, as it was read, and as the model wrote it; null of a lookup, and in a withheld case. */
  readonly answer: unknown
  readonly raw: string | null
}

export type ShownWait = AskWait & {
  readonly stage: string
  readonly role: string
  readonly label: string | null
}

export interface CaseParts {
  readonly cases: Pick<CaseStore, 'unpublished' | 'unansweredUntil' | 'isWithheld'>
  readonly deadlineSettings: DeadlineSettings
  readonly protocols: ReadonlyMap<string, Protocol>
  /** What asks wait for, by the jobs that have them. */
  readonly waits: (groups: readonly AskGroup[]) => Promise<AskWait[]>
}

/** The cases with these ids that are not published; each is replayed as its worker would, and not taken over. */
export async function inspectCases(parts: CaseParts, ids: readonly string[]): Promise<InspectedCase[]> {
  const shown = await Promise.all(
    ids.map(async (id) => {
      const found = await parts.cases.unpublished(id)
      return found === null ? [] : [await shownCase(parts, found, await parts.cases.isWithheld(id))]
    }),
  )
  return shown.flat()
}

async function shownCase(
  { cases, deadlineSettings, protocols, waits }: CaseParts,
  found: UnpublishedCase,
  withheld: boolean,
): Promise<InspectedCase> {
  const { record, epoch, journal, lostCalls, concluded } = found
  const { id, protocol, revision, final, openedAt } = record
  const deadline = extendedDeadline(record, await cases.unansweredUntil(protocol), deadlineSettings)
  const { state, note } = concluded ? { state: null, note: null } : stateOf(protocols.get(protocol), found)
  const groups = state?.at === 'round' ? groupsOf(found, state) : []
  const open = new Map(state?.at === 'round' ? state.open.map((one) => [one.key, one]) : [])
  const asked = new Map(state?.asked.map((one) => [one.key, one]))
  return {
    id,
    protocol,
    revision,
    final,
    openedAt,
    deadline,
    takeovers: epoch - (record.restartedAtEpoch ?? 0),
    state: concluded ? 'decided' : 'open',
    withheld,
    round: state?.at === 'round' ? (state.open[0]?.round ?? null) : null,
    answers: [...journal]
      .sort(byKey)
      .map(([key, entry]) => answerOf(key, entry, asked.get(key)))
      // They may hold or quote what was deleted.
      .map((answer) =>
        withheld ? { ...answer, answer: null, raw: null, failed: withoutDetail(answer.failed) } : answer,
      ),
    waits: (await waits(groups)).flatMap((wait) => {
      const one = open.get(wait.key)
      return one === undefined ? [] : [{ ...wait, ...speaker(one) }]
    }),
    usage: [...journal.values()].map(({ usage }) => usage).reduce(addUsage, addUsage(noUsage(), usageOf(lostCalls))),
    note,
    groups,
  }
}

function stateOf(
  current: Protocol | undefined,
  { record, journal }: UnpublishedCase,
): { state: ReplayState | null; note: string | null } {
  const protocol = current && (pinned(current, record.versions) ?? current)
  if (protocol === undefined)
    return {
      state: null,
      note: `the settings here have the protocol ${record.protocol} off, so nothing is known of its asks`,
    }
  if (otherVersion(record.versions, protocol) !== undefined)
    return {
      state: null,
      note: 'it was opened under other prompts or settings than these: a service that has those continues it, or it restarts',
    }
  try {
    return { state: replay(scriptOf(protocol, record), journal), note: null }
  } catch {
    return { state: null, note: 'its script fails on this subject: it ends without a label' }
  }
}

function speaker({ ask }: KeyedAsk): Pick<ShownWait, 'stage' | 'role' | 'label'> {
  return { stage: ask.stage, role: ask.role, label: ask.label ?? null }
}

function answerOf(key: string, entry: JournalEntry, asked: KeyedAsk | undefined): ShownAnswer {
  const { stage, role, model, startedAt, ms, calls, usage, memo, failed = null, answer, raw } = entry
  return {
    key,
    stage,
    role,
    label: asked?.ask.label ?? null,
    model,
    startedAt,
    ms,
    calls: calls.length,
    costUsd: usage.costUsd,
    memo,
    failed,
    answer,
    raw,
  }
}

function withoutDetail(failed: ShownAnswer['failed']): ShownAnswer['failed'] {
  return failed === null ? null : { ...failed, detail: '' }
}

/** By round, then by number. */
function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  const [roundA = 0, indexA = 0] = a.split('.').map(Number)
  const [roundB = 0, indexB = 0] = b.split('.').map(Number)
  return roundA - roundB || indexA - indexB
}
