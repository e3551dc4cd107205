import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { gatewaySettings } from '../../src/app/composition/gateway.ts'
import { protocolsOf } from '../../src/app/composition/protocols.ts'
import { accountsOf, type BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import { versionsOf } from '../../src/judging/engine/versions.ts'
import { budgetSettings } from '../../src/operations/capacity.ts'
import { reloading } from '../../src/operations/reloading.ts'
import { ownFolder } from '../support/own-folder.ts'
import { plantedLane, writtenLane } from '../support/planted-lane.ts'

const folder = ownFolder('reload')
const file = join(folder, 'gavel.yaml')
const prompts = join(folder, 'prompts')

/** A service's reloading over a file of the user's own; `write` changes that. */
function reloaded(first: string) {
  const write = (text: string) => writeFileSync(file, text)
  write(first)
  const read = () => loadSettings({}, file)
  const told: [keyof Events, unknown][] = []
  const settings = read()
  const own = reloading(settings, (one) => protocolsOf(one, 'secret'), {
    read,
    judges: true,
    report: (...event) => void told.push(event),
  })
  const hate = () => own.protocols.find(({ name }) => name === 'hate') as (typeof own.protocols)[number]
  return { ...own, hate, settings, write, told }
}

const post = { id: 'p', text: 'Words.', createdAt: 1, tenant: 'acme' } as never
const ref = { tenant: 'acme', postId: 'p', kind: 'post' } as const

it('takes protocols, routes, limits and budgets anew, and knows the protocols that cases were opened with', () => {
  const { write, reload, told, hate, routes, now, settings, identity } = reloaded('protocols: { hate: { rounds: 1 } }')
  const live = gatewaySettings(settings, 'secret', { defersInOutage: true, now })
  const budgets: BudgetSettings = budgetSettings(settings, now)
  const before = versionsOf(hate())
  const fingerprint = identity([]).settings
  expect(routes.of(ref, post).map(({ name }) => name)).toContain('hate')

  write(`
protocols: { hate: { rounds: 2 } }
routes: { hate: [{ tenants: [other] }] }
limits: { models: { default: { callsPerMinute: 7 } } }
budgets: { whenSpent: degrade, total: { usd: 5 } }
`)
  reload()
  expect(told).toEqual([
    [
      'settings:reloaded',
      {
        changed: expect.arrayContaining([
          'protocols.hate.rounds',
          'routes.hate',
          'limits.models.default',
          'budgets.total.usd',
        ]),
        settings: expect.not.stringMatching(fingerprint),
        prompts: expect.any(String),
      },
    ],
  ])
  expect(identity([]).settings).not.toBe(fingerprint)
  expect(versionsOf(hate()).settings).not.toBe(before.settings)
  expect(hate().earlier?.(before)?.settingsHash).toBe(before.settings)
  expect(routes.of(ref, post).map(({ name }) => name)).not.toContain('hate')
  expect(live.limits.models).toEqual({ default: { callsPerMinute: 7 } })
  expect(live.whenSpent).toBe('degrade')
  expect(accountsOf(budgets, { caseId: 'c', tenant: 'acme' })).toMatchObject([
    { scope: 'total', limit: { nanoUsd: 5e9 } },
    // Its share of the total, beside that.
    { scope: 'tenant', share: 0.5, limit: { nanoUsd: 5e9 } },
  ])
})

it('takes prompts anew of which only the texts have changed', () => {
  mkdirSync(prompts)
  const judge = join(PROJECT, 'config', 'prompts', 'hate', 'judge.md')
  copyFileSync(judge, join(prompts, 'judge.md'))
  const { reload, told, hate } = reloaded(`protocols: { hate: { promptsPath: ${prompts} } }`)
  const before = versionsOf(hate())
  appendFileSync(join(prompts, 'judge.md'), 'Take your time.\n')
  reload()
  expect(told).toMatchObject([['settings:reloaded', { changed: ['prompts of hate'] }]])
  expect(versionsOf(hate()).prompts).not.toBe(before.prompts)
})

it('takes the file of a first lane anew, and names it', () => {
  const lane = plantedLane('hate', 'small')
  const path = writtenLane(join(folder, 'lane.json'), lane)
  const { reload, told, hate } = reloaded(
    `{ protocols: { hate: { lane: [${path}] } }, models: { roles: { decider: [small] } } }`,
  )
  const before = hate().laneFor?.('default')?.hash
  writtenLane(path, { ...lane, settles: 0.5 })
  reload()
  expect(told).toMatchObject([['settings:reloaded', { changed: ['lanes of hate'] }]])
  expect(hate().laneFor?.('default')?.hash).not.toBe(before)
})

it('says what needs a restart, and takes nothing of the rest', () => {
  const { write, reload, told, now } = reloaded('')
  write('drain: 9s\nkafka: { group: other }\nprotocols: { hate: { enabled: false } }\nbudgets: { total: { usd: 5 } }\n')
  reload()
  expect(told).toEqual([
    [
      'settings:fixed',
      {
        paths: expect.arrayContaining(['drain', 'kafka.group', 'protocols.hate.enabled']),
        advice: expect.stringContaining('docs/reload.md'),
      },
    ],
  ])
  expect(now().budgets.total.usd).toBeNull()
})

it('says which shelves or stages need a restart', () => {
  const { write, reload, told } = reloaded('protocols: { hate: { debateWhen: contested } }\n')
  write('protocols: { hate: { perspectives: [kodoli], debateWhen: contested } }\n')
  reload()
  expect(told).toMatchObject([['settings:fixed', { paths: ['protocols.hate (shelves)'] }]])
})

it('changes nothing at a fault in the settings or in a prompt, and says what it is', () => {
  const { write, reload, told, hate } = reloaded('')
  const before = versionsOf(hate())
  write('protocols: { hate: { rounds: many } }\n')
  reload()
  write(`protocols: { hate: { rounds: 1, promptsPath: ${folder}/nowhere } }\n`)
  reload()
  write('protocols: { hate: {\n')
  reload()
  expect(told.map(([name]) => name)).toEqual(['settings:refused', 'settings:refused', 'settings:refused'])
  expect(told[0]?.[1]).toMatchObject({ why: expect.stringContaining('protocols.hate.rounds') })
  expect(told[1]?.[1]).toMatchObject({ why: expect.stringContaining('nowhere') })
  expect(versionsOf(hate())).toEqual(before)
  write('')
  reload()
  expect(told.at(-1)).toMatchObject(['settings:reloaded', { changed: [] }])
})
