import { hash } from 'node:crypto'
import { z } from 'zod'
import { ANSWERS, type AppealOutcome, appealOutcome } from '../contracts/facts/appeal-messages.ts'
import { MEASURES, namedSubject } from '../contracts/facts/decision-messages.ts'
import type { SubjectKind, ThreadRef } from '../contracts/facts/thread.ts'
import { revisionIn } from '../contracts/facts/verdict-id.ts'
import type { AppealEndEntry, AppealEntry, NoteEntry, RecordedAppeal, UntoldAppeal } from '../contracts/ports/record.ts'
import { appealNoteId } from './appeal-note.ts'

// This decides what becomes of appeals, in either database: each has one outcome. Their words are notes, as what else people say.

/** An appeal as its table has it, without its words. */
export interface AppealRow {
  readonly tenant: string
  readonly id: string
  /** Empty until it is known. */
  readonly protocol: string
  readonly side: string
  /** Who appeals, by the hash of their contact. */
  readonly party: string
  /** The verdict that it names, or the note of the action. */
  readonly against: string | null
  /** Null: to the label. */
  readonly objects_to: string | null
  /** The ruling that it is against, once that is known. */
  readonly number: number | null
  readonly label: string | null
  readonly at: number
  readonly outcome: string | null
  /** The verdict that answered it. */
  readonly verdict: string | null
  readonly ended_at: number | null
}

/** A ruling on the subject of appeals. */
export interface AppealedRuling {
  readonly id: string
  readonly protocol: string
  readonly number: number
  readonly label: string | null
  readonly decided_by: string
  readonly decider: string | null
  /** Of a person's: the place of its decision. */
  readonly decision: string | null
  readonly decided_at: number
}

/** A decision names an appeal that it answers. */
export interface AppealAnswer {
  readonly id: string
  readonly decision: string
  readonly code: string | null
  /** What is to become of the action that it is against. */
  readonly measure: string | null
  /** When the decision was sent. */
  readonly at: number
}

/** Somebody gave an opinion on a subject, or carried out an action; the protocol is empty where an action names none. */
export interface AppealParty {
  readonly who: string
  readonly protocol: string
  /** When they first did. */
  readonly since: number
}

/** What the record has of the subject of appeals. */
interface KnownOfSubject {
  readonly rulings: readonly AppealedRuling[]
  readonly answers: readonly AppealAnswer[]
  readonly parties: readonly AppealParty[]
  /** The protocols of actions on it that are in force; empty where an action names none. */
  readonly inForce: readonly string[]
  readonly deletedAt: number | null
}

/** What is known of an appeal by now, that was not before. */
export interface AppealChange {
  readonly tenant: string
  readonly id: string
  readonly protocol: string
  readonly against: string | null
  readonly number: number | null
  readonly label: string | null
  readonly outcome: string | null
  readonly verdict: string | null
  /** The label of that verdict, and the code of its reason. */
  readonly answer: string | null
  readonly code: string | null
  readonly earlier: string | null
  readonly ended_at: number | null
}

/** How many appeals are taken in a day. */
export interface AppealLimits {
  readonly perContact: number
  readonly perTenant: number
}

export const ALL_APPEALS: AppealLimits = { perContact: Number.MAX_SAFE_INTEGER, perTenant: Number.MAX_SAFE_INTEGER }

/** Who appeals, as it is kept. */
export function partyOf(contact: string): string {
  return hash('sha256', contact, 'base64url').slice(0, 22)
}

/**
 * Whether the words of an appeal are kept that comes behind this outcome, in a record that is made anew: of what nobody answered they
 * may be on a subject that was deleted since, and its topic says so no more.
 */
export const keepsWords = (known: string | null) => known === null || ANSWERS.includes(known)

/** What the record has of an appeal by its id. */
export interface RowOfAppeal {
  readonly s: number | null
  readonly outcome: string | null
  readonly at: number
}

/** Over how long it is counted how many one party, or one tenant, sends, in ms: what was one too many may be sent again after it. */
export const COUNTED_MS = 86_400_000

/** Whether a message of an id that was one too many counts anew, as if nothing had come of that id. */
export function isSentAgain(known: RowOfAppeal | undefined, { at }: Pick<AppealEntry, 'at'>): boolean {
  return known !== undefined && known.outcome === 'too-many' && at >= known.at + COUNTED_MS
}

/**
 * What becomes of the words of an appeal at this end. One that still waits and is told of waits for nobody: its outcome is read after
 * it, where topics are read anew, and its words are kept as if that had been read first.
 */
export function wordsAt(
  { outcome, told, at }: AppealEndEntry,
  known: RowOfAppeal | undefined,
): 'stay' | 'go' | 'labelled' {
  if (!told) return outcome === 'withdrawn' ? 'go' : 'stay'
  if (known === undefined || known.s === null || known.outcome !== null) return 'stay'
  // It was sent again since, and taken.
  if (outcome === 'too-many' && at < known.at) return 'stay'
  return keepsWords(outcome) ? 'labelled' : 'go'
}

/** The words of an appeal, as a note on its subject: its label is the outcome, null until it has one. */
export function noteOf(
  { tenant, id, subject, protocol, side: by, at, json }: AppealEntry,
  label: string | null,
): NoteEntry {
  return { what: 'said', said: 'appeal', subject, id: appealNoteId(tenant, id), protocol, label, by, at, json }
}

const answering = z.object({
  appeals: z.array(z.string()),
  code: z.string().nullable().catch(null),
  measure: z.enum(MEASURES).nullable().catch(null),
})

/** The appeals that a decision answers, by the id of its note and its message. */
export function answersIn(note: string, json: string): Omit<AppealAnswer, 'at'>[] {
  if (!json.includes('"appeals"')) return []
  const read = answering.safeParse(JSON.parse(json))
  const decision = note.replace(/^decision /, '')
  if (!read.success) return []
  const { appeals, code, measure } = read.data
  return appeals.map((id) => ({ id, decision, code, measure }))
}

/** What is known by now of the open appeals of one subject, the oldest first. Pure. */
export function appealChanges(appeals: readonly AppealRow[], of: KnownOfSubject): AppealChange[] {
  const changes: AppealChange[] = []
  const ofParty = new Map<string, AppealRow[]>()
  for (const appeal of appeals.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))) {
    const own = ofParty.get(partyIn(appeal)) ?? []
    ofParty.set(partyIn(appeal), own)
    // Also where that was known before: a ruling of before the appeal may be read after it.
    const against = appeal.outcome === null ? ruledOn(appeal, of, own) : null
    const change = against?.outcome === null ? answered(against, of) : against
    own.push({ ...appeal, ...change })
    if (change !== null && (appeal.number !== change.number || change.outcome !== null)) changes.push(change)
  }
  return changes
}

/** Who appeals: whatever the contact, a subject has one author. */
const partyIn = ({ side, party }: AppealRow) => (side === 'author' ? side : party)

function unchanged({ tenant, id, protocol, against, number, label }: AppealRow): AppealChange {
  const none = { outcome: null, verdict: null, answer: null, code: null, earlier: null, ended_at: null }
  return { tenant, id, protocol, against, number, label, ...none }
}

/** The ruling that it is against, or why nobody is asked; null where that is not known yet. */
function ruledOn(
  appeal: AppealRow,
  { rulings, answers, inForce: actions, deletedAt }: KnownOfSubject,
  earlierOnes: readonly AppealRow[],
): AppealChange | null {
  const { at, against, protocol } = appeal
  const ended = (outcome: string, more: Partial<AppealChange> = {}) => ({
    ...unchanged(appeal),
    outcome,
    ended_at: at,
    ...more,
  })
  const own = rulings.filter((one) => one.decided_by !== 'deleted' && (protocol === '' || one.protocol === protocol))
  if (deletedAt !== null && (at <= deletedAt || own.length === 0))
    return ended('deleted', { ended_at: Math.max(at, deletedAt) })
  if (new Set(own.map((one) => one.protocol)).size > 1) return ended('unclear')
  const named = own.find(({ id }) => id === against)
  const newest = Math.max(0, ...own.map(({ number }) => number))
  if (against !== null && named === undefined && newest < (revisionIn(against) ?? 0)) return null
  const before = beforeAnswers(own, answers, appeal.id)
  const ruling = inForce(before.length === 0 ? own : before, at)
  if (ruling === undefined) return null
  const of = { protocol: ruling.protocol, number: ruling.number, label: ruling.label }
  // What was done by the label that they object to may be in force, also where that label is not.
  const hasEffect = actions.some((one) => one === '' || one === ruling.protocol)
  if (named !== undefined && named.label !== ruling.label && !hasEffect)
    return ended('superseded', { ...of, verdict: ruling.id })
  const earlier = earlierOnes.find((other) => isSameAppeal(other, appeal, ruling))
  if (earlier !== undefined) return ended('repeated', { ...of, earlier: earlier.id })
  return { ...unchanged(appeal), ...of, label: (named ?? ruling).label }
}

/** Those that came before a person answered the appeal: whatever the clocks say, it is against none of the others. */
function beforeAnswers(rulings: readonly AppealedRuling[], answers: readonly AppealAnswer[], appeal: string) {
  const answering = rulings.filter(({ decision }) =>
    answers.some(({ id, decision: of }) => id === appeal && of === decision),
  )
  const first = Math.min(...answering.map(({ number }) => number))
  return rulings.filter(({ number }) => number < first)
}

/** The ruling at this time, in whichever order topics are read; before the first one, that. */
function inForce(rulings: readonly AppealedRuling[], at: number): AppealedRuling | undefined {
  const inOrder = rulings.toSorted((a, b) => a.number - b.number)
  return inOrder.findLast(({ decided_at }) => decided_at <= at) ?? inOrder[0]
}

/** Whether the same party had asked the same already, and waited, or had the answer that was in force. */
function isSameAppeal(other: AppealRow, appeal: AppealRow, ruling: AppealedRuling): boolean {
  return (
    (other.number !== null || other.outcome !== null) &&
    other.protocol === ruling.protocol &&
    isOfSame(other, appeal) &&
    (other.outcome === null || isAnswered(other, { at: appeal.at, by: ruling.id }))
  )
}

/** Both are against the label, whatever they name; or against the same action. */
function isOfSame(one: AppealRow, other: AppealRow): boolean {
  return one.objects_to === other.objects_to && (one.objects_to === null || one.against === other.against)
}

/** Whether a person answered it after this time, or by this verdict. */
function isAnswered({ outcome, verdict, ended_at }: AppealRow, { at, by }: { at: number; by: string }): boolean {
  if (outcome === null || !ANSWERS.includes(outcome)) return false
  return verdict === by || (ended_at ?? 0) > at
}

/** With the outcome by a person's verdict that answers it: by somebody who had not decided on the same before, nor spoken or acted. */
function answered(
  against: AppealChange,
  { rulings, answers, parties }: Pick<KnownOfSubject, 'rulings' | 'answers' | 'parties'>,
): AppealChange {
  const own = parties.filter(({ protocol }) => protocol === '' || protocol === against.protocol)
  const people = rulings
    .filter((one) => one.decided_by === 'human' && one.protocol === against.protocol)
    .toSorted((a, b) => a.number - b.number)
  for (const { id, number, label, decider, decision, decided_at } of people) {
    if (number <= (against.number ?? 0)) continue
    const answer = answers.find((one) => one.id === against.id && one.decision === decision)
    const hasDecided = people.some((earlier) => earlier.number < number && earlier.decider === decider)
    if (answer === undefined || hasDecided) continue
    // By the time of the decision: its verdict comes later, and what its tool does about it may come between.
    if (own.some(({ who, since }) => who === decider && since < answer.at)) continue
    const outcome = label === against.label ? keptOr(answer.measure, against) : 'reversed'
    return { ...against, outcome, verdict: id, answer: label, code: answer.code, ended_at: decided_at }
  }
  return against
}

/** What became of what an appeal is against, where its label stays. */
function keptOr(measure: string | null, { against }: AppealChange): string {
  if (against?.startsWith('action ') !== true) return 'upheld'
  return measure === 'lift' ? 'lifted' : measure === 'lessen' ? 'lessened' : 'upheld'
}

/** An appeal with what its action is about, as the record has that. */
export function aboutAction(entry: AppealEntry, found: (ThreadRef & { protocol: string }) | undefined): AppealEntry {
  if (found === undefined) return entry
  const { protocol, ...subject } = found
  return { ...entry, subject, protocol }
}

/** An outcome that is to be told, with its subject; `told`: 0 where it was never sent. */
export interface AppealOutcomeRow extends AppealChange {
  readonly told: number
  readonly kind: SubjectKind | null
  readonly subject: string | null
}

/** Outcomes that are to be told, as their messages have them, in the order in which they ended: those of a flood after all others. */
export function untoldAppeals(rows: readonly AppealOutcomeRow[]): UntoldAppeal[] {
  const isFlood = ({ outcome }: AppealOutcomeRow) => Number(outcome === 'too-many')
  return rows
    .toSorted((a, b) => isFlood(a) - isFlood(b) || (a.ended_at ?? 0) - (b.ended_at ?? 0))
    .map((row) => ({ outcome: outcomeOf(row), isNew: row.told === 0 }))
}

/** An appeal as it is read. */
export interface AppealReadRow extends AppealOutcomeRow {
  readonly side: string
  readonly at: number
  readonly undone: number
}

export function recordedAppeal(row: AppealReadRow): RecordedAppeal {
  const { id, tenant, side: by, protocol, at, kind, subject, outcome, undone } = row
  return {
    id,
    tenant,
    by,
    protocol,
    at,
    subject: kind === null || subject === null || kind === 'asked' ? null : { tenant, kind, postId: subject },
    outcome: outcome === null ? null : outcomeOf(row),
    isUndone: undone === 1,
  }
}

/** The message that tells an outcome: the same bytes each time. */
function outcomeOf(row: AppealOutcomeRow): AppealOutcome {
  const { tenant, id, outcome, kind, subject, protocol, verdict, answer, code, earlier, ended_at } = row
  const after = outcome === 'too-many' ? new Date((ended_at ?? 0) + COUNTED_MS).toISOString() : null
  const said = Object.entries({ verdict, label: answer, code, earlier, after }).filter(([, text]) => text !== null)
  return appealOutcome.parse({
    schema: 1,
    id,
    ...(kind === null || subject === null || kind === 'asked'
      ? { tenant }
      : namedSubject({ tenant, kind, postId: subject })),
    outcome,
    ...(protocol === '' ? {} : { protocol }),
    ...Object.fromEntries(said),
    at: new Date(ended_at ?? 0).toISOString(),
  })
}
