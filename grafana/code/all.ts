import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { models } from './models.ts'
import { overview } from './overview.ts'
import { stages } from './stages.ts'
import { tenants } from './tenants.ts'
import { verdicts } from './verdicts.ts'

export function allDashboards(): Dashboard[] {
  return [overview(), stages(), models(), verdicts(), tenants()]
}

/** Every dashboard by its file in `grafana/dashboards`, as JSON. */
export function dashboardFiles(): Map<string, string> {
  return new Map(
    allDashboards().map((board) => [`${board.uid?.replace('gavel-', '')}.json`, `${JSON.stringify(board, null, 2)}\n`]),
  )
}
