import { printable, type Terminal, table } from '../../../commands/terminal.ts'
import type { Evaluation } from '../../evaluation/evaluation.ts'
import { PRESETS } from '../../evaluation/presets/all.ts'
import { mainTable } from '../../evaluation/report/cells.ts'
import { comparisonTable } from '../../evaluation/report/markdown.ts'
import { savingsTables } from '../../evaluation/report/savings-table.ts'
import type { Compared } from './compared.ts'

/** Prints an evaluation: as JSON whole, else what it says and its tables. */
export function printEvaluation(
  evaluation: Evaluation,
  compared: readonly Compared[],
  { json, terminal }: { json: boolean; terminal: Terminal },
): void {
  if (json) {
    terminal.out(JSON.stringify(compared.length === 0 ? evaluation : { ...evaluation, compared }))
    return
  }
  const preset = PRESETS.find(({ name }) => name === evaluation.preset) ?? null
  terminal.out(evaluation.title)
  for (const sentence of evaluation.summary) terminal.out(`- ${printable(sentence, 1_000)}`)
  const { head, rows } = mainTable(evaluation, preset)
  terminal.out(
    table(
      head,
      rows.map((cells) => cells.map((cell) => printable(cell, 80))),
    ),
  )
  for (const { data, table: savings } of savingsTables(evaluation)) {
    terminal.out(`${printable(data, 200)}: quality in points of macro-F1 (or ρ), less the best with a 95 % interval`)
    terminal.out(
      table(
        savings.head,
        savings.rows.map((cells) => cells.map((cell) => printable(cell, 200))),
      ),
    )
  }
  for (const note of preset?.notes ?? []) terminal.out(`- ${note}`)
  for (const { data, comparison } of compared) {
    for (const change of comparison.shown) terminal.out(`${data}: shown differently: ${change}`)
    const changes = comparisonTable(comparison)
    terminal.out(
      table(
        changes.head,
        changes.rows.map((cells) => cells.map((cell) => printable(cell, 80))),
      ),
    )
  }
}
