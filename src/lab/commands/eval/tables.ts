import type { Settings } from '../../../../config/schema.ts'
import { protocolsOf } from '../../../app/composition/protocols.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { sameModel } from '../../../contracts/facts/steps.ts'
import type { Format } from '../../../data-files/formats.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { type EvaluationCell, emptyCell } from '../../evaluation/evaluation.ts'
import type { Predictions } from '../../evaluation/predictions.ts'
import { presetNamed } from '../../evaluation/presets/all.ts'
import { type PresetData, type PresetTable, rowsOn } from '../../evaluation/presets/preset.ts'
import { paperModelsOf, type StandIns, withStandIns } from '../../evaluation/presets/stand-ins.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import { type ExtraRows, type Judges, rowsBeside } from './rows.ts'

/** A file as the command line names it. */
export interface GivenData {
  readonly file: string
  readonly format: Format
}

/** What is to be judged on one file. */
export interface FilePlan {
  readonly given: GivenData
  /** As the paper names it; undefined where it is none of a paper's. */
  readonly name?: string
  readonly sample?: PresetData['sample']
  readonly batch?: PresetData['batch']
  readonly rows: readonly RowPlan[]
}

/** A table to be made: rows on each file, and cells that nothing can be judged for. */
export interface PlannedTable {
  readonly title: string
  readonly kind: ProtocolKind
  readonly preset: PresetTable | null
  readonly parts: readonly FilePlan[]
  /** Which models are asked in the place of the paper's. */
  readonly standIns: StandIns
  /** Whether its cells say how long their calls took; a paper's do where it measures that. */
  readonly timed?: true
  /** The option that sets what it may cost, where that is not --max-cost. */
  readonly costOption?: '--budget'
  /** Of data sets of the paper that were not given. */
  readonly absent: readonly EvaluationCell[]
  paper(row: string, data: string): EvaluationCell['paper']
}

/** Rows as they were asked for: what other systems predicted, by the row's name, and how often each row is judged. */
export interface RowChanges {
  readonly predicted: ReadonlyMap<string, Predictions>
  readonly repeat: number | undefined
}

/**
 * The table with these changes. A prediction is a row of its own, or the paper's row of that name. Throws an `OperatorError` where a
 * paper's table has no such row.
 */
export function changedTable(table: PlannedTable, { predicted, repeat }: RowChanges): PlannedTable {
  const rowOf = (name: string, of: Predictions): RowPlan => ({ name, how: { by: 'predictions', of } })
  const changed = (row: RowPlan): RowPlan => {
    const of = predicted.get(row.name)
    if (of !== undefined) return rowOf(row.name, of)
    return repeat === undefined || row.how.by === 'nothing' ? row : { ...row, repeats: repeat }
  }
  const ofAll = table.preset?.rows ?? table.parts.flatMap(({ rows }) => rows)
  const known = new Set(ofAll.map(({ name }) => name))
  const added = [...predicted].filter(([name]) => !known.has(name))
  const [unknown] = added
  if (table.preset !== null && unknown !== undefined)
    throw new OperatorError(`${table.preset.name} has no row ${unknown[0]}, but: ${[...known].join('; ')}.`)
  return {
    ...table,
    parts: table.parts.map((part) => ({
      ...part,
      rows: [...part.rows.map(changed), ...added.map(([name, of]) => rowOf(name, of))],
    })),
  }
}

/** Which rows are judged: all where none is named. */
export type RowSelection = readonly string[] | undefined

/**
 * The protocol as it is set, with what stands beside it. Throws an `OperatorError` for a name that is no protocol's, and for one
 * that is no row's.
 */
export function ownTable(
  settings: Settings,
  protocol: string,
  judges: Judges,
  given: readonly GivenData[],
  { beside, added, only }: { beside: ExtraRows; added: readonly RowPlan[]; only: RowSelection },
): PlannedTable {
  const kind = kindNamed(protocol)
  const rows = onlyOf([...rowsBeside(kind, judges, beside), ...added], only).map((row) =>
    unlessRefused(settings, kind, row),
  )
  const standIns = { of: new Map<string, string>() }
  return {
    title: `${protocol}: how good its verdicts are`,
    kind,
    preset: null,
    absent: [],
    paper: () => ({}),
    standIns,
    parts: given.map((one) => ({ given: one, rows })),
  }
}

/** The row; or why nothing judges it, where its switches are refused with these settings, as they would be at the start. */
function unlessRefused(settings: Settings, kind: ProtocolKind, row: RowPlan): RowPlan {
  const { how } = row
  // What is set itself is read, and refused, before.
  if (how.by !== 'protocol' || Object.keys(how.switches).length === 0) return row
  const own = { ...entryOf(settings.protocols, kind.name), ...how.switches, enabled: true }
  try {
    protocolsOf({ ...settings, protocols: { ...settings.protocols, [kind.name]: own } } as Settings, 'labels', [kind])
    return row
  } catch (error) {
    // A heading, and then a fault a line.
    const [heading = '', first = heading] = String(error instanceof Error ? error.message : error).split('\n')
    return { ...row, how: { by: 'nothing', why: first.trim() } }
  }
}

/** The rows of these names, in the table's order. */
function onlyOf<Row extends { readonly name: string }>(rows: readonly Row[], only: RowSelection): readonly Row[] {
  if (only === undefined) return rows
  const wanted = only.map((name) => name.trim().toLowerCase())
  const unknown = only.find((_, at) => !rows.some((row) => row.name.toLowerCase() === wanted[at]))
  if (unknown !== undefined)
    throw new OperatorError(`No row is called ${unknown}, but: ${rows.map((row) => row.name).join('; ')}.`)
  return rows.filter((row) => wanted.includes(row.name.toLowerCase()))
}

/**
 * A paper's table over the files that are given, in the order of its data sets; what is not given is named. Throws an
 * `OperatorError` for a name that is no preset's, no row's, or no model's of the paper.
 */
export function paperTable(
  settings: Settings,
  name: string,
  given: readonly GivenData[],
  { standIns, only }: { standIns: StandIns; only: RowSelection },
): PlannedTable {
  const whole = presetNamed(name)
  const named = paperModelsOf(whole)
  const foreign = [...standIns.of.keys()].find((model) => !named.includes(model))
  if (foreign !== undefined) throw new OperatorError(`${name} names no model ${foreign}, but: ${named.join(', ')}.`)
  const preset = { ...whole, rows: onlyOf(whole.rows, only) }
  const kind = kindNamed(preset.protocol)
  const known = given.flatMap((one): { one: GivenData; data: PresetData | undefined }[] => {
    const fitting = preset.data.filter(({ formats }) => formats.includes(one.format))
    return fitting.length === 0 ? [{ one, data: undefined }] : fitting.map((data) => ({ one, data }))
  })
  const absent = preset.data.filter((data) => !known.some((part) => part.data === data))
  const paper = (row: string, data: string) =>
    entryOf(preset.rows.find((one) => one.name === row)?.figures ?? {}, data) ?? {}
  return {
    title: preset.of,
    kind,
    preset,
    paper,
    standIns,
    parts: known.map(({ one, data }) => ({
      given: one,
      ...(data === undefined ? {} : { name: data.name }),
      sample: data?.sample,
      batch: data?.batch,
      rows: rowsOn(preset, data?.name ?? null).map((row, at) => {
        const asked = withStandIns(row, standIns)
        return preset.rows[at]?.needs === 'calibrated-steps' ? withCalibratedSteps(settings, kind, asked) : asked
      }),
    })),
    absent: absent.flatMap((data) =>
      preset.rows.map((row) => emptyCell(row.name, data.name, notGiven(row, data), paper(row.name, data.name))),
    ),
  }
}

/** The row, or one that nothing judges and that has a reason, where an aspect's steps were not calibrated, or for another model. */
function withCalibratedSteps(settings: Settings, kind: ProtocolKind, row: RowPlan): RowPlan {
  if (row.how.by !== 'protocol') return row
  const own = entryOf(settings.protocols, kind.name)
  const protocols = { ...settings.protocols, [kind.name]: { ...own, ...row.how.switches, enabled: true } }
  const [protocol] = protocolsOf({ ...settings, protocols } as Settings, 'labels', [kind]).protocols
  const steps = Object.entries(protocol?.steps ?? {})
  const lacking = steps.flatMap(([aspect, { source }]) => (source === 'calibrated' ? [] : [aspect]))
  const scorer = row.models?.scorer ?? ''
  const [other] = steps.flatMap(([, { model }]) => (model === undefined || sameModel(model, scorer) ? [] : [model]))
  if (lacking.length > 0)
    return { ...row, how: { by: 'nothing', why: `no calibrated steps: ${lacking.join(', ')} (gavel calibrate)` } }
  if (other === undefined) return row
  return { ...row, how: { by: 'nothing', why: `its steps were found for ${other}, and ${scorer} scores` } }
}

function notGiven({ how }: RowPlan, { formats }: PresetData): string {
  if (how.by === 'nothing') return how.why
  return `no file of it was given: --data FILE --format ${formats.join(' or ')}`
}

export function kindNamed(name: string): ProtocolKind {
  const kind = PROTOCOLS.find((one) => one.name === name)
  if (kind === undefined)
    throw new OperatorError(`No protocol is called ${name}, but: ${PROTOCOLS.map((one) => one.name).join(', ')}.`)
  return kind
}

/** Fences and ids don't matter here: only what the protocol is, in a paper's table as the paper has it. */
export function protocolOf(settings: Settings, kind: ProtocolKind, preset: PresetTable | null = null): Judges {
  const own = entryOf(settings.protocols, kind.name)
  const protocols = { ...settings.protocols, [kind.name]: { ...own, ...preset?.switches } }
  const [protocol] = protocolsOf({ ...settings, protocols } as Settings, 'labels', [kind]).protocols
  if (protocol === undefined)
    throw new OperatorError(`${kind.name} is switched off in the settings (protocols.${kind.name}.enabled).`)
  return protocol
}
