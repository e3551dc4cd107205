import {
  type DecisionOutcome,
  decisionMessage,
  decisionOutcome,
  type Review,
  review,
  type VerdictProposal,
} from '../../src/contracts/facts/decision-messages.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { DEAD_HEADER } from './expected.ts'
import type { TopicRecord } from './reader.ts'

/** What was written down of people's decisions. */
export interface DecidedEvidence {
  readonly decisions: readonly TopicRecord[]
  readonly outcomes: readonly TopicRecord[]
  readonly reviews: readonly TopicRecord[]
  /** The store has lost what it knew, open cases and what came of decisions among it. */
  readonly hasLost: boolean
}

type Many = (what: string, all: readonly string[]) => void

/** Whether people brought it about: a human verdict, or what took its place. */
export const isOfPeople = ({ decision, restored }: Verdict) => decision !== undefined || restored !== undefined

/** Its number, which is no verdict's. */
export const numberOf = (one: Verdict | VerdictProposal) => ('proposal' in one ? one.proposal : one.revision)

const subjectIn = ({ tenant = 'default', subjectId }: { tenant?: string; subjectId: string }) =>
  `${tenant}:${subjectId}`

/** Withdrawals that were carried out, by protocol and subject. */
type Withdrawn = ReadonlyMap<string, readonly DecisionOutcome[]>

const laneOf = ({ protocol, tenant, subjectId }: { protocol: string; tenant: string; subjectId: string }) =>
  `${protocol} ${tenant}:${subjectId}`
const offsetOf = (of: string) => Number(of.split('@')[1])

/** How long after its ruling a case may be concluded: a decision that comes meanwhile counts as known to it, ms. */
const CONCLUDED_MS = 5_000

/**
 * Each decision has one end: it was carried out, or refused, or its subject was deleted; and what stands above machines' rulings is
 * followed by none. `letters` are the dead letters' reasons by place; `gone` tells of a subject whether it was deleted.
 */
export function decided(
  { decisions, outcomes, reviews, hasLost }: DecidedEvidence,
  verdicts: readonly { one: Verdict; standing: TopicRecord }[],
  proposals: readonly VerdictProposal[],
  letters: ReadonlyMap<string, string>,
  gone: (subject: string) => boolean,
  many: Many,
): void {
  const told = new Map<string, DecisionOutcome[]>()
  const differing: string[] = []
  for (const { value } of outcomes) {
    const one = decisionOutcome.parse(JSON.parse(value))
    if (one.outcome === 'deleted') continue
    const known = told.get(one.of) ?? []
    if (known.some((each) => JSON.stringify(each) === JSON.stringify(one))) continue
    told.set(one.of, [...known, one])
    if (known.length > 0) differing.push(one.of)
  }
  many('decisions with two outcomes', differing)
  const asked = reviews.map(({ value }) => review.parse(JSON.parse(value)))
  const refused = new Set(asked.flatMap(({ why, of }) => (why === 'refused' && of !== undefined ? [of] : [])))
  const byOf = Map.groupBy(
    verdicts.filter(({ one }) => isOfPeople(one)),
    ({ one }) => one.decision?.of ?? one.restored?.of ?? '',
  )
  const places = new Set(decisions.map(({ partition, offset }) => `${partition}@${offset}`))
  const silent: string[] = []
  const both: string[] = []
  const unseen: string[] = []
  const again: string[] = []
  const before = new Map<string, string>()
  for (const { partition, offset, value, headers } of decisions) {
    const of = `${partition}@${offset}`
    const letter = letters.get(`decisions/${of}`)
    if (headers[DEAD_HEADER] !== undefined) continue
    const { why: _, ...message } = decisionMessage.parse(JSON.parse(value))
    const about = `${message.protocol} ${subjectIn(message)}`
    const isRepeat = before.get(about) === JSON.stringify(message)
    before.set(about, JSON.stringify(message))
    const [outcome] = told.get(of) ?? []
    const ends = [outcome !== undefined, refused.has(of), letter !== undefined].filter((yes) => yes).length
    // Emptied before its offset was committed, the store knows nothing of a decision that came before its subject: it is handled anew.
    const isAnew = hasLost && letter === 'unjudgeable'
    if (ends > 1 && !isAnew) both.push(of)
    if (isRepeat && ends > 0 && !hasLost) again.push(of)
    if (ends === 0 && !isRepeat && message.opinion !== true && !gone(subjectIn(message))) silent.push(of)
    if (outcome === undefined || outcome.revision === 0) continue
    const brought = byOf.get(of) ?? []
    if (brought.length !== 1 && !(brought.length === 0 && gone(subjectIn(message))))
      unseen.push(`${of}: ${brought.length} verdicts`)
  }
  many('decisions of which nobody knows what came', silent)
  many('decisions that were carried out, and refused as well', both)
  many('decisions that came twice, and were handled twice', again)
  many('decisions that were carried out, without their one verdict', unseen)
  many(
    'verdicts of people that nobody decided, or that have no outcome',
    [...byOf].flatMap(([of, all]) => (places.has(of) && told.has(of) ? [] : all.map(({ one }) => one.id))),
  )
  const withdrawn = Map.groupBy(
    [...told.values()].flat().filter(({ outcome }) => outcome === 'withdrawn'),
    laneOf,
  )
  standing(verdicts, withdrawn, many)
  beneath(verdicts, proposals, { asked, withdrawn }, gone, many)
}

/** After a human verdict no machine's stands before it was withdrawn, and each follows what its person saw. */
function standing(
  verdicts: readonly { one: Verdict; standing: TopicRecord }[],
  withdrawn: Withdrawn,
  many: Many,
): void {
  const over: string[] = []
  const blind: string[] = []
  for (const [name, chain] of Map.groupBy(verdicts, ({ one }) => laneOf(one))) {
    let human: Verdict | undefined
    for (const [index, { one }] of chain.entries()) {
      const last = chain[index - 1]?.one
      const { decision } = one
      if (decision !== undefined && decision.forced !== true && decision.against !== (last?.id ?? null))
        blind.push(`${one.id} follows ${last?.id}, and was against ${decision.against}`)
      if (one.decidedBy === 'deleted' || one.restored !== undefined) human = undefined
      else if (decision !== undefined) human = one
      else if (human !== undefined) {
        const since = offsetOf(human.decision?.of ?? '')
        if (!(withdrawn.get(name) ?? []).some(({ of }) => offsetOf(of) > since))
          over.push(`${one.id} after ${human.id}`)
        human = undefined
      }
    }
  }
  many('verdicts of machines after a human one that stands', over)
  many('human verdicts on another state than their person saw', blind)
}

/** Proposals have a verdict of people above them and a number of their own; where they differ from a human one, a review was asked for. */
function beneath(
  verdicts: readonly { one: Verdict }[],
  proposals: readonly VerdictProposal[],
  { asked, withdrawn }: { asked: readonly Review[]; withdrawn: Withdrawn },
  gone: (subject: string) => boolean,
  many: Many,
): void {
  const byId = new Map(verdicts.map(({ one }) => [one.id, one]))
  const taken = new Set(byId.keys())
  many(
    'proposals with the number of a verdict',
    proposals.filter(({ id }) => taken.has(id.replace(/~p(\d+)$/, '~r$1'))).map(({ id }) => id),
  )
  many(
    'proposals beneath nothing that people decided',
    proposals.flatMap((one) => {
      const above = byId.get(one.beneath)
      return (above !== undefined && isOfPeople(above)) || gone(subjectIn(one))
        ? []
        : [`${one.id} beneath ${one.beneath}`]
    }),
  )
  const differs = new Set(
    asked.filter(({ why }) => why === 'differs').map(({ verdict, label }) => `${verdict} ${label}`),
  )
  /** What its verdict said was withdrawn before this was concluded: nothing stands that anybody could look at again. */
  const isFree = (one: VerdictProposal, of: string) =>
    (withdrawn.get(laneOf(one)) ?? []).some(
      (each) =>
        offsetOf(each.of) > offsetOf(of) && Date.parse(each.at) <= Date.parse(one.timing.decidedAt) + CONCLUDED_MS,
    )
  many(
    'proposals that differ, and nobody was asked to look',
    proposals
      .filter((one) => {
        const of = byId.get(one.beneath)?.decision?.of
        return one.differs && of !== undefined && !gone(subjectIn(one)) && !isFree(one, of)
      })
      .filter((one) => !differs.has(`${one.beneath} ${one.label}`))
      .map(({ id }) => id),
  )
}
