import type { Hmac } from '../contracts/facts/hmac.ts'
import type { RecordBatch } from '../contracts/ports/record.ts'

/** Documents are numbered by the second of their decision, from 2020 on, so that the newest are found first in whatever order they arrive. */
const EPOCH_S = 1_577_836_800
export const PER_SECOND = 4_096
/** Most documents of a day, which have one range of numbers. */
export const PER_DAY = 86_400 * PER_SECOND

/** The least document that is decided at this time, ms since 1970. */
export function docAt(ms: number): number {
  return Math.max(0, Math.floor(ms / 1000) - EPOCH_S) * PER_SECOND
}

/** Where numbers are looked for first: a clock that is ahead puts nothing before all others for longer than a day. */
export function firstDoc(decidedAt: number, now: number): number {
  return docAt(Math.min(decidedAt, now + 86_400_000))
}

/** Whether an id is among this share: nobody without the key can choose one that is, or that is not. */
export function isDrawn(draw: Hmac, id: string, share: number): boolean {
  return Number.parseInt(draw(id, 'hex').slice(0, 12), 16) < share * 2 ** 48
}

/** Rulings by the time of their decision: an index takes ascending numbers ten times as fast as others. */
export function inOrderOfTime(entries: RecordBatch['entries']): RecordBatch['entries'] {
  const at = ({ entry }: RecordBatch['entries'][number]) => (entry.what === 'ruling' ? entry.decidedAt : 0)
  return entries.every(({ entry }) => entry.what === 'ruling') ? entries.toSorted((a, b) => at(a) - at(b)) : entries
}
