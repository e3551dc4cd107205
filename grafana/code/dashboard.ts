import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import { type AnyPanel, DATASOURCE, ofThisGavel } from './panels.ts'

/** Panels under a question, which is the title of their row; null for those at the top. */
export interface Section {
  readonly asks: string | null
  readonly panels: readonly AnyPanel[]
}

/** A variable that is chosen from the values of a label. */
export interface Choice {
  readonly name: string
  readonly label: string
  /** Of which series, and which of its labels. */
  readonly series: string
  readonly of: string
  /** Several values at once. */
  readonly multi: boolean
}

export const PROTOCOL: Choice = {
  name: 'protocol',
  label: 'Protocol',
  series: 'gavel_verdict_latency_seconds_count',
  of: 'protocol',
  multi: true,
}
export const STAGE: Choice = {
  name: 'stage',
  label: 'Stage',
  series: 'gavel_stage_jobs{protocol=~"$protocol|all"}',
  of: 'stage',
  multi: true,
}

/** Which of the deployments on this Prometheus is shown. */
const GAVEL: Choice = { name: 'gavel', label: 'Gavel', series: 'gavel_build_info', of: 'gavel', multi: false }

function choiceOf({ name, label, series, of, multi }: Choice): QueryVariableBuilder {
  const query = `label_values(${name === 'gavel' ? series : ofThisGavel(series)}, ${of})`
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .definition(query)
    .query({ qryType: 1, query, refId: name })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(multi)
    .includeAll(true)
    .allValue('.*')
    .current({ text: multi ? ['All'] : 'All', value: multi ? ['$__all'] : '$__all' })
}

/** A dashboard as Grafana reads it: sections from top to bottom, and the variables by which they are restricted. */
export function dashboardOf(
  { uid, title, says }: { readonly uid: string; readonly title: string; readonly says: string },
  choices: readonly Choice[],
  sections: readonly Section[],
): Dashboard {
  const board = new DashboardBuilder(title)
    .id(null)
    .uid(uid)
    .version(1)
    .description(says)
    .tags(['gavel'])
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .timezone('browser')
    .refresh('10s')
    .time({ from: 'now-30m', to: 'now' })
    .variables([
      new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
      ...[GAVEL, ...choices].map(choiceOf),
      new TextBoxVariableBuilder('runbooks').label('Runbooks').defaultValue('docs/runbooks'),
    ])
    .link(
      new DashboardLinkBuilder('Gavel')
        .type(DashboardLinkType.Dashboards)
        .tags(['gavel'])
        .keepTime(true)
        .includeVars(true),
    )
    .annotation(
      new AnnotationQueryBuilder()
        .name('Alerts')
        .datasource(DATASOURCE)
        .enable(true)
        .iconColor('red')
        .target(
          new DataqueryBuilder()
            .refId('Alerts')
            .expr('ALERTS{alertname=~"Gavel.*", alertstate="firing", gavel=~"$gavel|"}')
            .interval('30s'),
        )
        .titleFormat('{{alertname}}')
        .textFormat('{{severity}} {{protocol}} {{stage}} {{topic}} {{model}} {{tenant}} {{reason}}'),
    )
  let id = 0
  for (const { asks, panels } of sections) {
    if (asks !== null) board.withRow(new RowBuilder(asks).id(++id))
    for (const panel of panels) {
      panel.id(++id)
      board.withPanel(panel)
    }
  }
  return board.build()
}
