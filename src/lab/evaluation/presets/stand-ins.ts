import { sameModel } from '../../../contracts/facts/steps.ts'
import type { EvaluationCell } from '../evaluation.ts'
import type { RowPlan } from '../rows.ts'
import type { PresetTable } from './preset.ts'

/** Which models are asked in the place of a paper's: `of` by the paper's name, else `all`, else the paper's own. */
export interface StandIns {
  readonly of: ReadonlyMap<string, string>
  readonly all?: string
}

/** The model that is asked where the paper names this one. */
function askedFor(model: string, { of, all }: StandIns): string {
  return of.get(model) ?? all ?? model
}

/** The row with the models that are asked in place of the paper's. */
export function withStandIns<Row extends RowPlan>(row: Row, standIns: StandIns): Row {
  const { models } = row
  if (models === undefined) return row
  const asked = Object.entries(models).map(([role, model]) => [role, askedFor(model, standIns)])
  return { ...row, models: Object.fromEntries(asked) }
}

/** The models that a table's rows name, as the paper calls them, in the rows' order. */
export function paperModelsOf({ rows }: Pick<PresetTable, 'rows'>): string[] {
  return [...new Set(rows.flatMap(({ models = {} }) => Object.values(models)))]
}

type Answered = Pick<EvaluationCell, 'row' | 'why' | 'answered'>

/**
 * The cells with the names of their rows. A row that the paper calls by a model keeps its name only where that model answered;
 * else it names the model that did, and the one in whose place: `[mine for GPT3.5] + S2MAD`.
 */
export function namedByAnswers<Of extends Answered>(
  cells: readonly Of[],
  table: PresetTable,
  standIns: StandIns,
): Of[] {
  return cells.map((cell) => {
    const called = table.rows.find(({ name }) => name === cell.row)?.calledBy
    if (called === undefined || cell.why !== null) return cell
    const others = answerers(cell, askedFor(called.model, standIns)).filter((name) => !isPaperModel(name, called.model))
    if (others.length === 0) return cell
    return { ...cell, row: cell.row.replace(called.name, `[${others.join(' and ')} for ${called.name}]`) }
  })
}

/** Which model stood in for which of the paper's, in all rows that were judged, in one sentence; null where none did. */
export function whoStoodIn(cells: readonly Answered[], table: PresetTable, standIns: StandIns): string | null {
  const pairs = cells.flatMap((cell) => {
    const models = table.rows.find(({ name }) => name === cell.row)?.models ?? {}
    if (cell.why !== null) return []
    return [...new Set(Object.values(models))].flatMap((model) => {
      const asked = askedFor(model, standIns)
      return answerers(cell, asked)
        .filter((name) => !isPaperModel(name, model))
        .map((name) => ({ model, by: isAsked(name, asked) ? asked : `${asked} (answering as ${name})` }))
    })
  })
  const groups = [...Map.groupBy(pairs, ({ by }) => by)].map(
    ([by, of]) => `${by} stood in for ${listed([...new Set(of.map(({ model }) => model))])}`,
  )
  return groups.length === 0 ? null : `Not the paper’s models: ${groups.join('; ')}.`
}

/** Who answered what was asked of a model, as the endpoint names them; the model itself where nobody did. */
function answerers({ answered }: Answered, asked: string): readonly string[] {
  return answered.find((one) => one.asked === asked)?.by ?? [asked]
}

/** Whether an endpoint's name is of the model that was asked: without the endpoint, or its maker, that stands before it. */
function isAsked(name: string, asked: string): boolean {
  return sameModel(name, asked) || sameModel(name, asked.slice(asked.indexOf('/') + 1))
}

/** Whether an endpoint's name is of the paper's model: dated, or behind the name of its maker. */
function isPaperModel(name: string, paper: string): boolean {
  return sameModel(name, paper) || sameModel(name.slice(name.lastIndexOf('/') + 1), paper)
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
