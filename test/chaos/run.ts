import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import kafkajs, { type Kafka } from 'kafkajs'
import { PROJECT } from '../../config/load.ts'
import { freePort, UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import type { CallRecord } from '../../src/kit/understudy/call-log.ts'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { keysUnder, memberOf } from '../../src/store/redis/keys.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { completedMapIn } from '../support/own-map.ts'
import { startRedisSentinel } from '../support/redis-servers.ts'
import { type ActionAccount, actionBreaches } from './actions.ts'
import { appealBreaches } from './appeals.ts'
import { type Asked, tapRequests } from './asked.ts'
import { type Account, audit } from './audit.ts'
import { startBrokers } from './brokers.ts'
import { dice } from './dice.ts'
import { doorBreaches, doorClient, failingReceiver } from './door.ts'
import { DEAD_HEADER } from './expected.ts'
import { FAULTS, type Shadow, type Told, type World } from './faults.ts'
import { type Death, type Worker, workerOf } from './fleet.ts'
import { type Kind, planOf, RECORD } from './plan.ts'
import { Progress } from './progress.ts'
import { startProxy } from './proxy.ts'
import { ownClient, readAll } from './reader.ts'
import { heldIn, type RecordedEvidence, recordBreaches } from './recorded.ts'
import { copyProject } from './sabotage.ts'
import { countedIn, storyBreaches } from './stories.ts'
import { knownIn, RULES, type Sent, streamOf, unsaid } from './stream.ts'

export interface RunSettings {
  readonly seed: number
  readonly posts: number
  /** Comments of one tenant's are judged by themselves, and three in twenty posts are its. */
  readonly comments: boolean
  readonly kinds: readonly Kind[]
  readonly sabotage?: string | undefined
  /** The project's own sources run, of which it is kept what Node compiled, in place of a copy. */
  readonly inPlace?: true
}

/** A fault that took place. */
export interface Done {
  readonly kind: string
  readonly worker: string
  /** Since the first message, seconds. */
  readonly at: number
  readonly seconds: number
  readonly messages: number
  readonly calls: number
  readonly note: string
}

export interface Outcome extends Account {
  /** Stops that were cut off because the machine kept their processes waiting. */
  readonly cutOff: number
  readonly seed: number
  readonly posts: number
  readonly faults: readonly Done[]
  /** Processes that ended by themselves, and were started again. */
  readonly deaths: readonly string[]
  readonly seconds: number
  /** Where the logs are, if there was a breach. */
  readonly logs: string | null
}

const PREFIX = 'chaos.'
const INPUTS = ['posts', 'comments', 'counterspeech'] as const
const OUTPUTS = [
  'verdicts',
  'transcripts',
  'dead-letters',
  'proposals',
  'reviews',
  'decision-outcomes',
  'appeal-outcomes',
] as const
/** Read by a group of its own. */
const DECISIONS = 'decisions'
const APPEALS = 'appeals'
const ACTIONS = 'actions'
/** Outcomes of appeals that were lost on the way are sent again after a minute, and after two more. */
const TOLD_WITHIN_MS = 150_000
const GROUP = 'chaos'
/** Of a Redis under sentinels. */
const PASSWORD = 'chaos'
/** Two processes do everything, doors included; one judges only; one keeps the record. */
const ROLES = ['intake,judge,publish,door', 'intake,judge,publish,door', 'judge', RECORD] as const
const LATENCY_MS = 40
/** Share of the model's calls that go wrong, in every way that the understudy knows. */
const FAIL_RATE = 0.08
/** Messages produced at once, and how often: as fast as two cores judge them beside everything else, comments by themselves or not. */
const [PORTION, PORTION_WITH_COMMENTS] = [8, 4]
const PORTION_EVERY_MS = 100
const LOOK_EVERY_MS = 500
const QUIET_WITHIN_MS = 150_000
/** After these Redis has not, or not all of, what waited for a receiver… */
const LOSE_WHAT_WAITS: readonly string[] = ['loss', 'forgotten', 'split']
/** …which, of one that fails, is what was published so long before, ms. */
const WAITS_MS = 10_000
/**
 * Nothing is published for so long although messages were taken: it will not come to anything. A model that says
 * "Retry-After: an hour" is waited for as long as half of a case's deadline of three minutes.
 */
const STILL_MS = 100_000
const DRAIN_MS = 5_000
/** Between an answer and its journal entry on such a machine, ms. */
const JOURNALED_MS = 2_000
const FAULT_WITHIN_MS = 600_000
const CLOSE_WITHIN_MS = 20_000

/** One seed: servers, service, stream and faults, then the account. Leaves nothing running; logs stay where a breach was. */
export async function runSeed(
  settings: RunSettings,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<Outcome> {
  const began = Date.now()
  const folder = mkdtempSync(join(tmpdir(), `gavel-chaos-${settings.seed}-`))
  const opened: (() => Promise<unknown>)[] = []
  const later = (close: () => Promise<unknown>) => opened.push(close)
  let keep = true
  try {
    const outcome = await rehearse(settings, folder, later, say, signal)
    keep = outcome.breaches.length > 0
    return { ...outcome, seconds: Math.round((Date.now() - began) / 1000), logs: keep ? folder : null }
  } catch (error) {
    if (signal.aborted || error instanceof UnavailableError) keep = false
    else say(`seed ${settings.seed} broke off: ${String(error)}`)
    throw keep
      ? new Error(`seed ${settings.seed} broke off; the processes' logs are in ${folder}`, { cause: error })
      : error
  } finally {
    for (const close of opened.reverse())
      await within(CLOSE_WITHIN_MS, 'closing', close()).catch((error: unknown) => say(`closing: ${String(error)}`))
    await rm(join(folder, 'project'), { recursive: true, force: true })
    if (!keep) await rm(folder, { recursive: true, force: true })
  }
}

async function rehearse(
  { seed, posts, comments, kinds, sabotage, inPlace }: RunSettings,
  folder: string,
  later: (close: () => Promise<unknown>) => void,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Omit<Outcome, 'seconds' | 'logs'>> {
  const quiet = () => {}
  const breaches: string[] = []
  const project = inPlace ? PROJECT : join(folder, 'project')
  if (!inPlace) copyProject(project, sabotage)

  // Servers, and proxies between them and each process.
  const data = join(folder, 'redis')
  mkdirSync(data)
  const sentinels = kinds.includes('split')
    ? await startRedisSentinel(PASSWORD, { replicas: 2, sentinels: 3, minReplicas: 1 })
    : null
  if (sentinels !== null) later(() => sentinels.close())
  const redis = sentinels?.servers[0] ?? (await startRedis({ say: quiet, fsync: 'always', directory: data }))
  if (sentinels === null) later(() => redis.close())
  const retrying = { retryStrategy: () => 100, maxRetriesPerRequest: null }
  const redisClient =
    sentinels === null
      ? new Redis(redis.settings.REDIS_URL ?? '', retrying)
      : new Redis({ ...retrying, ...sentinels.client })
  redisClient.on('error', quiet)
  later(async () => redisClient.disconnect())
  const kafka = await startBrokers(kinds.includes('leader-dies') ? 3 : 1, ROLES.length)
  later(() => kafka.close())
  const logFile = join(folder, 'calls.jsonl')
  const rate = { rate: FAIL_RATE }
  const understudy = await startUnderstudy({ seed, latencyMs: LATENCY_MS, faults: rate, logFile })
  later(() => understudy.close())
  const redisAt = (redis.settings.REDIS_URL ?? '').replace(/^redis:\/\/(.*@)?/, '')
  const modelAt = new URL(understudy.settings.OPENAI_BASE_URL).host
  const names = await silentNameServer()
  later(() => names.close())
  const asked: Asked[] = []
  const deaths: Death[] = []
  const receiver = await failingReceiver(dice(seed, 'receiver'))
  later(() => receiver.close())
  const doorPorts: number[] = []
  const recordFile = join(folder, 'record', 'record.sqlite')
  const statements = completedMapIn(folder)
  const configure = (changes: Readonly<Record<string, unknown>>) =>
    writeFileSync(
      join(folder, 'gavel.yaml'),
      JSON.stringify({
        ...SETTINGS,
        webhooks: receiver.settings,
        record: { path: recordFile },
        review: { statements },
        ...(comments ? { routes: { ...SETTINGS.routes, hate: [...SETTINGS.routes.hate, OF_COMMENTS] } } : {}),
        kafka: { ...SETTINGS.kafka, replication: kafka.servers.length },
        protocols: { ...SETTINGS.protocols, ...(changes.protocols as object | undefined) },
      }),
    )
  configure({})
  const workers: Worker[] = []
  const directly = {
    ...(sentinels?.settings ?? { REDIS_URL: redis.settings.REDIS_URL ?? '' }),
    KAFKA_BROKERS: kafka.addresses,
    OPENAI_BASE_URL: understudy.settings.OPENAI_BASE_URL,
    OPENAI_API_KEY: 'understudy',
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
  }
  for (const [index, roles] of ROLES.entries()) {
    const name = `worker-${index}`
    const tap = () => tapRequests(name, (one) => asked.push(one))
    const ways = {
      redis: await startProxy(await freePort(), () => redisAt),
      kafka: await kafka.wayOf(index),
      model: await startProxy(await freePort(), () => modelAt, tap),
    }
    for (const way of Object.values(ways)) later(() => way.close())
    // Sentinels name the servers themselves: there is no proxy on that way. The first process can be kept from them.
    const own = index === 0 ? sentinels?.guest.settings : sentinels?.settings
    const environment = {
      ...(own ?? { REDIS_URL: `redis://${ways.redis.address}` }),
      KAFKA_BROKERS: ways.kafka.address,
      OPENAI_BASE_URL: `http://${ways.model.address}/v1`,
      OPENAI_API_KEY: 'understudy',
      GAVEL_LIBRARY_PATH: join(folder, 'library'),
      CHAOS_NAMES: names.address,
      GAVEL_DOOR_PORT: String(await freePort()),
    }
    if (roles.includes('door')) doorPorts.push(Number(environment.GAVEL_DOOR_PORT))
    const worker = workerOf({ name, roles, ways, project, folder, environment, died: (death) => deaths.push(death) })
    later(() => worker.end('SIGKILL'))
    workers.push(worker)
  }
  await Promise.all(workers.map((worker) => worker.start()))
  say(`seed ${seed}: ${workers.length} processes are up`)

  // The suite's own client, on the broker's own port.
  const client = ownClient(kafka.addresses)
  const admin = client.admin()
  await admin.connect()
  later(() => admin.disconnect())
  const producing = await producerOf(
    client,
    streamOf(seed, { posts, flood: Math.ceil(posts / 4), ofOtherTenant: comments ? 0.15 : 0.06 }),
    { seed, atOnce: comments ? PORTION_WITH_COMMENTS : PORTION },
    signal,
  )
  later(() => producing.close())
  const doored = doorClient(doorPorts, signal)
  later(() => doored.end())
  const started = Date.now()

  const ends = async (topic: string) =>
    (await admin.fetchTopicOffsets(PREFIX + topic)).reduce((sum, { high }) => sum + Number(high), 0)
  const until = async (yes: () => boolean | Promise<boolean>, withinMs: number) => {
    const deadline = Date.now() + withinMs
    for (;;) {
      signal.throwIfAborted()
      if (await Promise.resolve(yes()).catch(() => false)) return true
      if (Date.now() > deadline) return false
      await sleep(100)
    }
  }
  const callCount = () => understudy.calls().at(-1)?.seq ?? 0
  /** Runs a command to its end; resolves with what it prints. */
  async function gavel(...words: readonly string[]): Promise<string> {
    const main = join(project, 'src', 'main.ts')
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--disable-warning=TimeoutNegativeWarning', main, ...words, '--config', join(folder, 'gavel.yaml')],
      { env: bareEnvironment(directly), timeout: 120_000 },
    )
    return stdout
  }
  const cutOffs: Shadow[] = []
  const world: World = {
    workers,
    redis,
    sentinels,
    kafka: kafka.servers[0],
    brokers: kafka.servers,
    understudy,
    latencyMs: LATENCY_MS,
    failRate: FAIL_RATE,
    produce: (more) => producing.upTo(producing.produced + more),
    repeat: producing.repeat,
    say: producing.say,
    sayInTransaction: producing.sayInTransaction,
    posts: () => knownIn(producing.sent()),
    async forgotten({ id, tenant = 'default' }) {
      const member = memberOf({ tenant, postId: id, kind: 'post' })
      const keys = keysUnder('chaos')
      const [held, known] = await Promise.all([
        redisClient.exists(keys.thread(member)),
        redisClient.exists(keys.revisions(member)),
      ])
      return held === 0 && known === 1
    },
    async seen({ id, tenant = 'default' }) {
      const member = memberOf({ tenant, postId: id, kind: 'post' })
      const keys = keysUnder('chaos')
      const [last, ended, above] = await Promise.all([
        redisClient.hget(keys.thread(member), 'last:rumor'),
        redisClient.hget(keys.revisions(member), 'rumor'),
        redisClient.hget(keys.decided(member), 'rev:rumor'),
      ])
      return Math.max(Number(last ?? 0), Number(ended ?? 0), Number(above ?? 0))
    },
    async oldestCase() {
      const keys = keysUnder('chaos')
      const names = await redisClient.keys(`${keys.case('*')}`)
      const cases = await Promise.all(names.map((name) => redisClient.hmget(name, 'opened', 'entry', 'status')))
      const waiting = await redisClient.xrange(keys.outbox, '-', '+')
      const entries = new Set(waiting.map(([id]) => id))
      return Math.min(
        ...cases.flatMap(([opened, entry, status]) =>
          opened && (status === 'open' || entries.has(entry ?? '')) ? [Number(opened)] : [],
        ),
      )
    },
    admin,
    topic: (name) => PREFIX + name,
    redisClient,
    configure,
    async recover(...options) {
      const { revisions, givenUp, messages } = JSON.parse(await gavel('recover', '--json', ...options)) as Record<
        string,
        number
      >
      return `${messages} messages read again, ${revisions} revisions raised, ${givenUp} cases given up`
    },
    forgetGroup: async () => void (await admin.deleteGroups([GROUP])),
    verdictCount: () => ends('verdicts'),
    callCount,
    async save() {
      const copy = join(folder, 'redis-copy')
      rmSync(copy, { recursive: true, force: true })
      cpSync(data, copy, { recursive: true })
      return copy
    },
    async rollBackTo(copy) {
      await redis.kill()
      rmSync(data, { recursive: true })
      cpSync(copy, data, { recursive: true })
      await redis.restart()
    },
    async calls(more, withinMs) {
      const from = callCount()
      await until(() => callCount() >= from + more, withinMs)
    },
    async verdicts(more, withinMs) {
      let from: number | undefined
      await until(async () => {
        const now = await ends('verdicts')
        from ??= now
        return now >= from + more
      }, withinMs)
    },
    until,
    async committed() {
      const offsets = await committedIn(admin)
      return offsets.reduce((sum, { offset }) => sum + Math.max(0, offset), 0)
    },
    async members() {
      const { groups } = await admin.describeGroups([GROUP])
      return groups[0]?.state === 'Stable' ? groups[0].members.map(({ memberId }) => memberId) : []
    },
    breach: (line) => void breaches.push(line),
    cutOff({ name }, from) {
      cutOffs.push({ worker: name, from: from - JOURNALED_MS, to: Date.now() })
      say(`seed ${seed}: the machine kept ${name} waiting, whose stop was cut off`)
    },
  }

  const progress = new Progress()
  const looking = lookAt(progress, admin)
  later(() => looking.end())

  // Faults, one after the other, each when its counts are reached.
  const plan = planOf(seed, kinds, producing.total, workers)
  const done: Done[] = []
  const shadows: Shadow[] = []
  const off: NonNullable<Told['off']>[] = []
  const holdUps: { from: number; to: number }[] = []
  for (const [index, fault] of plan.entries()) {
    const worker = workers[fault.worker]
    if (worker === undefined) throw new Error(`no worker ${fault.worker}`)
    await producing.upTo(fault.produced)
    await world.calls(fault.calls, 10_000)
    // Work goes on under the fault, up to where the next one begins.
    producing.allow(plan[index + 1]?.produced ?? producing.total)
    const at = Date.now()
    const [messages, calls] = [producing.produced, callCount()]
    const told = await within(FAULT_WITHIN_MS, fault.kind, FAULTS[fault.kind](world, worker, fault))
    shadows.push(...told.shadows)
    if (told.off !== undefined) off.push(told.off)
    holdUps.push({ from: at, to: Date.now() })
    const seconds = (Date.now() - at) / 1000
    done.push({
      kind: fault.kind,
      worker: worker.name,
      at: (at - started) / 1000,
      seconds,
      messages,
      calls,
      note: told.note ?? '',
    })
    say(
      `seed ${seed}: ${index + 1}/${plan.length} ${fault.kind} (${worker.name}) for ${seconds.toFixed(1)} s at ${messages} messages, ${calls} calls${told.note === undefined ? '' : `; ${told.note}`}`,
    )
    signal.throwIfAborted()
  }

  // All is healed: what is left is sent and worked off.
  await producing.upTo(producing.total)
  await doored.end()
  if (kinds.includes('semantics')) {
    // The last that stands on the topics are marks and what was aborted: an end without records, come to by itself.
    await until(async () => (await lagOf(admin)) === 0, 60_000)
    const last = world.posts().slice(-20)
    await (await world.sayInTransaction(last.map((post) => unsaid(post, 9)))).abort()
  }
  say(`seed ${seed}: all ${producing.total} messages are out; waiting until everything is judged`)
  const idle = await settle(workers, until, ends, () => lagOf(admin))
  if (idle !== null) breaches.push(idle)
  // What failed at the receiver is sent again.
  let taken = -1
  await until(async () => {
    const before = taken
    taken = receiver.requests
    await sleep(3_000)
    return before === taken
  }, 60_000)
  if (kinds.includes('appeals'))
    await until(async () => {
      const before = await ends('appeal-outcomes')
      await sleep(TOLD_WITHIN_MS)
      return before === (await ends('appeal-outcomes'))
    }, 2 * TOLD_WITHIN_MS)
  for (const worker of workers) {
    const began = Date.now()
    const how = await worker.end('SIGTERM')
    const ms = Date.now() - began
    if (how === 'exit code 1' && worker.wasKeptWaiting) world.cutOff(worker, began)
    else if (how !== 'exit code 0' || ms > DRAIN_MS + 5_000)
      breaches.push(
        `drain: ${worker.name} was told to stop at the end and ended with ${how} after ${ms} ms; see ${worker.logFile}`,
      )
  }
  await understudy.close()
  await looking.end()

  const read = await readAll(
    client,
    [...INPUTS, DECISIONS, APPEALS, ACTIONS, ...OUTPUTS].map((name) => PREFIX + name),
  )
  const of = (name: string) => read.get(PREFIX + name) ?? []
  const recorded: RecordedEvidence = {
    judgesComments: comments,
    posts: of('posts'),
    comments: of('comments'),
    counterspeech: of('counterspeech'),
    verdicts: of('verdicts'),
    transcripts: of('transcripts'),
    decisions: of(DECISIONS),
    outcomes: of('decision-outcomes'),
    proposals: of('proposals'),
    reviews: of('reviews'),
  }
  const account = audit({
    ...recorded,
    deadLetters: of('dead-letters'),
    hasLost: kinds.some((kind) => LOSE_WHAT_WAITS.includes(kind)),
    calls: callsIn(logFile),
    asked,
    shadows: [...shadows, ...cutOffs, ...deaths.map(({ worker, at }) => ({ worker, from: at - 1_000, to: at }))],
    off,
    holdUps,
    progress,
    offsets: await offsetsOf(admin),
  })
  const losses = done.filter(({ kind }) => LOSE_WHAT_WAITS.includes(kind)).length
  const stories = { ...recorded, losses }
  breaches.push(...storyBreaches(stories, await countedIn(redisClient, '{chaos')))
  const ended = deaths.map(({ worker, at, how }) => `${worker} after ${((at - started) / 1000).toFixed(1)} s: ${how}`)
  say(
    `seed ${seed}: the doors acknowledged ${doored.acknowledged.length} posts at ${doored.tries} tries; the receiver took ${receiver.taken.size} verdicts of ${receiver.requests} requests`,
  )
  const lost = done.flatMap(({ kind, at, seconds }) =>
    LOSE_WHAT_WAITS.includes(kind)
      ? [{ from: started + at * 1_000 - WAITS_MS, to: started + (at + seconds) * 1_000 + 2_000 }]
      : [],
  )
  const { acknowledged } = doored
  breaches.push(
    ...doorBreaches({ acknowledged, posts: of('posts'), verdicts: of('verdicts'), taken: receiver.taken, lost }),
  )
  const kept = await heldIn(recordFile, recorded)
  breaches.push(...appealBreaches({ appeals: of(APPEALS), outcomes: of('appeal-outcomes') }, kept))
  const acted = { actions: of(ACTIONS), verdicts: of('verdicts'), reviews: of('reviews') }
  if (acted.actions.length > 0) breaches.push(...actionBreaches(acted, kept, await actionAccount(gavel, folder)))
  breaches.push(...recordBreaches(recorded, kept).map((line) => `record: ${line}`))
  await gavel('record', 'rebuild')
  const rebuilt = await heldIn(recordFile, recorded)
  breaches.push(...recordBreaches(recorded, rebuilt).map((line) => `record made anew: ${line}`))
  const { verdicts: held, said } = kept.size.rows
  say(`seed ${seed}: the record holds ${held} verdicts, and ${said} times that somebody said something of one`)
  const result = {
    ...account,
    breaches: [...breaches, ...account.breaches],
    seed,
    posts,
    faults: done,
    deaths: ended,
    cutOff: cutOffs.length,
  }
  if (result.breaches.length > 0) writeFileSync(join(folder, 'topics.json'), JSON.stringify(Object.fromEntries(read)))
  return result
}

/** What the record's commands say of actions; they end with 1 where some have no statement. */
async function actionAccount(gavel: (...words: string[]) => Promise<string>, folder: string): Promise<ActionAccount> {
  const saying = (error: { readonly stdout?: string; readonly stderr?: string }) =>
    `${error.stdout ?? ''}\n${error.stderr ?? ''}`
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const report = await gavel('report', '--since', '2020-01-01T00:00:00Z', '--until', until)
  const sent = join(folder, 'sent.txt')
  const statements = await gavel('reasons', 'send', '--sent', sent, '--dry-run').catch(saying)
  return { tenant: 'default', report, statements }
}

/** A client of the suite's own whose server is gone may wait for it without end. */
async function within<Value>(ms: number, what: string, work: Promise<Value>): Promise<Value> {
  const over = new AbortController()
  try {
    const late = sleep(ms, null, { signal: over.signal }).then(() => {
      throw new Error(`${what} took longer than ${ms / 1000} s`)
    })
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}

/** A name server that takes every question and answers none. */
async function silentNameServer() {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: async () => void socket.close() }
}

/** What the service is told; the rest is as it ships. */
const SETTINGS = {
  kafka: { topicPrefix: PREFIX, group: GROUP, compression: 'gzip', maxBytesPerPartition: 8_192, fetchBytes: 2_048 },
  redis: { prefix: 'chaos' },
  models: { slots: 8, callTimeout: '6s' },
  breaker: { coolDown: '1s', maxCoolDown: '4s' },
  intake: { maxMessageBytes: RULES.maxMessageBytes, pauseAtDue: 40, pauseAtOutbox: 200, resumeAtShare: 0.3 },
  threads: {
    maxComments: RULES.maxComments,
    orphanWait: '2h',
    keepAfterFinal: `${RULES.keepAfterFinal}ms`,
    keepTombstone: `${RULES.keepTombstone}ms`,
  },
  checkpoints: { counts: [4], ages: [], finalAge: `${RULES.finalAge}ms` },
  clock: { idleAfter: '5s', atEnd: 'finish' },
  cases: {
    maxOpen: 48,
    overload: { single: { atDue: 1_000 }, sample: { atDue: 1_000 } },
    deadline: '3m',
    reconcileAfter: '5s',
  },
  stages: { default: { attempts: 8 }, describe: { attempts: 2, concurrency: 64, backoff: '500ms' } },
  http: { port: 0 },
  door: { openOnLoopback: true },
  drain: `${DRAIN_MS}ms`,
  // Without precedents, which take a library.
  protocols: {
    rumor: { debateWhen: 'always' },
    safety: { retrieval: false, rounds: 1 },
    hate: { show: 'criteria', rounds: 1, debateWhen: 'always' },
  },
  routes: {
    rumor: [{ langs: ['und', RULES.hateful] }],
    hate: [{ langs: [RULES.hateful] }],
    safety: [{ langs: [RULES.pictured] }],
  },
  images: { timeout: '2s', fetches: 4 },
}

/** Who is judged by what they say beneath a post. */
const OF_COMMENTS = { subjects: ['comment'], tenants: [RULES.otherTenant] }

interface Producing {
  readonly total: number
  readonly produced: number
  /** Lets messages out up to this one, at the pace that there is. */
  allow(count: number): void
  /** The same, and resolves when they are out. */
  upTo(count: number): Promise<void>
  repeat(count: number): Promise<void>
  say(messages: readonly Sent[]): Promise<void>
  sayInTransaction: World['sayInTransaction']
  /** All that was sent, but for repeats and transactions. */
  sent(): readonly Sent[]
  close(): Promise<void>
}

async function producerOf(
  client: Kafka,
  stream: readonly Sent[],
  { seed, atOnce }: { seed: number; atOnce: number },
  signal: AbortSignal,
): Promise<Producing> {
  const producer = client.producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
  })
  await producer.connect()
  const lots = dice(seed, 'repeats')
  let produced = 0
  let allowed = 0
  let closing = false
  /** One request after the other, so that a message that is sent again overtakes none. */
  let last: Promise<unknown> = Promise.resolve()
  const asBatch = (messages: readonly Sent[]) => ({
    topicMessages: [...Map.groupBy(messages, ({ topic }) => topic)].map(([topic, own]) => ({
      topic: PREFIX + topic,
      messages: own.map(({ key, value, dead, timestamp }) => ({
        key,
        value,
        headers: dead === undefined ? {} : { [DEAD_HEADER]: dead },
        ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
      })),
    })),
  })
  const send = (messages: readonly Sent[]) => {
    const sending = last.then(() => producer.sendBatch(asBatch(messages)))
    last = sending.catch(() => undefined)
    return sending
  }
  const more: Sent[] = []
  let transactions = 0
  let failure: unknown
  const running = (async () => {
    while (!closing && !signal.aborted) {
      const portion = stream.slice(produced, Math.min(allowed, produced + atOnce))
      if (portion.length > 0) await send(portion)
      produced += portion.length
      await sleep(PORTION_EVERY_MS)
    }
  })().catch((error: unknown) => {
    failure = error
  })
  const allow = (count: number) => {
    allowed = Math.max(allowed, Math.min(stream.length, count))
  }
  return {
    total: stream.length,
    get produced() {
      return produced
    },
    allow,
    async upTo(count) {
      allow(count)
      while (produced < Math.min(count, stream.length)) {
        signal.throwIfAborted()
        if (failure !== undefined) throw failure
        await sleep(50)
      }
    },
    async repeat(count) {
      await send(lots.shuffled(stream.slice(Math.max(0, produced - count), produced)))
    },
    async say(messages) {
      await send(messages)
      more.push(...messages)
    },
    async sayInTransaction(messages) {
      const own = client.producer({
        transactionalId: `chaos-${seed}-${++transactions}`,
        createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
        idempotent: true,
        maxInFlightRequests: 1,
        allowAutoTopicCreation: false,
      })
      await own.connect()
      const transaction = await own.transaction()
      await transaction.sendBatch(asBatch(messages))
      return {
        abort: () => transaction.abort().finally(() => own.disconnect()),
        commit: () => transaction.commit().finally(() => own.disconnect()),
      }
    },
    sent: () => [...stream.slice(0, produced), ...more],
    async close() {
      closing = true
      await running
      await producer.disconnect()
    },
  }
}

/** Waits until nothing is left to do; says what is left if that does not come. */
async function settle(
  workers: readonly Worker[],
  until: World['until'],
  ends: (topic: string) => Promise<number>,
  lag: () => Promise<number>,
): Promise<string | null> {
  let left = 'nothing was heard of the backlog'
  let [verdicts, since, quietSince] = [-1, Date.now(), 0]
  let still = false
  const quiet = await until(async () => {
    const [now, behind, backlog] = await Promise.all([ends('verdicts'), lag(), backlogOf(workers)])
    if (now !== verdicts) [verdicts, since] = [now, Date.now()]
    left = `${now} verdicts, ${behind} messages unread, ${backlog.text}`
    if (behind > 0 || backlog.sum > 0) quietSince = 0
    else if (quietSince === 0) quietSince = Date.now()
    still = Date.now() - since > STILL_MS
    // Longer than the backlog's numbers are old, and than partitions take to count as idle.
    return still || (quietSince !== 0 && Date.now() - Math.max(since, quietSince) > 7_000)
  }, QUIET_WITHIN_MS)
  if (quiet && !still) return null
  return `quiet: ${still ? `no verdict came for ${STILL_MS / 1000} s` : `not within ${QUIET_WITHIN_MS / 1000} s of the last message`}; left: ${left}`
}

/** The service's own numbers, of the process that knows most. */
async function backlogOf(workers: readonly Worker[]): Promise<{ sum: number; text: string }> {
  const texts = await Promise.all(
    workers.map(async ({ httpPort }) => {
      const response = await fetch(`http://127.0.0.1:${httpPort}/metrics`, { signal: AbortSignal.timeout(3_000) })
      return response.text()
    }),
  )
  const most = new Map<string, number>()
  for (const { labels, value } of texts.flatMap((text) => samplesOf(text, 'gavel_backlog')))
    most.set(labels.what ?? '', Math.max(most.get(labels.what ?? '') ?? 0, value))
  if (most.size < 3) throw new Error('the backlog is not told yet')
  const behind = texts.flatMap((text) => samplesOf(text, 'gavel_record_lag_messages'))
  if (behind.length === 0) throw new Error('nothing is told of the record yet')
  const unrecorded = behind.reduce((sum, { value }) => sum + value, 0)
  most.set('not recorded', unrecorded)
  return {
    sum: [...most.values()].reduce((sum, number) => sum + number, 0),
    text: [...most].map(([what, number]) => `${number} ${what}`).join(', '),
  }
}

type Admin = ReturnType<Kafka['admin']>

/** What the group has committed of the input topics. */
async function committedIn(admin: Admin) {
  const all = await admin.fetchOffsets({ groupId: GROUP, topics: INPUTS.map((name) => PREFIX + name) })
  return all.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => ({
      topic: topic.slice(PREFIX.length),
      partition,
      offset: Number(offset),
    })),
  )
}

/** Looks at what the group has committed until it is ended, and then once more. */
function lookAt(progress: Progress, admin: Admin) {
  const over = new AbortController()
  const look = async () => {
    const all = await committedIn(admin)
    const at = Date.now()
    for (const { topic, partition, offset } of all) progress.note(at, topic, partition, offset)
  }
  const looking = (async () => {
    while (!over.signal.aborted) {
      // No broker answers under some faults: the next look says when these were over.
      await look().catch(() => undefined)
      await sleep(LOOK_EVERY_MS)
    }
  })()
  return {
    async end() {
      if (over.signal.aborted) return
      over.abort()
      await looking
      await look()
    },
  }
}

async function offsetsOf(admin: Admin) {
  const topics = INPUTS.map((name) => PREFIX + name)
  const committed = (
    await Promise.all([
      admin.fetchOffsets({ groupId: GROUP, topics }),
      admin.fetchOffsets({ groupId: `${GROUP}-decisions`, topics: [PREFIX + DECISIONS] }),
    ])
  ).flat()
  const found = await Promise.all(
    committed.map(async ({ topic, partitions }) => {
      const high = new Map((await admin.fetchTopicOffsets(topic)).map((at) => [at.partition, at.high]))
      return partitions.map(({ partition, offset }) => ({
        topic: topic.slice(PREFIX.length),
        partition,
        committed: offset,
        end: high.get(partition) ?? '?',
      }))
    }),
  )
  return found.flat()
}

async function lagOf(admin: Admin): Promise<number> {
  return (await offsetsOf(admin)).reduce(
    (sum, { committed, end }) => sum + Number(end) - Math.max(0, Number(committed)),
    0,
  )
}

/** The calls of the log, each as it stood last. */
function callsIn(file: string): CallRecord[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return [...new Map(lines.map((line) => JSON.parse(line) as CallRecord).map((one) => [one.seq, one])).values()]
}
