import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardFiles } from './all.ts'

/** Writes every dashboard as the JSON that Grafana reads: `npm run dashboards`. */
for (const [file, json] of dashboardFiles()) writeFileSync(join(import.meta.dirname, '..', 'dashboards', file), json)
