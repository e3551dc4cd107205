import type { Settings } from '../../../../config/schema.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { DEFAULT_ENDPOINT } from '../../../contracts/facts/model-name.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import { ASKS_NOBODY, rowBy } from './evaluation.ts'
import type { AddedRow } from './options.ts'
import { type PlannedTable, protocolOf } from './tables.ts'

/** Rows of the protocol beside its own, and settings with which every model of theirs can be reached and paid. */
export interface AddedRows {
  readonly rows: readonly RowPlan[]
  readonly settings: Settings
}

/**
 * The protocol under presets of its settings, and under settings files, which `settingsOf` reads. Throws an `OperatorError` where a file
 * gives it other labels, or means another endpoint, price or dialect by a name that has one here: answers are kept by models' names.
 */
export function addedRows(
  settings: Settings,
  kind: ProtocolKind,
  added: readonly AddedRow[],
  settingsOf: (file: string) => Settings,
): AddedRows {
  const { labels, scales = {} } = protocolOf(settings, kind)
  const files = added.flatMap((one) => ('file' in one ? [{ ...one, settings: settingsOf(one.file) }] : []))
  for (const { file, settings: own } of files) {
    const judges = protocolOf(own, kind)
    if (JSON.stringify([judges.labels, judges.scales ?? {}]) !== JSON.stringify([labels, scales]))
      throw new OperatorError(
        `${file} gives ${kind.name} other labels or scales than the table has: they would not compare.`,
      )
  }
  const all = files.reduce((joined, { file, settings: own }) => reaching(joined, own, file), settings)
  const rows = added.map((one): RowPlan => {
    if ('preset' in one) {
      const { preset } = one
      return { name: preset, how: { by: 'protocol', switches: { preset } }, variant: { preset } }
    }
    const { row, file } = one
    const own = files.find((of) => of.file === file)?.settings ?? settings
    return {
      name: row,
      how: { by: 'protocol', switches: {} },
      settings: withModelsOf(own, all),
      variant: { settings: file },
    }
  })
  return { rows, settings: all }
}

/** Each row by each of several models, and once what asks none; as it is with fewer than two. Throws an `OperatorError` where two rows have a name. */
export function byEachModel(table: PlannedTable, settings: Settings, models: readonly string[] = []): PlannedTable {
  const asked = (row: RowPlan, model: string): RowPlan => ({
    ...row,
    name: rowBy(row.name, model),
    settings: askedOf(row.settings ?? settings, model),
    variant: { ...row.variant, model },
  })
  const parts = table.parts.map((part) => {
    const asking = part.rows.filter(({ how }) => !ASKS_NOBODY.has(how.by))
    const others = part.rows.filter(({ how }) => ASKS_NOBODY.has(how.by))
    const rows = models.length < 2 ? part.rows : models.flatMap((model) => asking.map((row) => asked(row, model)))
    return { ...part, rows: models.length < 2 ? rows : [...rows, ...others] }
  })
  for (const { rows } of parts) {
    const names = rows.map(({ name }) => name)
    const twice = names.find((name, at) => names.indexOf(name) !== at)
    if (twice !== undefined) throw new OperatorError(`Two rows would be called ${twice}: give each a name of its own.`)
  }
  return { ...table, parts }
}

/** The settings with this model in every role. */
export function askedOf(settings: Settings, model: string): Settings {
  return { ...settings, models: { ...settings.models, roles: { default: [model] } } }
}

/** The first settings, and with them what the others say of endpoints and models that these do not know. */
function reaching(one: Settings, other: Settings, file: string): Settings {
  if (JSON.stringify(one.openai) !== JSON.stringify(other.openai))
    throw new OperatorError(`${file} has another ${DEFAULT_ENDPOINT} endpoint than the table: name it in endpoints.`)
  return {
    ...one,
    endpoints: joined(one.endpoints, other.endpoints, `${file}: endpoints`),
    models: {
      ...one.models,
      prices: joined(one.models.prices, other.models.prices, `${file}: models.prices`),
      dialects: joined(one.models.dialects, other.models.dialects, `${file}: models.dialects`),
    },
  }
}

function joined<Value>(
  one: Readonly<Record<string, Value>>,
  other: Readonly<Record<string, Value>>,
  place: string,
): Record<string, Value> {
  const differs = Object.entries(other).find(([name, given]) => {
    const known = entryOf(one, name)
    return known !== undefined && JSON.stringify(known) !== JSON.stringify(given)
  })
  if (differs !== undefined)
    throw new OperatorError(
      `${place}.${differs[0]} is not what the table's other settings have there; make them equal.`,
    )
  return { ...other, ...one }
}

/** A row's own settings, which reach and pay every model of the table. */
function withModelsOf(own: Settings, { openai, endpoints, models: { prices, dialects } }: Settings): Settings {
  return { ...own, openai, endpoints, models: { ...own.models, prices, dialects } }
}
