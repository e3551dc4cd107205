// A worker that is made to be killed: `node doomed-worker.ts REDIS_URL PREFIX`. It takes cases up, never brings one to an
// end, and says in a line on standard output what it hangs in.

import { writeSync } from 'node:fs'
import { bullQueues } from '../../src/store/queue/workers.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { alone, askOf, STAGES } from './stage-queues.ts'
import { KILL_SETTINGS } from './worker-settings.ts'

const [, , url = '', prefix = ''] = process.argv
const say = (line: string) => writeSync(1, `${line}\n`)

const queues = bullQueues({
  connection: connect(url, () => {}, 'retrying'),
  stages: STAGES,
  settings: { ...KILL_SETTINGS, prefix },
  clock: Date.now,
  report: () => {},
})
queues.work({
  async advance(caseId) {
    if (caseId !== 'hangs in advance') return { next: 'asks', groups: alone([askOf(caseId)]) }
    say(caseId)
    return new Promise(() => {})
  },
  answer({ caseId }) {
    say(caseId)
    return new Promise(() => {})
  },
})
