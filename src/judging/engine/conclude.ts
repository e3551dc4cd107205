import { z } from 'zod'
import {
  type CaseRecord,
  type Journal,
  type JournalEntry,
  type ModelCall,
  usageOf,
} from '../../contracts/facts/case.ts'
import { cut } from '../../contracts/facts/cut.ts'
import type { FilteredQuestions } from '../../contracts/facts/filtered.ts'
import { stepOf } from '../../contracts/facts/overload.ts'
import { fitted } from '../../contracts/facts/transcript.ts'
import {
  addUsage,
  type ChatMessage,
  type CommentCounts,
  FAULTS,
  type RecordedMessage,
  type Remark,
  type Ruling,
  type RulingSummary,
  type Turn,
  type Verdict,
} from '../../contracts/facts/verdict.ts'
import type { VerdictConfidence, VerdictDebate, VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { namedIn } from '../../contracts/facts/verdict-id.ts'
import type { CaseEnd, LostCall } from '../../contracts/ports/cases.ts'
import { proposalOf } from './decision-verdict.ts'
import { heldElsewhere, unquoted, withoutElsewhere } from './elsewhere.ts'
import { faultsOf } from './faults.ts'
import type { KeyedAsk } from './replay.ts'
import { notedOf, type ReplayNotes, replayBasisOf } from './replay-notes.ts'
import { fillSchemaTwo, inForm, NO_DEBATE, storyPlaced } from './verdict-form.ts'

// This writes an ended case down as a verdict and a transcript. Whether it may go out is decided in src/store/case/conclude.lua.

/** Everything that is known of a case when its script has ended. */
export interface EndedCase {
  readonly record: CaseRecord
  readonly ruling: Ruling
  readonly asked: readonly KeyedAsk[]
  readonly journal: Journal
  readonly lostCalls: readonly LostCall[]
  /** How sure the ruling is of its label, where its protocol says so. */
  readonly confidence?: VerdictConfidence | undefined
  /** ms since 1970 */
  readonly decidedAt: number
  readonly writes: VerdictForm
  /** The variant that judged it, if one did. */
  readonly variant?: string | undefined
  /** What is noted for a replay; absent where nobody will make one. */
  readonly noted?: ReplayNotes | undefined
}

/** The sampling key, or the way of ranking, was changed while the thread grew. */
const REKEYED = 'the sample of comments was drawn under more than one key'

/** What was wrong with the comments before any of them was judged. */
function degradedComments({ comments }: Pick<CaseRecord, 'comments'>): string[] {
  const { rekeyed, missing = 0 } = comments
  const expired = `${missing} comments of an earlier verdict had expired from their topic, and were not read again`
  return [...(rekeyed === true ? [REKEYED] : []), ...(missing > 0 ? [expired] : [])]
}

/** Whether there was a debate, and the step of load in which its case was opened, if one was in force. */
function debatedIn(record: CaseRecord, debated: VerdictDebate = NO_DEBATE): VerdictDebate {
  const step = stepOf(record)
  return step === 0 ? debated : { ...debated, step }
}

/** What a verdict says of the list that decided it. */
function vetoOf({ list, entry }: NonNullable<CaseRecord['veto']>) {
  return { decidedBy: 'veto', veto: { list, entry }, debated: { held: false, why: 'veto' } } satisfies Partial<Verdict>
}

/** The language of a post, as it was judged, and the mapping that it came through. */
const postSeen = z.object({ post: z.object({ lang: z.string().optional(), mapping: z.string().optional() }) })

export function verdictOf(ended: EndedCase): Verdict {
  const { record, ruling, asked, journal, decidedAt, confidence, writes } = ended
  const entries = asked.flatMap(({ key }) => journal.get(key) ?? [])
  const usage = entries.map((entry) => entry.usage).reduce(addUsage, usageOf(ended.lostCalls))
  const { modelMs, heldMs } = criticalPath(asked, journal)
  const degraded = [...degradedComments(record), ...ruling.degraded]
  // Its transcript holds these: with one that is deleted it goes.
  const elsewhere = [...new Set([...(ruling.evidence.elsewhere ?? []), ...heldElsewhere(record)])]
  const evidence = elsewhere.length === 0 ? ruling.evidence : { ...ruling.evidence, elsewhere }
  const bound = bounded({ ...ruling, evidence, degraded })
  const { models, comments, faults, debated, lane, confidence: _, ...decided } = bound
  const { lang, mapping } = postSeen.safeParse(record.subject).data?.post ?? {}
  const made: Verdict = {
    schema: 2,
    id: record.id,
    ...namedIn({ postId: record.subjectId, kind: record.kind }),
    ...fillSchemaTwo(record.kind, lang, { debated: debatedIn(record, debated), confidence }),
    tenant: record.tenant,
    protocol: record.protocol,
    revision: record.revision,
    final: record.final,
    supersedes: record.supersedes,
    ...decided,
    ...(ended.variant === undefined ? {} : { variant: ended.variant }),
    ...(record.veto === undefined ? {} : vetoOf(record.veto)),
    faults: faultsOf(ended),
    ...filteredOf(ended),
    counts: countsOf(record, ruling),
    usage,
    // By role, the last model that answered. The script's own entries override it: they name the models whose answers
    // the ruling rests on.
    models: {
      ...Object.fromEntries(
        entries.filter(({ model, failed }) => model !== '' && failed === undefined).map((one) => [one.role, one.model]),
      ),
      ...models,
    },
    versions: {
      gavel: writes.gavel,
      ...record.versions,
      ...(lane === undefined ? {} : { lane }),
      ...(mapping === undefined ? {} : { mapping }),
    },
    timing: {
      createdAt: iso(record.createdAt),
      receivedAt: iso(record.receivedAt),
      openedAt: iso(record.openedAt),
      decidedAt: iso(decidedAt),
      modelMs,
      overheadMs: Math.max(0, decidedAt - record.receivedAt - modelMs - heldMs),
    },
  }
  return inForm(made, writes)
}

/** Bounds that keep a verdict far below the size limit of a broker's records, however long a script's texts are. */
const MAX_RATIONALE_CHARS = 16_000
const MAX_DEGRADED = { count: 50, chars: 500 }
const MAX_EVIDENCE = 200

function bounded(ruling: Ruling): Ruling {
  const { rationale, degraded, evidence } = ruling
  const { support, oppose, precedents, elsewhere } = evidence
  const more = degraded.length - MAX_DEGRADED.count
  return {
    ...ruling,
    rationale: cut(rationale, MAX_RATIONALE_CHARS).text,
    degraded: [
      ...degraded.slice(0, MAX_DEGRADED.count).map((why) => cut(why, MAX_DEGRADED.chars).text),
      ...(more > 0 ? [`and ${more} more`] : []),
    ],
    evidence: {
      support: support.slice(0, MAX_EVIDENCE),
      oppose: oppose.slice(0, MAX_EVIDENCE),
      precedents: precedents.slice(0, MAX_EVIDENCE),
      ...(elsewhere === undefined ? {} : { elsewhere: elsewhere.slice(0, MAX_EVIDENCE) }),
    },
  }
}

/** Most comments that are named as filtered, of one stage and model. */
const MAX_FILTERED = 50

/** What endpoints' filters refused, by stage and model, in the order in which it was asked. */
function filteredOf({ asked, journal, lostCalls }: EndedCase): Pick<Verdict, 'filtered'> {
  const refused = asked.flatMap(({ key, ask }) => {
    const { stage, about = [], batch } = ask
    const alone = (batch?.count ?? 1) === 1 ? about.slice(0, 1) : []
    // A lost call may be of an earlier run, whose question at this place was another.
    const lost = lostCalls.filter((call) => call.key === key).map((call) => ({ ...call, about: [] }))
    const own = (journal.get(key)?.calls ?? []).map((call) => ({ ...call, about: alone }))
    return [...lost, ...own].flatMap(({ filtered, about }) =>
      filtered === undefined ? [] : [{ stage, about, ...filtered }],
    )
  })
  if (refused.length === 0) return {}
  const groups = Map.groupBy(refused, ({ stage, model }) => JSON.stringify([stage, model]))
  return {
    filtered: [...groups.values()].flatMap((group): FilteredQuestions[] => {
      const [first] = group
      if (first === undefined) return []
      const found = new Map(group.flatMap((one) => one.found.map((each) => [JSON.stringify(each), each])))
      const alone = group.flatMap(({ about }) => about)
      return [
        {
          stage: first.stage,
          model: first.model,
          calls: group.length,
          found: [...found.values()],
          ...(alone.length === 0 ? {} : { comments: [...new Set(alone)].slice(0, MAX_FILTERED) }),
        },
      ]
    }),
  }
}

/**
 * What happened to the thread's comments: left out by the store, judged or left out by the script; the rest is
 * `unscored`.
 */
function countsOf(
  { comments: { accepted, cap, late, author } }: CaseRecord,
  { comments, decidedBy }: Ruling,
): CommentCounts {
  const kept = accepted - cap - late - author
  const nothing = { judged: 0, folded: 0, author: 0, cap: 0, load: 0 }
  const weighed = comments ?? { ...nothing, judged: decidedBy === 'none' ? 0 : kept }
  const named = weighed.judged + weighed.folded + weighed.author + weighed.cap + weighed.load
  return {
    accepted,
    judged: weighed.judged,
    leftOut: {
      cap: cap + weighed.cap,
      late,
      folded: weighed.folded,
      author: author + weighed.author,
      unscored: kept - named,
      load: weighed.load,
    },
  }
}

/** Time in model calls and time deferred, along the slowest ask of each round, in ms. */
function criticalPath(asked: readonly KeyedAsk[], journal: Journal): { modelMs: number; heldMs: number } {
  const slowest = new Map<number, { ms: number; heldMs: number }>()
  for (const { key, round, ask } of asked) {
    // A lookup in the library is not a model call: its time counts as overhead.
    if (ask.lookup !== undefined) continue
    const entry = journal.get(key)
    const soFar = slowest.get(round)
    if (entry !== undefined && (soFar === undefined || entry.ms + entry.heldMs > soFar.ms + soFar.heldMs))
      slowest.set(round, entry)
  }
  const rounds = [...slowest.values()]
  return {
    modelMs: rounds.reduce((sum, { ms }) => sum + ms, 0),
    heldMs: rounds.reduce((sum, { heldMs }) => sum + heldMs, 0),
  }
}

/** What an ended case leaves to be published: its verdict, or the proposal that it is beneath a person's. */
export function endOf(
  ended: EndedCase,
  sent: Parameters<typeof transcriptOf>[1],
  maxBytes: number,
): Pick<CaseEnd, 'label' | 'verdict' | 'transcript' | 'proposal'> {
  const ruled = verdictOf(ended)
  const { kind } = ended.record
  const told = (of: EndedCase, verdict: Verdict) => (id: string) =>
    transcriptOf({ ...of, record: { ...of.record, id } }, sent, maxBytes, verdict)
  return {
    label: ruled.label,
    verdict: JSON.stringify(storyPlaced(ruled, kind)),
    transcript: told(ended, ruled)(ruled.id),
    proposal(above) {
      if (ruled.evidence.elsewhere === undefined) return proposalOf(storyPlaced(ruled, kind), above, told(ended, ruled))
      const alone = { ...ended, asked: [], noted: undefined, record: withoutElsewhere(ended.record) }
      const proposed = unquoted(ruled)
      return proposalOf(storyPlaced(proposed, kind), above, told(alone, proposed))
    },
  }
}

/**
 * The whole argument, with each distinct message text once (a repetition refers to the first), at most `maxBytes` long:
 * if it would be longer, the longest texts are shortened, and `cut` is set.
 */
export function transcriptOf(
  ended: EndedCase,
  sent: (asked: KeyedAsk, entry: JournalEntry) => ChatMessage[],
  maxBytes: number,
  ruled = verdictOf(ended),
): string {
  const seen = new Map<string, { turn: number; message: number }>()
  const turns = ended.asked.map((asked, index): Turn => {
    const entry = ended.journal.get(asked.key)
    if (entry === undefined) throw new Error(`no journal entry at ${asked.key}`)
    const lost = ended.lostCalls.filter(({ key }) => key === asked.key)
    return {
      round: asked.round,
      stage: entry.stage,
      role: asked.ask.label === undefined ? entry.role : `${entry.role} (${asked.ask.label})`,
      model: entry.model,
      messages: sent(asked, entry).map((message, at) => once(seen, message, { turn: index, message: at })),
      answer: entry.answer,
      raw: entry.raw,
      failed: entry.failed,
      calls: [...lost, ...entry.calls].map(recordedCall),
      usage: addUsage(usageOf(lost), entry.usage),
      startedAt: iso(entry.startedAt),
      ms: entry.ms,
      ...(entry.heldMs === 0 ? {} : { heldMs: entry.heldMs }),
      memo: entry.memo,
      ...(asked.ask.about === undefined ? {} : { about: [...asked.ask.about] }),
      remarks: entry.remarks,
      sent: entry.sent,
      imageHashes: entry.imageHashes,
      ...notedOf(ended.noted, ended.record.protocol, asked, entry),
    }
  })
  const { id: verdictId, subject, links } = ended.record
  const linked = links === undefined ? {} : { links }
  const verdict = ruledOf(ended, ruled)
  const replay = replayBasisOf(ended.noted, ended.record)
  return fitted({ schema: 1, verdictId, verdict, ...linked, subject, turns, ...replay, cut: [] }, maxBytes)
}

/** Most calls that a transcript names beside those of its turns. */
const MAX_LOST_CALLS = 500

/** The fields of its verdict that a transcript repeats. */
function ruledOf(ended: EndedCase, ruled: Verdict): RulingSummary {
  const { protocol, tenant, subjectId, revision, final, label, scores, decidedBy, faults, usage, timing } = ruled
  const inTurns = new Set(ended.asked.map(({ key }) => key))
  const lost = ended.lostCalls.filter(({ key }) => !inTurns.has(key))
  return {
    protocol,
    tenant,
    subjectId,
    revision,
    final,
    label,
    scores,
    decidedBy,
    faults,
    usage,
    timing,
    heldMs: criticalPath(ended.asked, ended.journal).heldMs,
    lostCalls: lost.slice(0, MAX_LOST_CALLS).map(recordedCall),
  }
}

function recordedCall({ id, outcome, model, startedAt, ms, spent }: ModelCall): Turn['calls'][number] {
  const { estimated: _, ...counted } = spent ?? {}
  return { id, outcome, model, startedAt: iso(startedAt), ms, ...counted }
}

function once(
  seen: Map<string, { turn: number; message: number }>,
  message: ChatMessage,
  here: { turn: number; message: number },
): RecordedMessage {
  const text = `${message.role}\0${message.content}`
  const sameAs = seen.get(text)
  if (sameAs !== undefined) return { role: message.role, sameAs }
  seen.set(text, here)
  return message
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** A tier is no part of how a paper asks. */
const REMARK_TEXTS: Readonly<Record<Exclude<Remark, 'tier'>, (model: string) => string>> = {
  temperature: (model) => `${model} took no temperature as the paper sets it`,
  'log-probabilities': (model) => `${model} gave no log-probabilities`,
  'thinking-room': (model) => `${model} was given more room for its thoughts after an answer was cut off`,
}

/** A ruling that is to be a paper's, with what its models were asked in another way than the paper's: once for each model. */
export function faithfully(ruling: Ruling, asked: readonly { readonly key: string }[], journal: Journal): Ruling {
  const entries = asked.flatMap(({ key }) => journal.get(key) ?? [])
  const texts = entries.flatMap(({ remarks = [], model }) =>
    remarks.flatMap((remark) => (remark === 'tier' ? [] : [REMARK_TEXTS[remark](model || 'the model')])),
  )
  if (texts.length === 0) return ruling
  const found = new Set([...(ruling.faults ?? []), 'model'])
  return {
    ...ruling,
    degraded: [...ruling.degraded, ...new Set(texts)],
    faults: FAULTS.filter((fault) => found.has(fault)),
  }
}
