import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSettings } from '../../../config/load.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { connect } from '../../store/redis/connect.ts'
import { kafkaClient } from '../../stream/client.ts'
import { round } from './percentiles.ts'
import { forkWorker, gone, ready } from './service.ts'

export interface IdlePlan {
  readonly processes: number
  readonly seconds: number
}

/** Of a service with nothing to do, all of its processes with all roles and settings as they are. */
export interface IdleReport {
  readonly processes: number
  readonly seconds: number
  /** Share of a core that each process uses. */
  readonly cpu: readonly number[]
  /** Share of a core that Redis uses. */
  readonly redisCpu: number
  /** Commands that Redis runs a second, those within scripts included; and by name, the most frequent first. */
  readonly commandsPerSecond: number
  readonly byCommand: Readonly<Record<string, number>>
}

/** Until groups are stable, code is compiled and the process knows that nothing happens, in ms. */
const SETTLE_MS = 20_000
/** How often a process tells what it has used, in ms: seldom, for telling is work. */
const TELL_MS = 1_000

/** Starts so many processes on topics and keys of their own, and measures what they use while nobody sends anything. */
export async function idleBench(
  environment: Readonly<Record<string, string | undefined>>,
  { processes, seconds }: IdlePlan,
  { say }: { say: (line: string) => void },
): Promise<IdleReport> {
  const name = `bench-${randomBytes(4).toString('hex')}`
  const own = {
    ...environment,
    GAVEL_LOG_LEVEL: 'error',
    GAVEL_HTTP_PORT: '0',
    GAVEL_BUDGETS_FRESH: 'null',
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    GAVEL_LIBRARY_PATH: join(tmpdir(), name),
  }
  const settings = loadSettings(own)
  await makeTopics(
    kafkaClient(settings.kafka, name, () => {}),
    settings,
  )
  const redis = connect(settings.redis, () => {}, 'fail-fast')
  const workers: ChildProcess[] = []
  const cpuMs: number[] = []
  let measuring = false
  try {
    for (let index = 0; index < processes; index++) {
      const worker = forkWorker(own, 'endpoint', { tickMs: TELL_MS })
      workers.push(worker)
      cpuMs.push(0)
      await ready(worker, (tick) => {
        if (measuring) cpuMs[index] = (cpuMs[index] ?? 0) + tick.cpuMs
      })
    }
    say(`${processes} idle: measured for ${seconds} s, after ${SETTLE_MS / 1000} s`)
    await sleep(SETTLE_MS)
    const [before, began] = [countsOf(await redis.info('all')), performance.now()]
    measuring = true
    await sleep(seconds * 1000)
    measuring = false
    const [after, took] = [countsOf(await redis.info('all')), (performance.now() - began) / 1000]
    const rates = [...after.calls].map(([command, calls]): [string, number] => [
      command,
      round((calls - (before.calls.get(command) ?? 0)) / took),
    ])
    const used = rates.filter(([, rate]) => rate > 0).sort(([, one], [, other]) => other - one)
    return {
      processes,
      seconds,
      cpu: cpuMs.map((ms) => round(ms / 1000 / took)),
      redisCpu: round((after.cpuSeconds - before.cpuSeconds) / took),
      commandsPerSecond: round(used.reduce((sum, [, rate]) => sum + rate, 0)),
      byCommand: Object.fromEntries(used),
    }
  } finally {
    await Promise.all(workers.map(gone))
    redis.disconnect()
  }
}

/** The report for people. */
export function idleTable({ cpu, redisCpu, commandsPerSecond }: IdleReport): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  return `of a core: ${cpu.map(percent).join(', ')}, Redis ${percent(redisCpu)}; ${commandsPerSecond.toFixed(0)} commands a second`
}

/** Redis's figures on the calls of each command, and on its own processor time. */
function countsOf(info: string) {
  const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, command = '', count]): [string, number] => [command, Number(count)],
  )
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, value]) => Number(value))
  return { calls: new Map(calls), cpuSeconds: seconds.reduce((sum, one) => sum + one, 0) }
}
