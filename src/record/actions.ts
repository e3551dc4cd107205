// What was done about subjects, as the record notes it, and which of it a later verdict no longer bears out.

/** The note of an action: ids are the platform's own, in each tenant. */
export const actionNote = (tenant: string, id: string) => `action ${tenant} ${id}`
export const withdrawalNote = (tenant: string, id: string) => `withdrawal ${tenant} ${id}`

/** Whose an action is, by its note. */
export const tenantOfAction = (note: string) => note.split(' ', 2)[1] ?? ''

/** Both notes of an action, by either. */
export function notesOfAction(id: string): { readonly action: string; readonly withdrawal: string } {
  const named = id.slice(id.indexOf(' '))
  return { action: `action${named}`, withdrawal: `withdrawal${named}` }
}

export const outlivesDeletion = (said: string) => said === 'action' || said === 'withdrawal'
/** Notes that outlive the deletion of what they are about: nothing of it stands in them. */
export const OUTLIVES = "said IN ('action', 'withdrawal')"

/** Actions and withdrawals that are kept of one subject where a full record needs room: no subject has so many. */
const OF_ONE_SUBJECT = 100
/** Whether a row of `said` is an action on what nobody judged, or one of very many on one subject. */
export const SPARE_ACTION = `(NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = said.s) OR EXISTS (SELECT 1 FROM said AS newer
  WHERE newer.s = said.s AND newer.${OUTLIVES} AND newer.n > said.n LIMIT 1 OFFSET ${OF_ONE_SUBJECT - 1}))`

/** Reversals that were found, and whether they were asked for, and actions without a statement; beside tables of an earlier version, too. `verdict`: the one that no longer bears out the action. */
export const REVERSALS = (text: 'TEXT' | 'text') => `
  CREATE INDEX IF NOT EXISTS said_actions ON said (n) WHERE ${OUTLIVES};
  CREATE TABLE IF NOT EXISTS reversals (verdict ${text}, action ${text}, done ${text} NOT NULL, PRIMARY KEY (verdict, action));
  CREATE INDEX IF NOT EXISTS reversals_due ON reversals (verdict) WHERE done = 'no';
  DROP TABLE IF EXISTS unstated;
  CREATE TABLE IF NOT EXISTS due_statements (action ${text} PRIMARY KEY, tenant ${text} NOT NULL, again_at BIGINT NOT NULL);
  CREATE INDEX IF NOT EXISTS due_statements_of ON due_statements (tenant, again_at, action)`

/** An action was taken: its statement is yet to be sent, as soon as all that it is made of is read. */
export const NEW_UNSTATED = 'INSERT INTO due_statements VALUES (?, ?, 0) ON CONFLICT DO NOTHING'
/** Tenants that have some, by the oldest; one look at the index for each, however many actions it has. */
export const UNSTATED_TENANTS = `WITH RECURSIVE names (tenant) AS (SELECT min(tenant) FROM due_statements
    UNION ALL SELECT (SELECT min(other.tenant) FROM due_statements AS other WHERE other.tenant > names.tenant) FROM names
    WHERE names.tenant IS NOT NULL)
  SELECT tenant FROM (SELECT tenant, (SELECT min(own.again_at) FROM due_statements AS own WHERE own.tenant = names.tenant) AS oldest
    FROM names WHERE tenant IS NOT NULL) AS due WHERE oldest <= ? ORDER BY oldest, tenant LIMIT ?`
export const UNSTATED_OF =
  'SELECT action FROM due_statements WHERE tenant = ? AND again_at <= ? ORDER BY again_at, action LIMIT ?'
export const LATER_UNSTATED = 'UPDATE due_statements SET again_at = ? WHERE action = ?'
export const STATED = 'DELETE FROM due_statements WHERE action = ?'

export const DUE_REVERSALS = "SELECT verdict, action FROM reversals WHERE done = 'no' LIMIT ?"
export const SETTLE_REVERSAL = "UPDATE reversals SET done = 'yes' WHERE verdict = ? AND action = ?"
/** Those of a verdict, if the record no longer has it. */
export const FORGET_REVERSALS =
  "DELETE FROM reversals WHERE verdict = ? AND done = 'yes' AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.id = reversals.verdict)"

/**
 * Notes them, in the SQL that both databases understand: of verdicts that stand and have another label than the one that an action
 * rests on, or that retract it. `wanted` selects what to look at, as `s` and `protocol`; `verdict` and `at` are where an action says
 * what it rests on. What was asked for already is not due again. Most subjects have no action: that is looked at first.
 */
export const noteReversals = (wanted: string, { verdict, at }: { verdict: string; at: string }) => `
  INSERT INTO reversals (verdict, action, done) SELECT r.id, a.id, 'no' FROM ${wanted} CROSS JOIN said a CROSS JOIN rulings r
  WHERE a.s = wanted.s AND a.protocol = wanted.protocol AND a.said = 'action'
  AND r.s = wanted.s AND r.protocol = wanted.protocol AND r.standing = 1
  AND NOT EXISTS (SELECT 1 FROM said w WHERE w.id = 'withdrawal' || substr(a.id, 7))
  AND NOT EXISTS (SELECT 1 FROM said x WHERE x.id = 'review ' || r.id || '~reversal~' || substr(a.id, length(r.tenant) + 9))
  AND (r.decided_by = 'deleted' AND a.at <= r.decided_at OR EXISTS (SELECT 1 FROM rulings v WHERE v.s = r.s AND v.protocol = r.protocol
    AND v.number < r.number AND v.label <> r.label
    AND v.id = coalesce(${verdict}, (SELECT l.id FROM rulings l WHERE l.s = r.s AND l.protocol = r.protocol
      AND l.decided_at <= ${at} ORDER BY l.number DESC LIMIT 1))))
  ON CONFLICT DO NOTHING`

/** What a request for review asks for is done, where the action that was to be reversed is withdrawn. By an index: of one subject thousands may be said. */
export const isReversed = (
  verdict: string,
) => `EXISTS (SELECT 1 FROM said w WHERE w.s = said.s AND w.protocol = '' AND w.said = 'withdrawal'
  AND said.id = 'review ' || ${verdict} || '~reversal~' || w.label)`
