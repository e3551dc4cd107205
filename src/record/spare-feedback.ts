// Of feedback that is there by the thousand what serves nobody: it calls no model, so that whoever sends it pays nothing for the room
// that it takes. It makes room before anything else does.

/** Beside tables of an earlier version, too. */
export const FEEDBACK_INDEX = "CREATE INDEX IF NOT EXISTS said_feedback ON said (at) WHERE said = 'feedback'"

/** Words of feedback that are looked at at a time, and how many of these one subject may have. */
const [LOOKED_AT, OF_ONE_SUBJECT] = [5_000, 100]
/** What is younger may have a verdict that is not read yet, in ms. */
export const SPARED_MS = 60_000
/** How long it is known of what nobody judged that it was deleted, in ms: who follows what comes is told by then. */
export const NEWS_MS = 3_000

export interface FeedbackRow {
  readonly n: number
  readonly s: number
  readonly at: number
  /** 1: on what nobody judged, or one of very many on one subject. */
  readonly spare: number
}

/** The newest feedback before a time, in the SQL that both databases understand; that of others than the tenant, where one is named, is not spare. */
export const NEWEST_FEEDBACK = `
  SELECT n, s, at, CASE WHEN (CAST(? AS text) IS NULL OR EXISTS (SELECT 1 FROM subjects WHERE subjects.s = newest.s AND tenant = CAST(? AS text)))
    AND (nth > ${OF_ONE_SUBJECT} OR NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = newest.s)) THEN 1 ELSE 0 END AS spare
  FROM (SELECT n, s, at, row_number() OVER (PARTITION BY s ORDER BY at DESC, n DESC) AS nth
    FROM (SELECT n, s, at FROM said WHERE said = 'feedback' AND at < ? ORDER BY at DESC LIMIT ${LOOKED_AT}) AS fed) AS newest
  ORDER BY at DESC`
