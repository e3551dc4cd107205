import { loadSettings } from '../../../config/load.ts'
import { startApp } from '../../app/composition/service.ts'
import type { Events } from '../../contracts/ports/report.ts'
import { DEFAULT_ROLES, type ProcessRole } from '../../operations/identity.ts'
import { benchModel } from './model.ts'
import { type ProcessPauses, watchHeldUp } from './slowest-requests.ts'

// The service under load, in a process of its own: its arguments describe it, and it reports what happens again and
// again over the channel to its parent.

/** What happened since the last tick. */
export interface Tick {
  readonly at: number
  readonly settled: number
  readonly opened: number
  readonly published: readonly VerdictTimes[]
  readonly busySlots: number
  readonly rssMiB: number
  readonly heapMiB: number
  /** Sockets, timers and the like that are open. */
  readonly handles: number
  /** Messages of all input topics that this process has still to read, as it last knew. */
  readonly lag: number
  readonly troubles: number
  /** Jobs whose worker sent no heartbeat; such a one may have been done twice. */
  readonly stalled: number
  /** Jobs whose lock this process could not renew. */
  readonly lapsed: number
  /** The part of its slots that this process takes: below 1 while its event loop lags. */
  readonly slotsShare: number
  /** Processor time of this process, in ms. */
  readonly cpuMs: number
  /** What asks waited in their stage's queue, and took from then on, in ms. */
  readonly hops: readonly { readonly stage: string; readonly part: 'wait' | 'work'; readonly ms: number }[]
  /** Times that a model was kept away from. */
  readonly breaks: number
  /** The port of its HTTP door, once that is open; 0 without one. */
  readonly doorPort: number
  /** What the door has answered, and its own time for it, in ms. */
  readonly answered: readonly AnsweredRequest[]
  /** What held this process up, where it is a door. */
  readonly heldUp: ProcessPauses | null
}

/** A request that the door has answered, at a moment of its own clock; times in ms. */
export interface AnsweredRequest {
  readonly at: number
  readonly route: string
  readonly outcome: string
  readonly ownMs: number
  /** For a verdict or a model. */
  readonly waitMs: number
}

/** One verdict; times in ms. Overhead is the sum of its three parts. */
export interface VerdictTimes {
  readonly final: boolean
  readonly latencyMs: number
  readonly overheadMs: number
  /** received → opened; opened → decided, less the model; decided → published. */
  readonly parts: readonly [number, number, number]
  readonly calls: number
  readonly tokens: number
}

const [latencyMs = '0', roles = DEFAULT_ROLES.join(','), tickMs = '100'] = process.argv.slice(2)

const heldUp = roles.split(',').includes('door') ? watchHeldUp() : null

let lag = 0
let doorPort = 0
let slotsShare = 1
let tick = empty()
function empty() {
  const counts = { settled: 0, opened: 0, troubles: 0, stalled: 0, lapsed: 0, breaks: 0 }
  return {
    ...counts,
    published: [] as VerdictTimes[],
    hops: [] as Tick['hops'][number][],
    answered: [] as AnsweredRequest[],
  }
}

const app = await startApp(loadSettings(process.env), roles.split(',') as ProcessRole[], {
  ...(latencyMs === 'endpoint' ? {} : { model: benchModel(Number(latencyMs)) }),
  listeners: [
    (name, event) => {
      if (name === 'messages:settled') tick.settled += (event as Events['messages:settled']).count
      else if (name === 'case:opened') tick.opened++
      else if (name === 'error') tick.troubles++
      else if (name === 'door:opened') doorPort = (event as Events['door:opened']).doorPort
      else if (name === 'door:answered') {
        const { route, outcome, ownSeconds, waitSeconds } = event as Events['door:answered']
        const at = performance.now()
        tick.answered.push({ at, route, outcome, ownMs: ownSeconds * 1000, waitMs: waitSeconds * 1000 })
        heldUp?.sample(at)
      } else if (name === 'door:sent') {
        const at = performance.now()
        heldUp?.sent({ from: at - (event as Events['door:sent']).seconds * 1000, to: at })
      } else if (name === 'job:lapsed') tick.lapsed += (event as Events['job:lapsed']).jobs
      else if (name === 'slots:shared') slotsShare = (event as Events['slots:shared']).share
      else if (name === 'ask:started') {
        const { stage, waitSeconds } = event as Events['ask:started']
        tick.hops.push({ stage, part: 'wait', ms: waitSeconds * 1000 })
      } else if (name === 'ask:ended') {
        const { stage, seconds } = event as Events['ask:ended']
        tick.hops.push({ stage, part: 'work', ms: seconds * 1000 })
      } else if (name === 'kafka:lag') {
        const { partitions } = event as Events['kafka:lag']
        lag = (partitions ?? []).reduce((total, { messages }) => total + messages, 0)
      } else if (name === 'job:stalled') tick.stalled++
      else if (name === 'breaker:changed') tick.breaks += (event as Events['breaker:changed']).to === 'open' ? 1 : 0
      else if (name === 'verdict:published') {
        const { verdict, latencySeconds, overheadSeconds } = event as Events['verdict:published']
        const { calls, promptTokens, completionTokens } = verdict.usage
        const tokens = promptTokens + completionTokens
        const overheadMs = overheadSeconds * 1000
        const opening = Date.parse(verdict.timing.openedAt) - Date.parse(verdict.timing.receivedAt)
        const judging = verdict.timing.overheadMs - opening
        const parts = [opening, judging, overheadMs - verdict.timing.overheadMs] as const
        tick.published.push({
          final: verdict.final,
          latencyMs: latencySeconds * 1000,
          overheadMs,
          parts,
          calls,
          tokens,
        })
      }
    },
  ],
})

let cpu = process.cpuUsage()
const timer = setInterval(() => {
  const now = tick
  tick = empty()
  const { user, system } = process.cpuUsage(cpu)
  cpu = process.cpuUsage()
  const memory = process.memoryUsage()
  process.send?.({
    ...now,
    at: Date.now(),
    cpuMs: (user + system) / 1000,
    busySlots: app.gateway.busy,
    rssMiB: memory.rss / 2 ** 20,
    heapMiB: memory.heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
    lag,
    slotsShare,
    doorPort,
    heldUp: heldUp?.taken() ?? null,
  } satisfies Tick)
}, Number(tickMs))

async function leave(): Promise<void> {
  clearInterval(timer)
  await app.stop()
  process.exit(0)
}
process.once('SIGTERM', () => void leave())
process.once('disconnect', () => void leave())
process.send?.('ready')
