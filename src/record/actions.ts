import { workedInTurn } from './turns.ts'

// What was done about subjects, as the record notes it, and which of it a later verdict no longer bears out.

/** The note of an action: ids are the platform's own, in each tenant. */
export const actionNote = (tenant: string, id: string) => `action ${tenant} ${id}`
export const withdrawalNote = (tenant: string, id: string) => `withdrawal ${tenant} ${id}`

/** Whose an action is, by its note. */
export const tenantOfAction = (note: string) => note.split(' ', 2)[1] ?? ''

/** The same in SQL, by the type of text of each database. */
export const TENANT_OF = {
  TEXT: (note: string) => `substr(${note}, 8, instr(substr(${note}, 8), ' ') - 1)`,
  text: (note: string) => `split_part(${note}, ' ', 2)`,
} as const

/** Both notes of an action, by either. */
export function notesOfAction(id: string): { readonly action: string; readonly withdrawal: string } {
  const named = id.slice(id.indexOf(' '))
  return { action: `action${named}`, withdrawal: `withdrawal${named}` }
}

export const outlivesDeletion = (said: string) => said === 'action' || said === 'withdrawal'
/** Notes that outlive the deletion of what they are about: nothing of it stands in them. */
export const OUTLIVES = "said IN ('action', 'withdrawal')"
/** All others, by an index of their own: of one subject thousands of actions may be told. */
export const ERASABLE = "said NOT IN ('action', 'withdrawal')"

/** Actions of one subject whose reversal is asked for, and that are kept where a full record needs room: no subject has so many. */
const OF_ONE_SUBJECT = 100
/** Whether a row of `said` is an action on what nobody judged, or one of very many on one subject. */
export const SPARE_ACTION = `(NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = said.s) OR EXISTS (SELECT 1 FROM said AS newer
  WHERE newer.s = said.s AND newer.${OUTLIVES} AND newer.n > said.n LIMIT 1 OFFSET ${OF_ONE_SUBJECT - 1}))`

/** Reversals that were found, and whether they were asked for (`done`: `yes`, or what is asked for, `no` where it is all), and actions without a statement; beside tables of an earlier version, too. `verdict`: the one that no longer bears out the action. */
export const REVERSALS = (text: keyof typeof TENANT_OF) => `
  CREATE INDEX IF NOT EXISTS said_actions ON said (n) WHERE ${OUTLIVES};
  CREATE INDEX IF NOT EXISTS said_erasable ON said (s, at) WHERE ${ERASABLE};
  CREATE TABLE IF NOT EXISTS reversals (verdict ${text}, action ${text}, done ${text} NOT NULL, PRIMARY KEY (verdict, action));
  DROP INDEX IF EXISTS reversals_due;
  DROP INDEX IF EXISTS reversals_turn;
  CREATE INDEX IF NOT EXISTS reversals_in_turn ON reversals ((${TENANT_OF[text]('action')}), verdict) WHERE done <> 'yes';
  DROP TABLE IF EXISTS unstated;
  CREATE TABLE IF NOT EXISTS due_statements (action ${text} PRIMARY KEY, tenant ${text} NOT NULL, again_at BIGINT NOT NULL);
  CREATE INDEX IF NOT EXISTS due_statements_of ON due_statements (tenant, again_at, action)`

/** A person answered that this action is too much. Its values: their verdict, what is asked for, and the action. */
export const NEW_MEASURE = `INSERT INTO reversals (verdict, action, done) SELECT CAST(? AS TEXT), a.id, CAST(? AS TEXT) FROM said a
  WHERE a.id = ? AND NOT EXISTS (SELECT 1 FROM said w WHERE w.id = 'withdrawal' || substr(a.id, 7)) ON CONFLICT DO NOTHING`

/** An action was taken: its statement is yet to be sent, as soon as all that it is made of is read. */
export const NEW_UNSTATED = 'INSERT INTO due_statements VALUES (?, ?, 0) ON CONFLICT DO NOTHING'
/** In place of when it is tried again: it is tried no more, and no receiver got it. */
export const GIVEN_UP = -1
export const GIVEN_UP_OF = `SELECT action FROM due_statements WHERE tenant = ? AND again_at = ${GIVEN_UP} ORDER BY action`
/** Actions whose statement is due; the value: now. */
export const UNSTATED = workedInTurn({
  table: 'due_statements',
  columns: 'action',
  due: 'again_at BETWEEN 0 AND ?',
  order: 'again_at, action',
})
export const LATER_UNSTATED = 'UPDATE due_statements SET again_at = ? WHERE action = ?'
export const STATED = 'DELETE FROM due_statements WHERE action = ?'

/** Reversals to be asked for. */
export const dueReversalsIn = (text: keyof typeof TENANT_OF) =>
  workedInTurn({
    table: 'reversals',
    columns: "verdict, action, CASE done WHEN 'no' THEN 'reversal' ELSE done END AS asks",
    tenant: TENANT_OF[text]('action'),
    listed: "done <> 'yes'",
    order: 'verdict',
  })
export const SETTLE_REVERSAL = "UPDATE reversals SET done = 'yes' WHERE verdict = ? AND action = ?"
/** Those of a verdict, if the record no longer has it. */
export const FORGET_REVERSALS =
  "DELETE FROM reversals WHERE verdict = ? AND done = 'yes' AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.id = reversals.verdict)"

/** The newest actions on one subject by one protocol: of thousands only these are looked at, at every verdict on it. */
export const newestActions = (s: string, protocol: string) =>
  `(SELECT * FROM said WHERE s = ${s} AND protocol = ${protocol} AND said = 'action' ORDER BY at DESC, n DESC LIMIT ${OF_ONE_SUBJECT})`

/**
 * Notes them, in the SQL that both databases understand: of verdicts that stand and have another label than the one that an action
 * rests on, or that retract it. `wanted` selects what to look at, as `s` and `protocol`, and `actions` of that the newest actions; `verdict`
 * and `at` are where an action says what it rests on. What was asked for already is not due again. Most subjects have no action: that is
 * looked at first.
 */
export const noteReversals = (
  wanted: string,
  { actions, verdict, at }: { actions: string; verdict: string; at: string },
) => `
  INSERT INTO reversals (verdict, action, done) SELECT r.id, a.id, 'no' FROM ${wanted} CROSS JOIN ${actions} AS a CROSS JOIN rulings r
  WHERE r.s = wanted.s AND r.protocol = wanted.protocol AND r.standing = 1
  AND NOT EXISTS (SELECT 1 FROM said w WHERE w.id = 'withdrawal' || substr(a.id, 7))
  AND NOT EXISTS (SELECT 1 FROM said x WHERE x.id = 'review ' || r.id || '~reversal~' || substr(a.id, length(r.tenant) + 9))
  AND (r.decided_by = 'deleted' AND a.at <= r.decided_at OR EXISTS (SELECT 1 FROM rulings v WHERE v.s = r.s AND v.protocol = r.protocol
    AND v.number < r.number AND v.label <> r.label
    AND v.id = coalesce(${verdict}, (SELECT l.id FROM rulings l WHERE l.s = r.s AND l.protocol = r.protocol
      AND l.decided_at <= ${at} ORDER BY l.number DESC LIMIT 1))))
  ON CONFLICT DO NOTHING`

/** What a request for review asks for is done, where the action that was to be reversed is withdrawn. By its name: of one subject thousands may be said. */
export const isReversed = (verdict: string, tenant: string) => `EXISTS (SELECT 1 FROM said w WHERE w.s = said.s
  AND w.id = 'withdrawal ' || ${tenant} || ' ' || CASE ${['reversal', 'measure']
    .map((asks) => `'review ' || ${verdict} || '~${asks}~'`)
    .map((start) => `WHEN substr(said.id, 1, length(${start})) = ${start} THEN substr(said.id, length(${start}) + 1)`)
    .join(' ')} END)`
