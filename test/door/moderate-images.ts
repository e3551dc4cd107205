// Twenty moderations of 3.5 MB each at once, by one tenant: a process of its own, whose heap is bounded.
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSettings } from '../../config/load.ts'
import { scoringPart } from '../../src/app/composition/door.ts'
import { moderationsRoute } from '../../src/door/moderations.ts'
import { CATEGORIES } from '../../src/door/scoring/attributes.ts'
import type { AskResult } from '../../src/models/context.ts'
import { testDoor } from './door-for-tests.ts'

const scores = Object.fromEntries(Object.values(CATEGORIES).map((name) => [name, 1]))
const answer = { answer: scores, raw: '', model: 'a', usage: {}, ms: 1, memo: false }
const gateway = {
  async ask() {
    await sleep(20)
    // Nothing of it is read here but the scores.
    return answer as unknown as AskResult // The door reads nothing else of a result.
  },
}
const scoring = scoringPart(loadSettings({}), { gateway, secret: 'a secret of sixteen', clock: Date.now })
const route = moderationsRoute({ ...scoring, flagAt: 0.5 })
const { ask } = testDoor({
  routes: [route],
  bodyBytes: 4_000_000,
  bodies: 200_000_000,
  rate: { perSecond: 1e6, burst: 1e6 },
})
const url = `data:image/png;base64,${'A'.repeat(1_750_000)}`
const image = { type: 'image_url', image_url: { url } }
const body = JSON.stringify({ input: [{ type: 'text', text: 'Look.' }, image, image] })
const answered = await Promise.all(Array.from({ length: 20 }, () => ask('POST', '/v1/moderations', body)))
process.stdout.write(`${answered.map(({ status }) => status)}\n`)
