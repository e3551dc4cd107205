import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { CALL_OUTCOMES } from '../../../src/contracts/facts/errors.ts'
import { FAULTS } from '../../../src/contracts/facts/verdict.ts'
import { REFUSAL_REASONS } from '../../../src/contracts/ports/budgets.ts'
import { ERROR_SOURCES, PRESSURE_KINDS, sourceOf } from '../../../src/contracts/ports/report.ts'
import { prometheusMetrics } from '../../../src/operations/metrics/metrics.ts'

type Bounds = ReturnType<Parameters<typeof prometheusMetrics>[0]['bounds']>

const metrics = (bounds: () => Bounds = () => ({ limits: ['model'], budgets: [{ scope: 'tenant', unit: 'usd' }] })) => {
  const { listen, page } = prometheusMetrics({
    protocols: [
      { name: 'rumor', stages: ['stance'], labels: ['rumor'], decides: ['consensus', 'judge'], shelves: ['kold'] },
    ],
    topics: ['posts'],
    models: ['m'],
    roles: { default: ['m'], 'rumor.judge': ['m'] },
    endpointOf: () => 'https://models.example/v1',
    objectiveSeconds: 60,
    bounds,
    prompts: '4567cdef',
    identity: { gavel: 'g', version: '1.2.3', settings: '0123abcd', host: 'pod-1', roles: ['intake', 'judge'] },
  })
  const text = async () => (await page()).text
  /** The values of a metric's series, without the label that all have. */
  const valuesOf = async (name: string) =>
    (await text()).split('\n').flatMap((line) => {
      const [, series = '', value] = new RegExp(`^${name}({.*})? (.+)$`).exec(line) ?? []
      const labels = series
        .slice(1, -1)
        .split(/,(?=\w+=")/)
        .filter((label) => !/^(?:gavel="g"|\w+="")?$/.test(label))
      return value === undefined ? [] : [`${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value}`]
    })
  return { listen, page, text, valuesOf }
}

it('counts an error by its source, every source from zero, without details that only the log has', async () => {
  const { listen, text } = metrics()
  const before = await text()
  for (const where of ERROR_SOURCES) expect(before).toContain(`gavel_troubles_total{where="${where}",gavel="g"} 0`)
  listen('error', { where: 'worker rumor.stance', error: new Error('lost its lock') })
  listen('error', { where: 'worker', error: new Error('lost its lock') })
  expect(await text()).toContain('gavel_troubles_total{where="worker",gavel="g"} 2')
  expect(await text()).not.toContain('where="worker rumor')
  expect(sourceOf('kafka commit')).toBe('kafka')
})

/** A sample of Gavel's own, but for the host's time, which is never the same twice. */
const MEASURED = /^gavel_(?!host_time_seconds)/

it('says for which reasons intake is paused, until it goes on', async () => {
  const { listen, valuesOf } = metrics()
  const paused = async () =>
    (await valuesOf('gavel_intake_paused_by')).filter((line) => line.endsWith(' 1')).map((line) => line.slice(0, -2))
  expect(await paused()).toEqual([])
  listen('intake:paused', { signals: ['store-full', 'outbox-age'], reason: 'r' })
  expect((await paused()).sort()).toEqual(['{reason="outbox-age"}', '{reason="store-full"}'])
  listen('intake:resumed', {})
  expect(await paused()).toEqual([])
})

it('distinguishes searches with and without results, for each shelf', async () => {
  const { listen, valuesOf } = metrics()
  listen('shelf:searched', { protocol: 'rumor', shelf: 'kold', found: false })
  expect(await valuesOf('gavel_shelf_searches_total')).toEqual([
    '{protocol="rumor",shelf="kold",found="true"} 0',
    '{protocol="rumor",shelf="kold",found="false"} 1',
  ])
})

it('counts tries of webhooks by how they ended, and says nothing of what waits where no receiver is set', async () => {
  const { listen, valuesOf } = metrics()
  expect(await valuesOf('gavel_webhooks_waiting')).toEqual([])
  listen('webhooks:counted', { waiting: 3, parked: 2, oldestSeconds: 7 })
  listen('webhook:tried', { hook: 'shop', outcome: 'parked', why: 'status 500' })
  expect(await valuesOf('gavel_webhook_tries_total')).toEqual([
    '{outcome="sent"} 0',
    '{outcome="failed"} 0',
    '{outcome="parked"} 1',
    '{outcome="dropped"} 0',
  ])
  const gauges = ['gavel_webhooks_waiting', 'gavel_webhooks_parked', 'gavel_webhook_oldest_seconds']
  expect(await Promise.all(gauges.map(valuesOf))).toEqual([[' 3'], [' 2'], [' 7']])
})

it('counts what variants judge and cost by way, and names no more than twenty', async () => {
  const { listen, valuesOf } = metrics()
  expect(await valuesOf('gavel_variant_judged_total')).toEqual([])
  for (let nth = 0; nth < 25; nth++)
    listen('shadow:judged', { protocol: 'hate', variant: `v${nth}`, asked: { anew: 1, known: 2, costUsd: 0.5 } })
  const counted = await valuesOf('gavel_variant_usd_total')
  expect(counted).toHaveLength(21)
  expect(counted).toContain('{protocol="hate",variant="v3",way="shadow"} 0.5')
  expect(counted).toContain('{protocol="hate",variant="other",way="shadow"} 2.5')
  expect(await valuesOf('gavel_variant_questions_total')).toContain(
    '{protocol="hate",variant="other",answered="known"} 10',
  )
  listen('shadow:waited', { protocol: 'hate', variant: 'v3', seconds: 2 })
  expect(await valuesOf('gavel_variant_waited_seconds_total')).toEqual(['{protocol="hate",variant="v3"} 2'])
})

it('counts an event in its own series alone', async () => {
  const { listen, text } = metrics()
  const before = new Set((await text()).split('\n'))
  listen('budget:refused', { scope: 'tenant', unit: 'usd', why: 'spent' })
  const changed = (await text()).split('\n').filter((line) => MEASURED.test(line) && !before.has(line))
  expect(changed).toEqual(['gavel_budget_refusals_total{scope="tenant",unit="usd",why="spent",gavel="g"} 1'])
})

it('counts requests at the door by route and outcome, and times its own work and its waiting apart', async () => {
  const { listen, text } = metrics()
  const route = '/v1/judge'
  listen('door:answered', { route, outcome: 'answered', ownSeconds: 0.004, waitSeconds: 2 })
  listen('door:answered', { route, outcome: 'busy', ownSeconds: 0.001, waitSeconds: 0 })
  const counted = (await text())
    .split('\n')
    .filter((line) => /^gavel_door_(requests_total|\w+_(sum|count))\{/.test(line))
  expect(counted.filter((line) => !line.endsWith(' 0'))).toEqual([
    `gavel_door_requests_total{route="${route}",outcome="answered",gavel="g"} 1`,
    `gavel_door_requests_total{route="${route}",outcome="busy",gavel="g"} 1`,
    `gavel_door_own_seconds_sum{gavel="g",route="${route}"} 0.005`,
    `gavel_door_own_seconds_count{gavel="g",route="${route}"} 2`,
    `gavel_door_wait_seconds_sum{gavel="g",route="${route}"} 2`,
    `gavel_door_wait_seconds_count{gavel="g",route="${route}"} 1`,
  ])
})

/** The counters that alerts and objectives read. */
const ALERTED = ['alerts.yml', 'objectives.yml'].flatMap((file) =>
  [...readFileSync(join(PROJECT, 'config', 'prometheus', file), 'utf8').matchAll(/gavel_\w+_total/g)].map(
    ([name]) => name,
  ),
)

it('knows every series of a counter that alerts read beforehand, at zero: an increase from nothing is seen by no alert', async () => {
  const { listen, text } = metrics()
  const seriesOf = (page: string) => {
    const counters = [...page.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name)
    const lines = page.split('\n').filter((line) => counters.some((name) => line.startsWith(`${name}{`)))
    return new Map(
      lines.flatMap((line) => {
        const [series, value] = [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]
        return ALERTED.some((name) => series.startsWith(`${name}{`)) ? [[series, value] as const] : []
      }),
    )
  }
  const before = seriesOf(await text())
  expect([...before.values()].filter((value) => value !== 0)).toEqual([])
  const call = { callId: 'c', caseId: 'k', askId: 'a', protocol: 'rumor', stage: 'stance', model: 'm', seconds: 1 }
  const spent = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: 1 }
  for (const outcome of CALL_OUTCOMES) listen('call:ended', { ...call, ...spent, outcome } as never)
  for (const reason of PRESSURE_KINDS) listen('intake:paused', { signals: [reason], reason })
  for (const decidedBy of ['consensus', 'judge', 'none'])
    for (const faults of [[], ...FAULTS.map((fault) => [fault])])
      for (const degraded of faults.length > 0 || decidedBy === 'none' ? [['something']] : [[], ['something']])
        for (const latencySeconds of [1, 61]) {
          const label = decidedBy === 'none' ? null : 'rumor'
          const verdict = { protocol: 'rumor', label, decidedBy, degraded, faults, rounds: 1 }
          listen('verdict:published', { verdict, latencySeconds, overheadSeconds: 1 } as never)
        }
  const deleted = { protocol: 'rumor', label: null, decidedBy: 'deleted', degraded: ['deleted'], faults: [], rounds: 0 }
  listen('verdict:published', { verdict: deleted, latencySeconds: 1, overheadSeconds: 1 } as never)
  for (const why of REFUSAL_REASONS) listen('budget:refused', { scope: 'tenant', unit: 'usd', why } as never)
  const after = seriesOf(await text())
  expect([...after.keys()].filter((series) => !before.has(series))).toEqual([])
  const counted = [...after].filter(([, value]) => value > 0).map(([series]) => series.split('{')[0])
  expect(new Set(counted)).toEqual(
    new Set([
      'gavel_model_calls_total',
      'gavel_verdicts_total',
      'gavel_objective_verdicts_total',
      'gavel_budget_refusals_total',
    ]),
  )
})

it('names every process, and the deployment on every series', async () => {
  const { text, valuesOf } = metrics()
  expect(await valuesOf('gavel_build_info')).toEqual([
    '{version="1.2.3",settings="0123abcd",prompts="4567cdef",host="pod-1",roles="intake,judge"} 1',
  ])
  const series = (await text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(series.filter((line) => !/[{,]gavel="g"[,}]/.test(line))).toEqual([])
})

it('counts a verdict as in time by the objective, and by the first of its faults', async () => {
  const { listen, valuesOf } = metrics()
  const verdict = { protocol: 'rumor', label: 'rumor', decidedBy: 'judge', degraded: ['a', 'b'], rounds: 1 }
  const publish = (faults: string[], latencySeconds: number) =>
    listen('verdict:published', { verdict: { ...verdict, faults }, latencySeconds, overheadSeconds: 0 } as never)
  publish(['ours', 'model'], 60)
  publish(['model'], 60.5)
  publish(['model'], 1)
  expect(await valuesOf('gavel_objective_verdicts_total')).toEqual([
    '{protocol="rumor",in_time="true"} 2',
    '{protocol="rumor",in_time="false"} 1',
  ])
  expect((await valuesOf('gavel_verdicts_total')).filter((line) => !line.endsWith(' 0'))).toEqual([
    '{protocol="rumor",label="rumor",decided_by="judge",degraded="true",fault="ours"} 1',
    '{protocol="rumor",label="rumor",decided_by="judge",degraded="true",fault="model"} 2',
  ])
})

it('counts a control by whether its debate changed the label, and nothing that was debated for another reason', async () => {
  const { listen, valuesOf } = metrics()
  const publish = (label: string | null, debated: object) => {
    const verdict = { protocol: 'rumor', label, decidedBy: 'judge', degraded: [], faults: [], rounds: 1, debated }
    listen('verdict:published', { verdict, latencySeconds: 1, overheadSeconds: 0 } as never)
  }
  publish('rumor', { held: true, why: 'control', chance: 0.02, without: 'unverified' })
  publish('rumor', { held: true, why: 'control', chance: 0.02, without: 'rumor' })
  publish('rumor', { held: true, why: 'control', chance: 0.02, without: 'rumor' })
  publish('rumor', { held: true, why: 'control', chance: 0.02 })
  publish('rumor', { held: true, why: 'contested' })
  publish('rumor', { held: false, why: 'one-sided' })
  expect(await valuesOf('gavel_controls_total')).toEqual([
    '{protocol="rumor",outcome="changed"} 1',
    '{protocol="rumor",outcome="unchanged"} 2',
  ])
})

it('counts what lists decided, by the list', async () => {
  const { listen, valuesOf } = metrics()
  const ruled = { protocol: 'rumor', label: null, decidedBy: 'veto', degraded: [], faults: [], rounds: 0 }
  for (const veto of [{ list: 'known', entry: 'e' }, { list: 'known', entry: 'f' }, undefined])
    listen('verdict:published', { verdict: { ...ruled, veto }, latencySeconds: 1, overheadSeconds: 0 } as never)
  expect(await valuesOf('gavel_vetoes_total')).toEqual(['{protocol="rumor",list="known"} 2'])
})

it('has no series of what is not known: before this process exports the shared state, and when it does no more', async () => {
  const { listen, valuesOf } = metrics()
  const shared = [
    'gavel_backlog',
    'gavel_stream_clock_lag_seconds',
    'gavel_stage_jobs',
    'gavel_stage_oldest_waiting_seconds',
    'gavel_protocol_paused',
    'gavel_lane_state',
    'gavel_overdue_verdicts',
    'gavel_tenant_open_cases',
    'gavel_kafka_lag_messages',
    'gavel_kafka_lag_seconds',
    'gavel_limit_used_ratio',
    'gavel_budget_used_ratio',
  ]
  const known = async () => {
    const counts = await Promise.all(shared.map(async (name) => [name, (await valuesOf(name)).length] as const))
    return counts.filter(([, count]) => count > 0).map(([name]) => name)
  }
  const exportAll = () => {
    listen('state:exported', { here: true })
    const states = { waiting: 1, active: 0, delayed: 0 }
    listen('stage:backlog', { protocol: 'rumor', stage: 'stance', states, oldestWaitingSeconds: 2 })
    listen('protocol:watched', { protocol: 'rumor', paused: false })
    listen('lane:watched', { states: [] })
    const overdue = [{ protocol: 'rumor', at: 'open', count: 1 }] as const
    const tenants = new Map(Array.from({ length: 12 }, (_, at) => [`t${at}`, at]))
    listen('state:counted', { openCases: 1, outbox: 0, due: 0, clockLagSeconds: 0, overdue, tenants })
    const used = { scope: 'tenant', name: 't', unit: 'tokens', share: 0.5 } as const
    listen('capacity:used', { limits: [used], budgets: [used] })
    listen('kafka:lag', { partitions: [{ topic: 'posts', partition: 3, messages: 7, seconds: 5 }], overdue: 7 })
  }
  expect(await known()).toEqual([])
  expect(await valuesOf('gavel_state_exporter')).toEqual([' 0'])
  exportAll()
  expect(await known()).toEqual(shared)
  expect(await valuesOf('gavel_state_exporter')).toEqual([' 1'])
  expect(await valuesOf('gavel_kafka_lag_messages')).toEqual(['{topic="posts",partition="3"} 7'])
  expect(await valuesOf('gavel_kafka_lag_seconds')).toEqual(['{topic="posts",partition="3"} 5'])
  expect(await valuesOf('gavel_overdue_verdicts')).toEqual([
    '{protocol="rumor",at="open"} 1',
    '{protocol="all",at="kafka"} 7',
  ])
  const tenants = await valuesOf('gavel_tenant_open_cases')
  expect([tenants.length, tenants[0], tenants.at(-1)]).toEqual([10, '{tenant="t11"} 11', '{tenant="t2"} 2'])
  listen('state:exported', { here: false })
  listen('kafka:lag', { partitions: null, overdue: null })
  expect(await known()).toEqual([])
  expect(await valuesOf('gavel_state_exporter')).toEqual([' 0'])
})

it('shows the unread messages in Kafka also while stores and queues do not answer, and their age only if known', async () => {
  const { listen, valuesOf } = metrics()
  const behind = { topic: 'posts', partition: 3, messages: 268 }
  listen('kafka:lag', { partitions: [{ ...behind, seconds: 61 }], overdue: 268 })
  listen('state:exported', { here: false })
  expect(await valuesOf('gavel_overdue_verdicts')).toEqual(['{protocol="all",at="kafka"} 268'])
  expect(await valuesOf('gavel_kafka_lag_seconds')).toEqual(['{topic="posts",partition="3"} 61'])
  listen('kafka:lag', { partitions: [{ ...behind, seconds: null }], overdue: 0 })
  expect(await valuesOf('gavel_kafka_lag_messages')).toEqual(['{topic="posts",partition="3"} 268'])
  expect(await valuesOf('gavel_kafka_lag_seconds')).toEqual([])
})

it('names the partitions that this process reads, and none that it has lost', async () => {
  const { listen, valuesOf } = metrics()
  const partitions = [0, 1].map((partition) => ({ topic: 'posts', partition }))
  listen('partitions:assigned', { partitions })
  expect(await valuesOf('gavel_partition_assigned')).toEqual([
    '{topic="posts",partition="0"} 1',
    '{topic="posts",partition="1"} 1',
  ])
  listen('partitions:assigned', { partitions: partitions.slice(1) })
  expect(await valuesOf('gavel_partition_assigned')).toEqual(['{topic="posts",partition="1"} 1'])
  listen('partitions:assigned', { partitions: [] })
  expect(await valuesOf('gavel_partition_assigned')).toEqual([])
})

it('has no share of memory before Redis has reported it, nor while Redis does not answer', async () => {
  const { listen, valuesOf } = metrics()
  expect(await valuesOf('gavel_redis_memory_share')).toEqual([])
  listen('store:watched', { memoryShare: 0.5, lost: false })
  expect(await valuesOf('gavel_redis_memory_share')).toEqual([' 0.5'])
  listen('store:watched', { memoryShare: null, lost: false })
  expect(await valuesOf('gavel_redis_memory_share')).toEqual([])
})

it('knows when each loop last succeeded, under a name without spaces', async () => {
  const { listen, valuesOf } = metrics()
  const before = Date.now() / 1000
  listen('loop:succeeded', { loop: 'store watch' })
  const [line = ''] = await valuesOf('gavel_loop_last_success_timestamp_seconds')
  expect(line).toMatch(/^{loop="store-watch"} /)
  expect(Number(line.split(' ')[1])).toBeGreaterThanOrEqual(before)
})

it('describes a call to a model by the conventions for generative AI', async () => {
  const { listen, valuesOf } = metrics()
  const call = { protocol: 'rumor', stage: 'stance', model: 'm', promptTokens: 3, completionTokens: 0, costUsd: 0 }
  for (const outcome of ['answered', 'unreadable', 'timeout'] as const)
    listen('call:ended', { ...call, outcome, seconds: 1 } as never)
  const labels =
    'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",server_address="models.example",server_port="443"'
  const counts = await valuesOf('gen_ai_client_operation_duration_seconds_count')
  expect(counts).toEqual([`{${labels}} 2`, `{${labels},error_type="timeout"} 1`])
  expect(await valuesOf('gen_ai_client_token_usage_count')).toEqual([`{${labels},gen_ai_token_type="input"} 3`])
})

it('shows the part of its slots that a process takes, also while that climbs again', async () => {
  const { listen, valuesOf } = metrics()
  for (const share of [1, 0.5, 33 / 64]) {
    if (share < 1) listen('slots:shared', { share })
    expect(await valuesOf('gavel_slots_share')).toEqual([` ${share}`])
  }
})

it('counts what endpoints’ filters refused by a closed list of categories', async () => {
  const { listen, valuesOf } = metrics()
  const call = { protocol: 'rumor', stage: 'stance', model: 'm' }
  for (const found of [
    [{ category: 'hate', severity: 'high' }, { category: 'sexual' }],
    [{ category: 'of its own' }],
    [],
  ])
    listen('call:filtered', { ...call, found })
  const counted = (await valuesOf('gavel_filtered_total')).filter((line) => !line.endsWith(' 0'))
  expect(counted).toEqual(
    ['hate', 'sexual', 'other', 'unnamed'].map((category) => `{protocol="rumor",category="${category}"} 1`),
  )
})

it('writes OpenMetrics for those who accept it, and Prometheus’ own form for all others, time after time', async () => {
  const { page } = metrics()
  const plain = await page('text/plain')
  expect(plain.type).toBe('text/plain; version=0.0.4; charset=utf-8')
  const open = await page('application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5')
  expect(open.type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  const lines = open.text.split('\n')
  expect(lines.slice(-2)).toEqual(['# EOF', ''])
  expect(lines.indexOf('')).toBe(lines.length - 1)
  expect(lines).toContain('# TYPE gavel_messages counter')
  expect(open.text).not.toMatch(/^# TYPE \S+_total counter$/m)
  const samples = (text: string) => text.split('\n').filter((line) => MEASURED.test(line))
  expect(samples(open.text)).toEqual(samples(plain.text))
  expect((await page()).text).toContain('# TYPE gavel_messages_total counter')
})

it('has no series of what the settings rule out, nor of what has not happened, unless an alert waits for it', async () => {
  const { listen, text, valuesOf } = metrics()
  expect(await valuesOf('gavel_calls_limited_total')).toEqual(['{scope="model"} 0'])
  expect((await valuesOf('gavel_budget_refusals_total')).map((line) => /scope="(\w+)"/.exec(line)?.[1])).toEqual([
    'tenant',
    'tenant',
    'tenant',
  ])
  for (const name of ['gavel_llm_calls_total', 'gavel_stage_run_seconds_bucket', 'gavel_stage_wait_seconds_bucket'])
    expect(await valuesOf(name)).toEqual([])
  listen('ask:ended', { stage: 'stance', protocol: 'rumor', outcome: 'answered', seconds: 1 } as never)
  expect(await valuesOf('gavel_stage_run_seconds_count')).toEqual([
    '{stage="stance",protocol="rumor",outcome="answered"} 1',
  ])
  const verdicts = await valuesOf('gavel_verdicts_total')
  expect(new Set(verdicts.map((line) => /decided_by="(\w+)"/.exec(line)?.[1]))).toEqual(
    new Set(['consensus', 'judge', 'none', 'deleted']),
  )
  expect(verdicts).toHaveLength(2 * 5 + 4 + 1)
  expect(/^nodejs_(gc|heap_space)_/m.test(await text())).toBe(false)
})

it('counts refusals of limits and budgets from zero, also of those that a reload has set', async () => {
  let bounds: Bounds = { limits: [], budgets: [] }
  const { listen, valuesOf } = metrics(() => bounds)
  expect(await valuesOf('gavel_budget_refusals_total')).toEqual([])
  bounds = { limits: ['tenant'], budgets: [{ scope: 'total', unit: 'usd' }] }
  listen('settings:reloaded', { changed: [], settings: 'f00', prompts: 'ba4' })
  expect(await valuesOf('gavel_calls_limited_total')).toEqual(['{scope="tenant"} 0'])
  expect(await valuesOf('gavel_budget_refusals_total')).toEqual(
    REFUSAL_REASONS.map((why) => `{scope="total",unit="usd",why="${why}"} 0`),
  )
})
