import type { Verdict } from '../../contracts/facts/verdict.ts'
import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import { WITHHELD } from './cases.ts'
import type { Inspection } from './inspection.ts'

/** What is known of a subject, and what that comes to. */
export interface SubjectInspection extends Inspection {
  readonly standing: string
}

/** How a subject stands, in one sentence: the answer to "what became of it?". */
export function standingOf(one: Inspection): string {
  const { cases, deleted, thread } = one
  if (deleted) return deletedStanding(one)
  if (cases.length > 0) return `${cases.map((each) => openStanding(each, one.at)).join(' ')}${dormantStanding(thread)}`
  const unread = one.messages.filter(({ outcome }) => outcome === 'unread').length
  const behind =
    unread === 0
      ? ''
      : ` ${unread === 1 ? 'A message' : `${unread} messages`} of it, though, ${unread === 1 ? 'is' : 'are'} in Kafka and not read yet.`
  if (thread === null) return `${forgottenStanding(one)}${behind}`
  return `${storedStanding(one, thread)}${dormantStanding(thread)}${behind}`
}

function dormantStanding(thread: Inspection['thread']): string {
  const dormantFor = thread?.dormantFor ?? []
  return dormantFor.length === 0 ? '' : ` It waits for ${dormantFor.join(', ')} to be resumed.`
}

/** The last verdict of each protocol: `rumor~p~r1 says rumor`. */
function lastVerdicts(verdicts: readonly Verdict[]): string {
  return verdicts.map(verdictText).join(', ')
}
function verdictText({ id, label, decidedBy, decision }: Verdict): string {
  if (decision !== undefined) return `${id} says ${label}, which ${decision.by} decided`
  if (label !== null) return `${id} says ${label}`
  return decidedBy === 'scores' ? `${id} has scores` : `${id} says no label (${decidedBy})`
}
const lastOfEach = ({ verdicts }: Inspection): readonly Verdict[] => [
  ...new Map(verdicts.map(({ verdict }) => [verdict.protocol, verdict])).values(),
]

function deletedStanding({ verdicts }: Inspection): string {
  if (verdicts.length === 0) return 'Its post was deleted before any verdict on it was published.'
  return verdicts.at(-1)?.verdict.decidedBy === 'deleted'
    ? 'Its post was deleted, and its verdicts were retracted.'
    : 'Its post was deleted; the retraction of its verdicts is not published yet.'
}

function openStanding(
  { id, state, withheld, round, waits, answers, deadline, note }: Inspection['cases'][number],
  at: number,
): string {
  if (withheld) return `${id} ${WITHHELD}.`
  if (state === 'decided') return `${id} is decided, and waits for Kafka.`
  if (note !== null) return `${id} is open: ${note}.`
  if (waits.length === 0) return `${id} is open, and waits for a worker to advance it.`
  const deferred = waits.filter((wait) => wait.state === 'deferred')
  const lost = waits.filter((wait) => wait.state === 'none').length
  const until = Math.min(...deferred.map(({ readyAt }) => readyAt ?? at))
  const why = [...new Set(deferred.flatMap((wait) => wait.why ?? []))]
  const details = [
    ...(deferred.length === 0
      ? []
      : [
          `${deferred.length} can't be asked before ${clockTime(until)}${why.length === 0 ? '' : ` (${why.join('; ')})`}`,
        ]),
    ...(lost === 0 ? [] : [`${lost} ${lost === 1 ? 'has' : 'have'} no job, and will get one`]),
    ...(deadline < at ? ['its deadline has passed'] : []),
  ]
  const first = `${id} is being judged: round ${round}, ${answers.length} answered, ${waits.length} not yet`
  return `${[first, ...details].join('; ')}.`
}

/** The store knows nothing: what the topics still say. */
function forgottenStanding(one: Inspection): string {
  const { messages, read, subject } = one
  const last = lastOfEach(one)
  if (last.length > 0) {
    const howLong = last.every(({ final }) => final) ? ' for good' : ''
    return `Judged${howLong}, and since forgotten by Redis: ${lastVerdicts(last)}.`
  }
  const dead = messages.filter(({ outcome }) => outcome === 'dead-letter')
  if (dead.length > 0 && dead.length === messages.length)
    return `Nothing of it could be read: ${dead.at(-1)?.detail ?? 'see the dead letters'}.`
  if (messages.some(({ outcome }) => outcome === 'unread')) return 'It has arrived in Kafka.'
  if (messages.length > 0)
    return 'It came, and Redis knows nothing of it: it was forgotten, or Redis lost it ("gavel recover").'
  const parts = read.filter(({ topic }) => !/(verdicts|transcripts|proposals|reviews|dead-letters)$/.test(topic))
  const records = parts.reduce((sum, part) => sum + part.records, 0)
  const more = parts.every(({ fromBeginning }) => fromBeginning)
    ? 'all of them were read'
    : 'older ones were not read: --most, --since'
  return `It never came, as far as can be seen: no ${subject.kind} of tenant ${subject.tenant} has this id among ${records} records of its partitions (${more}; --all-partitions reads the others).${hintIn(subject.postId)}`
}

/** How the subject is shown, if the id is a verdict's on a subject of the stream. */
function hintIn(id: string): string {
  const [, judged] = /^[^~@/]+(?:\/reply)?(?:@[^~]*)?~(.+)~[rp]\d+$/.exec(id) ?? []
  if (judged === undefined) return ''
  const { tenant } = scopeOf(id)
  const own = tenant === 'default' ? '' : ` --tenant ${tenant}`
  return ` It looks like the id of a verdict: "gavel show ${judged}${own}" shows its subject.`
}

function storedStanding(one: Inspection, thread: NonNullable<Inspection['thread']>): string {
  if (thread.status === 'unrouted') return 'No protocol judges it: see the settings’ protocols and routes.'
  if (!thread.post)
    return `Its post has not arrived: ${thread.comments.accepted} comments wait for it, and become dead letters after threads.orphanWait.`
  const last = lastOfEach(one)
  const numbers = Object.values(thread.revisions)
  const judged =
    last.length === 0
      ? numbers.length === 0
        ? ''
        : 'Judged before; the verdict is not among the records read. '
      : `Judged: ${lastVerdicts(last)}. `
  if (thread.dueSince !== null) {
    const waiting = Math.max(0, Math.round((one.at - thread.dueSince) / 1000))
    return `${judged}It is due since ${clockTime(thread.dueSince)} (${waiting} s), and waits for a case to be opened.`
  }
  if (thread.final)
    return `${judged}That was for good${numbers.every(({ final }) => final) ? '' : ', but for what is still open'}.`
  if (thread.nextAge !== null) {
    const { streamNow } = thread
    const now =
      typeof streamNow === 'number'
        ? `at ${clockTime(streamNow)}`
        : streamNow === 'ended'
          ? 'at its end'
          : 'not known (some partition has not been read)'
    return `${judged}It is looked at next when the stream's clock, ${now} now, reaches ${clockTime(thread.nextAge)}.`
  }
  return judged === '' ? 'It has arrived, and nothing is due.' : `${judged}Nothing more is due.`
}

function clockTime(ms: number): string {
  return new Date(ms).toISOString()
}
