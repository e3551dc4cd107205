import { existsSync, statSync } from 'node:fs'
import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { RecordSize } from '../../contracts/ports/record.ts'
import { recordAt, recordReaderOf } from '../../record/record-store.ts'
import { damageOf } from '../../record/sqlite/record.ts'
import { statementTexts } from '../composition/statement-texts.ts'
import { broken } from './doctor-findings.ts'

const WHAT = 'the record (record.path)'

/** Whether the record can be read, and is whole; nothing where none is kept. And whether statements can be made from it. */
export async function recordFindings(settings: Settings): Promise<Finding[]> {
  const found = settings.record.store === 'sqlite' ? findingsOfFile(settings) : findingsOfDatabase(settings)
  return [...(await found), ...statementFindings(settings)]
}

function statementFindings({ review }: Settings): Finding[] {
  try {
    statementTexts('en', review.statements)
    return []
  } catch (error) {
    return [broken('statements of reasons (review.statements)', error, 'See docs/reasons.md.')]
  }
}

async function findingsOfDatabase(settings: Settings): Promise<Finding[]> {
  const what = 'the record (record.postgres)'
  try {
    const store = await recordAt(settings).now()
    if (store === null)
      return [
        {
          what,
          state: 'warning',
          detail: `there is no record in the schema ${settings.record.postgres.schema} yet`,
          todo: 'Start a process with the role "record", which creates the tables (docs/record.md).',
        },
      ]
    const size = await store.size()
    await store.close()
    return [fullness(what, 'can be read', size.bytes, settings.record.maxBytes), ...shareFindings(what, settings, size)]
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return [{ what, state: 'broken', detail, todo: 'See docs/record.md, "In PostgreSQL".' }]
  }
}

async function findingsOfFile(settings: Settings): Promise<Finding[]> {
  const { path, maxBytes } = settings.record
  if (!existsSync(path)) return []
  const todo = 'Stop the role "record", keep a copy of the file, and run "gavel record rebuild" (docs/record.md).'
  try {
    const damage = await damageOf(path)
    if (damage !== null) return [{ what: WHAT, state: 'broken', detail: `is damaged: ${damage}`, todo }]
    const reader = await recordReaderOf(settings)
    const size = await reader.size()
    await reader.close()
    return [fullness(WHAT, 'is whole', statSync(path).size, maxBytes), ...shareFindings(WHAT, settings, size)]
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return [{ what: WHAT, state: 'broken', detail, todo }]
  }
}

/** Who holds more than its share. */
function shareFindings(what: string, { record, shares }: Settings, { largest }: RecordSize): Finding[] {
  if (largest === null || largest.bytes <= shares.record * record.maxBytes) return []
  const percent = (part: number) => `${Math.round(100 * part)} %`
  const holds = percent(largest.bytes / record.maxBytes)
  return [
    {
      what,
      state: 'warning',
      detail: `${largest.tenant} holds ${holds} of record.maxBytes (shares.record: ${percent(shares.record)}): where there is no room its own makes room first`,
      todo: 'See docs/runbooks/GavelRecordShare.md.',
    },
  ]
}

function fullness(what: string, well: string, bytes: number, maxBytes: number): Finding {
  const share = Math.round((100 * bytes) / maxBytes)
  const detail = `${well}; ${share} % of record.maxBytes`
  if (share < 90) return { what, state: 'ok', detail }
  return {
    what,
    state: 'warning',
    detail: `${detail}: soon the oldest transcripts make room`,
    todo: 'Raise record.maxBytes, or lower record.keep.',
  }
}
