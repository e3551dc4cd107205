import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EvaluationCell } from '../../src/lab/evaluation/evaluation.ts'
import { EVERY_DEBATE } from '../protocols/drive.ts'
import { dataSetOf, evaluated, rowBy, scratch, standIn, textIn } from './evaluating.ts'

// A planted model of hate's debates: it is known of each item what the perspectives say, and what the judge makes of it.

/** Shares: of items on which the perspectives disagree, and of those that the debate repairs and breaks. */
export interface DebatePlant {
  readonly disagree: number
  readonly repair: number
  readonly break: number
}

/** A debate that pays, and one that loses. */
export const PLANTS: Readonly<Record<'pays' | 'loses', DebatePlant>> = {
  pays: { disagree: 0.3, repair: 0.12, break: 0.05 },
  loses: { disagree: 0.1, repair: 0.03, break: 0.05 },
}

/** How often the perspectives are right, where the plant does not say. */
const RIGHT = { agreeing: 0.9, disagreeing: 0.7 }

export interface PlantedDebate {
  readonly id: string
  readonly isHate: boolean
  readonly disagree: boolean
  readonly fate: 'repaired' | 'broken' | 'unchanged'
  /** Whether most perspectives, and whether the judge, are right. */
  readonly majority: boolean
  readonly judge: boolean
}

/** From 0 to 1, by a hash of the item and of what is asked of it. */
export function drawn(id: string, what: string): number {
  return Number.parseInt(createHash('sha256').update(`${what} ${id}`).digest('hex').slice(0, 12), 16) / 2 ** 48
}

/** So many items, of which just these shares are disagreed on, repaired and broken: those of the lowest hashes. */
function plantedItems(count: number, plant: DebatePlant): PlantedDebate[] {
  const ids = Array.from({ length: count }, (_, at) => `item-${at}`)
  const ranked = (of: readonly string[], what: string) =>
    of.toSorted((one, other) => drawn(one, what) - drawn(other, what))
  const disagreed = ranked(ids, 'disagree').slice(0, Math.round(count * plant.disagree))
  const [repaired, broken] = [plant.repair, plant.break].map((share) => Math.round(disagreed.length * share)) as [
    number,
    number,
  ]
  const fates = new Map(
    ranked(disagreed, 'fate').map((id, at) => [
      id,
      at < repaired ? ('repaired' as const) : at < repaired + broken ? ('broken' as const) : ('unchanged' as const),
    ]),
  )
  return ids.map((id) => {
    const [disagree, fate] = [fates.has(id), fates.get(id) ?? 'unchanged']
    const usually = drawn(id, 'right') < (disagree ? RIGHT.disagreeing : RIGHT.agreeing)
    const majority = fate === 'unchanged' ? usually : fate === 'broken'
    const judge = fate === 'unchanged' ? usually : fate === 'repaired'
    return { id, isHate: drawn(id, 'gold') < 0.5, disagree, fate, majority, judge }
  })
}

/** The label that means hate, or the one that does not, whatever an answer's form calls them. */
export function labelIn(form: unknown, isHate: boolean): string {
  const { label } = (form as { properties: { label: { enum: string[] } } }).properties
  const harmless = label.enum.find((name) => /^no[nt]/i.test(name))
  const harmful = label.enum.find((name) => name !== harmless && /hate/i.test(name))
  return (isHate ? harmful : harmless) ?? ''
}

/** Of the three perspectives on a disagreed item, the one that is asked first says otherwise. */
function planted(items: ReadonlyMap<string, PlantedDebate>) {
  const asked = new Set<string>()
  return standIn((request) => {
    const { name } = request.answer
    const [id = ''] = /item-\d+/.exec(textIn(request)) ?? []
    const item = items.get(id)
    if (item === undefined) throw new Error(`a question about no item: ${textIn(request)}`)
    const { isHate, majority, judge, disagree } = item
    if (name === 'judge') return { label: labelIn(request.answer.schema, judge === isHate) }
    if (name !== 'perspective') return {}
    const isOdd = disagree && !asked.has(id)
    asked.add(id)
    return { label: labelIn(request.answer.schema, (isOdd ? !majority : majority) === isHate) }
  })
}

/** When there is a debate: for every item, where the perspectives disagree, or never. */
const GATES = {
  always: EVERY_DEBATE.hate,
  contested: { ...EVERY_DEBATE.hate, debateWhen: 'contested' },
  never: { decide: 'majority' },
}

/** So many items under each gate, judged by the planted model through the service's engine. */
export async function plantedDebates(plant: DebatePlant, count: number) {
  const items = plantedItems(count, plant)
  const lines = items.map(({ id, isHate }) => ({
    type: 'post',
    id,
    createdAt: '2025-01-01T12:00:00Z',
    text: `The words of ${id}`,
    label: isHate ? 'hate' : 'non-hate',
  }))
  const file = join(scratch(), 'planted.jsonl')
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const model = planted(new Map(items.map((item) => [item.id, item])))
  const rows = Object.entries(GATES).map(([gate, switches]) => rowBy(gate, switches))
  const cells = await evaluated('hate', await dataSetOf(file, 'gavel', 'hate'), model, rows)
  const [always, contested, never] = cells as [EvaluationCell, EvaluationCell, EvaluationCell]
  return { items, cells: { always, contested, never } }
}

/** What each gate asks, and what it keeps of the repairs, a line each. */
export function gateCurve({ items, cells }: Awaited<ReturnType<typeof plantedDebates>>): string[] {
  const most = cells.always.debates?.[0]?.repaired ?? 0
  return (['never', 'contested', 'always'] as const).map((gate) => {
    const { perItem, labels, debates: [all] = [] } = cells[gate]
    const [repaired, broken] = [all?.repaired ?? 0, all?.broken ?? 0]
    const usd = all?.usdPerRepair == null ? '–' : `$${all.usdPerRepair.toFixed(6)}`
    const right = ((labels?.accuracy.value ?? 0) * 100).toFixed(2)
    return `${gate}: ${Math.round(perItem.calls * items.length)} calls, ${repaired} of ${most} repairs kept, ${broken} broken, net ${repaired - broken}, ${usd} a repair, ${right} % right`
  })
}
