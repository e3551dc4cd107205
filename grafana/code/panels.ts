import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  AxisPlacement,
  BigValueGraphMode,
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableCellDisplayMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DashboardLink,
  DashboardLinkBuilder,
  DashboardLinkType,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  type Panel,
  SpecialValueMatch,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { PanelBuilder as HeatmapBuilder } from '@grafana/grafana-foundation-sdk/heatmap'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

/** Filled in by Grafana. */
export const DATASOURCE = { type: 'prometheus', uid: '$datasource' }

/** What all panels have. */
export interface Shown {
  readonly title: string
  /** What it means, and what to do when it is bad. */
  readonly says: string
  /** Grafana's unit: `s`, `short`, `percentunit`, `suffix:/s`, … */
  readonly unit: string
  readonly decimals?: number
  /** Of 24 columns. */
  readonly w?: number
  readonly h?: number
  /** Alerts whose runbooks it links to. */
  readonly runbooks?: readonly string[]
  /** What it says while it has no data because the feature is off. */
  readonly off?: string
}

/** PromQL by legend. */
export type Queries = Readonly<Record<string, string>>

export type AnyPanel = Builder<Panel> & { id(id: number): unknown }

/** Metrics that carry the deployment's name. Those that Prometheus makes itself (`up`) do not. */
const OWN = /(?<![\w:"])((?:gavel|gen_ai|process|nodejs)_\w+)(\{)?/g

/** Restricts every metric of a query to the deployment that the dashboard shows: two on one Prometheus never mix. */
export function ofThisGavel(expr: string): string {
  const inBraces: [number, number][] = [...expr.matchAll(/\{[^}]*\}|\b(?:by|on) ?\([^)]*\)/g)].map(
    ({ index, 0: text }) => [index, index + text.length],
  )
  return expr.replace(OWN, (whole: string, name: string, brace: string | undefined, at: number) => {
    if (inBraces.some(([from, to]) => at > from && at < to)) return whole
    return brace === undefined ? `${name}{gavel=~"$gavel"}` : `${name}{gavel=~"$gavel", `
  })
}

function queries(all: Queries, kind: 'instant' | 'range', format = PromQueryFormat.TimeSeries): DataqueryBuilder[] {
  return Object.entries(all).map(([legend, expr], index) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + index))
      .expr(ofThisGavel(expr))
      .format(format)
    if (format !== PromQueryFormat.Table) query.legendFormat(legend)
    return kind === 'instant' ? query.instant() : query.range()
  })
}

function runbookLinks(names: readonly string[] = []): Builder<DashboardLink>[] {
  return names.map((name) =>
    new DashboardLinkBuilder(`Runbook ${name}`)
      .type(DashboardLinkType.Link)
      .url(`$runbooks/${name}.md`)
      .targetBlank(true),
  )
}

/** Steps of colour, from the given values on. */
export interface Colours {
  readonly from?: string
  readonly orange?: number
  readonly red?: number
  /** Where more is better. */
  readonly green?: number
}

function coloured({ from = 'green', orange, red, green }: Colours): ThresholdsConfigBuilder {
  const steps: Threshold[] = [
    { color: from, value: null },
    ...(orange === undefined ? [] : [{ color: 'orange', value: orange }]),
    ...(red === undefined ? [] : [{ color: 'red', value: red }]),
    ...(green === undefined ? [] : [{ color: 'green', value: green }]),
  ]
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps)
}

const NOTHING: ValueMapping = {
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.NullAndNan, result: { index: 0, text: '–' } },
}

function named(texts: Readonly<Record<string, string>> | undefined): ValueMapping[] {
  if (texts === undefined) return [NOTHING]
  const options = Object.fromEntries(Object.entries(texts).map(([value, text], index) => [value, { index, text }]))
  return [{ type: MappingType.ValueToText, options }, NOTHING]
}

/** What every kind of panel can be told alike. */
interface Dressable {
  title(title: string): this
  description(description: string): this
  datasource(datasource: typeof DATASOURCE): this
  unit(unit: string): this
  span(columns: number): this
  height(rows: number): this
  links(links: Builder<DashboardLink>[]): this
  noValue(text: string): this
}

function dressed<Kind extends Dressable>(
  panel: Kind,
  { title, says, unit, w, h, runbooks, off }: Shown,
  size: readonly [w: number, h: number],
): Kind {
  if (off !== undefined) panel.noValue(off)
  return panel
    .title(title)
    .description(says)
    .datasource(DATASOURCE)
    .unit(unit)
    .span(w ?? size[0])
    .height(h ?? size[1])
    .links(runbookLinks(runbooks))
}

/** Lines over a fixed window say so in their title, since what they show outlives its cause by that much. */
function withWindow(title: string, all: Queries): string {
  const windows = Object.values(all).flatMap((expr) => [...expr.matchAll(/\[(\d+)m\]/g)].map(([, minutes]) => minutes))
  const [one, ...others] = [...new Set(windows)]
  return one === undefined || others.length > 0 ? title : `${title} (over ${one} min)`
}

/** The time that a number is about, as its title says it. */
function timeOf(all: Queries): string {
  const [, window, ratio] = /\[(\d+m|\$__range)\]|:ratio(1h)/.exec(Object.values(all).join(' ')) ?? []
  if (ratio !== undefined) return 'last hour'
  if (window === '$__range') return 'chosen time'
  return window === undefined ? 'now' : `last ${window.replace('m', ' min')}`
}

/** One number, whose title says of which time it is: its query's, or `time` where that reads better. */
export function stat(
  shown: Shown,
  more: Colours & { readonly texts?: Readonly<Record<string, string>>; readonly time?: string },
  all: Queries,
): AnyPanel {
  const title = `${shown.title} (${more.time ?? timeOf(all)})`
  const panel = dressed(new StatBuilder(), { ...shown, title }, [4, 4])
    .noValue(shown.off ?? '–')
    .mappings(named(more.texts))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(coloured(more))
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .graphMode(BigValueGraphMode.Area)
    // What is counted over the chosen time is one number; everything else has a small graph behind it.
    .targets(queries(all, Object.values(all).some((expr) => expr.includes('$__range')) ? 'instant' : 'range'))
  return shown.decimals === undefined ? panel : panel.decimals(shown.decimals)
}

/** Lines over time. */
export function lines(
  shown: Shown,
  all: Queries,
  more: {
    readonly stacked?: true
    readonly bars?: true
    /** A red line where the alert's threshold is. */
    readonly alertAt?: number
    readonly max?: number
    /** The legend as a table with last and greatest values. */
    readonly values?: true
    /** By legend: a yes or no on an axis of its own. */
    readonly yesOrNo?: string
  } = {},
): AnyPanel {
  const legend = new VizLegendOptionsBuilder().showLegend(true)
  if (more.values)
    legend.displayMode(LegendDisplayMode.Table).placement(LegendPlacement.Right).calcs(['lastNotNull', 'max'])
  else legend.displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom).calcs([])
  const stacked = more.stacked === true || more.bars === true
  const panel = dressed(new LinesBuilder(), { ...shown, title: withWindow(shown.title, all) }, [8, 8])
    .min(0)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassic))
    .drawStyle(more.bars ? GraphDrawStyle.Bars : GraphDrawStyle.Line)
    .fillOpacity(more.bars ? 70 : more.stacked ? 30 : 8)
    .lineWidth(1)
    // A quotient or quantile of nothing is no value, and a line across it would be one.
    .spanNulls(false)
    .showPoints(VisibilityMode.Auto)
    .stacking(new StackingConfigBuilder().group('A').mode(stacked ? StackingMode.Normal : StackingMode.None))
    .legend(legend)
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .targets(queries(all, 'range'))
  if (shown.decimals !== undefined) panel.decimals(shown.decimals)
  if (more.max !== undefined) panel.max(more.max)
  if (more.alertAt !== undefined)
    panel
      .thresholds(coloured({ from: 'transparent', red: more.alertAt }))
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed))
  if (more.yesOrNo !== undefined)
    panel.overrideByName(more.yesOrNo, [
      { id: 'unit', value: 'bool_yes_no' },
      { id: 'custom.axisPlacement', value: AxisPlacement.Right },
      { id: 'max', value: 1 },
      { id: 'custom.fillOpacity', value: 25 },
    ])
  return panel
}

/** From when to when something was so: a row for each series, coloured by its value. */
export function timeline(
  shown: Shown,
  more: Colours & { readonly texts: Readonly<Record<string, string>> },
  all: Queries,
): AnyPanel {
  return dressed(new TimelineBuilder(), shown, [24, 5])
    .mappings(named(more.texts))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(coloured(more))
    .showValue(VisibilityMode.Never)
    .mergeValues(true)
    .rowHeight(0.8)
    .spanNulls(false)
    .legend(new VizLegendOptionsBuilder().showLegend(false).displayMode(LegendDisplayMode.List).calcs([]))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Single))
    .targets(queries(all, 'range'))
}

/** How many took how long, by the buckets of a histogram. */
export function heat(shown: Shown, expr: string): AnyPanel {
  return dressed(new HeatmapBuilder(), shown, [8, 8])
    .calculate(false)
    .targets(queries({ '{{le}}': expr }, 'range', PromQueryFormat.Heatmap))
}

/** A column of a table: the query that fills it, and how it looks. */
export interface Column {
  readonly name: string
  readonly expr: string
  readonly unit?: string
  readonly decimals?: number
  readonly colours?: Colours
}

/** One line for each combination of these labels, as it is now; sorted by a column, the greatest first. */
export function table(
  shown: Shown,
  labels: Readonly<Record<string, string>>,
  columns: readonly Column[],
  sortBy: string,
): AnyPanel {
  const names = Object.entries(labels)
  const renamed = columns.map(({ name }, index) => [`Value #${String.fromCharCode(65 + index)}`, name] as const)
  const order = [...names.map(([label]) => label), ...renamed.map(([value]) => value)]
  const panel = dressed(new TableBuilder(), shown, [12, 9])
    .noValue('–')
    .mappings([NOTHING])
    .sortBy([new TableSortByFieldStateBuilder().displayName(sortBy).desc(true)])
    .targets(
      queries(Object.fromEntries(columns.map(({ name, expr }) => [name, expr])), 'instant', PromQueryFormat.Table),
    )
    .transformations([
      { id: 'merge', options: {} },
      {
        id: 'organize',
        options: {
          excludeByName: { Time: true },
          indexByName: Object.fromEntries(order.map((name, index) => [name, index])),
          renameByName: Object.fromEntries([...names, ...renamed]),
        },
      },
    ])
  for (const { name, unit: own, decimals, colours } of columns)
    panel.overrideByName(name, [
      ...(own === undefined ? [] : [{ id: 'unit', value: own }]),
      ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
      ...(colours === undefined
        ? []
        : [
            { id: 'thresholds', value: coloured(colours).build() },
            { id: 'custom.cellOptions', value: { type: TableCellDisplayMode.ColorText } },
          ]),
    ])
  return panel
}
