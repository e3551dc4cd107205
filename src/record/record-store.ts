import { existsSync } from 'node:fs'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { ReviewPictures } from '../contracts/ports/pictures.ts'
import { RecordDamaged, type RecordReader, type RecordStore } from '../contracts/ports/record.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { forNobody } from '../platform/asked-for.ts'
import type { AppealLimits } from './appeals.ts'
import type { DatabaseAddress } from './postgres/connection.ts'
import { postgresPictures, postgresRecord, postgresRecordReader, postgresReviewQueue } from './postgres/record.ts'
import * as database from './postgres/replace.ts'
import { NoRecord } from './postgres/schema.ts'
import type { QueueRules } from './review-queue.ts'
import { drawKeyOf, sqlitePictures, sqliteRecord, sqliteRecordReader, sqliteReviewQueue } from './sqlite/record.ts'
import * as file from './sqlite/replace.ts'

/** Where the record is, and how it is kept, as in the settings. */
export interface RecordSettings {
  readonly record: {
    readonly store: 'sqlite' | 'postgres'
    readonly path: string
    readonly keep: number
    readonly maxBytes: number
    readonly postgres: DatabaseAddress & { readonly vacuumWithin: number }
  }
  readonly review: { readonly auditShare: number; readonly laneShare: number; readonly blindShare: number } & QueueRules
  readonly kafka: { readonly retention: number }
  readonly appeals: AppealLimits
  readonly shares: { readonly record: number }
}

/** Longer than the topics keep what a deletion concerns, in ms. */
const BEYOND_RETENTION_MS = 86_400_000

/** The record of the settings, opened to be written. Throws an `OperatorError` if it is damaged. `from`: what a rebuilt one is made by. */
export async function recordStoreOf(settings: RecordSettings, from: Rebuilt = {}): Promise<RecordStore> {
  const { record, review, kafka, shares, appeals } = settings
  const [{ keep, maxBytes }, { auditShare, laneShare, blindShare }] = [record, review]
  const sourceKeep = kafka.retention + BEYOND_RETENTION_MS
  const { place, drawKey } = from
  const drawn = { auditShare, laneShare, blindShare, drawKey }
  const common = { keep, maxBytes, tenantShare: shares.record, sourceKeep, appeals, ...drawn }
  return asked(settings, () =>
    record.store === 'sqlite'
      ? sqliteRecord({ path: place ?? record.path, ...common })
      : postgresRecord({ address: addressOf(record, place), vacuumWithin: record.postgres.vacuumWithin, ...common }),
  )
}

interface Rebuilt {
  /** Another file, or schema, than that of the settings. */
  readonly place?: string
  readonly drawKey?: string | undefined
}

/** The same, opened to be read. Throws an `OperatorError` if there is none, or it is damaged. */
export function recordReaderOf(settings: RecordSettings): Promise<RecordReader> {
  return asked(settings, () => readerOf(settings))
}

/** The queue of what people should look at, over the same record. Throws as `recordReaderOf` does. */
export function reviewQueueOf(settings: RecordSettings): Promise<ReviewQueue> {
  const { record, review } = settings
  const { costs, ownCaseAfter } = review
  return asked(settings, () =>
    record.store === 'sqlite'
      ? sqliteReviewQueue({ path: record.path, costs, ownCaseAfter })
      : postgresReviewQueue({ address: addressOf(record), costs, ownCaseAfter }),
  )
}

/** What people look at beside the same record. Throws as `recordReaderOf` does. */
export function reviewPicturesOf(settings: RecordSettings): Promise<ReviewPictures> {
  const { record } = settings
  return asked(settings, () =>
    record.store === 'sqlite' ? sqlitePictures(record.path) : postgresPictures(addressOf(record)),
  )
}

/** The record of the settings once it is there, for those who read it beside other work. */
export function recordAt(settings: RecordSettings): { now(): Promise<RecordReader | null>; close(): Promise<void> } {
  let open: Promise<RecordReader> | null = null
  return {
    async now() {
      if (open === null && settings.record.store === 'sqlite' && !existsSync(settings.record.path)) return null
      open ??= forNobody(() => readerOf(settings))
      const own = open
      return own.catch((error: unknown) => {
        if (open === own) open = null
        if (error instanceof NoRecord) return null
        throw error
      })
    },
    close: async () => void (await (await open?.catch(() => null))?.close()),
  }
}

function readerOf({ record }: Pick<RecordSettings, 'record'>): Promise<RecordReader> {
  return record.store === 'sqlite' ? sqliteRecordReader(record.path) : postgresRecordReader(addressOf(record))
}

/** Where the record is in PostgreSQL. Throws an `OperatorError` if the settings do not say. */
function addressOf({ postgres }: RecordSettings['record'], schema = postgres.schema): DatabaseAddress {
  if (postgres.url === '')
    throw new OperatorError(
      'record.store is postgres, and record.postgres.url (GAVEL_RECORD_POSTGRES_URL) is empty: set postgresql://user@host:5432/database.',
    )
  const { tls } = postgres
  return {
    schema,
    tls,
    get url() {
      return postgres.url
    },
    get password() {
      return postgres.password
    },
  }
}

/** Does this with the record; an error that an operator can mend becomes an `OperatorError`. */
async function asked<Result>({ record }: Pick<RecordSettings, 'record'>, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw record.store === 'sqlite' ? ofFile(error, record.path) : ofDatabase(error)
  }
}

function ofFile(error: unknown, path: string): unknown {
  if (error instanceof RecordDamaged) return new OperatorError(error.message, { cause: error })
  if (error instanceof Error && /unable to open/.test(error.message))
    return new OperatorError(
      `There is no record at ${path} (record.path). It is kept by "gavel run --roles intake,judge,publish,record", on this machine.`,
      { cause: error },
    )
  return error
}

function ofDatabase(error: unknown): unknown {
  if (error instanceof OperatorError || !(error instanceof Error)) return error
  if (error instanceof RecordDamaged) return new OperatorError(error.message, { cause: error })
  if (error instanceof NoRecord)
    return new OperatorError(
      `There is no record in PostgreSQL: ${error.message} (record.postgres). It is kept by "gavel run --roles intake,judge,publish,record".`,
      { cause: error },
    )
  return new OperatorError(
    `PostgreSQL, where the record is (record.postgres.url), can't be asked: ${error.message}. See docs/connections.md.`,
    { cause: error },
  )
}

/** A record that is made anew, beside the one of the settings. */
export interface RecordRebuild {
  readonly place: string
  /** What is taken over of the record that is there; null if there is none, or it can't be read. */
  old(): Promise<{ readonly name: string; readonly drawKey: string } | null>
  /** Removes what is at `place`. */
  clear(): Promise<void>
  /** Puts what is at `place`, once it is closed, where the settings say. */
  putInPlace(): Promise<void>
}

/** Throws an `OperatorError` if the settings do not say where the record is. */
export function rebuildingOf(settings: RecordSettings): RecordRebuild {
  const { record } = settings
  const inFile = record.store === 'sqlite'
  const place = inFile ? file.besides(record.path) : database.besides(record.postgres.schema)
  const nameOf = async () => {
    const reader = await recordReaderOf(settings)
    try {
      return await reader.name()
    } finally {
      await reader.close()
    }
  }
  if (inFile)
    return {
      place,
      async old() {
        if (!file.isThere(record.path)) return null
        return unlessUnreadable(async () => ({ name: await nameOf(), drawKey: await drawKeyOf(record.path) }))
      },
      clear: () => file.cleared(place),
      putInPlace: () => file.putInPlace(place, record.path),
    }
  const address = addressOf(record)
  return {
    place,
    old: () => unlessUnreadable(async () => ({ name: await nameOf(), drawKey: await database.drawKeyOf(address) })),
    clear: () => database.cleared(addressOf(record, place)),
    putInPlace: () => database.putInPlace(place, address),
  }
}

/** null where there is no record, or one that can't be read; that nobody answers is no such thing. */
async function unlessUnreadable<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    if (cause instanceof RecordDamaged || cause instanceof NoRecord) return null
    throw error
  }
}
