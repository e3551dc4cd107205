import type { RulingEntry } from '../contracts/ports/record.ts'
import type { Draw } from './draws.ts'

/**
 * What was drawn of the verdicts that first lanes settled, in the words of both databases, apart from their subjects: no edit and no
 * deletion takes what people found out of an audit. Of a subject the first such verdict counts. Once it is erased nothing names it:
 * `s` and `verdict` are null, and `item` is anything. `lost`: nobody had looked at it before a machine's or a deletion took its place.
 */
export const LANE_LEDGER = `
  CREATE TABLE IF NOT EXISTS lane_draws (
    lane text, item text, s bigint, protocol text NOT NULL, tenant text NOT NULL, verdict text, label text, lang text,
    chance double precision NOT NULL, drawn_at bigint NOT NULL, differs smallint, lost smallint NOT NULL, PRIMARY KEY (lane, item)
  );
  CREATE INDEX IF NOT EXISTS lane_draws_subject ON lane_draws (s, protocol);
`

/** Enters a verdict; the lane's first of its subject stays. */
export const ENTER_LANE_DRAW =
  'INSERT INTO lane_draws VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, NULL, 0) ON CONFLICT (lane, item) DO NOTHING'

/** What `ENTER_LANE_DRAW` enters of this verdict; null if no lane settled it, it is not drawn, or it repeats another. */
export function laneDraw(
  { id, decidedBy, restores, marks, protocol, subject, label, openedAt }: RulingEntry,
  draws: readonly Draw[],
  s: number,
): readonly (string | number | null)[] | null {
  const lane = marks.find(({ mark }) => mark === 'lane')?.value
  const draw = draws.find(({ purpose }) => purpose === 'audit')
  if (decidedBy !== 'lane' || lane === undefined || draw === undefined || restores !== null) return null
  return [lane, draw.item, s, protocol, subject.tenant, id, label, draw.chance, openedAt]
}

/** A ruling of the subject that a lane's verdict is about. */
export interface LaterRuling {
  readonly id: string
  readonly label: string | null
  readonly decided_by: string
  readonly restores: string | null
}

/** A verdict of a lane whose subject is not erased. */
export interface OpenLaneDraw {
  readonly lane: string
  readonly item: string
  readonly verdict: string
}

/** Its fate, its language where it still is what is looked at (that of its subject), its lane and item. */
export const SETTLE_LANE_DRAW = `UPDATE lane_draws SET differs = ?, lost = ?,
  lang = CASE CAST(? AS integer) WHEN 1 THEN (SELECT lang FROM subjects WHERE subjects.s = lane_draws.s) ELSE lang END WHERE lane = ? AND item = ?`

/** What is erased names nothing, and stays. Its values: what stands in place of the item, the lane, the item. */
export const DETACH_LANE_DRAW = `UPDATE lane_draws SET item = ?, s = NULL, verdict = NULL,
  lost = CASE WHEN differs IS NULL THEN 1 ELSE 0 END WHERE lane = ? AND item = ?`

/** What people say of a lane's verdict, and whether it still is what they would look at. */
interface LaneDrawFate {
  readonly differs: number | null
  readonly lost: number
  readonly stands: boolean
}

/**
 * What became of a lane's verdict, by all rulings of its subject in the order of their numbers; null where it is not among them. Its
 * label counts also where an image could not be shown: a lane settles texts alone.
 */
export function laneDrawFate(rulings: readonly LaterRuling[], verdict: string): LaneDrawFate | null {
  const at = rulings.findIndex(({ id }) => id === verdict)
  const own = rulings[at]
  if (own === undefined) return null
  /** It, and what a withdrawn decision published again of it. */
  const same = new Set([verdict])
  let stands = true
  let word: LaterRuling | null = null
  for (const ruling of rulings.slice(at + 1)) {
    const { id, decided_by, restores } = ruling
    if (decided_by === 'deleted') continue
    if (decided_by === 'human') {
      if (stands) word = ruling
    } else if (restores !== null && same.has(restores)) {
      same.add(id)
      word = null
      stands = true
    } else stands = false
  }
  const differs = word === null || word.label === null ? null : Number(word.label !== own.label)
  return { differs, lost: Number(differs === null && (!stands || word !== null)), stands }
}
