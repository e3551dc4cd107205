import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { PROJECT } from '../config/load.ts'
import { topicsOf } from '../config/topics.ts'
import { dashboardFiles } from '../grafana/code/all.ts'
import { drawAll } from '../grafana/code/pictures.ts'
import { kafkaWriter } from '../producers/kafka-writer.ts'
import { produce } from '../src/app/commands/produce.ts'
import { startApp } from '../src/app/composition/service.ts'
import type { Events } from '../src/contracts/ports/report.ts'
import { UnavailableError } from '../src/kit/stack/servers/local-server.ts'
import { startPrometheus } from '../src/kit/stack/servers/prometheus.ts'
import { startStack } from '../src/kit/stack/stack.ts'
import { shadowMetrics } from '../src/operations/metrics/metrics.ts'
import { serveHttp } from '../src/platform/http.ts'
import { ownFolder } from './support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  PERSPECTIVES_WITH_SHELVES,
  protocolsOn,
  settingsOf,
  silent,
  tell,
} from './support/pipeline.ts'
import { startRelay } from './support/relay.ts'

const DASHBOARDS = join(PROJECT, 'grafana', 'dashboards')
const RULES = join(PROJECT, 'config', 'prometheus')
const RUNBOOKS = join(PROJECT, 'docs', 'runbooks')
const FILES = ['alerts.yml', 'objectives.yml']
const EVENT = join(PROJECT, 'config', 'demo', 'event.jsonl')

const target = z.object({
  refId: z.string(),
  expr: z.string().min(1),
  legendFormat: z.string().default(''),
})
const panel = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().min(1),
  description: z.string().default(''),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(target).default([]),
  links: z.array(z.object({ url: z.string() })).default([]),
})
const variable = z.object({
  name: z.string(),
  type: z.enum(['datasource', 'query', 'textbox']),
  allValue: z.string().optional(),
  query: z.union([z.string(), z.object({ query: z.string() })]),
})
const dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  id: z.null(),
  editable: z.literal(true),
  panels: z.array(panel),
  templating: z.object({ list: z.array(variable) }),
  annotations: z.object({ list: z.array(z.object({ name: z.string(), target: z.object({ expr: z.string() }) })) }),
})
type Dashboard = z.infer<typeof dashboard>

const dashboards = readdirSync(DASHBOARDS)
  .filter((file) => file.endsWith('.json'))
  .map((file) => dashboard.parse(JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8'))))

const ruleFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string().optional(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['page', 'ticket']) }).optional(),
          annotations: z.object({ summary: z.string(), description: z.string(), dashboard: z.string() }).optional(),
        }),
      ),
    }),
  ),
})
const alerts = FILES.flatMap((file) => ruleFile.parse(parse(readFileSync(join(RULES, file), 'utf8'))).groups).flatMap(
  (group) => group.rules.map(({ alert, ...rule }) => ({ name: alert ?? rule.expr, alert, ...rule })),
)

/** Every query of every panel, with its variables filled in as Grafana would with "All" chosen. */
const queries = dashboards.flatMap((board) =>
  board.panels.flatMap(({ title, targets }) =>
    targets.map(({ refId, expr, legendFormat }) => ({
      name: `${board.title} / ${title} ${refId}`,
      expr: filledIn(expr, board),
      legend: [...legendFormat.matchAll(/{{\s*(\w+)\s*}}/g)].map(([, label]) => label ?? ''),
    })),
  ),
)

const variables = dashboards.flatMap((board) =>
  board.templating.list.flatMap(({ name, query }) =>
    typeof query === 'string' ? [] : [{ name: `${board.title} / $${name}`, query: filledIn(query.query, board) }],
  ),
)

const annotations = dashboards.flatMap(({ title, annotations }) =>
  annotations.list.map(({ name, target }) => ({ name: `${title} / annotation ${name}`, expr: target.expr })),
)

function filledIn(expr: string, { templating }: Dashboard): string {
  const values: Record<string, string> = { __rate_interval: '1m', __interval: '1s', __range: '5m' }
  for (const { name, allValue } of templating.list) if (allValue !== undefined) values[name] = allValue
  return expr.replace(/\$(?:{(\w+)}|(\w+))/g, (_, braced?: string, bare?: string) => {
    const value = values[braced ?? bare ?? '']
    if (value === undefined) throw new Error(`${expr}: there is no variable ${braced ?? bare}`)
    return value
  })
}

describe('every dashboard', () => {
  it('is what grafana/code says', () => {
    const committed = readdirSync(DASHBOARDS).map((file) => [file, readFileSync(join(DASHBOARDS, file), 'utf8')])
    expect(new Map(committed as [string, string][]), 'npm run dashboards').toEqual(dashboardFiles())
  })

  it('shows one Gavel alone: every metric is restricted to it, but those that Prometheus makes by itself', () => {
    const all = dashboards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)))
    const loose = all.filter((expr) => {
      const selectors =
        expr.match(/(?<![\w:"$])(?:(?:gavel|gen_ai|process|nodejs)_\w+|gavel:[\w:]+|ALERTS)(?:{[^}]*})?/g) ?? []
      const grouped = /\b(?:by|on) ?\(([^)]*)\)/g
      const labels = new Set([...expr.matchAll(grouped)].flatMap(([, names]) => (names ?? '').split(/[ ,]+/)))
      return selectors.some((one) => !one.includes('gavel=~"$gavel') && !labels.has(one))
    })
    expect(loose).toEqual([])
  })

  it('links only to runbooks that are there', () => {
    const pages = new Set(readdirSync(RUNBOOKS).map((page) => `$runbooks/${page}`))
    const urls = dashboards.flatMap(({ panels }) => panels.flatMap(({ links }) => links.map(({ url }) => url)))
    expect(urls.length).toBeGreaterThan(30)
    expect(urls.filter((url) => !pages.has(url))).toEqual([])
  })

  it.each(dashboards)('$title says of each panel what it means and what to do', ({ panels }) => {
    const mute = panels.filter(({ type, description }) => type !== 'row' && description.length < 60)
    expect(mute.map(({ title }) => title)).toEqual([])
  })

  it.each(dashboards)('$title says in the title of each number of which time it is', ({ panels }) => {
    const timeIn = (expr: string) =>
      expr.includes('$__range')
        ? 'chosen time'
        : /\[5m\]/.test(expr)
          ? '5 min'
          : expr.includes('ratio1h')
            ? 'last hour'
            : 'now'
    for (const { title, targets } of panels.filter(({ type }) => type === 'stat'))
      expect(title).toMatch(new RegExp(`\\(.*${timeIn(targets.map(({ expr }) => expr).join(' '))}\\)$`))
  })

  it.each(dashboards)('$title says in the title of each graph over a fixed window how long that is', ({ panels }) => {
    for (const { title, targets } of panels.filter(({ type }) => type === 'timeseries'))
      for (const [, minutes] of targets
        .map(({ expr }) => expr)
        .join(' ')
        .matchAll(/\[(\d+)m\]/g))
        expect(title).toMatch(new RegExp(`\\(over ${minutes} min\\)$`))
  })

  it('shows evidence that is thin apart from faults', () => {
    const all = dashboards.flatMap(({ panels }) => panels)
    const faults = all.filter(({ title }) => title.startsWith('Degraded')).flatMap(({ targets }) => targets)
    expect(faults.length).toBeGreaterThan(3)
    expect(faults.filter(({ expr }) => /fault=~?"[^"]*evidence|by \(fault\) \((?!.*fault=)/.test(expr))).toEqual([])
  })

  it('shows of intake whether it is paused, not how often it was: that would outlive the pause', () => {
    const all = dashboards.flatMap(({ panels }) => panels).flatMap(({ targets }) => targets.map(({ expr }) => expr))
    expect(all.some((expr) => expr.includes('gavel_intake_paused_by'))).toBe(true)
    expect(all.filter((expr) => expr.includes('gavel_intake_pauses_total'))).toEqual([])
  })

  it('counts no verdict as degraded on the first page by what its post lacks', () => {
    const tile = dashboards.flatMap(({ panels }) => panels).find(({ title }) => title.startsWith('Degraded (last'))
    expect(tile?.targets.map(({ expr }) => expr)).toEqual([expect.stringContaining('fault=~"ours|model"')])
  })

  it.each(dashboards)('$title is laid out on 24 columns, without overlaps', ({ panels }) => {
    const taken = new Map<string, string>()
    for (const { title, gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x} ${y}`), `${title} lies over another panel`).toBeUndefined()
          expect(x, `${title} reaches over the edge`).toBeLessThan(24)
          taken.set(`${x} ${y}`, title)
        }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  it('takes the maximum of what all replicas share, as the alerts do', () => {
    // Every replica exports these; a sum would count the same thing once for each.
    const shared =
      /gavel_(stage_jobs|stage_oldest_waiting_seconds|backlog|stream_clock_lag_seconds|intake_paused|kafka_lag_messages|kafka_lag_seconds|overdue_verdicts)\b/g
    for (const { expr } of [...queries, ...alerts])
      for (const { index } of expr.matchAll(shared))
        expect(expr.slice(0, index)).toMatch(/max(?: by \([\w, ]+\))? ?\((?:(?:max_over_time|deriv)\()?$/)
  })
})

/** Bounds that nothing reaches, so that there is something to show of how much of them is used. */
const BOUNDED = {
  limits: { models: { default: { callsPerMinute: 100_000 } }, tenants: { default: { callsPerMinute: 100_000 } } },
  budgets: {
    whenSpent: 'hold' as const,
    unpriced: 'free' as const,
    verdict: { tokens: null, usd: null },
    tenant: { tokens: 1e9, usd: null, per: 3_600_000 },
    tenants: {},
    total: { tokens: 1e9, usd: null, per: 3_600_000 },
    fresh: null,
  },
}

/** One that nobody listens at: what is sent to it fails. */
const RECEIVER = {
  atOnce: 4,
  timeout: 1_000,
  retries: [500, 60_000],
  to: {
    nobody: {
      url: 'http://127.0.0.1:9/',
      tenant: 'default',
      secrets: [`whsec_${Buffer.alloc(24).toString('base64')}`],
      allowPrivate: true,
    },
  },
}

describe('on a real Prometheus, after the demo event', () => {
  const opened: (() => Promise<unknown>)[] = []
  let unavailable: string | undefined
  let ask: Ask
  let prometheusUrl = ''
  let startedAt = 0
  let published = 0
  let exported: ReadonlySet<string> = new Set()

  beforeAll(async () => {
    try {
      startedAt = Date.now() / 1000
      await judgeTheEvent()
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      unavailable = error.message
      tell(`SKIPPED every query of the dashboards: ${error.message}`)
    }
  }, 300_000) // where Prometheus or Redis has to be installed first

  afterAll(async () => {
    const failures: unknown[] = []
    for (const close of opened.reverse()) await close().catch((error: unknown) => failures.push(error))
    expect(failures).toEqual([])
  }, 60_000)

  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable)
  })

  async function judgeTheEvent(): Promise<void> {
    // Some calls fail or are filtered, and a parameter is refused, so that there is something to show of each.
    const kinds = ['503', 'refusal', 'content-filter'] as const
    const understudy = { latencyMs: 60, faults: { rate: 0.08, kinds: [...kinds] }, dialect: 'openai-before' as const }
    const stack = await startStack({}, { kafka: 'memory', say: () => {}, understudy })
    opened.push(() => stack.close())
    const relay = await startRelay()
    opened.push(relay.close)
    const environment = environmentOn(stack, {
      GAVEL_JETSTREAM_URLS: relay.urls.v1,
      ...protocolsOn('rumor', 'hate'),
      // Their examples lie on shelves, which are empty here.
      ...PERSPECTIVES_WITH_SHELVES,
      GAVEL_LOG_LEVEL: 'silent',
      GAVEL_CLOCK_IDLE_AFTER: '2s',
      GAVEL_DOOR_PORT: '0',
      GAVEL_DOOR_OPEN_ON_LOOPBACK: 'true',
      GAVEL_RECORD_PATH: join(ownFolder('record'), 'record.sqlite'),
      GAVEL_REVIEW_AUDIT_SHARE: '1',
    })
    const settings = { ...settingsOf(environment), ...BOUNDED, webhooks: RECEIVER }
    const [finals, gone] = [new Set<string>(), new Set<string>()]
    let doorPort = 0
    const shadow = shadowMetrics(settings.name)
    const count = ({ verdict }: Events['verdict:published']) => {
      published++
      const one = { protocol: verdict.protocol, variant: 'stricter' }
      shadow.listen('shadow:judged', { ...one, asked: { anew: 1, known: 2, costUsd: 0.001 } })
      shadow.listen('shadow:waited', { ...one, seconds: 1 })
      if (verdict.final && verdict.protocol === 'rumor' && verdict.tenant !== 'other') finals.add(verdict.subjectId)
      if (verdict.degraded.includes('deleted')) gone.add(verdict.subjectId)
    }
    const app = await startApp(settings, ['intake', 'judge', 'publish', 'door', 'record', 'jetstream'], {
      listeners: [
        (name, event) => {
          if (name === 'verdict:published') count(event as Events['verdict:published'])
          else if (name === 'door:opened') doorPort = (event as Events['door:opened']).doorPort
        },
      ],
    })
    opened.push(() => app.stop())
    const scraped = `127.0.0.1:${app.httpPort}`
    const ok = async () => ({ ok: true, checks: {} })
    const beside = { metrics: shadow.page, live: ok, ready: ok }
    const shadowPage = await serveHttp({ ...settings.http, port: 0, forwarders: settings.forwarders }, beside)
    opened.push(() => shadowPage.close())
    const prometheus = await startPrometheus({
      say: () => {},
      scrape: [scraped, `127.0.0.1:${shadowPage.port}`],
      ruleFiles: FILES.map((file) => join(RULES, file)),
    })
    opened.push(() => prometheus.close())
    prometheusUrl = prometheus.settings.PROMETHEUS_URL ?? ''
    ask = asking(prometheusUrl)
    const sees = async (expr: string) => (await ask('query', { query: expr })).some(finite)
    await eventually(
      () => sees('gavel_stage_jobs'),
      20_000,
      () => 'Prometheus scraped nothing',
    )

    const atDoor = async (text: string) => {
      const asked = { post: { text }, protocols: ['hate'], wait: 10 }
      const headers = { 'content-type': 'application/json' }
      await fetch(`http://127.0.0.1:${doorPort}/v1/judge`, { method: 'POST', headers, body: JSON.stringify(asked) })
    }
    await atDoor('The first who asks.')

    const writer = await kafkaWriter(clientOf(environment), settings.kafka.compression)
    opened.push(() => writer.close())
    const topic = topicsOf(settings).posts
    // Of another tenant, so that there are two to compare.
    const others = (name: string) =>
      Array.from({ length: 40 }, (_, at) => {
        const post = { id: `${name}-${at}`, tenant: 'other', text: 'a post', createdAt: new Date().toISOString() }
        return { topic, key: post.id, value: JSON.stringify(post) }
      })
    await writer.send(others('early'))
    const signal = new AbortController().signal
    const { posts } = await produce(
      settings,
      { file: EVENT, format: 'gavel' },
      { kind: 'rate', perSecond: 80 },
      { terminal: silent, signal },
    )
    await atDoor('The second who asks.')
    await writer.send([
      ...others('late'),
      { topic, key: 'bad', value: 'this is no JSON' },
      { topic, key: 'bad', value: '{"id": "no-text-and-no-time"}' },
    ])
    await eventually(
      async () => finals.size >= posts,
      30_000,
      () => `${finals.size} of ${posts} are final`,
    )
    const [subject = ''] = finals
    const deletion = { id: subject, deleted: true, createdAt: new Date().toISOString() }
    await writer.send([{ topic, key: subject, value: JSON.stringify(deletion) }])
    await eventually(
      async () => gone.has(subject),
      20_000,
      () => 'no verdict tells of the deletion',
    )
    await eventually(
      () => sees(`sum(gavel_verdict_latency_seconds_count) == ${published} and sum(gavel_dead_letters_total) == 2`),
      10_000,
      () => `Prometheus does not see ${published} verdicts and 2 dead letters`,
    )
    const metrics = `${await (await fetch(`http://${scraped}/metrics`)).text()}${(await shadow.page()).text}`
    exported = new Set([...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name ?? ''))
  }

  const range = () => ({ start: String(startedAt), end: String(Date.now() / 1000), step: '1' })

  /** That its metrics are exported, and that each of its selectors finds something: no name or value is mistyped. */
  async function expectKnown(expr: string): Promise<void> {
    const known = (name: string) => exported.has(name) || exported.has(name.replace(OF_A_HISTOGRAM, ''))
    expect(
      metricsOf(expr).filter((name) => !known(name)),
      'metrics that /metrics does not have',
    ).toEqual([])
    // What fires elsewhere does not fire here. What a selector leaves out may be all that is here, and a mistyped name leaves out
    // nothing.
    for (const [selector] of expr.matchAll(/(?<![\w:])(?!ALERTS{)[\w:]+{[^}]*}/g)) {
      const query = selector.replaceAll(/\w+!(?:=|~)"[^"]*",?/g, '')
      expect(await ask('query_range', { query, ...range() }), `series of ${selector}`).not.toEqual([])
    }
  }

  it.each(queries)('$name has data', async ({ expr, legend }) => {
    // A table shows what is now: at some moment of the event there was something to show.
    const found = await ask('query_range', { query: expr, ...range() })
    expect(found.some(finite), `${expr} found nothing but ${JSON.stringify(found).slice(0, 500)}`).toBe(true)
    for (const { metric } of found) expect(Object.keys(metric), `of ${expr}`).toEqual(expect.arrayContaining(legend))
    await expectKnown(expr)
  })

  it('every dashboard is drawn without Grafana, each panel with what Prometheus has', async () => {
    const folder = ownFolder('pictures')
    try {
      const files = await drawAll(prometheusUrl, { from: startedAt, to: Date.now() / 1000 }, folder)
      expect(files.map((file) => basename(file))).toHaveLength(dashboards.length)
      for (const [at, file] of files.entries()) {
        const svg = readFileSync(file, 'utf8')
        const board = dashboards.find(({ uid }) => basename(file) === `${uid}.svg`)
        for (const { title } of board?.panels ?? []) expect(svg).toContain(`>${title.replaceAll("'", '&#39;')}<`)
        const series = svg.match(/<path /g)?.length ?? 0
        expect(series, `lines in picture ${at}`).toBeGreaterThan(4)
        expect(svg).not.toMatch(/NaN|undefined/)
        expect(svg).toContain('not Grafana’s own drawing')
        if (process.env.GAVEL_KEEP_PICTURES) copyFileSync(file, join(process.env.GAVEL_KEEP_PICTURES, basename(file)))
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it.each(variables)('$name has values', async ({ query }) => {
    const [, series, label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? []
    if (series === undefined || label === undefined) throw new Error(`${query} is not label_values(SERIES, LABEL)`)
    const found = await ask('query_range', { query: `count by (${label}) (${series})`, ...range() })
    expect(found.filter(({ metric }) => metric[label])).not.toEqual([])
  })

  it.each(alerts)('$name asks for what is there', async ({ expr }) => {
    await ask('query', { query: expr })
    await expectKnown(expr)
  })

  it.each(annotations)('$name is a query', async ({ expr }) => {
    await ask('query', { query: expr })
  })
})

describe('what alerts and runbooks lead to', () => {
  it.each(alerts.filter(({ alert }) => alert !== undefined))('$name leads to a dashboard that is there', (rule) => {
    expect(dashboards.map(({ uid }) => `/d/${uid}`)).toContain(rule.annotations?.dashboard)
  })

  const pages = readdirSync(RUNBOOKS).map((page) => ({ page, text: readFileSync(join(RUNBOOKS, page), 'utf8') }))
  it.each(pages)('$page quotes only panels that are there', ({ text }) => {
    const titles = dashboards.flatMap(({ panels }) => panels.map(({ title }) => title))
    const prose = text.replaceAll(/`[^`]*`/g, '')
    // A quoted word without a capital is a command or a value.
    const panels = [...prose.matchAll(/"([A-Z][^"]*)"/g)].map(([, title]) => title ?? '')
    expect(panels.filter((words) => !titles.some((title) => title.startsWith(words)))).toEqual([])
  })
})

const OF_A_HISTOGRAM = /_(bucket|sum|count)$/
/** What Prometheus makes by itself. */
const ITS_OWN = new Set(['up', 'scrape_duration_seconds', 'ALERTS'])

/** The names of metrics in a query: words with an underscore that are no function, outside of braces and grouping. */
function metricsOf(expr: string): string[] {
  const bare = expr.replace(
    /{[^}]*}|"[^"]*"|\b(?:by|on|without|ignoring|group_(?:left|right)) ?\([^)]*\)|\bgroup_(?:left|right)\b|\b[a-z_]+(?=\()/g,
    ' ',
  )
  return [...new Set(bare.match(/\b[A-Za-z]\w*_\w+\b/g) ?? [])].filter((name) => !ITS_OWN.has(name))
}

const found = z.object({
  metric: z.record(z.string(), z.string()),
  value: z.tuple([z.number(), z.string()]).optional(),
  values: z.array(z.tuple([z.number(), z.string()])).default([]),
})
type Found = z.infer<typeof found>
type Ask = (kind: 'query' | 'query_range', parameters: Record<string, string>) => Promise<Found[]>

/** Asks Prometheus' HTTP API; throws, in its own words, what it says is wrong with a query. */
function asking(url: string): Ask {
  const answer = z.object({
    status: z.string(),
    error: z.string().optional(),
    data: z.object({ result: z.array(found) }).optional(),
  })
  return async (kind, parameters) => {
    const response = await fetch(`${url}/api/v1/${kind}`, { method: 'POST', body: new URLSearchParams(parameters) })
    const { status, error, data } = answer.parse(await response.json())
    if (status !== 'success' || data === undefined) throw new Error(`${parameters.query}: ${error}`)
    return data.result
  }
}

/** Has at least one number: not even a quotient of nothing by nothing counts. */
function finite({ value, values }: Found): boolean {
  return [...values, ...(value === undefined ? [] : [value])].some(([, text]) => Number.isFinite(Number(text)))
}
