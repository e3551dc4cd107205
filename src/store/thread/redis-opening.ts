import { z } from 'zod'
import { TENANT_SHARE } from '../../contracts/facts/thread.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { MOST_TWINS } from '../../judging/threads/story.ts'
import { memberOf, refOf, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import type { ThreadContext } from './redis-context.ts'

// The rules are in the Lua beside this file, which these methods call.

const openCases = script('thread/open-cases', {
  keys: [
    'thread',
    'comments',
    'sample',
    'authors',
    'images',
    'due',
    'open',
    'casePrefix',
    'dormantPrefix',
    'paused',
    'incarnation',
    'decided',
  ],
  args: [
    'member',
    'version',
    'generation',
    'deletions',
    'nextDue',
    'final',
    'now',
    'keep',
    'waiting[]',
    'dormant[]',
    'absent[]',
    'incarnationId',
    'watermark',
    'serverRun',
    'cases[].protocol',
    'cases[].id',
    'cases[].revision',
    'cases[].seen',
    'cases[].final',
    'cases[].record',
  ],
})
const takeTurns = script('thread/take-turns', {
  keys: ['due', 'open'],
  args: ['untilTime', 'limit', 'maxOpen', 'maxWaiting', 'share'],
})
const orderDue = script('thread/order-due', { keys: ['due'], args: ['untilTime', 'now', 'most', 'putBack'] })
const dueSince = script('thread/due-since', { keys: ['due'], args: ['tenant', 'sample'] })
const countDue = script('thread/count-due', { keys: ['due'], args: ['untilTime', 'most'] })
const dueOver = script('thread/due-over', { keys: ['due'], args: ['untilTime', 'most'] })
const wake = script('thread/wake', { keys: ['dormant', 'due', 'threadPrefix'], args: ['limit', 'now', 'protocol'] })

const twins = script('thread/twins', { keys: ['thread'], args: ['member', 'rank', 'most', 'keep'] })

const wokenReply = z.tuple([z.number(), z.number()])
const UNBOUNDED = 1e15
/** Due threads of which the oldest is looked for: of a backlog of which a twentieth waits too long, one is seen in 96 of 100 looks. */
const LOOKED_AT = 64
/** Threads woken in one step: enough to be fast, few enough not to block Redis. */
const WOKEN_AT_ONCE = 500

type Opening = Pick<
  ThreadStore,
  | 'twins'
  | 'due'
  | 'orderDue'
  | 'dueSince'
  | 'countDue'
  | 'tenantsOverDue'
  | 'open'
  | 'paused'
  | 'pause'
  | 'resume'
  | 'wake'
>

/** Finds due threads, and opens cases on them. */
export function threadOpening({ client, keys, settings, token }: ThreadContext): Opening {
  const { clock = Date.now } = settings
  async function wakeAll(protocol: string, now: number): Promise<number> {
    const given = { dormant: keys.dormant(protocol), due: keys.due, threadPrefix: keys.thread('') }
    for (let total = 0; ; ) {
      const reply = await wake(client, { ...given, limit: WOKEN_AT_ONCE, now, protocol })
      const [looked, woken] = wokenReply.parse(reply)
      total += woken
      if (looked < WOKEN_AT_ONCE) return total
    }
  }

  return {
    async twins(ref, rank) {
      const member = memberOf(ref)
      const given = { thread: keys.thread(member), member, rank, most: MOST_TWINS, keep: settings.keepAfterFinalMs }
      return z
        .array(z.string())
        .parse(await twins(client, given))
        .map(refOf)
    },
    async due(until, limit, maxOpen = UNBOUNDED, maxWaiting = UNBOUNDED) {
      const most = { limit, maxOpen, maxWaiting, share: TENANT_SHARE }
      const given = { due: keys.due, open: keys.open, untilTime: scoreOf(until), ...most }
      return z
        .array(z.string())
        .parse(await takeTurns(client, given))
        .map(refOf)
    },
    async orderDue(until, now, most, putBack) {
      await orderDue(client, { due: keys.due, untilTime: scoreOf(until), now, most, putBack })
    },
    dueSince: async (tenant) =>
      z
        .number()
        .nullable()
        .parse(await dueSince(client, { due: keys.due, tenant, sample: LOOKED_AT })),
    countDue: async (until, most) =>
      z.number().parse(await countDue(client, { due: keys.due, untilTime: scoreOf(until), most: most ?? null })),
    tenantsOverDue: async (until, most) =>
      z.array(z.string()).parse(await dueOver(client, { due: keys.due, untilTime: scoreOf(until), most })),

    async open(state, { cases, waiting, dormant, absent = [], nextDue, final }) {
      const member = memberOf(state.ref)
      const opened = await openCases(client, {
        ...threadKeys(keys, member),
        due: keys.due,
        open: keys.open,
        casePrefix: keys.case(''),
        dormantPrefix: keys.dormant(''),
        paused: keys.paused,
        incarnation: keys.incarnation,
        member,
        version: state.version,
        generation: state.generation,
        deletions: state.deletions,
        nextDue,
        final,
        now: cases[0]?.record.openedAt ?? clock(),
        keep: settings.keepAfterFinalMs,
        waiting,
        dormant,
        absent,
        ...token(),
        cases: cases.map(({ record, seen }) => ({
          protocol: record.protocol,
          id: record.id,
          revision: record.revision,
          seen,
          final: record.final,
          record: JSON.stringify(record),
        })),
      })
      return z.array(z.string()).parse(opened)
    },

    paused: async () => new Set(await client.smembers(keys.paused)),
    async pause(protocol) {
      await client.sadd(keys.paused, protocol)
    },
    async resume(protocol, now) {
      await client.srem(keys.paused, protocol)
      return wakeAll(protocol, now)
    },
    wake: wakeAll,
  }
}

/** A time as the upper end of a score range. */
function scoreOf(time: number): string {
  if (Number.isFinite(time)) return String(time)
  return time > 0 ? '+inf' : '-inf'
}
