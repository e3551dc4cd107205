import { proposal, type VerdictProposal } from '../../src/contracts/facts/decision-messages.ts'
import { type DeadLetter, deadLetter } from '../../src/contracts/facts/messages.ts'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { CallRecord } from '../../src/kit/understudy/call-log.ts'
import type { Asked } from './asked.ts'
import { type DecidedEvidence, decided, isOfPeople, numberOf } from './decisions-found.ts'
import { type Expected, expectedOf } from './expected.ts'
import type { Shadow, Told } from './faults.ts'
import type { Progress } from './progress.ts'
import type { TopicRecord } from './reader.ts'

/** Everything that was written down from outside the service. */
export interface Evidence extends DecidedEvidence {
  /** Comments of the other tenant are judged by themselves. */
  readonly judgesComments?: boolean
  readonly posts: readonly TopicRecord[]
  readonly comments: readonly TopicRecord[]
  readonly counterspeech: readonly TopicRecord[]
  readonly verdicts: readonly TopicRecord[]
  readonly transcripts: readonly TopicRecord[]
  readonly deadLetters: readonly TopicRecord[]
  readonly proposals: readonly TopicRecord[]
  /** The model's own log. */
  readonly calls: readonly CallRecord[]
  /** What the proxies before the model saw pass. */
  readonly asked: readonly Asked[]
  readonly shadows: readonly Shadow[]
  /** Protocols that were off for a while. */
  readonly off: readonly NonNullable<Told['off']>[]
  /** Faults from begin to end, ms: what is sent meanwhile may be taken when they are over. */
  readonly holdUps: readonly { readonly from: number; readonly to: number }[]
  /** How far the group was seen to have come; absent: everything was taken when it was sent, but for faults. */
  readonly progress?: Pick<Progress, 'takenBefore'>
  /** What the group committed, and where each partition ends. */
  readonly offsets: readonly { topic: string; partition: number; committed: string; end: string }[]
}

export interface Account {
  /** Input messages by topic and outcome. */
  readonly inputs: Readonly<Record<string, number>>
  readonly verdicts: {
    readonly records: number
    readonly distinct: number
    readonly decided: number
    readonly undecided: number
    readonly deleted: number
    /** By people, and published again when those were withdrawn; beneath them, what machines said. */
    readonly human: number
    readonly restored: number
    readonly proposals: number
    readonly byProtocol: Readonly<Record<string, number>>
  }
  /** Ids that stand on their topic more than once, byte for byte the same. */
  readonly repeats: readonly string[]
  readonly calls: {
    readonly logged: number
    readonly journaled: number
    readonly failed: number
    readonly orphaned: number
    /** Of a subject that was deleted, its journal with it. */
    readonly erased: number
    /** Claimed as failed; the network lost them on their way. */
    readonly neverArrived: number
  }
  readonly breaches: readonly string[]
}

/** An answer is journaled within this after it has left the model, ms, where no fault is near. */
const JOURNALED_WITHIN_MS = 1_500
/** Outcomes that only the model itself can bring about. */
const BY_MODEL: ReadonlySet<string> = new Set(['answered', 'unreadable', 'refused', 'content-filter', 'rate-limited'])
const SHOWN = 5
/** A message is taken within this, ms: what was sent so long before a protocol went off may have met it off. */
const OFF_BEFORE_MS = 30_000

/** Gives every input its one outcome and every call its place, from what stands on the topics and in the model's log alone. */
export function audit(evidence: Evidence): Account {
  const breaches: string[] = []
  const many = (what: string, all: readonly string[]) => {
    if (all.length > 0)
      breaches.push(`${what}: ${all.length} (${all.slice(0, SHOWN).join('; ')}${all.length > SHOWN ? '; …' : ''})`)
  }

  const repeats: string[] = []
  /** By id, each once; what stands there again must be the same bytes. */
  const distinct = <One>(
    what: string,
    records: readonly TopicRecord[],
    read: (json: unknown) => One,
    idOf: (one: One) => string,
  ) => {
    const byId = new Map<string, { one: One; standing: TopicRecord }>()
    const different: string[] = []
    for (const standing of records) {
      const one = read(JSON.parse(standing.value))
      const id = idOf(one)
      const known = byId.get(id)
      if (known === undefined) byId.set(id, { one, standing })
      else if (known.standing.value === standing.value) repeats.push(`${what} ${id}`)
      else different.push(id)
    }
    many(`${what}s that stand on their topic twice and differ`, different)
    return byId
  }
  const verdicts = distinct(
    'verdict',
    evidence.verdicts,
    (json) => verdict.parse(json),
    ({ id }) => id,
  )
  const transcripts = distinct(
    'transcript',
    evidence.transcripts,
    (json) => transcript.parse(json),
    (one) => one.verdictId,
  )
  const proposals = distinct(
    'proposal',
    evidence.proposals,
    (json) => proposal.parse(json),
    ({ id }) => id,
  )
  const placeOf = ({ topic, partition, offset }: DeadLetter) => `${topic.split('.').at(-1)}/${partition}@${offset}`
  const letters = distinct('dead letter', evidence.deadLetters, (json) => deadLetter.parse(json), placeOf)

  const finals = Map.groupBy(
    [...verdicts.values(), ...proposals.values()].flatMap(({ one }) => (one.final ? [one] : [])),
    ({ tenant, subjectId }) => `${tenant}:${subjectId}`,
  )
  const reasons = new Map([...letters].map(([place, { one }]) => [place, one.reason]))
  const endsOf = (name: string) => (finals.get(name) ?? []).map(({ timing }) => Date.parse(timing.decidedAt))
  const expected = expectedOf(evidence, reasons, endsOf)
  many('malformed messages without their dead letter', expected.undelivered)
  many('dead letters for messages that nothing is wrong with', expected.unjust)

  many(
    'verdicts without a transcript',
    [...verdicts.keys(), ...proposals.keys()].filter((id) => !transcripts.has(id)),
  )
  many(
    'transcripts without a verdict',
    [...transcripts.keys()].filter((id) => !verdicts.has(id) && !proposals.has(id)),
  )
  const said = [...proposals.values()].map(({ one }) => one)
  const isGone = (subject: string) => expected.subjects.get(subject)?.gone === true
  decided(evidence, [...verdicts.values()], said, reasons, isGone, many)
  chains(
    expected,
    evidence,
    [...verdicts.values()],
    said,
    new Map([...transcripts].map(([id, { one }]) => [id, one])),
    many,
  )
  const calls = recount(
    evidence,
    expected,
    [...transcripts.values()].map(({ one }) => one),
    many,
  )
  many(
    'partitions whose committed offset is not their end',
    evidence.offsets
      .filter(({ committed, end }) => committed !== end && !(committed === '-1' && end === '0'))
      .map(({ topic, partition, committed, end }) => `${topic}/${partition}: ${committed} of ${end}`),
  )

  const all = [...verdicts.values()].map(({ one }) => one)
  const deleted = all.filter(isRetraction)
  const undecided = all.filter((one) => one.decidedBy === 'none' && !isRetraction(one))
  return {
    inputs: expected.outcomes,
    verdicts: {
      records: evidence.verdicts.length,
      distinct: all.length,
      decided: all.length - deleted.length - undecided.length,
      undecided: undecided.length,
      deleted: deleted.length,
      human: all.filter(({ decision }) => decision !== undefined).length,
      restored: all.filter(({ restored }) => restored !== undefined).length,
      proposals: said.length,
      byProtocol: Object.fromEntries(
        [...Map.groupBy(all, ({ protocol }) => protocol)].map(([name, own]) => [name, own.length]),
      ),
    },
    repeats,
    calls,
    breaches,
  }
}

type Many = (what: string, all: readonly string[]) => void

const isRetraction = ({ label, degraded }: Verdict) =>
  label === null && degraded.length === 1 && degraded[0] === 'deleted'

/** Every subject has one chain of revisions for each protocol that judges it, in order, which ends as the subject did. */
function chains(
  expected: Expected,
  { off, hasLost }: Pick<Evidence, 'off' | 'hasLost'>,
  verdicts: readonly { one: Verdict; standing: TopicRecord }[],
  proposals: readonly VerdictProposal[],
  transcripts: ReadonlyMap<string, Transcript>,
  many: Many,
): void {
  const chains = Map.groupBy(verdicts, ({ one }) => `${one.protocol} ${one.tenant}:${one.subjectId}`)
  const proposed = Map.groupBy(proposals, (one) => `${one.protocol} ${one.tenant}:${one.subjectId}`)
  const broken: string[] = []
  const unfinished: string[] = []
  const silent: string[] = []
  const uninvited: string[] = []
  const stale: string[] = []
  for (const [name, chain] of chains) {
    const [protocol = '', subject = ''] = name.split(' ')
    const known = expected.subjects.get(subject)
    if (known === undefined || !known.protocols.includes(protocol)) uninvited.push(name)
    if (new Set(chain.map(({ standing }) => standing.partition)).size > 1) broken.push(`${name}: in two partitions`)
    for (const [index, { one }] of chain.entries()) {
      const before = chain[index - 1]?.one
      // A deletion erases the case that is open, and that of a comment a verdict in a publisher's hands: the number stays taken.
      const mayBeErased = isRetraction(one) || known?.shrunk === true
      // A number without a verdict is a proposal's, or that of a case that was to end as one.
      const after = before?.revision ?? 0
      const numbers = new Set((proposed.get(name) ?? []).map(numberOf))
      const between = [...numbers].filter((number) => number > after && number < one.revision).length
      const unknown = one.revision - after - 1 - between
      const isDecided = chain.some((each) => isOfPeople(each.one)) && (hasLost || known?.gone === true)
      // A human verdict that no publisher had sent goes as well.
      const erased = mayBeErased && unknown > 0 && unknown <= (isRetraction(one) ? 2 : 1)
      if (one.revision <= (before?.revision ?? 0) || (unknown > 0 && !erased && !isDecided))
        broken.push(`${one.id} stands ${index + 1}.`)
      if (!erased && one.supersedes !== (before?.id ?? null)) broken.push(`${one.id} supersedes ${one.supersedes}`)
      if (before !== undefined && isRetraction(before)) broken.push(`${one.id} comes after its subject's deletion`)
      if (one.decidedBy === 'none' && one.degraded.length === 0) silent.push(one.id)
    }
  }
  for (const [subject, { protocols, gone, text, comments, capped, unsure, said, at }] of expected.subjects)
    for (const protocol of protocols) {
      const last = chains.get(`${protocol} ${subject}`)?.at(-1)?.one
      if (gone) {
        if (last !== undefined && !isRetraction(last))
          unfinished.push(`${last.id} is not retracted though it was deleted`)
        continue
      }
      const wasOff = off.some(
        (one) => one.protocol === protocol && at >= one.from - OFF_BEFORE_MS && at <= one.to + OFF_BEFORE_MS,
      )
      if (last === undefined && wasOff) continue
      // What machines said last, beneath a human verdict or not.
      const rulings = [
        ...(chains.get(`${protocol} ${subject}`) ?? []).flatMap(({ one }) => (isOfPeople(one) ? [] : [one])),
        ...(proposed.get(`${protocol} ${subject}`) ?? []),
      ]
      const ruling = rulings.sort((a, b) => numberOf(a) - numberOf(b)).at(-1)
      if (last === undefined || ruling === undefined || !ruling.final) {
        unfinished.push(`${protocol} of ${subject}: ${ruling === undefined ? 'none' : `${ruling.id} is the last`}`)
        continue
      }
      if ('proposal' in ruling && last.decision === undefined && last.restored === undefined)
        unfinished.push(`${ruling.id} comes after ${last.id}`)
      const judged = snapshot.safeParse(transcripts.get(ruling.id)?.subject)
      if (!judged.success) continue // it was cut, or is missing, which is told elsewhere
      const stands = protocol === 'rumor' && said.has(judged.data.post.text)
      if (judged.data.post.text !== text && !stands) stale.push(`${ruling.id} judged an earlier text`)
      if (protocol !== 'rumor') continue
      const seen = new Map(judged.data.comments.map((one) => [one.id, one.text]))
      const foreign = [...seen.keys()].filter((id) => !comments.has(id) && !unsure.has(id))
      const missing = capped ? [] : [...comments.keys()].filter((id) => !seen.has(id) && !unsure.has(id))
      const old = [...seen].filter(
        ([id, words]) => !unsure.has(id) && comments.get(id) !== undefined && comments.get(id) !== words,
      )
      if (foreign.length > 0) stale.push(`${ruling.id} counts ${foreign.slice(0, 3).join(', ')}, which it must not`)
      if (missing.length > 0) stale.push(`${ruling.id} lacks ${missing.slice(0, 3).join(', ')}`)
      if (old.length > 0) stale.push(`${ruling.id} has an earlier text of ${old[0]?.[0]}`)
    }
  many('subjects without their final verdict', unfinished)
  many('chains of revisions that are broken', broken)
  many(
    'cases given up as of a protocol that is off, long before their deadline',
    verdicts.flatMap(({ one }) => (one.degraded.includes('protocol-off') ? [one.id] : [])),
  )
  many('undecided verdicts that do not say why', silent)
  many('verdicts that nobody asked for', uninvited)
  many('final verdicts on another state than the last', stale)
}

/** Every call that the model logged is journaled, failed or orphaned; an orphan has a fault near, and no answer is paid twice. */
function recount(
  { calls, asked, shadows }: Evidence,
  { subjects }: Expected,
  transcripts: readonly Transcript[],
  many: Many,
): Account['calls'] {
  interface Claim {
    readonly verdictId: string
    readonly turn: string
    readonly outcome: string
    readonly last: boolean
  }
  const claims = new Map<string, Claim>()
  const twice: string[] = []
  for (const { verdictId, turns } of transcripts)
    for (const [index, turn] of turns.entries())
      for (const [at, { id, outcome }] of turn.calls.entries()) {
        if (claims.has(id)) twice.push(`${id} in ${verdictId}`)
        claims.set(id, { verdictId, turn: `${verdictId} ${index}`, outcome, last: at === turn.calls.length - 1 })
      }
  const logged = calls.filter(({ stage }) => stage !== 'embeddings')
  const seen = new Set(logged.map(({ call }) => call))
  const by = new Map(asked.map((one) => [one.call, one]))
  const unseen = [...claims].filter(([id]) => !seen.has(id))
  many(
    'calls that a transcript claims and the model never answered',
    unseen
      .filter(([, { outcome }]) => BY_MODEL.has(outcome))
      .map(([id, { verdictId, outcome }]) => `${id} (${outcome}) in ${verdictId}`),
  )
  many('calls that are claimed twice', twice)

  const gone = new Set(
    [...subjects].flatMap(([name, { gone, shrunk }]) => (gone || shrunk ? [name.slice(name.indexOf(':') + 1)] : [])),
  )
  const shadowed = ({ call, at, endedAt }: CallRecord) => {
    const worker = by.get(call ?? '')?.by
    return shadows.some(
      (shadow) =>
        (shadow.worker === null || shadow.worker === worker) && at <= shadow.to && (endedAt ?? Infinity) >= shadow.from,
    )
  }
  /** Whether it arrived while a fault met the process that sent it. */
  const heldUp = ({ call, at }: CallRecord) => {
    const worker = by.get(call ?? '')?.by
    return shadows.some(
      (shadow) => shadow.worker !== null && shadow.worker === worker && at >= shadow.from && at <= shadow.to,
    )
  }
  const described = (record: CallRecord) => {
    const of = by.get(record.call ?? '')
    return `call ${record.seq} (${record.stage} of ${of?.subject} by ${of?.by}, ${record.status} at ${new Date(record.endedAt ?? record.at).toISOString()})`
  }
  const orphans = logged.filter(({ call }) => !claims.has(call ?? ''))
  const erased = orphans.filter(({ call }) => gone.has(by.get(call ?? '')?.subject ?? ''))
  const lost = orphans.filter((record) => !erased.includes(record))
  /** An unreadable answer is noted when its repair question has ended: the fault may have met that one. */
  const repaired = (record: CallRecord) => {
    const of = by.get(record.call ?? '')
    const until = (record.endedAt ?? Infinity) + JOURNALED_WITHIN_MS
    return lost.some((other) => {
      const its = by.get(other.call ?? '')
      const same = its?.by === of?.by && its?.subject === of?.subject && other.stage === record.stage
      return same && other.at >= (record.endedAt ?? Infinity) && other.at <= until && shadowed(other)
    })
  }
  many(
    'calls that stand in no transcript, with no fault near: what was answered was not journaled',
    lost.filter((record) => !shadowed(record) && !repaired(record)).map(described),
  )

  const lastOf = new Map<string, number>()
  for (const { call, endedAt } of logged) {
    const claim = claims.get(call ?? '')
    if (claim !== undefined) lastOf.set(claim.verdictId, Math.max(lastOf.get(claim.verdictId) ?? 0, endedAt ?? 0))
  }
  const again: string[] = []
  for (const same of Map.groupBy(logged, ({ call }) => by.get(call ?? '')?.question ?? `${call}`).values())
    for (const first of same) {
      const claim = claims.get(first.call ?? '')
      if (claim?.outcome !== 'answered' || !claim.last || first.endedAt === null || shadowed(first)) continue
      const journaledBy = first.endedAt + JOURNALED_WITHIN_MS
      for (const later of same) {
        const other = claims.get(later.call ?? '')
        // One that its asker had given up on was sent before, and reached the model late.
        const inThisCase =
          other === undefined
            ? later.at < (lastOf.get(claim.verdictId) ?? 0)
            : other.turn === claim.turn && other.outcome !== 'timeout'
        // So was one that a fault has held up on its way: a case that restarts may ask the same in another process.
        if (later !== first && later.at > journaledBy && inThisCase && !heldUp(later))
          again.push(`${described(later)} asks what call ${first.seq} was answered for ${claim.verdictId}`)
      }
    }
  many('journaled answers that were asked for again', again)

  const journaled = logged.filter(({ call }) => claims.get(call ?? '')?.outcome === 'answered').length
  return {
    logged: logged.length,
    journaled,
    failed: logged.length - orphans.length - journaled,
    orphaned: lost.length,
    erased: erased.length,
    neverArrived: unseen.length,
  }
}
