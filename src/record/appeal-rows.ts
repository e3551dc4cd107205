import { MOST_APPEALS } from '../contracts/facts/decision-messages.ts'
import type { AppealEndEntry, AppealEntry } from '../contracts/ports/record.ts'
import { appealNoteId } from './appeal-note.ts'
import type { AppealChange, AppealLimits } from './appeals.ts'

// The rows of appeals in the SQL that both databases understand: what is decided of them stands in appeals.ts.

type Query = readonly [sql: string, ...values: (string | number | null)[]]

/** Those that count: of a flood no more is looked at than is taken. */
const COUNTS = "(outcome IS NULL OR outcome <> 'too-many')"
const ENDED = "outcome IS NOT NULL AND outcome <> 'too-many'"
/** Those of the value's subject that wait; by its time, so that the index of these is read and no flood. */
const WAIT = 's = ? AND at >= 0 AND outcome IS NULL'

/** `told`: 1 where an outcome is on its topic; below, how often it was sent there. `put_at`: from when on it is sent again. */
export const APPEALS = `
  CREATE TABLE IF NOT EXISTS appeals (
    tenant TEXT, id TEXT, s BIGINT, protocol TEXT NOT NULL, side TEXT NOT NULL, party TEXT NOT NULL, against TEXT, number BIGINT,
    label TEXT, at BIGINT NOT NULL, outcome TEXT, verdict TEXT, answer TEXT, code TEXT, earlier TEXT, ended_at BIGINT,
    told SMALLINT NOT NULL DEFAULT 0, put_at BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tenant, id)
  );
  CREATE INDEX IF NOT EXISTS appeals_subject ON appeals (s);
  CREATE INDEX IF NOT EXISTS appeals_open ON appeals (at) WHERE outcome IS NULL;
  CREATE INDEX IF NOT EXISTS appeals_waiting ON appeals (s, at, id) WHERE outcome IS NULL;
  CREATE INDEX IF NOT EXISTS appeals_ended ON appeals (s, at, id) WHERE ${ENDED};
  CREATE INDEX IF NOT EXISTS appeals_unsent ON appeals ((outcome = 'too-many'), put_at, ended_at) WHERE told < 1 AND outcome IS NOT NULL;
  DROP INDEX IF EXISTS appeals_unjudged;
  CREATE INDEX IF NOT EXISTS appeals_unjoined ON appeals (against) WHERE coalesce(number, 0) = 0 AND ${COUNTS};
  CREATE INDEX IF NOT EXISTS appeals_of_party ON appeals (tenant, party, at) WHERE ${COUNTS};
  CREATE INDEX IF NOT EXISTS appeals_of_tenant ON appeals (tenant, at) WHERE ${COUNTS};
  CREATE INDEX IF NOT EXISTS appeals_at ON appeals (tenant, at);
  CREATE TABLE IF NOT EXISTS appeal_answers (s BIGINT, id TEXT, decision TEXT, code TEXT, at BIGINT NOT NULL, PRIMARY KEY (s, id, decision));
  CREATE INDEX IF NOT EXISTS appeal_answers_at ON appeal_answers (at);
`

/** Over how long it is counted how many one party, or one tenant, sends, in ms. */
const COUNTED_MS = 86_400_000
/** Appeals that wait, others, rulings and answers of one subject that are read at once. */
export const MOST_OF_SUBJECT = 500

/**
 * What each bound on appeals is asked by, in this order: a row where one more is too many. On one subject as many of either side may wait
 * as one decision answers; none of them shuts its author out.
 */
export function boundsOn({ tenant, party, side, at }: AppealEntry, s: number, most: AppealLimits): Query[] {
  const since = at - COUNTED_MS
  const sent = `SELECT 1 FROM appeals WHERE tenant = ? AND at > ? AND ${COUNTS}`
  return [
    [`SELECT 1 FROM appeals WHERE ${WAIT} AND side = ? LIMIT 1 OFFSET ?`, s, side, MOST_APPEALS - 1],
    [`${sent} AND party = ? LIMIT 1 OFFSET ?`, tenant, since, party, most.perContact - 1],
    [`${sent} LIMIT 1 OFFSET ?`, tenant, since, most.perTenant - 1],
  ]
}

export const KNOWN_APPEAL = 'SELECT s, outcome FROM appeals WHERE tenant = ? AND id = ?'

/** Writes one that was taken, or is one too many. */
export function takenAppeal(
  {
    tenant,
    id,
    protocol,
    side,
    party,
    against,
    number = null,
    at,
  }: Omit<AppealEntry, 'number'> & { number?: 0 | null },
  s: number,
  outcome: 'too-many' | null,
): Query {
  return [
    `INSERT INTO appeals (tenant, id, s, protocol, side, party, against, number, at, outcome, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET s = excluded.s, protocol = excluded.protocol, side = excluded.side,
     party = excluded.party, against = excluded.against`,
    tenant,
    id,
    s,
    protocol,
    side,
    party,
    against,
    number,
    at,
    outcome,
    outcome === null ? null : at,
  ]
}

/** Writes that one was taken back, or told of; a second message of the same id that is no appeal ends none. */
export function endedAppeal({ tenant, id, outcome, at, told }: AppealEndEntry): Query {
  const ends = told ? 'appeals.told < 1' : outcome === 'withdrawn' ? 'appeals.outcome IS NULL' : 'FALSE'
  return [
    `INSERT INTO appeals (tenant, id, protocol, side, party, at, outcome, ended_at, told) VALUES (?, ?, '', '', '', ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET outcome = excluded.outcome, ended_at = excluded.ended_at, told = excluded.told
     WHERE ${ends}`,
    tenant,
    id,
    at,
    outcome,
    at,
    Number(told),
  ]
}

/** Notes an outcome beside the words. */
export const LABELLED_APPEAL = 'UPDATE said SET label = ? WHERE id = ?'

export const SUBJECT_OF_APPEAL = 'SELECT s, protocol FROM appeals WHERE tenant = ? AND id = ? AND s IS NOT NULL'

export const ANY_WAITS = `SELECT 1 FROM appeals WHERE ${WAIT} LIMIT 1`

/** Those that wait, and the newest of those that have an outcome. Its values: subject and number, twice. */
export const OF_SUBJECT = `SELECT * FROM (SELECT * FROM appeals WHERE s = ? AND outcome IS NULL ORDER BY at DESC, id DESC LIMIT ?) AS waiting
  UNION ALL SELECT * FROM (SELECT * FROM appeals WHERE s = ? AND ${ENDED} ORDER BY at DESC, id DESC LIMIT ?) AS ended`

/** Its last value: how many. */
export const rulingsOn = (
  decider: string,
) => `SELECT id, protocol, number, label, decided_by, ${decider} AS decider, decision, decided_at
  FROM rulings WHERE s = ? ORDER BY standing DESC, number DESC LIMIT ?`

/** The answers of those that wait: others would take the place of these among as many as are read. */
export const ANSWERS_OF_OPEN = `SELECT id, decision, code, at FROM appeal_answers
  WHERE s = ? AND id IN (SELECT id FROM appeals WHERE ${WAIT}) ORDER BY at DESC, decision DESC LIMIT ?`

export const NEW_ANSWER = 'INSERT INTO appeal_answers VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** Who gave opinions on a subject, or carried out actions, by the protocols of what waits. Its values: the subject twice, and how many. */
export const partiesOn = (opinion: string) => `SELECT said.by AS who, said.protocol, min(said.at) AS since FROM said
  WHERE said.s = ? AND said.protocol IN (SELECT '' UNION SELECT protocol FROM appeals WHERE ${WAIT})
  AND said.said IN ('action', 'decision') AND (said.said = 'action' OR ${opinion} <> 0) GROUP BY said.by, said.protocol LIMIT ?`

/** Writes what is known of one by now, and the same into the note of its words. */
export function changedAppeal(one: AppealChange): Query[] {
  const { tenant, id, protocol, number, label, outcome, verdict, answer, code, earlier, ended_at } = one
  return [
    ['UPDATE said SET protocol = ?, label = ? WHERE id = ?', protocol, outcome, appealNoteId(tenant, id)],
    [
      `UPDATE appeals SET protocol = ?, number = ?, label = ?, outcome = ?, verdict = ?, answer = ?, code = ?, earlier = ?, ended_at = ?
       WHERE tenant = ? AND id = ?`,
      protocol,
      number,
      label,
      outcome,
      verdict,
      answer,
      code,
      earlier,
      ended_at,
      tenant,
      id,
    ],
  ]
}

/** The words of those that wait on this subject, by the numbers of their notes. */
export const openNotes = (s: string) => `SELECT own.n FROM appeals JOIN said AS own
  ON own.id = 'appeal ' || appeals.tenant || '/' || appeals.id WHERE appeals.s = ${s} AND outcome IS NULL`

/** A subject was deleted at this time. */
export function deletedAppeals(s: number, at: number): Query[] {
  return [
    ["UPDATE appeals SET outcome = 'deleted', ended_at = ? WHERE s = ? AND outcome IS NULL AND at <= ?", at, s, at],
    ['DELETE FROM appeal_answers WHERE s = ? AND at <= ?', s, at],
  ]
}

/** Until when an appeal waits for a verdict on its subject: the record reads topics in any order, in ms. */
const KNOWN_WITHIN_MS = 3_600_000

/** What is done of all of them as time passes; what nothing was judged for waits for nobody. */
export function tidiedAppeals({ now, keep, readUntil }: { now: number; keep: number; readUntil: number }): Query[] {
  const before = Math.min(now, readUntil) - KNOWN_WITHIN_MS
  const unjudged = 'outcome IS NULL AND number IS NULL AND at < ?'
  return [
    [
      `UPDATE said SET label = 'unknown' WHERE id IN (SELECT 'appeal ' || tenant || '/' || id FROM appeals WHERE ${unjudged})`,
      before,
    ],
    [`UPDATE appeals SET outcome = 'unknown', ended_at = at + ? WHERE ${unjudged}`, KNOWN_WITHIN_MS, before],
    ['DELETE FROM appeals WHERE at < ?', now - keep],
    ['DELETE FROM appeal_answers WHERE at < ?', now - keep],
  ]
}

/** Its value: since when what waits is overdue. */
export const OPEN_APPEALS = `SELECT count(CASE WHEN outcome IS NULL THEN 1 END) AS open,
    count(CASE WHEN outcome IS NULL AND at <= ? THEN 1 END) AS overdue, min(CASE WHEN outcome IS NULL THEN at END) AS oldest,
    count(CASE WHEN outcome IS NULL AND number = 0 THEN 1 END) AS unjudged,
    count(CASE WHEN outcome IN ('upheld', 'reversed') AND s IS NULL THEN 1 END) AS wordless FROM appeals`

/** A row if a subject that was deleted is judged again: only then are the words of a new appeal kept. */
export const IS_JUDGED = "SELECT 1 FROM rulings WHERE s = ? AND standing = 1 AND decided_by <> 'deleted' LIMIT 1"

/** What an action is about, by its note. */
export const ABOUT_ACTION = `SELECT tenant, kind, subjects.id AS "postId", said.protocol FROM said JOIN subjects ON subjects.s = said.s
  WHERE said.id = ? AND said.said = 'action'`
/**
 * Appeals against an action that was not known when they came, whatever became of them: their words are about its subject. None that
 * has no words, as those of a flood, nor that is on this subject already.
 */
export const WAITING_FOR_ACTION = `SELECT tenant, id, at FROM appeals WHERE against = ? AND coalesce(number, 0) = 0
  AND ${COUNTS} AND s <> ?`

/** Puts one of them on the subject of its action, with its words. */
export function joinedAppeal(
  { tenant, id }: { readonly tenant: string; readonly id: string },
  s: number,
  protocol: string,
): Query[] {
  return [
    ['UPDATE appeals SET s = ?, protocol = ? WHERE tenant = ? AND id = ?', s, protocol, tenant, id],
    ['UPDATE said SET s = ?, protocol = ? WHERE id = ?', s, protocol, appealNoteId(tenant, id)],
  ]
}

/** Outcomes that are not on their topic yet, and that nobody has sent lately; of a flood after all others. */
export const UNTOLD_APPEALS = `SELECT appeals.tenant, appeals.id, protocol, number, appeals.label, outcome, verdict, answer, code,
    earlier, ended_at, told, kind, subjects.id AS subject FROM appeals LEFT JOIN subjects ON subjects.s = appeals.s
  WHERE told < 1 AND outcome IS NOT NULL AND put_at <= ? ORDER BY (outcome = 'too-many'), put_at, ended_at, appeals.id LIMIT ?`

/** How long an outcome is waited for on its topic at first, in ms; twice as long each time, up to 256 times. */
const SENT_AGAIN_MS = 60_000
const MOST_DOUBLED = 8

/** Notes that one is sent, of which appeals `where` says. Its first value: now. */
export const sentAppeal = (
  where: string,
) => `UPDATE appeals SET put_at = CAST(? AS BIGINT) + ${SENT_AGAIN_MS} * (1 << (-told)),
    told = CASE WHEN told > -${MOST_DOUBLED} THEN told - 1 ELSE told END ${where}`
