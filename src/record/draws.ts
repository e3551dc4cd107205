import type { Hmac } from '../contracts/facts/hmac.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { RulingEntry } from '../contracts/ports/record.ts'
import type { DrawPurpose } from '../contracts/ports/review.ts'
import { isDrawn } from './documents.ts'

/** Which share of machines' verdicts is drawn for audit, and of people's for a second opinion. */
export interface DrawShares {
  readonly auditShare: number
  /** Of verdicts that a first lane settled, where that is more. */
  readonly laneShare?: number
  readonly blindShare: number
}

/** An entry of the ledger, when it is drawn. */
export interface Draw {
  /** A person's verdict by its id; else a subject in a protocol, by what the ids of its verdicts begin with. */
  readonly item: string
  readonly purpose: DrawPurpose
  readonly chance: number
  /** Whether what was to be found out differs, where that is known at once. */
  readonly differs: boolean | null
}

/**
 * What chance chose when this verdict came. A subject is drawn for audit once, whichever of its verdicts people then see: were each
 * verdict drawn by itself, one that nobody looked at in time would be lost, and what is looked at first would count for more.
 */
export function drawsOf({ id, decidedBy, control }: RulingEntry, draw: Hmac, shares: DrawShares): Draw[] {
  if (decidedBy === 'deleted') return []
  const drawn = (item: string, purpose: DrawPurpose, chance: number): Draw[] =>
    isDrawn(draw, item, chance) ? [{ item, purpose, chance, differs: null }] : []
  if (decidedBy === 'human') return drawn(id, 'second-opinion', shares.blindShare)
  const item = scopeOfVerdict(id)
  const controls: Draw[] = control === null ? [] : [{ item, purpose: 'control', ...control }]
  const { auditShare, laneShare = 0 } = shares
  const share = decidedBy === 'lane' ? Math.max(auditShare, laneShare) : auditShare
  return [...drawn(item, 'audit', share), ...controls]
}

/** What all verdicts of the same subject and protocol begin with. */
export function scopeOfVerdict(id: string): string {
  return readVerdictId(id)?.scope ?? id
}

/** By which chance a subject was drawn for audit, in SQL. Its values: tenant, kind, id, protocol. */
export const AUDIT_CHANCE = `SELECT chance FROM draws JOIN subjects USING (s)
  WHERE subjects.tenant = ? AND kind = ? AND id = ? AND protocol = ? AND purpose = 'audit'`

/** From when on a draw stands after what was before is erased, in SQL; null if nothing of it is left. */
export const DRAW_SINCE = `SELECT min(opened_at) FROM rulings WHERE rulings.s = draws.s AND rulings.protocol = draws.protocol
  AND decided_by <> 'deleted' AND (purpose <> 'second-opinion' OR rulings.id = item)`

/**
 * The ledger of draws, in the words of both databases; it is there beside tables of an earlier version. An item's chance is the
 * highest under which it came: it would have been drawn under any of them.
 */
export const LEDGER = `
  CREATE TABLE IF NOT EXISTS draws (
    item text, purpose text, s bigint NOT NULL, protocol text NOT NULL, tenant text NOT NULL, verdict text NOT NULL,
    chance double precision NOT NULL, drawn_at bigint NOT NULL, label text, differs smallint, PRIMARY KEY (item, purpose)
  );
  CREATE INDEX IF NOT EXISTS draws_subject ON draws (s, protocol);
  CREATE INDEX IF NOT EXISTS draws_purpose ON draws (purpose, drawn_at);
`
