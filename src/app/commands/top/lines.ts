import { clipped, type Look, type Tone, type TonedText } from '../../../cli/drawing.ts'
import type { UsedShare } from '../../../contracts/ports/report.ts'
import { addUp, type PublishedCounts, quantile, since } from '../../../operations/status/pace.ts'
import type { ShownReplica } from '../../../operations/status/pages.ts'
import type { ServerOutage, ServiceState } from '../../../operations/status/state.ts'

type Line = readonly TonedText[]

/**
 * A look at the service in lines of at most so many columns; `before` is an earlier look, since which spend and verdicts are
 * counted. Without one they are counted since the processes started.
 */
export function screenLines(now: ServiceState, before: ServiceState | null, look: Look): string[] {
  const lines: Line[] = [
    [{ text: 'gavel top', tone: 'strong' }, `  ${new Date(now.at).toISOString()}`],
    ...now.away.map(awayLine),
    [],
    verdictsLine(now, before),
    degradedLine(now, before),
    ...wrongLines(now),
    [],
    ...storedLines(now),
    lagLine(now),
    [],
    ...stageLines(now),
    heading(['REPLICA', 'SLOTS', 'WAITING', 'USD/HOUR', 'MODELS']),
    ...now.replicas.map((replica) => replicaLine(replica, now, before)),
    ...tenantLines(now),
  ]
  return lines.map((line) => clipped(...line).on(look))
}

function awayLine({ server, since, why }: ServerOutage): Line {
  return [
    { text: `${server} does not answer`, tone: 'bad' },
    ` since ${new Date(since).toISOString()}: ${why.replace(`${server} does not answer `, '')}`,
  ]
}

/** What all processes that answer have published since the earlier look, and in how many seconds. */
function publishedIn(now: ServiceState, before: ServiceState | null): { all: PublishedCounts; seconds: number | null } {
  const all = now.replicas.flatMap(({ url, says }) => {
    if (says === null) return []
    const earlier = before?.replicas.find((one) => one.url === url)?.says?.published
    // Who was not there at the earlier look has published nothing since then that is known.
    if (before !== null && earlier === undefined) return []
    return [since(says.published, earlier)]
  })
  return { all: addUp(all), seconds: before === null ? null : (now.at - before.at) / 1000 }
}

function verdictsLine(now: ServiceState, before: ServiceState | null): Line {
  const label = { text: 'verdicts ', tone: 'strong' } as const
  if (now.replicas.every(({ says }) => says === null)) return [label, 'not known: no replica answers']
  const { all, seconds: passed } = publishedIn(now, before)
  const pace =
    passed === null || passed === 0
      ? `${all.verdicts} since the start`
      : `${(all.verdicts / passed).toFixed(2)} a second (${all.verdicts} in the last ${Math.round(passed)} s)`
  const [p50, p95] = [quantile(0.5, all), quantile(0.95, all)]
  return [label, pace, p50 === null || p95 === null ? '' : `   latency p50 ${seconds(p50)}, p95 ${seconds(p95)}`]
}

function degradedLine(now: ServiceState, before: ServiceState | null): Line {
  const { all } = publishedIn(now, before)
  const label = { text: 'degraded ', tone: 'strong' } as const
  if (all.verdicts === 0) return [label, 'no verdict yet']
  const parts = Object.entries(all.degraded)
    .filter(([, verdicts]) => verdicts > 0)
    .flatMap(([fault, verdicts]): TonedText[] => {
      const tone = fault === 'ours' ? 'bad' : fault === 'model' ? 'warning' : 'faint'
      return [
        { text: `${fault === 'none' ? 'nobody’s fault' : fault} ${percent(verdicts / all.verdicts)}`, tone },
        '   ',
      ]
    })
  return [label, ...(parts.length === 0 ? [{ text: 'none', tone: 'good' } as const] : parts)]
}

/** What fires by Prometheus, and what the processes find wrong by themselves. */
function wrongLines({ firing, replicas }: ServiceState): Line[] {
  const own = [...new Set(replicas.flatMap(({ says }) => says?.wrong.map(({ what }) => what) ?? []))]
  return [
    ...(firing === null ? [] : firing).map(({ name, severity, summary }): Line => {
      return [{ text: `fires    ${name}`, tone: severity === 'page' ? 'bad' : 'warning' }, ` (${severity}): ${summary}`]
    }),
    ...own.map((what): Line => [{ text: `wrong    ${what}`, tone: 'bad' }]),
    ...(firing === null || firing.length + own.length > 0
      ? []
      : [[{ text: 'fires    nothing', tone: 'good' }] as Line]),
    ...(firing === null
      ? [[{ text: 'alerts   not known: --prometheus URL shows what fires', tone: 'faint' }] as Line]
      : []),
  ]
}

function storedLines(now: ServiceState): Line[] {
  if (now.stages === null) return [['open cases, due threads and outbox are not known while Redis is away']]
  const { openCases, due, outbox, streamBehindSeconds, paused } = now
  const held = outbox.size > 0 ? `, oldest ${seconds(outbox.oldestSeconds)}` : ''
  const stream = streamBehindSeconds === null ? 'not known' : `${seconds(streamBehindSeconds)} behind`
  return [
    [
      `open cases ${openCases}   due threads ${due}   outbox ${outbox.size}${held}   stream clock ${stream}`,
      ...(paused.length > 0 ? [{ text: `   paused: ${paused.join(', ')}`, tone: 'warning' } as const] : []),
    ],
  ]
}

function lagLine({ lag }: ServiceState): Line {
  if (lag === null) return ['lag  not known: Kafka does not answer']
  const told = lag.map(({ topic, messages, seconds: behind }) => {
    const since = messages > 0 && behind !== null ? ` (${seconds(behind)})` : ''
    return `${topic} ${messages}${since}`
  })
  return [`lag  ${told.join('   ')}`]
}

/** From then on somebody should look at why an ask waits. */
const LONG_WAIT_SECONDS = 60

function stageLines({ stages }: ServiceState): Line[] {
  if (stages === null) return []
  const busy = stages.filter(({ states }) => states.waiting + states.active + states.delayed > 0)
  const idle = stages.length - busy.length
  const oldest = ({ oldestWaitingSeconds, oldestDeferredSeconds = 0 }: (typeof stages)[number]) =>
    Math.max(oldestWaitingSeconds, oldestDeferredSeconds)
  return [
    heading(['STAGE', 'WAITING', 'ACTIVE', 'DEFERRED', 'OLDEST WAIT   DEFERRED FOR']),
    ...[...busy]
      .sort((a, b) => oldest(b) - oldest(a))
      .map((stage): Line => {
        const { waiting, active, delayed } = stage.states
        const { oldestWaitingSeconds: wait, oldestDeferredSeconds: deferred = 0 } = stage
        const tone = (is: number): Tone => (is > LONG_WAIT_SECONDS ? 'warning' : 'good')
        return [
          row([`${stage.protocol}.${stage.stage}`, String(waiting), String(active), String(delayed), '']),
          { text: seconds(wait).padEnd(14), tone: tone(wait) },
          ...(delayed > 0 ? [{ text: seconds(deferred), tone: tone(deferred) }] : []),
        ]
      }),
    ...(idle > 0 ? [[`${idle} ${idle === 1 ? 'stage has' : 'stages have'} nothing to do`]] : []),
    [],
  ]
}

const WIDTHS = [32, 10, 8, 9]

function row(cells: readonly string[]): string {
  return cells.map((cell, at) => (at < WIDTHS.length ? cell.padEnd(WIDTHS[at] ?? 0) : cell)).join(' ')
}

function heading(cells: readonly string[]): Line {
  return [{ text: row(cells).trimEnd(), tone: 'strong' }]
}

function replicaLine({ url, says }: ShownReplica, now: ServiceState, before: ServiceState | null): Line {
  if (says === null) return [row([url, '']).slice(0, (WIDTHS[0] ?? 0) + 1), { text: 'no answer', tone: 'bad' }]
  const earlier = before?.replicas.find((one) => one.url === url)?.says
  const hours = before === null ? 0 : (now.at - before.at) / 3_600_000
  const spend = earlier == null || hours === 0 ? '' : (Math.max(0, says.costUsd - earlier.costUsd) / hours).toFixed(2)
  const models = says.models.flatMap(({ model, limit, breaker }): TonedText[] => {
    if (breaker === 0) return [`${model} (${limit}) `]
    const state = breaker === 1 ? 'tried again' : 'left alone'
    return [{ text: `${model} (${limit}, ${state}) `, tone: breaker === 1 ? 'warning' : 'bad' }]
  })
  const { busy, all, waiting } = says.slots
  return [row([url, `${busy}/${all}`, String(waiting), spend, '']), ...models]
}

function tenantLines({ tenants, limits, budgets }: ServiceState): Line[] {
  if (tenants === null) return []
  return [
    ...(tenants.length === 0 ? [] : [[], heading(['TENANT', 'OPEN CASES', 'LIMITS', 'BUDGETS', ''])]),
    ...tenants.map(({ tenant, openCases: open }): Line => {
      return [row([tenant, String(open), fullest(limits, tenant), fullest(budgets, tenant)]).trimEnd()]
    }),
    ...totals(limits, budgets),
  ]
}

/** The fullest of a tenant's limits or budgets. */
function fullest(all: readonly UsedShare[], tenant: string): string {
  const shares = all.flatMap(({ scope, name, share }) => (scope === 'tenant' && name === tenant ? [share] : []))
  return shares.length === 0 ? '' : percent(Math.max(...shares))
}

function totals(limits: readonly UsedShare[], budgets: readonly UsedShare[]): Line[] {
  const shared = [...limits, ...budgets].filter(({ scope }) => scope !== 'tenant')
  if (shared.length === 0) return []
  const told = shared.map(({ name, unit, share }) => `${name || 'total budget'} ${unit} ${percent(share)}`)
  return [[], [`used  ${told.join('   ')}`]]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`
  return value < 7_200 ? `${Math.round(value)} s` : `${Math.round(value / 3_600)} h`
}
