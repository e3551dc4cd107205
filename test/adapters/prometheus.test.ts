import { expect, it } from 'vitest'
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts'
import { CALL_OUTCOMES } from '../../src/domain/errors.ts'
import { DECIDED_BY } from '../../src/domain/verdict.ts'
import { ERROR_SOURCES, PRESSURE_KINDS, sourceOf } from '../../src/ports/report.ts'

const metrics = () =>
  prometheusMetrics({
    protocols: [{ name: 'rumor', stages: ['stance'], labels: ['rumor'] }],
    topics: ['posts'],
    models: ['m'],
  })

it('counts an error by its source, every source from zero, and without what the log alone is told', async () => {
  const { listen, text } = metrics()
  const before = await text()
  for (const where of ERROR_SOURCES) expect(before).toContain(`gavel_troubles_total{where="${where}"} 0`)
  listen('error', { where: 'worker rumor.stance', error: new Error('lost its lock') })
  listen('error', { where: 'worker', error: new Error('lost its lock') })
  expect(await text()).toContain('gavel_troubles_total{where="worker"} 2')
  expect(await text()).not.toContain('where="worker rumor')
  expect(sourceOf('kafka commit')).toBe('kafka')
})

it('counts an event in its own series alone', async () => {
  const { listen, text } = metrics()
  const before = new Set((await text()).split('\n'))
  listen('budget:refused', { scope: 'tenant', unit: 'usd', why: 'spent' })
  const changed = (await text()).split('\n').filter((line) => line.startsWith('gavel_') && !before.has(line))
  expect(changed).toEqual(['gavel_budget_refusals_total{scope="tenant",unit="usd",why="spent"} 1'])
})

it('knows every series of a counter beforehand, at zero: an increase from nothing is seen by no alert', async () => {
  const { listen, text } = metrics()
  const seriesOf = (page: string) => {
    const counters = [...page.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name)
    const lines = page.split('\n').filter((line) => counters.some((name) => line.startsWith(`${name}{`)))
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
    )
  }
  const before = seriesOf(await text())
  expect([...before.values()].filter((value) => value !== 0)).toEqual([])
  const call = { callId: 'c', caseId: 'k', askId: 'a', protocol: 'rumor', stage: 'stance', model: 'm', seconds: 1 }
  const spent = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: 1 }
  for (const outcome of CALL_OUTCOMES) listen('call:ended', { ...call, ...spent, outcome } as never)
  for (const reason of PRESSURE_KINDS) listen('intake:paused', { signals: [reason], reason })
  for (const decidedBy of DECIDED_BY)
    for (const label of ['rumor', null])
      for (const degraded of [[], ['something']]) {
        const verdict = { protocol: 'rumor', label, decidedBy, degraded, rounds: 1 }
        listen('verdict:published', { verdict, latencySeconds: 1, overheadSeconds: 1 } as never)
      }
  const after = seriesOf(await text())
  expect([...after.keys()].filter((series) => !before.has(series))).toEqual([])
  const counted = [...after].filter(([, value]) => value > 0).map(([series]) => series.split('{')[0])
  expect(new Set(counted)).toEqual(
    new Set(['gavel_llm_calls_total', 'gavel_llm_cost_usd_total', 'gavel_intake_pauses_total', 'gavel_verdicts_total']),
  )
})
