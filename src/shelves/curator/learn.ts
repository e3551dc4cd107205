import type { Curation } from '../../contracts/facts/curation.ts'
import type { FeedbackMessage } from '../../contracts/facts/messages.ts'
import type { SubjectKind } from '../../contracts/facts/thread.ts'
import { isCrossKind } from '../../contracts/facts/verdict-id.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Library, Proposal, Proposer, Room } from '../../contracts/ports/library.ts'
import type { Gateway } from '../../models/gateway.ts'
import { type AskSettings, askingCurator, type LearnIo } from './ask-curator.ts'
import type { VerdictArgument } from './feedback.ts'
import { type FeedbackOutcome, type FeedbackVerdict, type JudgedVerdicts, subjectKey } from './feedback.ts'
import { type CaseToCurate, proposingLessons } from './propose-lesson.ts'

/** The part of a protocol that learning needs. */
interface LearningProtocol {
  readonly name: string
  readonly labels: readonly string[]
  /** What it judges. */
  readonly subject: 'thread' | SubjectKind
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
 * Makes proposals of people's feedback on verdicts: where they disagree with a verdict, the curator is asked once about its
 * case, and the lesson is proposed to the library. Nobody's feedback costs more calls than their proposals are bounded to.
 */
export function learner(deps: {
  /** The protocols that the settings switch on. */
  protocols: readonly LearningProtocol[]
  /** Names of all protocols that exist, switched on or not. */
  known: ReadonlySet<string>
  library: Pick<Library, 'propose' | 'wasDeleted' | 'room' | 'proposals' | 'reject'>
  gateway: Pick<Gateway, 'ask'>
  /** By protocol. */
  curations: ReadonlyMap<string, Curation>
  clock: Clock
  settings: LearnSettings
}) {
  const { protocols, known, library, gateway, curations, clock, settings } = deps
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  const curator = askingCurator({ gateway, clock, settings })

  /**
   * One outcome for each message of feedback, in order. Throws a `RetryLaterError` or `PermanentError` when the curator can't
   * be asked at all; what was proposed by then is kept.
   */
  async function learn(
    feedback: readonly FeedbackMessage[],
    judged: JudgedVerdicts,
    io: LearnIo,
  ): Promise<FeedbackOutcome[]> {
    const { signal } = io
    const ended = new Map<FeedbackMessage, FeedbackOutcome>()
    const outcomes = () => feedback.map((one): FeedbackOutcome => ended.get(one) ?? { outcome: 'left' })
    const settle = (messages: readonly FeedbackMessage[], how: (one: FeedbackMessage) => FeedbackOutcome | null) =>
      messages.filter((one) => {
        const learnt = how(one)
        if (learnt !== null) ended.set(one, learnt)
        return learnt === null
      })

    const readable = settle(feedback, faultOf)
    const latest = newest(readable)
    const last = settle(readable, (one) =>
      latest.get(authorSubjectKey(one)) === one ? null : { outcome: 'superseded' },
    )

    const verdicts = await judged.verdicts(new Set(last.map(subjectKey)), signal)
    if (signal.aborted) return outcomes()
    const decided = settle(last, (one) => (verdicts.has(subjectKey(one)) ? null : unjudged(one)))

    const rooms = roomsOf(library)
    const proposals = await library.proposals()
    const byAuthorSubject = Map.groupBy(proposals, authorSubjectOf)
    const cases: CaseToCurate[] = []
    for (const one of decided) {
      const verdict = verdicts.get(subjectKey(one))
      const protocol = byName.get(one.protocol)
      const shelf = protocol?.learns
      if (verdict === undefined || shelf === undefined) continue
      const learnt = await withoutModel(one, shelf, verdict, byAuthorSubject.get(authorSubjectKey(one)) ?? [], rooms)
      if (learnt === null) cases.push({ feedback: one, shelf, verdict, kind: kindOf(verdict.id, protocol) })
      else ended.set(one, learnt)
    }

    const argued =
      cases.length === 0
        ? new Map<string, VerdictArgument | null>()
        : await judged.arguments(
            cases.map(({ verdict }) => verdict),
            signal,
          )
    if (signal.aborted) return outcomes()
    const propose = proposingLessons({ library, curations, curator }, proposals)
    let asked = 0
    await inParallel(cases, settings.atOnce, async (one) => {
      if (signal.aborted) return
      const learnt = await propose(one, argued.get(one.verdict.id), io)
      if (learnt !== null) ended.set(one.feedback, learnt)
      io.progress(`${++asked} of ${cases.length} cases`)
    })
    return outcomes()
  }

  /** The outcome of feedback that can't be used whatever the verdict is, else null. */
  function faultOf({ protocol: name, label, subjectKind }: FeedbackMessage): FeedbackOutcome | null {
    if (!known.has(name)) return { outcome: 'invalid', why: `protocol: there is none called ${name}` }
    const protocol = byName.get(name)
    if (protocol === undefined) return { outcome: 'refused', why: `${name} is switched off in the settings` }
    if (subjectKind === 'comment') return { outcome: 'refused', why: 'nothing is learnt from verdicts on comments' }
    if (protocol.learns === undefined) return { outcome: 'refused', why: `${name} does not learn from feedback` }
    if (protocol.labels.includes(label)) return null
    return { outcome: 'invalid', why: `label: ${name} knows ${protocol.labels.join(', ')}` }
  }

  /** The outcome where no model need be asked, else null. Withdraws what its author proposed before with another label. */
  async function withoutModel(
    one: FeedbackMessage,
    shelf: string,
    verdict: FeedbackVerdict,
    before: readonly Proposal[],
    rooms: ReturnType<typeof roomsOf>,
  ): Promise<FeedbackOutcome | null> {
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

  return { learn, spent: curator.spent }
}

/** Whether the verdict is on a post or on a reply. */
function kindOf(verdictId: string, protocol: LearningProtocol | undefined): SubjectKind {
  return protocol?.subject === 'reply' || isCrossKind(verdictId) ? 'reply' : 'post'
}

function unjudged({ protocol }: FeedbackMessage): FeedbackOutcome {
  return { outcome: 'unjudgeable', why: `no final verdict of ${protocol} on this subject is there` }
}

/** Key of an author on a subject. */
function authorSubjectKey(one: FeedbackMessage): string {
  return JSON.stringify([subjectKey(one), one.by])
}

function authorSubjectOf({ provenance }: Proposal): string {
  return JSON.stringify([subjectKey(provenance), provenance.by])
}

/** Each author's newest feedback on each subject, by `authorSubjectKey`; of several at the same time the last in the list. */
function newest(feedback: readonly FeedbackMessage[]): ReadonlyMap<string, FeedbackMessage> {
  const latest = new Map<string, FeedbackMessage>()
  for (const one of feedback) {
    const key = authorSubjectKey(one)
    const before = latest.get(key)
    if (before === undefined || before.at <= one.at) latest.set(key, one)
  }
  return latest
}

/** Works on `atOnce` items at a time. After the first that throws no other is started; those that run end before it is thrown. */
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

/** How much a batch of feedback may still propose. Each proposal counts towards every bound that applies to its author. */
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
