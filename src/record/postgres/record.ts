import type { ReviewPictures } from '../../contracts/ports/pictures.ts'
import type { RecordReader, RecordStore } from '../../contracts/ports/record.ts'
import type { ReviewQueue } from '../../contracts/ports/review.ts'
import { readTurns } from '../../platform/asked-for.ts'
import { TENANT_SHARE } from '../held.ts'
import type { QueueRules } from '../review-queue.ts'
import { dueOfActions } from './actions.ts'
import { appealReads } from './appeals.ts'
import { type Database, type DatabaseAddress, database } from './connection.ts'
import { keepClosed } from './draws.ts'
import { hashing } from './grams-key.ts'
import { hasRoom } from './make-room.ts'
import { reviewPictures } from './pictures.ts'
import { recordReads } from './reads.ts'
import { reviewReservations } from './reservations.ts'
import { KEY_PARTS, keyPart, type Meta, metaOf, prepared } from './schema.ts'
import { RecordTables, STEPS, type TableSettings } from './tables.ts'

export interface PostgresSettings extends TableSettings {
  readonly address: DatabaseAddress
  /** Until when erased words are gone from tables and indexes, in ms. */
  readonly vacuumWithin: number
  /** Draws by this key in place of one of the record's own: that of the record that it takes the place of. */
  readonly drawKey?: string | undefined
}

/** Most connections of one process: for its steps, what they ask beside them and the merging of grams, and to read. */
const [WRITING, READING] = [STEPS + 2, 4]

/** How often its size is measured, in ms, and from which share of its bounds on it is full. */
const [MEASURE_MS, FULL] = [60_000, 0.98]

/**
 * The record in a schema of a PostgreSQL database, for the processes of many machines: any number write, one at a time, and any
 * number read. Rejects with `RecordDamaged`.
 */
export async function postgresRecord(settings: PostgresSettings): Promise<RecordStore> {
  const { address, vacuumWithin, maxBytes, tenantShare = TENANT_SHARE, drawKey } = settings
  const db = database(address, WRITING)
  const meta = await opened(db, () => prepared(db, address.schema, drawKey))
  const tables = new RecordTables(db, settings, { ...meta, hashes: hashing(meta.secret) })
  const reader = await postgresRecordReader(address)
  let measured = 0
  return {
    ...reader,
    rename: () => tables.rename(),
    apply: (batch) => tables.apply(batch),
    restart: (topic, partition) => tables.restart(topic, partition),
    positions: () => tables.positions(),
    hasDependents: (tenant) => tables.hasDependents(tenant),
    keepClosed: (marks) => keepClosed(db, marks),
    ...appealReads(db),
    ...dueOfActions(db),
    async tidy(now, readUntil) {
      await tables.tidy(now, readUntil)
      // Before the keys, which take room while they are written anew.
      if (now - measured >= MEASURE_MS) {
        measured = now
        // With room by the rules: the oldest transcripts go, the verdicts stay.
        const { bytes } = await reader.size()
        if (bytes > maxBytes) await tables.makeRoom(now, bytes)
        else await hasRoom(db)
      }
      await vacuumed(db, vacuumWithin, now)
    },
    async size() {
      const { erasingSince, ...size } = await reader.size()
      // What waits for less than it may is as it should be.
      const isLate = erasingSince !== null && Date.now() - erasingSince > vacuumWithin
      const overShare = size.largest !== null && size.largest.bytes > maxBytes * tenantShare
      return { ...size, full: size.bytes > maxBytes * FULL, overShare, erasingSince: isLate ? erasingSince : null }
    },
    async close() {
      await reader.close()
      await db.close()
    },
  }
}

/** The reading half alone. Rejects with `NoRecord` if there is none. */
export async function postgresRecordReader(address: DatabaseAddress): Promise<RecordReader> {
  const db = reading(address)
  await opened(db, () => metaOf(db, address.schema))
  return recordReads(db)
}

/** The queue of a record that is there. Rejects as `postgresRecordReader` does. */
export async function postgresReviewQueue({
  address,
  ...rules
}: { readonly address: DatabaseAddress } & QueueRules): Promise<ReviewQueue> {
  const db = reading(address)
  await opened(db, () => metaOf(db, address.schema))
  return reviewReservations(db, rules)
}

/** What people look at beside a record that is there. Rejects as `postgresRecordReader` does. */
export async function postgresPictures(address: DatabaseAddress): Promise<ReviewPictures> {
  const db = reading(address)
  await opened(db, () => metaOf(db, address.schema))
  return reviewPictures(db)
}

/** Connections that read for those who ask, in turn. */
function reading(address: DatabaseAddress): Database {
  const [db, inTurn] = [database(address, READING), readTurns()]
  return {
    ...db,
    rows: (sql, ...values) => inTurn(() => db.rows(sql, ...values)),
    snapshot: (work) => inTurn(() => db.snapshot(work)),
    transaction: (work) => inTurn(() => db.transaction(work)),
  }
}

async function opened(db: Database, first: () => Promise<Meta>): Promise<Meta> {
  try {
    return await first()
  } catch (error) {
    await db.close()
    throw error
  }
}

/**
 * Writes the keys anew once some of deleted words have waited for half of `within` (ms). The last bytes of these are gone then, and
 * nothing that was sealed under them can be read, wherever its own bytes still lie. Copied row by row: VACUUM keeps deleted rows for
 * anything that might still see them, another user's transaction, a replica or a prepared one, and does not report that.
 */
async function vacuumed(db: Database, within: number, now: number): Promise<void> {
  const [waiting] = await db.rows<{ since: number; last: number }>('SELECT since, last FROM erasing')
  if (waiting === undefined || now - waiting.since < within / 2) return
  for (let part = 0; part < KEY_PARTS; part++) {
    const name = `keys_${part}`
    const isDone = await db.alone(async (sql) => {
      // The whole table first: who waits for one part of it has the others.
      await sql.run('LOCK TABLE ONLY keys IN ACCESS EXCLUSIVE MODE')
      await sql.run(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`)
      await sql.run(`ALTER TABLE keys DETACH PARTITION ${name}`)
      await sql.run(`ALTER TABLE ${name} RENAME TO keys_before`)
      await keyPart(sql, part)
      await sql.run(`INSERT INTO ${name} SELECT * FROM keys_before`)
      await sql.run('DROP TABLE keys_before')
    })
    // Any other reader of the keys waits behind it: it does not wait for long itself, and begins again.
    if (!isDone) return
  }
  const done = await db.run('DELETE FROM erasing WHERE last = ?', waiting.last)
  // Something was deleted meanwhile.
  if (done === 0) await db.run('UPDATE erasing SET since = ?', now)
}
