import type { Settings } from '../../../../config/schema.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { keptHash } from '../../../contracts/facts/kept-image.ts'
import type { SamplingRank } from '../../../contracts/facts/sampling-rank.ts'
import type { ShadowVerdict } from '../../../contracts/facts/shadow-verdict.ts'
import { type Post, snapshot, type ThreadRef } from '../../../contracts/facts/thread.ts'
import { type Transcript, transcript } from '../../../contracts/facts/verdict.ts'
import { threadIn } from '../../../contracts/facts/verdict-id.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { Report } from '../../../contracts/ports/report.ts'
import { faultsOf } from '../../../judging/engine/faults.ts'
import type { Protocol } from '../../../judging/engine/script.ts'
import { versionsOf } from '../../../judging/engine/versions.ts'
import { recordedAnswers } from '../../../judging/recorded/recorded-answers.ts'
import { type CaseReplay, replayCase } from '../../../judging/recorded/replay-recorded.ts'
import { endpointOf } from '../../../models/openai/models-of-endpoints.ts'
import { askingAnew, StoppedAsking } from '../../composition/ask-anew.ts'
import type { GatewayStores } from '../../composition/gateway.ts'
import { askedModelCheck, replayNotes } from '../../composition/judging.ts'
import { watchedEndpoint } from '../judging/watched-endpoint.ts'

/** What a live case has judged, as its transcript has it. */
export interface JudgedSnapshot {
  readonly of: string
  readonly ref: ThreadRef
  readonly revision: number
  readonly final: boolean
  readonly live: ShadowVerdict['live']
  readonly transcript: Transcript
}

/**
 * What a machine has judged by this protocol, in a transcript; null where that is another's, a person's, or holds no subject that could
 * be judged again.
 */
export function judgedIn(
  value: Buffer | null,
  { name: protocol, subject: judges }: Pick<Protocol, 'name' | 'subject'>,
): JudgedSnapshot | null {
  const read = transcript.safeParse(parsed(value))
  if (!read.success || read.data.turns.length === 0) return null
  const { verdictId, verdict, subject } = read.data
  const seen = snapshot.safeParse(subject)
  if (verdict?.protocol !== protocol || !seen.success) return null
  const ref = threadIn(verdictId, new Set(judges === 'reply' ? [protocol] : []))
  // Variants are compared on posts and replies. What a store has set aside of an image it alone can give.
  if (ref === null || ref.kind === 'comment' || hasSetAside(seen.data.post)) return null
  const { label, decidedBy, usage, faults, revision, final } = verdict
  const live = { label, decidedBy, faults, costUsd: usage.costUsd }
  return { of: verdictId, ref, revision, final, live, transcript: read.data }
}

function hasSetAside({ media = [], clips = [] }: Post): boolean {
  const shown = [...media, ...clips.flatMap(({ frames = [] }) => frames)]
  return shown.some(({ url }) => url !== undefined && keptHash(url) !== null)
}

function parsed(value: Buffer | null): unknown {
  try {
    return JSON.parse(value?.toString('utf8') ?? 'null')
  } catch {
    return null
  }
}

/** With what a variant judges. */
export interface ShadowParts {
  readonly variant: string
  readonly settings: Settings
  readonly protocol: Protocol
  readonly samplingRank: SamplingRank
  readonly secret: string
  readonly stores: Partial<GatewayStores>
  readonly model: Model
  readonly library: () => Pick<Library, 'find' | 'embedder'>
  readonly isDeleted: (ref: ThreadRef) => Promise<boolean>
  readonly report: Report
  readonly now: () => number
}

/** Judges the same snapshot under a variant's settings: a question that the live case has the answer to has that answer. */
export async function shadowOf(
  { of, ref, revision, final, live, transcript: judged }: JudgedSnapshot,
  parts: ShadowParts,
  signal: AbortSignal,
): Promise<ShadowVerdict> {
  const { variant, settings, protocol, samplingRank, isDeleted, now } = parts
  const { key } = replayNotes(settings, samplingRank)
  const recorded = recordedAnswers(judged, { key, tenant: ref.tenant, final })
  const endpoint = watchedEndpoint(parts.model, (name) => endpointOf(settings, name), now)
  const anew = askingAnew(settings, protocol.name, {
    ...parts,
    model: endpoint.model,
    signal,
    dead: endpoint.dead,
    // Its budget is of days, and looked at between cases.
    usd: Number.POSITIVE_INFINITY,
    async mayAsk() {
      if (await isDeleted(ref)) throw new OperatorError(`${ref.postId} was deleted`)
    },
  })
  const isOurs = askedModelCheck(settings, protocol.name, samplingRank)
  const replay = await replayCase(protocol, recorded, isOurs, (question) =>
    anew({ id: of, subject: ref }, question),
  ).catch((error: unknown) => {
    signal.throwIfAborted()
    throw error instanceof StoppedAsking ? (endpoint.dead() ?? error) : error
  })
  const { label, decidedBy, policy, clauses } = replay.ruling
  return {
    schema: 1,
    id: `${of}~v~${variant}`,
    variant,
    of,
    subjectId: ref.postId,
    subjectKind: ref.kind,
    tenant: ref.tenant,
    protocol: protocol.name,
    revision,
    label,
    live,
    decidedBy,
    ...(policy === undefined ? {} : { policy }),
    ...(clauses === undefined ? {} : { clauses: clauses.map(({ id }) => id) }),
    faults: faultsOf({ record: { comments: NO_COMMENTS }, ...replay, lostCalls: [] }),
    usage: replay.usage,
    asked: {
      anew: replay.newQuestions,
      known: replay.asked.length - replay.newQuestions,
      costUsd: replay.newUsage.costUsd,
    },
    models: modelsOf(replay),
    versions: versionsOf(protocol),
    at: new Date(now()).toISOString(),
  }
}

/** What became of a thread's comments before it was judged is the live case's matter. */
const NO_COMMENTS = { accepted: 0, cap: 0, late: 0, author: 0 }

/** By role, the last model that answered; the script's own entries go before. */
function modelsOf({ journal, ruling }: CaseReplay): Record<string, string> {
  const answered = [...journal.values()].filter(({ model, failed }) => model !== '' && failed === undefined)
  return { ...Object.fromEntries(answered.map(({ role, model }) => [role, model])), ...ruling.models }
}
