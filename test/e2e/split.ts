import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { recover } from '../../src/app/commands/recover.ts'
import { startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'
import { handful } from '../support/handful.ts'
import { repeats } from '../support/ledger.ts'
import {
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
  silent,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { startRedisSentinel } from '../support/redis-servers.ts'

const PASSWORD = 'split'

/** What a split came to. */
export interface Split {
  /** Ids with two contents on the topic. */
  readonly contested: readonly string[]
  readonly missing: readonly string[]
  /** What the process that was cut off logged. */
  readonly log: readonly string[]
}

/** A process that is told of a new master by its sentinels uses it within this, in ms. */
const GOES_OVER_MS = 1_000
/** Threads of three messages each, which go on coming while it does. */
const POSTS = 300
const MESSAGES_PER_SECOND = 60

/**
 * Two processes on three servers of Redis under three sentinels. One loses its sentinels, the master stands still, a replica
 * is promoted, and the old master comes back to a process that knows of no other.
 */
export async function splitRedis(options: { minReplicas: number; cutBeforeMs: number }): Promise<Split> {
  const closing: (() => Promise<unknown>)[] = []
  const services: Service[] = []
  try {
    const sentinels = await startRedisSentinel(PASSWORD, {
      replicas: 2,
      sentinels: 3,
      minReplicas: options.minReplicas,
    })
    closing.push(() => sentinels.close())
    const kafka = await startKafka({ prefer: 'apache', say: () => {} })
    closing.push(() => kafka.close())
    const understudy = await startUnderstudy({ latencyMs: 700 })
    closing.push(() => understudy.close())
    const servers = { settings: { ...kafka.settings, ...understudy.settings } }
    const environment = environmentOn(servers, {
      ...sentinels.settings,
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_QUEUES_LOCK: '1s',
    })
    const cutOff = await startService({ ...environment, ...sentinels.guest.settings })
    services.push(cutOff, await startService(environment))

    const { file, ids } = handful(POSTS)
    const sending = send(environment, file, 'gavel', { kind: 'rate', perSecond: MESSAGES_PER_SECOND })
    // Each stage is at work by then, in both processes.
    await eventually(async () => (await verdictsOf(environment)).length > POSTS / 10, 40_000)
    const master = sentinels.servers[0]?.pid
    if (master === undefined) throw new Error('the master has no process')
    const before = await sentinels.masterPort()
    await sentinels.guest.shutOut()
    await sleep(options.cutBeforeMs)
    // What it has acknowledged is with its replicas: else the new master would be found to lack it, and all would stop.
    await pauseWrites(before)
    process.kill(master, 'SIGSTOP')
    await eventually(async () => (await sentinels.masterPort()) !== before, 40_000)
    // Whoever hears the sentinels has gone over to the new master by now: what it writes to the old one, which the new one
    // lacks, would be noticed as a loss.
    await sleep(GOES_OVER_MS)
    process.kill(master, 'SIGCONT')
    // Until the sentinels make the old master a replica of the new one.
    await sleep(12_000)
    await sentinels.guest.letIn()
    await sending

    const missing = await allFinal(environment, ids, services)
    const contested = repeats(await recordsOf(environment, 'verdicts')).flatMap(({ id, identical }) =>
      identical ? [] : [id],
    )
    tell(`${contested.length} ids with two contents`)
    return { contested, missing, log: [...cutOff.log] }
  } finally {
    for (const service of services) await service.kill('SIGKILL')
    for (const close of closing.reverse()) await close()
  }
}

async function pauseWrites(port: number): Promise<void> {
  const client = new Redis({ host: '127.0.0.1', port, password: PASSWORD })
  await client.call('CLIENT', 'PAUSE', '500', 'WRITE')
  await sleep(100)
  client.disconnect()
}

/** The subjects without a final verdict after a while, with `gavel recover` where the services ask for it. */
async function allFinal(
  environment: Record<string, string>,
  ids: readonly string[],
  services: readonly Service[],
): Promise<readonly string[]> {
  const io = { terminal: silent, signal: new AbortController().signal }
  let recovered = false
  let missing = ids
  const tried = eventually(async () => {
    if (!recovered && services.some(({ log }) => log.some((line) => line.includes('"store:lost"')))) {
      recovered = true
      await recover(settingsOf(environment), { since: null, dryRun: false }, io)
    }
    const final = (await verdictsOf(environment)).filter((one) => one.final)
    const done = new Set(final.map(({ subjectId }) => subjectId))
    missing = ids.filter((id) => !done.has(id))
    return missing.length === 0
  }, 100_000)
  await tried.catch(() => undefined)
  tell(
    `After the split ${ids.length - missing.length} of ${ids.length} ended ${recovered ? 'with "gavel recover"' : 'by themselves'}.`,
  )
  return missing
}
