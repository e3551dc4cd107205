import type { Settings } from '../../../config/schema.ts'
import * as database from '../adapters/postgres/replace.ts'
import { NoRecord } from '../adapters/postgres/schema.ts'
import { drawKeyOf } from '../adapters/sqlite/record.ts'
import * as file from '../adapters/sqlite/replace.ts'
import { RecordDamaged } from '../ports/record.ts'
import { addressOf, recordReaderOf } from './record.ts'

/** A record that is made anew, beside the one of the settings. */
export interface Rebuilding {
  readonly place: string
  /** What is taken over of the record that is there; null if there is none, or it can't be read. */
  old(): Promise<{ readonly name: string; readonly drawKey: string } | null>
  /** Removes what is at `place`. */
  clear(): Promise<void>
  /** Puts what is at `place`, once it is closed, where the settings say. */
  putInPlace(): Promise<void>
}

/** Throws an `OperatorError` if the settings do not say where the record is. */
export function rebuildingOf(settings: Settings): Rebuilding {
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
