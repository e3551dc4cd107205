import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { PROJECT } from '../config/load.ts'
import { findOrInstall } from '../src/kit/stack/servers/apt.ts'
import { runCommand } from '../src/kit/stack/servers/command.ts'
import { IN_PROOF } from './support/in-proof.ts'
import { ownFolder } from './support/own-folder.ts'
import { tell } from './support/pipeline.ts'

const RULES = join(PROJECT, 'config', 'prometheus')
const RUNBOOKS = join(PROJECT, 'docs', 'runbooks')
const FILES = ['alerts.yml', 'objectives.yml']
const TESTS = ['alerts.test.yml', 'objectives.test.yml']

const read = (name: string): unknown => parse(readFileSync(join(RULES, name), 'utf8'))

const rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string().optional(),
          expr: z.string(),
          annotations: z.object({ runbook_url: z.string() }).optional(),
        }),
      ),
    }),
  ),
})
const alerts = FILES.flatMap((file) => rules.parse(read(file)).groups).flatMap((group) =>
  group.rules.flatMap(({ alert, expr, annotations }) =>
    alert === undefined ? [] : [{ alert, expr, url: annotations?.runbook_url }],
  ),
)

const scenarios = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      input_series: z.array(z.object({ series: z.string() })),
      promql_expr_test: z.array(
        z.object({ exp_samples: z.array(z.object({ labels: z.string(), value: z.number() })) }),
      ),
    }),
  ),
})
const tests = TESTS.flatMap((file) => scenarios.parse(read(file)).tests)
const isSilent = ({ promql_expr_test }: (typeof tests)[number]) =>
  promql_expr_test.every(({ exp_samples }) => exp_samples.every(({ value }) => value === 0))

/** The metrics in a query that Gavel or Prometheus exports; recorded series have colons in their names. */
const metricsOf = (text: string) =>
  new Set(text.match(/(?<![\w:])(?:gavel_\w+|up|process_start_time_seconds|gavel:\w+:\w+)(?![\w:])/g) ?? [])

describe('every alert', () => {
  it.each(alerts)(
    '$alert has its page, with its meaning, where to look, first steps, and when it is over',
    ({ alert, url }) => {
      expect(url).toBe(`docs/runbooks/${alert}.md`)
      const page = readFileSync(join(RUNBOOKS, `${alert}.md`), 'utf8')
      for (const part of ['Meaning', 'Look', 'First steps', 'Over']) expect(page).toContain(`**${part}.**`)
      // The console's page Health shows these.
      expect(page.split('**First steps.**')[1]).toMatch(/^1\. /m)
      expect(readFileSync(join(RUNBOOKS, 'README.md'), 'utf8')).toContain(`(${alert}.md)`)
    },
  )

  it('and no other, has a page', () => {
    const pages = readdirSync(RUNBOOKS).filter((name) => name !== 'README.md')
    expect(pages.sort()).toEqual(alerts.map(({ alert }) => `${alert}.md`).sort())
  })

  it.each(alerts)('$alert is seen to fire', ({ alert }) => {
    const fired = tests.flatMap(({ promql_expr_test }) => promql_expr_test.flatMap(({ exp_samples }) => exp_samples))
    expect(fired.some(({ labels, value }) => value > 0 && labels.includes(`alertname="${alert}"`))).toBe(true)
  })

  it.each(alerts)('$alert is seen to stay silent where its metrics are there', ({ expr }) => {
    const shown = tests
      .filter(isSilent)
      .map((test) => metricsOf(test.input_series.map(({ series }) => series).join(' ')))
    const wanted = [...metricsOf(expr)].filter((name) => !name.includes(':'))
    expect(shown.some((metrics) => wanted.every((name) => metrics.has(name)))).toBe(true)
  })
})

describe('what a cause silences', () => {
  const matchers = z.array(z.string())
  const inhibitions = z
    .object({
      inhibit_rules: z.array(
        z.object({ source_matchers: matchers, target_matchers: matchers, equal: z.array(z.string()) }),
      ),
    })
    .parse(read('alertmanager.yml')).inhibit_rules
  const named = (matcher: string): string[] => {
    if (!matcher.startsWith('alertname')) return []
    const [, is, pattern = ''] = /^alertname(=~?)"(.+)"$/.exec(matcher) ?? []
    return (is === '=~' ? pattern.split(/\|(?![^(]*\))/) : [pattern]).map((each) => `^(?:${each})$`)
  }

  it.each(inhibitions)('is there: $source_matchers', ({ source_matchers, target_matchers }) => {
    for (const pattern of [...source_matchers, ...target_matchers].flatMap(named))
      expect(
        alerts.filter(({ alert }) => new RegExp(pattern).test(alert)),
        pattern,
      ).not.toEqual([])
  })

  it.each(inhibitions)('is not itself: $source_matchers', ({ source_matchers, target_matchers }) => {
    const matching = (of: readonly string[]) =>
      alerts.filter(({ alert }) => of.flatMap(named).some((pattern) => new RegExp(pattern).test(alert)))
    expect(matching(source_matchers).filter((one) => matching(target_matchers).includes(one))).toEqual([])
  })
})

describe('promtool', () => {
  // Half as many evaluations as Prometheus makes, but in the proof: they are most of the time.
  const tested = IN_PROOF ? RULES : ownFolder('rules')
  if (!IN_PROOF) {
    for (const file of FILES) copyFileSync(join(RULES, file), join(tested, file))
    for (const file of TESTS) {
      const text = readFileSync(join(RULES, file), 'utf8')
      writeFileSync(join(tested, file), text.replace(/^evaluation_interval: 15s$/m, 'evaluation_interval: 30s'))
    }
  }
  const CHECKS = [
    ...FILES.map((file) => ['check', 'rules', join(RULES, file)]),
    ['check', 'config', join(RULES, 'prometheus.yml')],
    ...TESTS.map((file) => ['test', 'rules', join(tested, file)]),
  ]
  const PROMTOOL = {
    what: 'promtool',
    names: ['promtool'],
    packageName: 'prometheus',
    service: 'prometheus',
    ways: ['install prometheus (Debian and Ubuntu: apt-get install prometheus)'],
  }
  it.for(CHECKS)('%s %s passes', { timeout: 240_000 }, async (args, context) => {
    const program = await findOrInstall(PROMTOOL, { aptAllowed: true }, tell).catch(() => undefined)
    if (program === undefined) {
      const reason = `there is no promtool on the PATH, so nothing did: promtool ${args.join(' ')}`
      tell(`SKIPPED ${reason}`)
      return context.skip(reason)
    }
    expect(await runCommand(program, args, 240_000)).toContain('SUCCESS')
  })
})
