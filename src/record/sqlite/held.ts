import { TENANT_OF } from '../actions.ts'
import { BY_SUBJECT, bytesOf, DROPPED, type HeldTable, onPages, scanned, tenantIn } from '../held.ts'

/** A key of an index that is longer than a quarter of a page takes a page of its own beside it. */
const spilled = (bytes: string) => `CASE WHEN ${bytes} > 960 THEN 4096 ELSE 0 END`

const noted = (table: string, columns: readonly string[]): HeldTable => ({
  table,
  by: null,
  // Twice: the index by time holds the whole key.
  bytes: (row) => `2 * (40 + ${bytesOf(row, ...columns)} + ${spilled(bytesOf(row, ...columns))})`,
  changing: [],
})

export const HELD: readonly HeldTable[] = onPages([
  {
    table: 'subjects',
    by: null,
    // What is shown of it is bounded: with it, nothing is counted where that changes.
    bytes: (row) =>
      `500 + ${bytesOf(row, 'tenant')} + 3 * (${bytesOf(row, 'id')}) + 2 * (${spilled(bytesOf(row, 'id'))})`,
    changing: [],
  },
  {
    table: 'rulings',
    by: null,
    bytes: (row) => `800 + ${bytesOf(row, 'json')} + 2 * (${bytesOf(row, 'id')})`,
    changing: ['json'],
  },
  {
    table: 'transcripts',
    by: BY_SUBJECT,
    // Who wrote each comment stands twice beside them.
    bytes: (row) =>
      `200 + ${bytesOf(row, 'z', 'words')} + 2 * (${bytesOf(row, 'id')}) + 3 * (${bytesOf(row, 'comments')})`,
    changing: ['z', 'words', 'comments'],
  },
  {
    table: 'texts',
    by: { table: 'rulings', key: 'doc' },
    // With their grams.
    bytes: (row) => `100 + 3 * (${bytesOf(row, 'folded')})`,
    changing: [],
  },
  {
    table: 'said',
    by: BY_SUBJECT,
    bytes: (row) => `250 + ${bytesOf(row, 'json', 'by')} + 2 * (${bytesOf(row, 'id')})`,
    changing: ['json'],
  },
  {
    table: 'appeals',
    by: null,
    bytes: (row) =>
      `400 + 3 * (${bytesOf(row, 'tenant', 'id')}) + 2 * (${bytesOf(row, 'against')} + ${spilled(bytesOf(row, 'against'))})`,
    changing: ['against'],
  },
  {
    table: 'appeals_answered',
    by: null,
    bytes: (row) => `150 + 3 * (${bytesOf(row, 'id', 'decision')}) + ${bytesOf(row, 'tenant')}`,
    changing: [],
  },
  {
    table: 'reversals',
    // The action's: the note names it, and its verdict may be gone.
    by: (row) => TENANT_OF.TEXT(`${row}.action`),
    bytes: (row) => `100 + 3 * (${bytesOf(row, 'verdict', 'action')})`,
    changing: [],
  },
  {
    table: 'due_statements',
    by: null,
    bytes: (row) => `100 + 3 * (${bytesOf(row, 'action', 'tenant')})`,
    changing: [],
  },
  {
    table: 'shown',
    by: null,
    bytes: (row) => `80 + 2 * (${bytesOf(row, 'tenant', 'key')})`,
    changing: [],
  },
  noted('quotes', ['tenant', 'post', 'reply']),
  noted('gone_comments', ['tenant', 'post', 'comment']),
])

const COUNTED = 'INSERT INTO held_by'
const ADDED = 'ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes'

function triggers(of: HeldTable): string {
  const { table, bytes, changing } = of
  const counted = (row: string, sum: string) =>
    `${COUNTED} SELECT tenant, bytes FROM (SELECT ${tenantIn(of, row)} AS tenant, ${sum} AS bytes) WHERE tenant IS NOT NULL ${ADDED};`
  const on = (event: string, name: string, row: string, sum: string) =>
    `CREATE TRIGGER held_${table}_${name} AFTER ${event} ON ${table} BEGIN ${counted(row, sum)} END;`
  const more = `(${bytes('NEW')}) - (${bytes('OLD')})`
  return [
    on('INSERT', 'new', 'NEW', bytes('NEW')),
    on('DELETE', 'gone', 'OLD', `-(${bytes('OLD')})`),
    changing.length === 0 ? '' : on(`UPDATE OF ${changing.join(', ')}`, 'changed', 'NEW', more),
  ].join('\n')
}

/** Counts what is there, and from then on what comes and goes. */
export const COUNT_HELD = `
  CREATE TABLE held_by (tenant TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX held_by_none ON held_by (tenant) WHERE bytes = 0;
  ${DROPPED('TEXT', 'INTEGER')};
  ${COUNTED} ${scanned(HELD)};
  ${HELD.map(triggers).join('\n')}
`
