import { z } from 'zod'
import type { OutboxEntry } from '../../ports/cases.ts'
import { pairs } from './pairs.ts'

/** The part of a verdict's entry that only `done` needs: the thread that the verdict is about. */
export interface VerdictOf {
  readonly member: string
  readonly protocol: string
  /** Its case was shown content of other subjects, which may have been deleted. */
  readonly shown: boolean
}

const rows = z.array(z.tuple([z.string(), z.array(z.string()).nullable()]))
/** The one stream's name and its entries: RESP3's map, flattened. */
const readReply = z.tuple([z.string(), rows])
const claimReply = z.tuple([z.string(), rows]).rest(z.unknown())

type Read = { readonly entry: OutboxEntry; readonly of: VerdictOf | null }

/** What XREADGROUP returned. */
export function readEntries(reply: unknown): Read[] {
  return reply === null ? [] : readReply.parse(reply)[1].flatMap(entryOf)
}

/** What XAUTOCLAIM returned. */
export function claimedEntries(reply: unknown): Read[] {
  return claimReply.parse(reply)[1].flatMap(entryOf)
}

function entryOf([id, flat]: z.infer<typeof rows>[number]): Read[] {
  // Claimed by a publisher, and deleted from the stream.
  if (flat === null) return []
  const field = Object.fromEntries(pairs(flat))
  if (field.kind === 'dead-letter')
    return [{ entry: { id, kind: 'dead-letter', key: field.key ?? '', letter: field.letter ?? '' }, of: null }]
  if (field.kind !== 'verdict') return [{ entry: { id, kind: 'unknown', json: JSON.stringify(field) }, of: null }]
  const { case: caseId = '', verdict = '', transcript = '', member = '', protocol = '' } = field
  return [
    {
      entry: { id, kind: 'verdict', caseId, verdict, transcript },
      of: { member, protocol, shown: field.shown !== undefined },
    },
  ]
}
