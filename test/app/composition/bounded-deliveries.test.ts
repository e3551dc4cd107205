import { expect, test } from 'vitest'
import { boundedDeliveries } from '../../../src/app/composition/bounded-deliveries.ts'
import { memoryWebhooks } from '../../../src/store/webhook/memory.ts'
import { thread } from '../../contracts/samples.ts'

test('half of a tenant’s share is divided among its receivers, whatever waits for those of before and of others', async () => {
  const dropped: unknown[] = []
  const webhooks = memoryWebhooks(
    () => 0,
    () => 'whole',
  )
  const hooks = { down: { tenant: 'acme' }, healthy: { tenant: 'acme' }, other: { tenant: 'other' } }
  const deliveries = boundedDeliveries(hooks, {
    webhooks,
    mostKept: () => 8_000,
    watch: { isScarce: false },
    report: (_, event) => void dropped.push('hook' in event && event.hook),
  })
  const put = (postId: string, hook: string, tenant: string) => {
    const of = { hook, protocol: 'hate', revision: 1, follows: false, retracts: false, body: '', bare: '' }
    const from = { entry: '1-1', caseId: 'none' }
    return deliveries.put([{ ...of, verdictId: postId, from, ref: thread(postId, tenant) }])
  }
  // Each is of 500 bytes.
  for (let nth = 0; nth < 10; nth++) {
    await put(`p${nth}`, 'down', 'acme')
    await put(`p${nth}`, 'removed', 'acme')
    await put(`p${nth}`, 'other', 'other')
    await put(`p${nth}`, 'healthy', 'acme')
    for (const one of await webhooks.take('healthy', 1, 1_000)) await webhooks.settle(one, 'sent')
  }
  const times = (hook: string) => dropped.filter((one) => one === hook).length
  expect(['down', 'removed', 'other', 'healthy'].map(times)).toEqual([6, 6, 2, 0])
})
