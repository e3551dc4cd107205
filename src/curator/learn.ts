import type { Curation } from '../domain/curation.ts'
import { RetryLaterError } from '../domain/errors.ts'
import type { FeedbackMessage } from '../domain/messages.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Clock } from '../ports/clock.ts'
import type { Library, NewProposal, Proposal } from '../ports/library.ts'
import { type AskSettings, askingCurator, CaseFailed, type Distilled, type LearnIo } from './ask-curator.ts'
import type { Argument } from './case.ts'
import { inParallel } from './in-parallel.ts'
import { roomsOf } from './rooms.ts'

/** What became of a person's feedback: each message has exactly one of these outcomes, of which `left` means later. */
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

/** What feedback is compared with in a verdict. */
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

/** A protocol, as far as learning asks. */
interface LearningProtocol {
  readonly name: string
  readonly labels: readonly string[]
  /** The shelf for precedents that are learnt from feedback on its verdicts, if it learns. */
  readonly learns?: string
}

export interface LearnSettings extends AskSettings {
  /** Also cases that the verdict got right: for a seed library. */
  readonly all: boolean
  /** Questions to the model at once. */
  readonly atOnce: number
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
  /** By protocol. */
  curations: ReadonlyMap<string, Curation>
  clock: Clock
  settings: LearnSettings
}) {
  const { protocols, known, library, gateway, curations, clock, settings } = deps
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  const asking = askingCurator({ gateway, clock, settings })

  /**
   * One outcome for each message of feedback, in order. Throws a `RetryLaterError` or `PermanentError` when the curator can't
   * be asked at all; what was proposed by then is kept.
   */
  async function learn(feedback: readonly FeedbackMessage[], judged: Judged, io: LearnIo): Promise<Learnt[]> {
    const { signal } = io
    const ended = new Map<FeedbackMessage, Learnt>()
    const outcomes = () => feedback.map((one): Learnt => ended.get(one) ?? { outcome: 'left' })
    const settle = (messages: readonly FeedbackMessage[], how: (one: FeedbackMessage) => Learnt | null) =>
      messages.filter((one) => {
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

  /** The outcome where no model need be asked, else null. Withdraws what its author proposed before with another label. */
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
    lessons: Map<string, Promise<Distilled>>,
    io: LearnIo,
  ): Promise<Learnt | null> {
    if (argument === undefined) return { outcome: 'unjudgeable', why: "the verdict's transcript is not there" }
    if (argument === null) return { outcome: 'unjudgeable', why: "the verdict's transcript holds no post" }
    const curation = curations.get(one.protocol)
    const words = curation?.words(argument.subject, argument.turns) ?? ''
    if (curation !== undefined && words.trim() === '')
      return { outcome: 'unjudgeable', why: 'nothing is known of the post in words' }
    if (!curation?.labels.includes(one.label))
      return { outcome: 'refused', why: `the curator has no question for the label ${one.label}` }
    try {
      const key = lessonKey(verdict.id, one.label)
      const decided = curation.labels.find((label) => label === verdict.label) ?? null
      const closed = { subject: words, turns: argument.turns, verdict: decided, truth: one.label }
      const lesson = lessons.get(key) ?? asking.lessonOf(curation, closed, io)
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

  return { learn, spent: asking.spent }
}

function lessonKey(verdictId: string, label: string): string {
  return JSON.stringify([verdictId, label])
}

/** Whoever says the same of the same verdict needs no question of their own, unless what was learnt has been rejected. */
function lessonIn({ label, metadata, provenance, state }: Proposal): [string, Promise<Distilled>][] {
  const { keyCues, summary } = metadata
  if (state === 'rejected' || keyCues === undefined || summary === undefined) return []
  return [[lessonKey(provenance.verdictId, label), Promise.resolve({ keyCues, summary })]]
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

function proposalOf(
  { tenant, subjectId, protocol, label, by, at, note }: FeedbackMessage,
  shelf: string,
  verdict: Decided,
  text: string,
  lesson: Distilled,
): NewProposal {
  return {
    shelf,
    text,
    label,
    metadata: { ...lesson, ...(note === undefined ? {} : { note }) },
    provenance: { tenant, subjectId, protocol, verdictId: verdict.id, by, at: new Date(at).toISOString() },
  }
}
