import { createHash } from 'node:crypto'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { readVerdictId, verdictScope } from '../contracts/facts/verdict-id.ts'

/** An id that stands on the verdicts topic with several contents. */
export interface ContestedId {
  readonly id: string
  readonly contents: number
  /** A later revision is there, which replaces all of them. */
  readonly superseded: boolean
}

/** What the verdicts topic holds. */
export interface VerdictAudit {
  readonly records: number
  /** Records that are no verdicts, of which nothing is known. */
  readonly unreadable: number
  readonly ids: number
  /** Records that repeat another byte by byte. */
  readonly repeats: number
  readonly contested: readonly ContestedId[]
}

/** Audits verdicts in any order; keeps about 150 bytes of each id. */
export function verdictAudit() {
  /** By id, a hash of the first record; and of all records of those that have several. */
  const first = new Map<string, string>()
  const several = new Map<string, Set<string>>()
  /** By subject and protocol, the last revision. */
  const last = new Map<string, number>()
  const places = new Map<string, { series: string; revision: number }>()
  let [records, unreadable, repeats] = [0, 0, 0]

  return {
    /** `record`: the verdict as it stands on the topic. */
    take({ id, tenant, subjectId, protocol, revision }: Verdict, record: string): void {
      records++
      // The id names protocol, tenant, kind and subject, and ends with the number.
      const read = readVerdictId(id)
      const series = read?.number === revision ? read.scope : verdictScope({ protocol, tenant, subjectId })
      last.set(series, Math.max(last.get(series) ?? 0, revision))
      const hash = createHash('sha256').update(record).digest('base64url').slice(0, 22)
      const known = several.get(id) ?? new Set([first.get(id) ?? hash])
      if (!first.has(id)) first.set(id, hash)
      else if (known.has(hash)) repeats++
      else {
        several.set(id, known.add(hash))
        places.set(id, { series, revision })
      }
    },
    /** A record that is no verdict. */
    skip(): void {
      records++
      unreadable++
    },
    result(): VerdictAudit {
      const contested = [...several].map(([id, { size: contents }]) => {
        const { series, revision } = places.get(id) ?? { series: '', revision: 0 }
        return { id, contents, superseded: (last.get(series) ?? 0) > revision }
      })
      return { records, unreadable, ids: first.size, repeats, contested }
    },
  }
}
