import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { openerOf } from '../../../src/app/composition/intake.ts'
import { router } from '../../../src/judging/engine/routes.ts'
import { memoryQueues } from '../../../src/store/case/memory-stage-queues.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, postOf, RULES, T0, thread } from '../../contracts/samples.ts'

it('names the tenants that have more due than shares.tenant of intake.pauseAtDue, whom the door refuses', async () => {
  const settings = loadSettings({ GAVEL_INTAKE_PAUSE_AT_DUE: '4', GAVEL_SHARES_TENANT: '0.5' })
  const [clock, report] = [() => T0, () => {}]
  const { threads, marks, cases } = memoryStores(clock)
  const queues = memoryQueues({ stages: [], attempts: 1, backoffMs: 1, clock, report })
  const routes = router([], {}, () => 0)
  const { tenantsOverDue } = openerOf(settings, {
    routes,
    threads,
    marks,
    cases,
    queues,
    clock,
    report,
    partitions: null,
    streamClock: { idleAfter: 0, atEnd: 'finish' },
  })
  const put = (ref = thread('p1')) => threads.putPost(ref, postOf(ref), { ...ARRIVAL, firstDue: 0 }, RULES)
  for (const id of ['p1', 'p2']) for (const tenant of ['acme', 'quiet']) await put(thread(id, tenant))
  expect(await tenantsOverDue()).toEqual([])
  await put(thread('p3', 'acme'))
  expect(await tenantsOverDue()).toEqual(['acme'])
})
