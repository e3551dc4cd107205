import { z } from 'zod'
import { appealOutcome } from '../../contracts/facts/appeal-messages.ts'
import {
  type DecisionOutcome,
  decisionOutcome,
  namedSubject,
  type Review,
  reviewId,
} from '../../contracts/facts/decision-messages.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { revisionIn } from '../../contracts/facts/verdict-id.ts'
import type { OutboxEntry } from '../../contracts/ports/cases.ts'
import { letterId, refOf } from '../redis/keys.ts'
import { unpacked } from '../redis/packed.ts'
import { pairs } from '../redis/script.ts'

/** The part of a verdict's entry that only `done` needs: the thread that the verdict is about. */
export interface VerdictOf {
  readonly member: string
  readonly protocol: string
  /** The number under which it is published; empty for a proposal, which has none. */
  readonly number: string
  /** Its case was shown content of other subjects, which may have been deleted. */
  readonly shown: boolean
}

const rows = z.array(z.tuple([z.string(), z.array(z.string()).nullable()]))
/** The streams' names, each followed by its entries: RESP3's map, flattened. */
const readReply = z.array(z.union([z.string(), rows]))
const adoptReply = z.tuple([z.string(), rows]).rest(z.unknown())

export type StoredEntry = { readonly entry: OutboxEntry; readonly of: VerdictOf | null }

/** What XREADGROUP returned, in the order of the streams. */
export async function readEntries(reply: unknown, letters: string): Promise<StoredEntry[]> {
  const read: StoredEntry[] = []
  let isOfLetters = false
  for (const part of reply === null ? [] : readReply.parse(reply)) {
    if (typeof part === 'string') isOfLetters = part === letters
    else read.push(...(await entriesOf(part, isOfLetters)))
  }
  return read
}

/** What XAUTOCLAIM returned of one stream. */
export async function adoptedEntries(reply: unknown, isOfLetters: boolean): Promise<StoredEntry[]> {
  return entriesOf(adoptReply.parse(reply)[1], isOfLetters)
}

async function entriesOf(all: z.infer<typeof rows>, areLetters: boolean): Promise<StoredEntry[]> {
  const read = all.map(([place, flat]) => entryOf(areLetters ? letterId(place) : place, flat))
  return (await Promise.all(read)).flat()
}

async function entryOf(id: string, flat: z.infer<typeof rows>[number][1]): Promise<StoredEntry[]> {
  // Adopted by a publisher, and deleted from the stream.
  if (flat === null) return []
  const field = Object.fromEntries(pairs(flat))
  if (field.kind === 'dead-letter')
    return [{ entry: { id, kind: 'dead-letter', key: field.key ?? '', letter: field.letter ?? '' }, of: null }]
  if (field.kind === 'review') return [{ entry: { id, kind: 'review', review: reviewOf(field) }, of: null }]
  if (field.kind === 'outcome') return [{ entry: { id, kind: 'outcome', outcome: outcomeOf(field) }, of: null }]
  if (field.kind === 'appeal') {
    const outcome = appealOutcome.safeParse(jsonOf({ value: field.outcome ?? '' }))
    if (outcome.success) return [{ entry: { id, kind: 'appeal', outcome: outcome.data }, of: null }]
  }
  if (field.kind !== 'verdict' && field.kind !== 'proposal')
    return [{ entry: { id, kind: 'unknown', json: JSON.stringify(field) }, of: null }]
  const { case: caseId = '', verdict = '', member = '', protocol = '' } = field
  // Those that came before transcripts were packed are plain, as retractions' are.
  const transcript = await unpacked(field.transcript ?? '')
  if (transcript === null) return [{ entry: { id, kind: 'unknown', json: JSON.stringify(field) }, of: null }]
  const isVerdict = field.kind === 'verdict'
  return [
    {
      entry: isVerdict
        ? { id, kind: 'verdict', caseId, verdict, transcript }
        : { id, kind: 'proposal', caseId, proposal: verdict, transcript },
      of: {
        member,
        protocol,
        number: isVerdict ? String(revisionIn(caseId) ?? '') : '',
        shown: field.shown !== undefined,
      },
    },
  ]
}

/** A request for a review, from an entry's fields. */
function reviewOf(field: Readonly<Record<string, string | undefined>>): Review {
  const { protocol = '', why = '', verdict = '', proposal, label, of, by } = field
  const said = Object.entries({ proposal, label, of, by }).filter(([, text]) => text !== undefined && text !== '')
  const asked = { ...namedSubject(refOf(field.member ?? '')), protocol, why, verdict, ...Object.fromEntries(said) }
  return { schema: 1, id: reviewId(asked), ...asked, at: timeOf(field.at) }
}

function outcomeOf(field: Readonly<Record<string, string | undefined>>): DecisionOutcome {
  const { protocol = '', outcome, of = '', revision = '0', label = '', by = '' } = field
  return decisionOutcome.parse({
    schema: 1,
    ...namedSubject(refOf(field.member ?? '')),
    protocol,
    outcome,
    of,
    revision: Number(revision),
    label: label === '' ? null : label,
    by,
    at: timeOf(field.at),
  })
}

function timeOf(ms = '0'): string {
  return new Date(Number(ms)).toISOString()
}
