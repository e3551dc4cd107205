import type { UsedShare } from '../../service/ports/report.ts'
import { printableJson } from '../terminal.ts'
import type { ServiceState, ShownReplica } from './parts.ts'

/** A look at the service in lines of at most so many columns; `before` is the look before it, by which spend is counted. */
export function screenLines(now: ServiceState, before: ServiceState | null, columns: number): string[] {
  const { stages, openCases, due, outbox, lag, streamBehindSeconds, paused, tenants, limits, budgets, replicas } = now
  const waiting = stages.filter(({ states }) => states.waiting + states.active + states.delayed > 0)
  const idle = stages.length - waiting.length
  const lines = [
    `gavel top  ${new Date(now.at).toISOString()}`,
    '',
    `open cases ${openCases}   due threads ${due}   outbox ${outbox.size}${outbox.size > 0 ? `, oldest ${seconds(outbox.oldestSeconds)}` : ''}   stream clock ${streamBehindSeconds === null ? 'not known' : `${seconds(streamBehindSeconds)} behind`}${paused.length > 0 ? `   paused: ${paused.join(', ')}` : ''}`,
    lag === null
      ? 'lag: Kafka does not answer'
      : `lag  ${lag.map(({ topic, messages, seconds: s }) => `${topic} ${messages}${messages > 0 && s !== null ? ` (${seconds(s)})` : ''}`).join('   ')}`,
    '',
    columnsOf(['STAGE', 'WAITING', 'ACTIVE', 'DEFERRED', 'OLDEST WAIT']),
    ...[...waiting]
      .sort((a, b) => b.oldestWaitingSeconds - a.oldestWaitingSeconds)
      .map(({ protocol, stage, states, oldestWaitingSeconds }) =>
        columnsOf([
          ...[`${protocol}.${stage}`, String(states.waiting), String(states.active), String(states.delayed)],
          seconds(oldestWaitingSeconds),
        ]),
      ),
    ...(idle > 0 ? [`${idle} ${idle === 1 ? 'stage has' : 'stages have'} nothing to do`] : []),
    '',
    columnsOf(['REPLICA', 'SLOTS', 'WAITING', 'USD/HOUR', 'MODELS']),
    ...replicas.map((replica) => columnsOf(replicaRow(replica, now, before))),
    ...(tenants.length === 0 ? [] : ['', columnsOf(['TENANT', 'OPEN CASES', 'LIMITS', 'BUDGETS', ''])]),
    ...tenants.map(({ tenant, openCases: open }) =>
      columnsOf([tenant, String(open), fullest(limits, tenant), fullest(budgets, tenant), '']),
    ),
    ...totals(limits, budgets),
  ]
  return lines.map((line) => printableJson(line).slice(0, columns))
}

const WIDTHS = [32, 10, 8, 9]

function columnsOf(cells: readonly string[]): string {
  return cells
    .map((cell, at) => (at < WIDTHS.length ? cell.padEnd(WIDTHS[at] ?? 0) : cell))
    .join(' ')
    .trimEnd()
}

function replicaRow({ url, says }: ShownReplica, now: ServiceState, before: ServiceState | null): string[] {
  if (says === null) return [url, 'no answer', '', '', '']
  const earlier = before?.replicas.find((one) => one.url === url)?.says
  const hours = before === null ? 0 : (now.at - before.at) / 3_600_000
  const spend = earlier == null || hours === 0 ? '' : (Math.max(0, says.costUsd - earlier.costUsd) / hours).toFixed(2)
  const models = says.models.map(({ model, limit, breaker }) => {
    const state = breaker === 0 ? '' : breaker === 1 ? ', half-open' : ', left alone'
    return `${model} (${limit}${state})`
  })
  return [url, `${says.slots.busy}/${says.slots.all}`, String(says.slots.waiting), spend, models.join(' ')]
}

/** The fullest of a tenant's limits or budgets. */
function fullest(all: readonly UsedShare[], tenant: string): string {
  const shares = all.flatMap(({ scope, name, share }) => (scope === 'tenant' && name === tenant ? [share] : []))
  return shares.length === 0 ? '' : percent(Math.max(...shares))
}

function totals(limits: readonly UsedShare[], budgets: readonly UsedShare[]): string[] {
  const shared = [...limits, ...budgets].filter(({ scope }) => scope !== 'tenant')
  if (shared.length === 0) return []
  return [
    '',
    `used  ${shared.map(({ name, unit, share }) => `${name || 'total budget'} ${unit} ${percent(share)}`).join('   ')}`,
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function seconds(value: number): string {
  return value < 10
    ? `${value.toFixed(1)} s`
    : value < 7_200
      ? `${Math.round(value)} s`
      : `${Math.round(value / 3_600)} h`
}
