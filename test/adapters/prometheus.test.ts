import { expect, it } from 'vitest'
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts'
import { ERROR_SOURCES, sourceOf } from '../../src/ports/report.ts'

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
