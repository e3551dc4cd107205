import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Admin } from 'kafkajs'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import type { Understudy } from '../../src/kit/understudy/server.ts'
import type { Sentinels } from '../support/redis-servers.ts'
import { dice } from './dice.ts'
import type { Worker } from './fleet.ts'
import type { Fault, Kind } from './plan.ts'
import {
  actionOn,
  afterwards,
  appealOn,
  backedPost,
  beneath,
  decisionOn,
  deletionOf,
  hostile,
  type Known,
  noDecisions,
  outOfTime,
  RULES,
  type Sent,
  silentImages,
  takenBack,
  unsaid,
  wordsAlone,
  worstTexts,
} from './stream.ts'

/** What faults are done to, and what they wait for. */
export interface World {
  readonly workers: readonly Worker[]
  readonly redis: RestartableServer
  /** Null where there is one Redis alone. */
  readonly sentinels: Sentinels | null
  readonly kafka: RestartableServer
  /** In the order of their ids, from 1 on. */
  readonly brokers: readonly RestartableServer[]
  readonly understudy: Understudy
  /** The model's time for an answer while nothing is wrong, ms. */
  readonly latencyMs: number
  /** The share of its calls that go wrong anyway. */
  readonly failRate: number
  /** Lets so many more messages be produced now; resolves when they are. */
  produce(more: number): Promise<void>
  /** Produces what was produced last once more, in another order. */
  repeat(count: number): Promise<void>
  /** Sends these as well, behind what was sent. */
  say(messages: readonly Sent[]): Promise<void>
  /** The same in a transaction, which stays open until it is ended. */
  sayInTransaction(messages: readonly Sent[]): Promise<{ abort(): Promise<void>; commit(): Promise<void> }>
  /** Posts of the stream that were produced and not deleted, the earliest first. */
  posts(): readonly Known[]
  /** Whether the service has forgotten the thread. */
  forgotten(post: Known): Promise<boolean>
  /** The number of its last published verdict by rumor, as the service knows it; 0 where it knows none. */
  seen(post: Known): Promise<number>
  /** When the oldest case was opened that has no published verdict yet, ms since 1970; Infinity where there is none. */
  oldestCase(): Promise<number>
  readonly admin: Admin
  topic(name: string): string
  readonly redisClient: Redis
  /** Lays these settings over the service's own; from a process's next start on. */
  configure(changes: Readonly<Record<string, unknown>>): void
  /** Runs `gavel recover` to its end, beside whatever goes on. */
  recover(...options: readonly string[]): Promise<string>
  /** Has Kafka forget the group, which nobody is in. */
  forgetGroup(): Promise<void>
  /** Puts the data of Redis back to what `save` gave. */
  save(): Promise<string>
  rollBackTo(copy: string): Promise<void>
  /** Resolves when so many more calls have come to the model, or the time is over. */
  calls(more: number, withinMs: number): Promise<void>
  /** Resolves when so many more verdicts stand on the topic, or the time is over. */
  verdicts(more: number, withinMs: number): Promise<void>
  verdictCount(): Promise<number>
  /** Calls that have come to the model so far. */
  callCount(): number
  until(yes: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean>
  /** Sum of the offsets that the group has committed. */
  committed(): Promise<number>
  /** The group's members by the ids that the broker gave them; none while it is not stable. */
  members(): Promise<readonly string[]>
  breach(line: string): void
  /** Its stop, begun then, was cut off because the machine kept it waiting: it ends with 1, and calls in flight are lost. */
  cutOff(worker: Worker, from: number): void
}

/** Where a fault may have cost a call its journal entry: whose call, and when it was under way. */
export interface Shadow {
  /** Null: anybody's. */
  readonly worker: string | null
  readonly from: number
  readonly to: number
}

/** What came of a fault. */
export interface Told {
  readonly shadows: readonly Shadow[]
  readonly note?: string
  /** A protocol that was off: what came then need not be judged by it. */
  readonly off?: { readonly protocol: string; readonly from: number; readonly to: number }
}

/** A worker's locks and its place in the group are lost for sure after this: 2 × 4 s of lock and checks, 6 s of session. */
const LONG_MS = 11_000
/** Between an answer's leaving the model and its journal entry. */
const JOURNALING_MS = 1_000
/** After a fault is over: asks that others took over meanwhile come to their ends beside those of the one that was away. */
const SETTLING_MS = 12_000

type Do = (world: World, worker: Worker, fault: Fault) => Promise<Told>

/** Calls that were under way when a process was killed. */
const atOnce = (worker: Worker, from: number): Told => ({
  shadows: [{ worker: worker.name, from: from - JOURNALING_MS, to: from + 100 }],
})
const during = (from: number): Told => ({
  shadows: [{ worker: null, from: from - JOURNALING_MS, to: Date.now() + SETTLING_MS }],
})
const NOTHING: Told = { shadows: [] }

/** Cuts a process off from Redis, with nothing lost, at the moment when it sends a verdict; or where none comes, now. */
async function heldAtVerdict(world: World, { ways: { redis } }: Worker): Promise<void> {
  await redis.set({ kind: 'hold-at', sent: /"decidedBy":"[^n]/ })
  await world.until(() => redis.weather.kind === 'hold', 8_000)
  await redis.set({ kind: 'hold' })
}

async function drained(world: World, worker: Worker): Promise<void> {
  const from = Date.now()
  const how = await worker.end('SIGTERM')
  if (how === 'exit code 1' && worker.wasKeptWaiting) world.cutOff(worker, from)
  else if (how !== 'exit code 0' && how !== null)
    world.breach(`drain: ${worker.name} was told to stop and ended with ${how}; see ${worker.logFile}`)
}

export const FAULTS: Readonly<Record<Kind, Do>> = {
  async kill(world, worker) {
    const at = Date.now()
    await worker.end('SIGKILL')
    await world.verdicts(10, 5_000)
    await worker.start()
    return atOnce(worker, at)
  },

  // As it concludes a case: what it was about to say must not count when it wakes.
  async stop(world, worker) {
    const from = Date.now()
    await heldAtVerdict(world, worker)
    worker.freeze()
    await sleep(LONG_MS)
    await worker.ways.redis.set({ kind: 'clear' })
    worker.thaw()
    await world.calls(20, 2_000)
    return during(from)
  },

  async drain(world, worker) {
    await drained(world, worker)
    await world.verdicts(10, 4_000)
    await worker.start()
    return NOTHING
  },

  async 'redis-restart'(world) {
    const from = Date.now()
    await world.redis.kill()
    await sleep(1_500)
    await world.redis.restart()
    await world.verdicts(5, 10_000)
    return during(from)
  },

  async 'broker-restart'(world) {
    await world.kafka.kill()
    await sleep(1_000)
    await world.kafka.restart()
    await world.verdicts(5, 15_000)
    return NOTHING
  },

  async 'redis-cut'(world, { ways }) {
    const from = Date.now()
    for (let cut = 0; cut < 3; cut++) {
      ways.redis.cut()
      await world.calls(20, 2_000)
    }
    return during(from)
  },

  // As it concludes a case: the verdict arrives when another has the case already.
  async 'redis-hold'(world, worker) {
    const from = Date.now()
    await heldAtVerdict(world, worker)
    await sleep(LONG_MS)
    await worker.ways.redis.set({ kind: 'clear' })
    return during(from)
  },

  async 'redis-refuse'(world, { ways }) {
    const from = Date.now()
    await ways.redis.set({ kind: 'refuse' })
    await world.calls(80, 4_000)
    await ways.redis.set({ kind: 'clear' })
    return during(from)
  },

  async 'redis-delay'(world, { ways }, { amount }) {
    const from = Date.now()
    await ways.redis.set({ kind: 'delay', ms: amount })
    await world.calls(150, 6_000)
    await ways.redis.set({ kind: 'clear' })
    return during(from)
  },

  async 'kafka-cut'(world, { ways }) {
    for (let cut = 0; cut < 3; cut++) {
      ways.kafka.cut()
      await world.verdicts(5, 2_000)
    }
    return NOTHING
  },

  async 'kafka-hold'(_, { ways }) {
    await ways.kafka.set({ kind: 'hold' })
    await sleep(LONG_MS)
    await ways.kafka.set({ kind: 'clear' })
    return NOTHING
  },

  async 'kafka-delay'(world, { ways }, { amount }) {
    await ways.kafka.set({ kind: 'delay', ms: amount })
    await world.verdicts(40, 6_000)
    await ways.kafka.set({ kind: 'clear' })
    return NOTHING
  },

  async 'model-cut'(world, { ways }) {
    for (let cut = 0; cut < 3; cut++) {
      ways.model.cut()
      await world.calls(20, 2_000)
    }
    return NOTHING
  },

  async 'model-hold'(_, { ways }) {
    await ways.model.set({ kind: 'hold' })
    await sleep(4_000)
    await ways.model.set({ kind: 'clear' })
    return NOTHING
  },

  async 'model-refuse'(world, { ways }) {
    await ways.model.set({ kind: 'refuse' })
    await world.calls(50, 3_000)
    await ways.model.set({ kind: 'clear' })
    return NOTHING
  },

  async clock(world, worker, { amount }) {
    worker.moveClock(amount)
    await world.calls(150, 8_000)
    worker.moveClock(0)
    return { shadows: [], note: `${amount > 0 ? '+' : '−'}${Math.abs(amount) / 1000} s, and back` }
  },

  async repeat(world) {
    await world.repeat(80)
    return NOTHING
  },

  // Threads that have ended are forgotten soon; then a comment comes, an edit, and a deletion, each to some of them.
  async expiry(world, _, { amount }) {
    let gone: Known[] = []
    await world.until(async () => {
      const posts = world.posts().slice(0, 60)
      const forgotten = await Promise.all(posts.map((post) => world.forgotten(post)))
      gone = posts.filter((_, at) => forgotten[at])
      return gone.length >= 9
    }, 30_000)
    await world.say(afterwards(dice(amount, 'afterwards'), dice(amount, 'gone').shuffled(gone).slice(0, 9)))
    await world.verdicts(3, 4_000)
    return { shadows: [], note: `${Math.min(9, gone.length)} forgotten threads heard from again` }
  },

  // A protocol is switched off under load, and on again; and the store is recovered although nothing is lost.
  async change(world) {
    const from = Date.now()
    const restart = () =>
      Promise.all(
        world.workers.map(async (each) => {
          await drained(world, each)
          await each.start()
        }),
      )
    // Cases of it are open then, between their rounds.
    world.understudy.behave({ latencyMs: SLOW_MS })
    await world.produce(80)
    await sleep(1_500)
    world.configure({ protocols: { hate: { enabled: false } } })
    await restart()
    world.understudy.behave({ latencyMs: world.latencyMs })
    // Longer than whoever has it off takes to look for its cases.
    await sleep(LOOKED_FOR_MS)
    world.configure({})
    await restart()
    const to = Date.now()
    await world.calls(20, 2_000)
    const how = await world.recover()
    return {
      shadows: [during(from).shadows].flat(),
      note: `hate off and on; recovered: ${how}`,
      off: { protocol: 'hate', from, to },
    }
  },

  // What Kafka itself may do: transactions that are aborted, open for a while and committed; records under any time; a topic
  // that takes no large record for a while; one that gets more partitions.
  async semantics(world, _, { amount }) {
    const posts = world.posts().slice(-4)
    const texts = (count: number) => posts.flatMap((post) => Array.from({ length: count }, (_, n) => unsaid(post, n)))
    await (await world.sayInTransaction(texts(2))).abort()
    const open = await world.sayInTransaction(texts(3))
    await world.say(outOfTime(amount)).catch((error: unknown) => world.breach(`semantics: ${String(error)}`))
    const limit = (value: string) =>
      world.admin.alterConfigs({
        validateOnly: false,
        resources: [
          { type: TOPIC, name: world.topic('transcripts'), configEntries: [{ name: 'max.message.bytes', value }] },
        ],
      })
    await limit('6000')
    await world.admin
      .createPartitions({ topicPartitions: [{ topic: world.topic('counterspeech'), count: 6 }] })
      .catch(() => undefined)
    await world.verdicts(20, 6_000)
    await limit('1048588')
    await open.abort()
    await (await world.sayInTransaction(outOfTime(amount + 1_000).slice(1))).commit()
    return { shadows: [], note: 'transactions, odd times, a limit, more partitions' }
  },

  async hostile(world, _, { amount }) {
    const from = Date.now()
    const posts = world.posts()
    await world.say(hostile(dice(amount, 'hostile'), 900_000 + amount, posts.slice(-6), posts.slice(-12, -8)))
    // A model that says "come again tomorrow" to some, and nothing to others.
    world.understudy.behave({ faults: { rate: 0.15, kinds: ['429', 'timeout'], retryAfterSeconds: 3_600 } })
    await world.calls(80, 6_000)
    world.understudy.behave({ faults: { rate: world.failRate, kinds: [], retryAfterSeconds: 1 } })
    return {
      shadows: [during(from).shadows].flat(),
      note: 'half characters, a flood of orphans, deletions, Retry-After of an hour',
    }
  },

  async 'worst-texts'(world, _, { amount }) {
    const at = world.posts().at(-1)?.createdAt ?? 0
    await world.say(worstTexts(dice(amount, 'worst'), 910_000 + 100 * amount, 12, at))
    await world.verdicts(20, 8_000)
    return { shadows: [], note: 'twelve threads of worst texts by worst names' }
  },

  // Others' calls go on meanwhile.
  async 'silent-hosts'(world, _, { amount }) {
    const at = world.posts().at(-1)?.createdAt ?? 0
    await world.say(silentImages(920_000 + 100 * amount, 10, at))
    await sleep(2_000)
    const before = world.callCount()
    // The stream may have ended, so that nobody else would ask for anything.
    await world.say(wordsAlone(920_000 + 100 * amount, 10, at))
    await world.calls(CALLS_BESIDE, 15_000)
    const calls = world.callCount() - before
    if (calls < CALLS_BESIDE)
      world.breach(`silent-hosts: ${calls} calls of others within 15 s while images were awaited`)
    return { shadows: [], note: `27 images at silent hosts; ${calls} calls meanwhile` }
  },

  // Four accounts comment on two posts, and take back one comment after the other while their cases are open.
  async 'take-back'(world, _, { amount }) {
    const from = Date.now()
    const at = world.posts().at(-1)?.createdAt ?? 0
    const numbers = [930_000 + 10 * amount, 930_001 + 10 * amount]
    world.understudy.behave({ latencyMs: HELD_UP_MS })
    try {
      for (const number of numbers) await world.say(backedPost(dice(number, 'backed'), number, at, COMMENTS_BACKED))
      await world.calls(10, 8_000)
      for (let nth = 0; nth < COMMENTS_BACKED - 2; nth++) {
        await world.say(numbers.map((number) => takenBack(number, nth, at)))
        await sleep(500)
      }
    } finally {
      world.understudy.behave({ latencyMs: world.latencyMs })
    }
    return {
      shadows: [during(from).shadows].flat(),
      note: `${2 * (COMMENTS_BACKED - 2)} comments taken back one by one`,
    }
  },

  // People decide on what was just judged, two at once, twice, out of date, against nothing, on what is deleted, and take it back;
  // late comments and edits come beneath.
  async people(world, _, { amount }) {
    const lots = dice(amount, 'people')
    const judged = world.posts().filter(({ lang }) => lang !== RULES.pictured)
    const posts = lots.shuffled(judged.slice(-40)).slice(0, 14)
    const label = () => lots.pick(['rumor', 'non-rumor'])
    const decide = async (post: Known, by: string, off = 0, change: Parameters<typeof decisionOn>[2] = {}) => {
      const said = change.withdraw ? {} : { label: label() }
      return decisionOn(post, Math.max(0, (await world.seen(post)) + off), { ...said, ...change }, by)
    }
    const force = true as const
    const count = async (topic: string) =>
      (await world.admin.fetchTopicOffsets(world.topic(topic))).reduce((sum, { high }) => sum + Number(high), 0)
    const before = await count('decision-outcomes')
    for (const [at, post] of posts.entries()) {
      const first = await decide(post, 'ann')
      if (at % 7 === 0) await world.say([first, first])
      else if (at % 7 === 1) await world.say([first, await decide(post, 'ben')])
      else if (at % 7 === 2) await world.say([await decide(post, 'ann', -1), await decide(post, 'ben', 5)])
      else if (at % 7 === 3)
        await world.say([await decide(post, 'ann', 9, { force }), await decide(post, 'ben', 0, { force })])
      else if (at % 7 === 4) await world.say([first, await decide(post, 'ben', 0, { opinion: force })])
      else if (at % 7 === 5)
        await world.say([await decide(post, 'ann', 0, { force }), deletionOf(post), await decide(post, 'ben')])
      else await world.say([await decide(post, 'ann', 0, { withdraw: force }), ...noDecisions(post), first])
    }
    const grows = async (topic: string, from: number, more: number) =>
      world.until(async () => (await count(topic)) >= from + more, 10_000)
    await grows('decision-outcomes', before, posts.length / 2)
    const [proposals, rest] = [await count('proposals'), posts.filter((_, at) => at % 7 !== 5)]
    await world.say(rest.flatMap((post) => beneath(lots, post)))
    await grows('proposals', proposals, 3)
    const back = rest.filter(() => lots.next() < 0.5)
    for (const post of back) await world.say([await decide(post, 'cay', 0, { withdraw: force, force })])
    await world.verdicts(5, 4_000)
    return { shadows: [], note: `${posts.length} posts decided, ${back.length} taken back` }
  },

  // Rules and people act on what was just judged: once, twice by the same id, for a while, of what is deleted. Then
  // authors and notifiers appeal against what was just judged: twice, again, by the dozen, taken back, of what is deleted; people answer
  // some, also those who had decided before.
  async appeals(world, _, { amount }) {
    const lots = dice(amount, 'appeals')
    const judged = world.posts().filter(({ lang }) => lang !== RULES.pictured)
    const posts = lots.shuffled(judged.slice(-40)).slice(0, 14)
    for (const [at, post] of posts.entries()) {
      const name = (what: string) => `${what}-${amount}-${post.id}`
      const [own, again, theirs] = [name('own'), name('again'), name('theirs')]
      const decide = async (by: string, appeals: readonly string[]) =>
        decisionOn(post, await world.seen(post), { label: lots.pick(['rumor', 'non-rumor']), appeals }, by)
      const act = name('act')
      const acted = actionOn(post, act, at % 2 === 0 ? 'rules' : 'ben', Math.max(1, await world.seen(post)))
      await world.say([acted, ...(at % 3 === 0 ? [acted] : [])])
      if (at % 5 === 4) await world.say([actionOn(post, act, null)])
      const first = appealOn(post, own, 'author')
      await world.say([first, ...(at % 2 === 0 ? [first] : []), appealOn(post, again, 'author')])
      await world.say([appealOn(post, theirs, 'notifier', `case ${at % 3}`)])
      if (at % 7 === 1) await world.say([appealOn(post, own, null)])
      if (at % 7 === 2) await world.say([deletionOf(post)])
      if (at % 7 > 3) await world.say([await decide('ann', [own])])
      if (at % 7 > 4) await world.say([await decide('ann', [own, theirs]), await decide('ben', [own, theirs])])
    }
    const [one] = judged
    if (one !== undefined)
      await world.say(
        Array.from({ length: 30 }, (_, nth) => appealOn(one, `flood-${amount}-${nth}`, 'notifier', 'case 0')),
      )
    await world.verdicts(5, 4_000)
    return { shadows: [], note: `actions and appeals on ${posts.length} posts` }
  },

  // The record dies while it writes, misses what comes then, and begins again where it was.
  async record(world, worker) {
    await world.verdicts(3, 2_000)
    await worker.end('SIGKILL')
    await world.verdicts(5, 3_000)
    await worker.start()
    return NOTHING
  },

  // Of three brokers the one goes that leads a partition of the verdicts: others lead it, and publication goes on.
  async 'leader-dies'(world, _, { amount }) {
    const topics = [world.topic('verdicts')]
    const partitions = async () => (await world.admin.fetchTopicMetadata({ topics })).topics[0]?.partitions ?? []
    const led = await partitions()
    const leader = led[amount % led.length]?.leader ?? 1
    const broker = world.brokers[leader - 1]
    if (broker === undefined) throw new Error(`no broker ${leader}`)
    const before = await world.verdictCount()
    await broker.kill()
    await world.produce(60)
    // The stream may have ended.
    await world.say(wordsAlone(940_000 + 100 * amount, 10, world.posts().at(-1)?.createdAt ?? 0))
    if (!(await world.until(async () => (await world.verdictCount()) > before + 3, 60_000)))
      world.breach(`leader-dies: no verdict came within 60 s after broker ${leader} had gone`)
    await broker.restart()
    const whole = async () => (await partitions()).every(({ isr, replicas }) => isr.length === replicas.length)
    if (!(await world.until(whole, 60_000))) world.breach(`leader-dies: broker ${leader} did not catch up`)
    return { shadows: [], note: `broker ${leader} of ${world.brokers.length}` }
  },

  /**
   * The first process loses its sentinels, the master of Redis stands still, a replica is promoted, and the old master comes
   * back to a process that knows of no other (test/e2e/split.ts).
   */
  async split(world) {
    const { sentinels } = world
    if (sentinels === null) throw new Error('there is one Redis alone')
    const from = Date.now()
    world.understudy.behave({ latencyMs: HELD_UP_MS })
    await world.produce(60)
    await world.calls(30, 8_000)
    const before = await sentinels.masterPort()
    const master = world.redis.pid
    if (master === undefined) throw new Error('the master has no process')
    await sentinels.guest.shutOut()
    const onMaster = new Redis({ host: '127.0.0.1', port: before, password: sentinels.client.password })
    await onMaster.call('CLIENT', 'PAUSE', '500', 'WRITE')
    await sleep(100)
    onMaster.disconnect()
    process.kill(master, 'SIGSTOP')
    await sleep(STILL_MS)
    process.kill(master, 'SIGCONT')
    const promoted = await world.until(async () => (await sentinels.masterPort()) !== before, 20_000)
    if (!promoted) world.breach('split: no replica was promoted')
    // Until the sentinels make the old master a replica of the new one.
    await sleep(12_000)
    await sentinels.guest.letIn()
    world.understudy.behave({ latencyMs: world.latencyMs })
    const lost = await world.until(() => world.workers.some((each) => each.hasLost), 5_000)
    const how = lost ? `; recovered: ${await world.recover()}` : ''
    return { shadows: [during(from).shadows].flat(), note: `another master${how}` }
  },

  /**
   * Redis forgets its scripts, has no memory left for a while, and loses its last seconds, as by a replica that was behind; then
   * `gavel recover`, while messages and deletions go on. Calls of what was lost are made again, and nothing else.
   */
  async loss(world) {
    const from = Date.now()
    await world.redisClient.script('FLUSH')
    await world.calls(20, 2_000)
    await world.redisClient.config('SET', 'maxmemory', '1mb')
    await sleep(2_500)
    await world.redisClient.config('SET', 'maxmemory', '0')
    await world.calls(40, 6_000)
    const copy = await world.save()
    await world.calls(60, 6_000)
    await world.rollBackTo(copy)
    await sleep(4_000)
    const how = await world.recover()
    return { shadows: [during(from).shadows].flat(), note: `rolled back; recovered: ${how}` }
  },

  /**
   * Everybody stops, Redis is emptied, and Kafka forgets the group, as after a long holiday. Who starts must stand still, and
   * stay out of the group, until `gavel recover` has been told that everything was accepted.
   */
  async forgotten(world) {
    const from = Date.now()
    await Promise.all(world.workers.map((each) => drained(world, each)))
    // What the model answered in these is gone with them, however long ago it was.
    const lost = await world.oldestCase()
    await world.redisClient.flushall()
    await world.forgetGroup()
    await Promise.all(world.workers.map((each) => each.start()))
    const before = await world.verdictCount()
    await sleep(4_000)
    if ((await world.verdictCount()) > before) world.breach('forgotten: verdicts before the recovery')
    const how = await world.recover('--up-to', 'end')
    return {
      shadows: [during(Math.min(from, lost)).shadows].flat(),
      note: `emptied, and the group forgotten; recovered: ${how}`,
    }
  },

  /**
   * A model so slow that the backlog grows over its bound, until every intake pauses; then one of them leaves, and the
   * others are given its partitions with new consumers: they must stay paused.
   */
  async 'full-queues'(world, worker) {
    const stay = world.workers.filter((other) => other !== worker && other.roles.includes('intake') && other.running)
    world.understudy.behave({ latencyMs: SLOW_MS })
    try {
      for (let part = 0; part < 8 && ![worker, ...stay].every(({ paused }) => paused); part++) {
        await world.produce(60)
        await sleep(700)
      }
      if (!(await world.until(() => [worker, ...stay].every(({ paused }) => paused), 10_000)))
        return { shadows: [], note: 'the backlog never reached its bound' }
      // Enough to read for whoever forgets the pause.
      await world.produce(150)
      await drained(world, worker)
      let old: readonly string[] = []
      await world.until(async () => {
        old = await world.members()
        return old.length === stay.length
      }, 20_000)
      // What was fetched before is worked off.
      await sleep(1_500)
      const before = await world.committed()
      const resumes = stay.map((other) => other.resumes)
      // kafkajs keeps a pause over a rebalance; a consumer that takes the place of a dead one knows of none.
      for (const other of stay) {
        const replaced = other.consumersReplaced
        await other.ways.kafka.set({ kind: 'refuse' })
        await world.until(() => other.consumersReplaced > replaced, 25_000)
        await other.ways.kafka.set({ kind: 'clear' })
      }
      await world.until(async () => {
        const now = await world.members()
        return now.length === stay.length && now.every((id) => !old.includes(id))
      }, 30_000)
      await sleep(4_000)
      const read = (await world.committed()) - before
      // Whose backlog was worked off meanwhile went on by right, also if it has paused again since.
      const paused = stay.every((other, index) => other.paused && other.resumes === resumes[index])
      if (paused && read > IN_HAND)
        world.breach(
          `backlog: intake was paused by its backlog, and after a rebalance, with a new consumer, ${read} messages were read all the same (pause not applied again)`,
        )
      return {
        shadows: [],
        note: paused ? `paused, rebalanced, ${read} messages read meanwhile` : 'resumed before the rebalance was over',
      }
    } finally {
      world.understudy.behave({ latencyMs: world.latencyMs })
      await worker.start()
    }
  },
}

/** Cases of a protocol that is off are looked for twice within this, by the suite's settings. */
const LOOKED_FOR_MS = 4_000
/** Kafka's number for a topic among its resources. */
const TOPIC = 2
/** The master of Redis stands still, ms: longer than the sentinels wait for it. */
const STILL_MS = 3_000
/** Calls that come soon where nothing holds them up. */
const CALLS_BESIDE = 30
const COMMENTS_BACKED = 18
/** A debate is still going on when the next comment is taken back, ms. */
const HELD_UP_MS = 1_000
/** Longer than calls take as a rule, shorter than their time-out. */
const SLOW_MS = 5_000
/** Messages that may be committed although intake is paused: batches that were under way. */
const IN_HAND = 40
