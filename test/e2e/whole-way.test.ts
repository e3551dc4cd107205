import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { onServers } from '../support/on-servers.ts'
import { recordedService, wholeWay } from './whole-way.ts'

const it = onServers({ latencyMs: 5 })
const LENGTH = { cases: 20, threads: 2, posts: 10, kills: { recorded: 0, whatIf: 1, between: 0 } }

it('a policy is written, judged in the shadow, tried on recorded cases, ramped, live and taken back, through kills', {
  timeout: 300_000,
}, async ({ stack }) => {
  const service = await recordedService(stack, LENGTH, { random: seededRandom('way') })
  try {
    // Of few posts a tenth may be none.
    await wholeWay(service, 1, LENGTH, { shadow: 0.4, ramp: 0.5 })
  } finally {
    await service.close()
  }
})
