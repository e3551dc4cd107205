import { randomUUID } from 'node:crypto'
import type { Call } from '../domain/case.ts'
import { PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { FeedbackMessage } from '../domain/messages.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Clock } from '../ports/clock.ts'
import type { Library, NewProposal, Proposal, Proposer, Room } from '../ports/library.ts'
import type { Argument } from './case.ts'
import { type ClosedCase, type curation, curationAnswer } from './curate.ts'
import { type Patience, patiently } from './patiently.ts'

/** What a person's feedback came to: each piece ends in exactly one of these, or is left for another time. */
export type Learnt =
  | { readonly outcome: 'proposed'; readonly proposal: Proposal; readonly was: string | null }
  /** It stands in the library already, in whatever state. */
  | { readonly outcome: 'already-proposed' }
  /** The verdict says the same. */
  | { readonly outcome: 'agreed' }
  /** The same person has said something else since. */
  | { readonly outcome: 'superseded' }
  | { readonly outcome: 'refused'; readonly why: string }
  /** No protocol or label of that name. */
  | { readonly outcome: 'invalid'; readonly why: string }
  /** There is nothing to learn from: no verdict, or no argument. */
  | { readonly outcome: 'unjudgeable'; readonly why: string }
  | { readonly outcome: 'curator-failed'; readonly why: string }
  /** It was told to stop before. */
  | { readonly outcome: 'left' }

/** A verdict, as far as feedback is held against it. */
export interface Decided {
  readonly id: string
  readonly subjectId: string
  readonly label: string | null
}

/** Where verdicts stand, and the arguments that led to them. Both may give too little once their signal is aborted. */
export interface Judged {
  /** The newest final verdict on each of these subjects (`subjectKey`), by the same key. */
  verdicts(subjects: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlyMap<string, Decided>>
  /** By verdict id; null where the transcript holds no post. */
  arguments(of: readonly Decided[], signal: AbortSignal): Promise<ReadonlyMap<string, Argument | null>>
}

/** A subject under a protocol: neither a protocol's name nor a tenant's holds a space. */
export function subjectKey({
  protocol,
  tenant,
  subjectId,
}: Pick<FeedbackMessage, 'protocol' | 'tenant' | 'subjectId'>) {
  return `${protocol} ${tenant} ${subjectId}`
}

export interface LearnSettings {
  /** Also cases that the verdict got right: for a seed library. */
  readonly all: boolean
  /** Questions to the model at once. */
  readonly atOnce: number
  /** Longest time for one case, waits included, in ms. */
  readonly deadlineMs: number
  readonly patience: Patience
}

/** What the model was paid for. */
export interface Spent {
  readonly calls: number
  readonly costUsd: number
}

/** Rejected questions, with none answered, after which it is the settings that are at fault and not the cases. */
const REJECTED = 3

/** A protocol, as far as learning asks. */
interface LearningProtocol {
  readonly name: string
  readonly labels: readonly string[]
  /** The shelf for precedents that are learnt from feedback on its verdicts, if it learns. */
  readonly learns?: string
}

/**
 * From what people say of verdicts to proposals: a case whose verdict they would have had otherwise is put to the curator,
 * once, and what it distils goes into quarantine. Nobody's feedback costs more calls than they may have proposals.
 */
export function learner(deps: {
  /** Those that the settings switch on. */
  protocols: readonly LearningProtocol[]
  /** Names of all that there are. */
  known: ReadonlySet<string>
  library: Pick<Library, 'propose' | 'room' | 'proposals' | 'reject'>
  gateway: Pick<Gateway, 'ask'>
  curate: ReturnType<typeof curation>
  clock: Clock
  settings: LearnSettings
}) {
  const { protocols, known, library, gateway, curate, clock, settings } = deps
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  const spent = { calls: 0, costUsd: 0 }
  let answered = 0
  let rejected = 0

  /**
   * One outcome for each piece of feedback, in order. Throws a `RetryLaterError` or `PermanentError` when the curator can't
   * be asked at all; what was proposed by then is kept.
   */
  async function learn(feedback: readonly FeedbackMessage[], judged: Judged, io: LearnIo): Promise<Learnt[]> {
    const { signal } = io
    const ended = new Map<FeedbackMessage, Learnt>()
    const outcomes = () => feedback.map((one): Learnt => ended.get(one) ?? { outcome: 'left' })
    const settle = (pieces: readonly FeedbackMessage[], how: (one: FeedbackMessage) => Learnt | null) =>
      pieces.filter((one) => {
        const learnt = how(one)
        if (learnt !== null) ended.set(one, learnt)
        return learnt === null
      })

    const readable = settle(feedback, faultOf)
    const said = newest(readable)
    const last = settle(readable, (one) => (said.get(voiceKey(one)) === one ? null : { outcome: 'superseded' }))

    const verdicts = await judged.verdicts(new Set(last.map(subjectKey)), signal)
    if (signal.aborted) return outcomes()
    const decided = settle(last, (one) => (verdicts.has(subjectKey(one)) ? null : unjudged(one)))

    const rooms = roomsOf(library)
    const proposals = await library.proposals()
    const standing = Map.groupBy(proposals, voiceOf)
    const lessons = new Map(proposals.flatMap(lessonIn))
    const wanted: { one: FeedbackMessage; shelf: string; verdict: Decided }[] = []
    for (const one of decided) {
      const verdict = verdicts.get(subjectKey(one))
      const shelf = byName.get(one.protocol)?.learns
      if (verdict === undefined || shelf === undefined) continue
      const learnt = await withoutModel(one, shelf, verdict, standing.get(voiceKey(one)) ?? [], rooms)
      if (learnt === null) wanted.push({ one, shelf, verdict })
      else ended.set(one, learnt)
    }

    const argued =
      wanted.length === 0
        ? new Map<string, Argument | null>()
        : await judged.arguments(
            wanted.map(({ verdict }) => verdict),
            signal,
          )
    if (signal.aborted) return outcomes()
    let asked = 0
    await inParallel(wanted, settings.atOnce, async ({ one, shelf, verdict }) => {
      if (signal.aborted) return
      const learnt = await put(one, shelf, verdict, argued.get(verdict.id), lessons, io)
      if (learnt !== null) ended.set(one, learnt)
      io.progress(`${++asked} of ${wanted.length} cases`)
    })
    return outcomes()
  }

  /** What is wrong with it, whatever the verdict is. */
  function faultOf({ protocol: name, label }: FeedbackMessage): Learnt | null {
    if (!known.has(name)) return { outcome: 'invalid', why: `protocol: there is none called ${name}` }
    const protocol = byName.get(name)
    if (protocol === undefined) return { outcome: 'refused', why: `${name} is switched off in the settings` }
    if (protocol.learns === undefined) return { outcome: 'refused', why: `${name} does not learn from feedback` }
    if (protocol.labels.includes(label)) return null
    return { outcome: 'invalid', why: `label: ${name} knows ${protocol.labels.join(', ')}` }
  }

  /** What it comes to where no model need be asked; null where one must. What its author said before is withdrawn. */
  async function withoutModel(
    one: FeedbackMessage,
    shelf: string,
    verdict: Decided,
    before: readonly Proposal[],
    rooms: ReturnType<typeof roomsOf>,
  ): Promise<Learnt | null> {
    const others = before.filter(({ label }) => label !== one.label)
    if (others.some(({ provenance }) => Date.parse(provenance.at) > one.at)) return { outcome: 'superseded' }
    const withdrawn = others.filter(({ state }) => state === 'waiting').map(({ id }) => id)
    if (withdrawn.length > 0) await library.reject(withdrawn, one.by)

    if (one.label === verdict.label && !settings.all) return { outcome: 'agreed' }
    const same = ({ label, provenance }: Proposal) => label === one.label && provenance.verdictId === verdict.id
    if (before.some((proposal) => proposal.shelf === shelf && same(proposal))) return { outcome: 'already-proposed' }

    const why = await rooms.take({ shelf, tenant: one.tenant, by: one.by })
    return why === null ? null : { outcome: 'refused', why }
  }

  /** Has one case curated and proposed; null if it was stopped meanwhile. */
  async function put(
    one: FeedbackMessage,
    shelf: string,
    verdict: Decided,
    argument: Argument | null | undefined,
    lessons: Map<string, Promise<Lesson>>,
    io: LearnIo,
  ): Promise<Learnt | null> {
    if (argument === undefined) return { outcome: 'unjudgeable', why: "the verdict's transcript is not there" }
    if (argument === null) return { outcome: 'unjudgeable', why: "the verdict's transcript holds no post" }
    const truth = labelOf(one.label)
    const { words, turns } = argument
    if (words.trim() === '') return { outcome: 'unjudgeable', why: 'nothing is known of the post in words' }
    if (truth === null) return { outcome: 'refused', why: `the curator has no question for the label ${one.label}` }
    try {
      const key = lessonKey(verdict.id, one.label)
      const closed = { subject: words, turns, verdict: labelOf(verdict.label), truth }
      const lesson = lessons.get(key) ?? curated(closed, io)
      lessons.set(key, lesson)
      const { proposed, refused } = await library.propose([proposalOf(one, shelf, verdict, words, await lesson)])
      const [made] = proposed
      if (made !== undefined) return { outcome: 'proposed', proposal: made, was: verdict.label }
      return refused[0] === undefined ? { outcome: 'already-proposed' } : { outcome: 'refused', why: refused[0].why }
    } catch (error) {
      if (io.signal.aborted && error instanceof RetryLaterError) return null
      if (!(error instanceof CaseFailed)) throw error
      return { outcome: 'curator-failed', why: `the curator failed: ${error.message}` }
    }
  }

  async function curated(closed: ClosedCase, io: LearnIo): Promise<Lesson> {
    const calls: Call[] = []
    const { signal } = io
    const asking = {
      protocol: 'curator',
      // People who say the same of one verdict share a question already; nothing of it is remembered beyond the run.
      subject: { tenant: 'default', postId: 'curator', kind: 'post' as const },
      remember: false,
      caseId: 'curator',
      askId: randomUUID(),
      last: false,
      signal,
      deadline: clock() + settings.deadlineMs,
      calls,
    }
    const ask = curate(closed)
    try {
      const settled = await patiently((attempt) => gateway.ask(ask, { ...asking, attempt }), settings.patience, {
        signal,
        waiting: (why, ms) => io.progress(`${why}; trying again in ${Math.ceil(ms / 1000)} s`),
      })
      spent.costUsd += settled.usage.costUsd
      answered++
      if (settled.failed !== undefined) throw new CaseFailed(`${settled.failed.code} (${settled.failed.detail})`)
      const { keyCues, summary } = curationAnswer.parse(settled.answer)
      return { keyCues: keyCues.join('; '), summary }
    } catch (error) {
      if (!(error instanceof PermanentError) || error.code === 'deadline') throw error
      if (error.code === 'rejected' && answered === 0 && ++rejected >= REJECTED) throw error
      throw new CaseFailed(`${error.code} (${error.message})`)
    } finally {
      spent.calls += calls.length
    }
  }

  return { learn, spent: (): Spent => ({ ...spent }) }
}

/** What one part's feedback may still propose: each piece that is to be proposed takes a place under each of its bounds. */
function roomsOf(library: Pick<Library, 'room'>) {
  const bounds = new Map<string, readonly Room[]>()
  const left = new Map<string, number>()
  return {
    /** Null where there is room, else why there is none. */
    async take(proposer: Proposer): Promise<string | null> {
      const key = JSON.stringify([proposer.shelf, proposer.tenant, proposer.by])
      const known = bounds.get(key) ?? (await library.room(proposer))
      bounds.set(key, known)
      const leftOf = (room: Room) => left.get(room.of) ?? room.left
      const none = known.find((room) => leftOf(room) <= 0)
      if (none !== undefined) return none.why
      for (const room of known) left.set(room.of, leftOf(room) - 1)
      return null
    },
  }
}

/** The curator could not make anything of one case; another may fare better. */
class CaseFailed extends Error {}

/** What is learnt of a case, as it stands beside a precedent. */
interface Lesson {
  readonly keyCues: string
  readonly summary: string
}

function lessonKey(verdictId: string, label: string): string {
  return JSON.stringify([verdictId, label])
}

/** Whoever says the same of the same verdict needs no question of their own, unless what was learnt has been rejected. */
function lessonIn({ label, metadata, provenance, state }: Proposal): [string, Promise<Lesson>][] {
  const { keyCues, summary } = metadata
  if (state === 'rejected' || keyCues === undefined || summary === undefined) return []
  return [[lessonKey(provenance.verdictId, label), Promise.resolve({ keyCues, summary })]]
}

export interface LearnIo {
  readonly signal: AbortSignal
  readonly progress: (line: string) => void
}

function unjudged({ protocol }: FeedbackMessage): Learnt {
  return { outcome: 'unjudgeable', why: `no final verdict of ${protocol} on this subject is there` }
}

/** Who says something of which subject. */
function voiceKey(one: FeedbackMessage): string {
  return JSON.stringify([subjectKey(one), one.by])
}

function voiceOf({ provenance }: Proposal): string {
  return JSON.stringify([subjectKey(provenance), provenance.by])
}

/** The newest that each has said of each subject; of what was said at the same time the last. */
function newest(feedback: readonly FeedbackMessage[]): ReadonlyMap<string, FeedbackMessage> {
  const said = new Map<string, FeedbackMessage>()
  for (const one of feedback) {
    const key = voiceKey(one)
    const before = said.get(key)
    if (before === undefined || before.at <= one.at) said.set(key, one)
  }
  return said
}

/** The label, if the curator's question knows it. */
function labelOf(label: string | null): ClosedCase['truth'] | null {
  return label === 'unsafe' || label === 'safe' ? label : null
}

function proposalOf(
  { tenant, subjectId, protocol, label, by, at, note }: FeedbackMessage,
  shelf: string,
  verdict: Decided,
  text: string,
  lesson: Lesson,
): NewProposal {
  return {
    shelf,
    text,
    label,
    metadata: { ...lesson, ...(note === undefined ? {} : { note }) },
    provenance: { tenant, subjectId, protocol, verdictId: verdict.id, by, at: new Date(at).toISOString() },
  }
}

/** Works on `atOnce` items at a time. The first to throw keeps the rest from being begun; what was begun ends first. */
async function inParallel<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<void>) {
  const left = items.values()
  let failure: { error: unknown } | undefined
  const go = async () => {
    for (const item of left) {
      if (failure !== undefined) return
      try {
        await work(item)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, go))
  if (failure !== undefined) throw failure.error
}
