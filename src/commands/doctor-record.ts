import { existsSync, statSync } from 'node:fs'
import type { Settings } from '../../config/schema.ts'
import { damageOf } from '../service/adapters/sqlite/record.ts'
import type { Finding } from '../service/domain/finding.ts'

const WHAT = 'the record (record.path)'

/** Whether the record of this machine can be read, and is whole; nothing where none is kept. */
export async function recordFindings({ record: { path, maxBytes } }: Settings): Promise<Finding[]> {
  if (!existsSync(path)) return []
  const todo = 'Stop the role "record", keep a copy of the file, and run "gavel record rebuild" (docs/record.md).'
  try {
    const damage = await damageOf(path)
    if (damage !== null) return [{ what: WHAT, state: 'broken', detail: `is damaged: ${damage}`, todo }]
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return [{ what: WHAT, state: 'broken', detail, todo }]
  }
  const share = Math.round((100 * statSync(path).size) / maxBytes)
  const detail = `is whole; ${share} % of record.maxBytes`
  if (share >= 90)
    return [
      {
        ...{ what: WHAT, state: 'warning', detail: `${detail}: soon the oldest transcripts make room` },
        todo: 'Raise record.maxBytes, or lower record.keep.',
      },
    ]
  return [{ what: WHAT, state: 'ok', detail }]
}
