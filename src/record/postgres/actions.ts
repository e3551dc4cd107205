import type { RecordedWord } from '../../contracts/ports/record.ts'
import { notesOfAction, OUTLIVES } from '../actions.ts'
import { recordedWord } from '../record-rows.ts'
import type { Database } from './connection.ts'
import { opened, type SealedNote } from './opened.ts'
import { touch, type WritingStep } from './writing.ts'

/** Notes that are read at a time. */
const PAGE = 200

export async function* actionsIn(db: Database): AsyncGenerator<RecordedWord> {
  for (let after = 0; ; ) {
    const { rows, last } = await db.snapshot(async (sql) => {
      const found = await sql.rows<SealedNote & { n: number }>(
        `SELECT * FROM said WHERE n > ? AND ${OUTLIVES} ORDER BY n LIMIT ?`,
        after,
        PAGE,
      )
      return { last: found.at(-1), rows: (await opened(sql, found)).rows }
    })
    yield* rows.map(recordedWord)
    if (last === undefined) return
    after = last.n
  }
}

/** A withdrawal does not name what its action is about: whichever comes last, both are noted of the same subject. */
export async function joinWithdrawal(writing: WritingStep, note: string): Promise<void> {
  const { action, withdrawal } = notesOfAction(note)
  const [taken] = await writing.sql.rows<{ s: number; protocol: string }>(
    'SELECT s, protocol FROM said WHERE id = ?',
    action,
  )
  if (taken === undefined) return
  await writing.sql.run('UPDATE said SET s = ? WHERE id = ?', taken.s, withdrawal)
  touch(writing, taken.s, taken.protocol)
}
