import { models } from './models.ts'
import { overview } from './overview.ts'
import { stages } from './stages.ts'
import { tenants } from './tenants.ts'
import { verdicts } from './verdicts.ts'

/** Every dashboard by its file in `grafana/dashboards`, as JSON. */
export function dashboardFiles(): Map<string, string> {
  return new Map(
    [overview(), stages(), models(), verdicts(), tenants()].map((board) => [
      `${board.uid?.replace('gavel-', '')}.json`,
      `${JSON.stringify(board, null, 2)}\n`,
    ]),
  )
}
