import { ANSWERS } from '../contracts/facts/appeal-messages.ts'
import { MOST_APPEALS } from '../contracts/facts/decision-messages.ts'
import type { AppealEndEntry, AppealEntry, AppealsAsked } from '../contracts/ports/record.ts'
import { NEW_MEASURE, newestActions } from './actions.ts'
import { appealNoteId } from './appeal-note.ts'
import { type AppealChange, type AppealLimits, COUNTED_MS } from './appeals.ts'
import { workedInTurn } from './turns.ts'

// The rows of appeals in the SQL that both databases understand: what is decided of them stands in appeals.ts.

type Query = readonly [sql: string, ...values: (string | number | null)[]]

/** Those that count: of a flood no more is looked at than is taken. */
const COUNTS = "(outcome IS NULL OR outcome <> 'too-many')"
const ENDED = "outcome IS NOT NULL AND outcome <> 'too-many'"
const FLOOD = "outcome = 'too-many'"
/** Those that ended and are to be told, in words by which no index of all of a tenant is read. */
const TO_TELL = "outcome IS NOT NULL AND NOT (outcome = 'too-many')"
/** Superseded, and not told yet: an action that is unread may be in force. */
const TO_REOPEN = "outcome = 'superseded' AND told = 0"
/** Nothing was ever known of them: withdrawals of what never came, and messages that are no appeal. */
const OF_NOTHING = "s IS NULL AND outcome IN ('withdrawn', 'invalid', 'unknown')"
/** People have answered them, and nothing says what they are about. */
const ANSWERED = `outcome IN (${ANSWERS.map((one) => `'${one}'`).join(', ')})`
const WORDLESS = `${ANSWERED} AND s IS NULL`
/** Those of the value's subject that wait; by its time, so that the index of these is read and no flood. */
const WAIT = 's = ? AND at >= 0 AND outcome IS NULL'

/** `told`: 1 where an outcome is on its topic; below, how often it was sent there. `put_at`: from when on it is sent again. */
export const APPEALS = `
  CREATE TABLE IF NOT EXISTS appeals (
    tenant TEXT, id TEXT, s BIGINT, protocol TEXT NOT NULL, side TEXT NOT NULL, party TEXT NOT NULL, against TEXT, number BIGINT,
    label TEXT, at BIGINT NOT NULL, outcome TEXT, verdict TEXT, answer TEXT, code TEXT, earlier TEXT, ended_at BIGINT,
    told SMALLINT NOT NULL DEFAULT 0, put_at BIGINT NOT NULL DEFAULT 0, objects_to TEXT, PRIMARY KEY (tenant, id)
  );
  CREATE INDEX IF NOT EXISTS appeals_subject ON appeals (s);
  CREATE INDEX IF NOT EXISTS appeals_open ON appeals (at) WHERE outcome IS NULL;
  CREATE INDEX IF NOT EXISTS appeals_waiting ON appeals (s, at, id) WHERE outcome IS NULL;
  CREATE INDEX IF NOT EXISTS appeals_ended ON appeals (s, at, id) WHERE ${ENDED};
  DROP INDEX IF EXISTS appeals_unsent;
  DROP INDEX IF EXISTS appeals_untold;
  CREATE INDEX IF NOT EXISTS appeals_to_tell ON appeals (tenant, put_at, ended_at, id) WHERE told < 1 AND ${TO_TELL};
  CREATE INDEX IF NOT EXISTS appeals_untold_flood ON appeals (tenant, put_at, ended_at, id) WHERE told < 1 AND ${FLOOD};
  CREATE INDEX IF NOT EXISTS appeals_to_reopen ON appeals (s) WHERE ${TO_REOPEN};
  DROP INDEX IF EXISTS appeals_unjudged;
  CREATE INDEX IF NOT EXISTS appeals_unjoined ON appeals (against) WHERE coalesce(number, 0) = 0 AND ${COUNTS};
  CREATE INDEX IF NOT EXISTS appeals_of_party ON appeals (tenant, party, at) WHERE ${COUNTS};
  CREATE INDEX IF NOT EXISTS appeals_of_tenant ON appeals (tenant, at) WHERE ${COUNTS};
  DROP INDEX IF EXISTS appeals_at;
  CREATE INDEX IF NOT EXISTS appeals_old ON appeals (at);
  CREATE INDEX IF NOT EXISTS appeals_flood ON appeals (at) WHERE ${FLOOD};
  CREATE INDEX IF NOT EXISTS appeals_of_nothing ON appeals (at) WHERE ${OF_NOTHING};
  DROP INDEX IF EXISTS appeals_wordless;
  CREATE INDEX IF NOT EXISTS appeals_of_no_subject ON appeals (s) WHERE ${WORDLESS};
  CREATE TABLE IF NOT EXISTS appeals_answered (
    s BIGINT, id TEXT, decision TEXT, tenant TEXT NOT NULL, code TEXT, at BIGINT NOT NULL, measure TEXT, PRIMARY KEY (s, id, decision)
  );
  CREATE INDEX IF NOT EXISTS appeals_answered_at ON appeals_answered (at);
`

/** Where an earlier version kept answers. */
export const EARLIER_ANSWERS = 'appeal_answers'
/** Keeps these: the verdict of a decision may still be unread. */
export const ANSWERS_FORWARD = `
  INSERT INTO appeals_answered (s, id, decision, tenant, code, at) SELECT own.s, own.id, own.decision, subjects.tenant, own.code, own.at
    FROM ${EARLIER_ANSWERS} AS own JOIN subjects ON subjects.s = own.s WHERE TRUE ON CONFLICT DO NOTHING;
  DROP TABLE ${EARLIER_ANSWERS}`
/** Columns that an earlier version did not have: `objects_to`: null for the label; `measure`: what is to become of the action. */
export const LATER_COLUMNS = [
  ['appeals', 'objects_to'],
  ['appeals_answered', 'measure'],
] as const

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

export const KNOWN_APPEAL = 'SELECT s, outcome, at FROM appeals WHERE tenant = ? AND id = ?'
/** One that was one too many is sent again: nothing is known of it. */
export const FORGET_APPEAL = 'DELETE FROM appeals WHERE tenant = ? AND id = ?'

/** Writes one that was taken, or is one too many. */
export function takenAppeal(
  {
    tenant,
    id,
    protocol,
    side,
    party,
    against,
    objectsTo = null,
    number = null,
    at,
  }: Omit<AppealEntry, 'number'> & { number?: 0 | null },
  s: number,
  outcome: 'too-many' | null,
): Query {
  return [
    `INSERT INTO appeals (tenant, id, s, protocol, side, party, against, objects_to, number, at, outcome, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET s = excluded.s, protocol = excluded.protocol, side = excluded.side,
     party = excluded.party, against = excluded.against, objects_to = excluded.objects_to, at = excluded.at`,
    tenant,
    id,
    s,
    protocol,
    side,
    party,
    against,
    objectsTo,
    number,
    at,
    outcome,
    outcome === null ? null : at,
  ]
}

/**
 * Writes that one was taken back, or told of; a second message of the same id that is no appeal ends none. That it was one too many is no
 * word on what was sent again since; and whatever else is told of it is what became of it in the end.
 */
export function endedAppeal({ tenant, id, outcome, at, told, verdict, answer, code }: AppealEndEntry): Query {
  const ofIt =
    outcome === 'too-many' ? 'appeals.told < 1 AND excluded.at >= appeals.at' : `appeals.told < 1 OR appeals.${FLOOD}`
  const ends = told ? ofIt : outcome === 'withdrawn' ? 'appeals.outcome IS NULL' : 'FALSE'
  return [
    `INSERT INTO appeals (tenant, id, protocol, side, party, at, outcome, verdict, answer, code, ended_at, told)
     VALUES (?, ?, '', '', '', ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET outcome = excluded.outcome, ended_at = excluded.ended_at, told = excluded.told,
     verdict = coalesce(appeals.verdict, excluded.verdict), answer = coalesce(appeals.answer, excluded.answer),
     code = coalesce(appeals.code, excluded.code) WHERE ${ends}`,
    tenant,
    id,
    at,
    outcome,
    verdict ?? null,
    answer ?? null,
    code ?? null,
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

/** The answers of those that wait: others would take the place of these among as many as are read. A refusal to act is no measure. */
export const ANSWERS_OF_OPEN = `SELECT id, decision, code, at, CASE WHEN EXISTS (SELECT 1 FROM appeals AS own JOIN said ON said.id = own.against
    WHERE own.tenant = appeals_answered.tenant AND own.id = appeals_answered.id AND said.said = 'action' AND said.label = 'none')
    THEN NULL ELSE measure END AS measure
  FROM appeals_answered
  WHERE s = ? AND id IN (SELECT id FROM appeals WHERE ${WAIT}) ORDER BY at DESC, decision DESC LIMIT ?`

export const NEW_ANSWER = `INSERT INTO appeals_answered (s, id, decision, tenant, code, measure, at)
  SELECT s, ?, ?, tenant, ?, ?, CAST(? AS BIGINT) FROM subjects WHERE s = ? ON CONFLICT DO NOTHING`

/** Who gave opinions on a subject, or carried out actions, by the protocols of what waits. Its values: the subject twice, and how many. */
export const partiesOn = (opinion: string) => `SELECT said.by AS who, said.protocol, min(said.at) AS since FROM said
  WHERE said.s = ? AND said.protocol IN (SELECT '' UNION SELECT protocol FROM appeals WHERE ${WAIT})
  AND said.said IN ('action', 'decision') AND (said.said = 'action' OR ${opinion} <> 0) GROUP BY said.by, said.protocol LIMIT ?`

/** The protocols of actions on a subject that are in force, of those of what waits. Its values: the subject twice. */
export const ACTIONS_IN_FORCE = `SELECT protocol FROM (SELECT '' AS protocol UNION SELECT protocol FROM appeals WHERE ${WAIT}) AS waiting
  WHERE EXISTS (SELECT 1 FROM ${newestActions('?', 'waiting.protocol')} AS a WHERE a.label <> 'none'
  AND NOT EXISTS (SELECT 1 FROM said w WHERE w.id = 'withdrawal' || substr(a.id, 7)))`

/** Writes what is known of one by now, and the same into the note of its words. */
export function changedAppeal(one: AppealChange): Query[] {
  const { tenant, id, protocol, against, number, label, outcome, verdict, answer, code, earlier, ended_at } = one
  const asks = outcome === 'lifted' ? 'lift' : outcome === 'lessened' ? 'lessen' : null
  return [
    ...(asks === null ? [] : [[NEW_MEASURE, verdict, asks, against] as const]),
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
    ['DELETE FROM appeals_answered WHERE s = ? AND at <= ?', s, at],
  ]
}

/** Until when an appeal waits for a verdict on its subject: the record reads topics in any order, in ms. */
const KNOWN_WITHIN_MS = 3_600_000

/** What is done of all of them as time passes; what nothing was judged for waits for nobody, nor what was, once that is no longer kept. */
export function tidiedAppeals({ now, keep, readUntil }: { now: number; keep: number; readUntil: number }): Query[] {
  const before = Math.min(now, readUntil) - KNOWN_WITHIN_MS
  const unknown = (number: string, within: number, until: number): Query[] => {
    const waits = `outcome IS NULL AND number ${number} AND at < ?`
    const notes = `SELECT 'appeal ' || tenant || '/' || id FROM appeals WHERE ${waits}`
    return [
      [`UPDATE said SET label = 'unknown' WHERE id IN (${notes})`, until],
      [`UPDATE appeals SET outcome = 'unknown', ended_at = at + ? WHERE ${waits}`, within, until],
    ]
  }
  return [
    ...unknown('IS NULL', KNOWN_WITHIN_MS, before),
    ...unknown('= 0', keep, Math.min(now, readUntil) - keep),
    // What its own topic has of one, the record may be reading again, from its beginning.
    [`DELETE FROM appeals WHERE ${FLOOD} AND told = 1 AND at < ?`, Math.min(now, readUntil) - COUNTED_MS],
    [`DELETE FROM appeals WHERE ${OF_NOTHING} AND told = 1 AND at < ?`, Math.min(now, readUntil) - COUNTED_MS],
    // None that waits, and none that ended of late: that is still to be told.
    ['DELETE FROM appeals WHERE at < ? AND ended_at < ?', now - keep, now - keep],
    ['DELETE FROM appeals_answered WHERE at < ?', now - keep],
  ]
}

/** Rows of subjects of which no appeal waits: of the others nothing goes for its age, since somebody is to answer by it. */
export const notAppealed = (table: 'rulings' | 'transcripts' | 'said') =>
  `NOT EXISTS (SELECT 1 FROM appeals WHERE appeals.s = ${table}.s AND appeals.outcome IS NULL)`

/** Its value: since when what waits is overdue. Of a flood, and of what has ended, nothing is read. */
export const OPEN_APPEALS = `SELECT count(*) AS open, count(CASE WHEN at <= ? THEN 1 END) AS overdue, min(at) AS oldest,
    count(CASE WHEN number = 0 THEN 1 END) AS unjudged, (SELECT count(*) FROM appeals WHERE ${WORDLESS}) AS wordless
  FROM appeals WHERE outcome IS NULL`

/** Answers of subjects that are gone: the number of one is given again. */
export const ANSWERS_GONE = 'DELETE FROM appeals_answered WHERE s = ? AND s NOT IN (SELECT s FROM subjects WHERE s = ?)'

// Some of a tenant's rows that a record which is full keeps least: answers to appeals that nobody knows, and appeals that were one too
// many, or of which nothing was ever known, whether that was told or not.
export const SPARE_ANSWERS = `DELETE FROM appeals_answered WHERE (s, id, decision) IN
  (SELECT s, id, decision FROM appeals_answered WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM appeals
    WHERE appeals.tenant = appeals_answered.tenant AND appeals.id = appeals_answered.id) ORDER BY at LIMIT ?) RETURNING s`
export const SPARE_APPEALS = `DELETE FROM appeals WHERE (tenant, id) IN
  (SELECT tenant, id FROM appeals WHERE (${FLOOD} OR ${OF_NOTHING}) AND tenant = ? ORDER BY at LIMIT ?) RETURNING s`

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

/** An action has come: what was superseded on its subject, and was not told, is looked at again. */
export const REOPENED = `UPDATE appeals SET number = NULL, label = NULL, outcome = NULL, verdict = NULL, ended_at = NULL
  WHERE s = ? AND ${TO_REOPEN} RETURNING id`

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

const untold = (which: string) =>
  workedInTurn({
    table: 'appeals',
    columns: `tenant, id, protocol, number, label, outcome, verdict, answer, code, earlier, ended_at, told,
      (SELECT kind FROM subjects WHERE subjects.s = appeals.s) AS kind, (SELECT subjects.id FROM subjects WHERE subjects.s = appeals.s) AS subject`,
    listed: `told < 1 AND ${which}`,
    due: "put_at <= ? AND (outcome <> 'superseded' OR at < ?)",
    order: 'put_at, ended_at, id',
  })

/**
 * Outcomes that are not on their topic yet, and that nobody has sent lately; those of a flood after all others. The values: now, and
 * until when all is read: before, what was done may be unread that one is against which was superseded.
 */
export const UNTOLD_APPEALS = [untold(TO_TELL), untold(FLOOD)] as const

/** Whether the verdict that answered an appeal was withdrawn: while it is in force no machine's takes its place. */
const UNDONE = `CASE WHEN ${ANSWERED} AND EXISTS (SELECT 1 FROM rulings v JOIN rulings w ON w.s = v.s AND w.protocol = v.protocol
  AND w.number = v.number + 1 WHERE v.id = appeals.verdict AND w.decided_by NOT IN ('human', 'deleted')) THEN 1 ELSE 0 END`

/** Appeals as they are read, of which the values say. */
export function appealsRead(tenant: string, of: AppealsAsked): Query {
  const rows = `SELECT appeals.tenant, appeals.id, side, appeals.at, protocol, against, number, appeals.label, outcome, verdict, answer, code, earlier,
      ended_at, told, kind, subjects.id AS subject, ${UNDONE} AS undone
    FROM appeals LEFT JOIN subjects ON subjects.s = appeals.s WHERE appeals.tenant = ?`
  if ('id' in of) return [`${rows} AND appeals.id = ?`, tenant, of.id]
  const { since, until, after, most } = of
  return [
    `${rows} AND appeals.at >= ? AND appeals.at < ? AND (appeals.at, appeals.id) > (?, ?)
      AND ${COUNTS} ORDER BY appeals.at, appeals.id LIMIT ?`,
    tenant,
    after?.at ?? since,
    until,
    after?.at ?? Number.MIN_SAFE_INTEGER,
    after?.id ?? '',
    most,
  ]
}

/** How long an outcome is waited for on its topic at first, in ms; twice as long each time, up to 256 times. */
const SENT_AGAIN_MS = 60_000
const MOST_DOUBLED = 8

/** Notes that one is sent, of which appeals `where` says. Its first value: now. */
export const sentAppeal = (
  where: string,
) => `UPDATE appeals SET put_at = CAST(? AS BIGINT) + ${SENT_AGAIN_MS} * (1 << (-told)),
    told = CASE WHEN told > -${MOST_DOUBLED} THEN told - 1 ELSE told END ${where}`
