import { memoryStores } from '../../src/store/memory-stores.ts'
import { memoryWebhooks } from '../../src/store/webhook/memory.ts'
import { askedContract } from './asked.ts'
import { caseStoreContract } from './case-store.ts'
import { decisionsContract } from './decisions.ts'
import { erasureContract } from './erasure.ts'
import { heldContract } from './held.ts'
import { judgeAgainContract } from './judge-again.ts'
import { outboxContract } from './outbox.ts'
import { T0 } from './samples.ts'
import { shownContract } from './shown.ts'
import type { MakeStores } from './stores.ts'
import { storiesContract } from './stories.ts'
import { streamMarksContract } from './stream-marks.ts'
import { takeoverContract } from './takeover.ts'
import { threadStoreContract } from './thread-store.ts'
import { webhookContract } from './webhooks.ts'

const make: MakeStores = async () => {
  let now = T0
  return {
    ...memoryStores(() => now),
    async pass(ms) {
      now += ms
    },
    close: async () => {},
  }
}

threadStoreContract('in memory', make)
takeoverContract('in memory', make)
caseStoreContract('in memory', make)
outboxContract('in memory', make)
erasureContract('in memory', make)
shownContract('in memory', make)
streamMarksContract('in memory', make)
judgeAgainContract('in memory', make)
askedContract('in memory', make)
heldContract('in memory', make)
webhookContract('in memory', async (keepMs) => {
  let now = T0
  const webhooks = memoryWebhooks(
    () => now,
    () => 'whole',
    keepMs,
  )
  return {
    webhooks,
    from: { entry: '1-1', caseId: 'none' },
    forget: async (ref) => webhooks.forget(ref),
    strip: async (ref) => webhooks.strip(ref),
    now: () => now,
    async pass(ms) {
      now += ms
    },
    close: async () => {},
  }
})
decisionsContract('in memory', make)
storiesContract('in memory', make)
