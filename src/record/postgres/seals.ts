import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { columnsOf, type Sql } from './connection.ts'
import type { Counters } from './counters.ts'
import { KEY_PARTS } from './schema.ts'

/** Each key seals one value. */
const COUNTER = Buffer.alloc(16, 0)
const CIPHER = 'aes-128-ctr'
/** Short texts get no shorter at a higher level. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** A value under a key of its own, which has no number yet. */
export interface SealedValue {
  readonly key: Buffer
  readonly sealed: Buffer
}

export function sealed(text: string | Uint8Array): SealedValue {
  const key = randomBytes(16)
  // As a key object: 7 us instead of 16 for a key in bytes.
  const cipher = createCipheriv(CIPHER, createSecretKey(key), COUNTER)
  return { key, sealed: cipher.update(zstdCompressSync(typeof text === 'string' ? Buffer.from(text) : text, FAST)) }
}

export function unsealed(key: Buffer, value: Buffer): Buffer {
  return zstdDecompressSync(createDecipheriv(CIPHER, createSecretKey(key), COUNTER).update(value))
}

/**
 * The keys of what people wrote. PostgreSQL leaves the bytes of a deleted row on their page until others need the place, also after
 * VACUUM; so each value has a key of its own, which goes with the row, and the small tables of keys are written anew
 * (`src/record/postgres/record.ts`).
 */
export class Seals {
  readonly #sql: Sql
  readonly #counters: Counters
  #fresh: { k: number; key: Buffer }[] = []

  constructor(sql: Sql, counters: Counters) {
    this.#sql = sql
    this.#counters = counters
  }

  /** The number of its key, which `save` writes. */
  add({ key }: SealedValue): number {
    const k = this.#counters.next('keys')
    this.#fresh.push({ k, key })
    return k
  }

  seal(text: string | Uint8Array): { readonly k: number; readonly sealed: Buffer } {
    const one = sealed(text)
    return { k: this.add(one), sealed: one.sealed }
  }

  async save(): Promise<void> {
    const rows = this.#fresh.map(({ k, key }) => [k % KEY_PARTS, k, key] as const)
    this.#fresh = []
    if (rows.length === 0) return
    await this.#sql.run(
      'INSERT INTO keys SELECT * FROM unnest(?::int[], ?::bigint[], ?::bytea[])',
      ...columnsOf(rows, 3),
    )
  }

  /** Takes these keys away: what was sealed under them can't be read any more. */
  async forget(ks: readonly (number | null)[]): Promise<number> {
    const gone = new Set(ks.filter((k) => k !== null))
    if (gone.size === 0) return 0
    this.#fresh = this.#fresh.filter(({ k }) => !gone.has(k))
    return await this.#sql.run(
      'DELETE FROM keys USING unnest(?::int[], ?::bigint[]) AS gone (part, k) WHERE keys.part = gone.part AND keys.k = gone.k',
      [...gone].map((k) => k % KEY_PARTS),
      [...gone],
    )
  }

  /** The same of what was deleted: the last bytes of its keys go as well, also of those that were forgotten before. */
  async shred(ks: readonly (number | null)[]): Promise<void> {
    if ((await this.forget(ks)) > 0) await this.shredDead()
  }

  /** The last bytes of keys that are no row's go, as those of a step that was begun and not written. */
  async shredDead(now = Date.now()): Promise<void> {
    // By a number that is given once: clocks of several machines repeat a time.
    await this.#sql.run(
      'INSERT INTO erasing VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET last = excluded.last',
      now,
      this.#counters.next('keys'),
    )
  }
}

/** The keys of these numbers. */
export async function keysOf(sql: Sql, ks: readonly number[]): Promise<ReadonlyMap<number, Buffer>> {
  if (ks.length === 0) return new Map()
  // Each is looked for in its own partition alone: in one condition the planner looks for all of them in each.
  const parts = [...Map.groupBy(new Set(ks), (k) => k % KEY_PARTS)]
  const rows = await sql.rows<{ k: number; key: Buffer }>(
    parts.map(() => 'SELECT k, key FROM keys WHERE part = ? AND k = ANY (?::bigint[])').join(' UNION ALL '),
    ...parts.flat(),
  )
  return new Map(rows.map(({ k, key }) => [k, key]))
}
