import { hash, randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import {
  bothClasses,
  type CallLimits,
  LIMIT_DEFAULTS,
  type LimitSettings,
  mustFit,
  partOfLimits,
  partyOf,
  type Ticket,
} from '../../contracts/ports/call-limits.ts'
import { script } from '../redis/script.ts'

// The rules are in the Lua beside this file, which these methods call.

const reserve = script('limit/reserve', {
  keys: [
    'ticket',
    'scopes[].window',
    'scopes[].inFlight',
    'scopes[].queue',
    'scopes[].queueExpiry',
    'scopes[].waiting',
    'scopes[].rest',
    'scopes[].line',
  ],
  args: [
    'id',
    'asker',
    'party',
    'account',
    'share',
    'both',
    'tokens',
    'width',
    'span',
    'lease',
    'recheck',
    'late',
    'casePrefix',
    'scopes[].maxCalls',
    'scopes[].maxTokens',
    'scopes[].maxInFlight',
    'scopes[].part',
  ],
})
const settle = script('limit/settle', {
  keys: ['ticket', 'scopes[].window', 'scopes[].inFlight'],
  args: ['id', 'used', 'callsBack', 'width', 'span'],
})
const leave = script('limit/leave', {
  keys: ['queue', 'queueExpiry', 'waiting', 'rest', 'line'],
  args: ['asker', 'tokens', 'part', 'share'],
})
const usage = script('limit/usage', { keys: ['scopes[].window', 'scopes[].inFlight'], args: ['width', 'span'] })

const reserved = z.union([z.tuple([z.literal(1), z.coerce.number()]), z.tuple([z.literal(0), z.number(), z.number()])])
const usageReply = z.array(z.tuple([z.number(), z.number(), z.number()]))
const BUCKETS = 600

/**
 * Limits in Redis, by its clock. `under` makes keys that all share one hash tag. `casePrefix`: what the keys of cases begin with, if
 * it is known there when one is gone. A reservation is idempotent by its
 * ticket's id: sent twice after a lost reply, it counts once.
 */
export function redisLimits(
  client: Redis,
  under: (name: string) => string,
  given: Partial<LimitSettings> = {},
  casePrefix = '',
): CallLimits {
  const settings = { ...LIMIT_DEFAULTS, ...given }
  const { leaseMs, recheckMs, lateMs, classes } = settings
  const width = Math.ceil(settings.windowMs / BUCKETS)
  const span = Math.ceil(settings.windowMs / width)
  const ticketKey = (id: string) => under(`ticket:${id}`)
  const keysOf = (scope: string) => ({
    window: under(`window:${scope}`),
    inFlight: under(`in-flight:${scope}`),
    // Earlier versions have a queue of another kind under `queue`, beside which this one stands in a rolling upgrade.
    queue: under(`in-line:${scope}`),
    queueExpiry: under(`in-line-expiry:${scope}`),
    waiting: under(`waiting:${scope}`),
    rest: under(`rest:${scope}`),
    line: under(`line:${scope}`),
  })

  async function end(
    { id, scopes }: Ticket,
    ended: { readonly used: number; readonly callsBack: boolean },
  ): Promise<void> {
    await settle(client, { ...ended, ticket: ticketKey(id), scopes: scopes.map(keysOf), id, width, span })
  }

  return {
    async reserve(scopes, call) {
      const { asker, tokens, serviceClass, accountKey } = call
      mustFit(scopes, tokens)
      const id = randomUUID()
      // An account's name is anybody's text.
      const account = hash('sha256', accountKey, 'base64url').slice(0, 12)
      const whose = {
        party: partyOf(call),
        account,
        share: classes[serviceClass],
        both: bothClasses(classes, serviceClass),
      }
      const given = { ticket: ticketKey(id), id, asker, tokens, width, span, ...whose }
      const times = { lease: leaseMs, recheck: recheckMs, late: lateMs, casePrefix }
      const asked = scopes.map(({ name, limits }) => ({
        ...keysOf(name),
        maxCalls: limits.callsPerMinute ?? null,
        maxTokens: limits.tokensPerMinute ?? null,
        maxInFlight: limits.inFlight ?? null,
        part: partOfLimits(limits, tokens),
      }))
      const reply = reserved.parse(await reserve(client, { ...given, ...times, scopes: asked }))
      const names = scopes.map(({ name }) => name)
      if (reply[0] === 1) return { granted: true, ticket: { id, scopes: names, tokens, at: reply[1] } }
      return { granted: false, waitMs: reply[1], scope: names[reply[2] - 1] ?? '' }
    },
    settle: (ticket, tokens) => end(ticket, { used: tokens, callsBack: false }),
    refund: (ticket) => end(ticket, { used: 0, callsBack: true }),
    async leave({ name, limits }, { asker, tokens, serviceClass }) {
      const { queue, queueExpiry, waiting, rest, line } = keysOf(name)
      const turn = { part: partOfLimits(limits, tokens), share: classes[serviceClass] }
      await leave(client, { queue, queueExpiry, waiting, rest, line, asker, tokens, ...turn })
    },
    async usage(scopes) {
      if (scopes.length === 0) return []
      const windows = scopes.map(keysOf).map(({ window, inFlight }) => ({ window, inFlight }))
      const used = usageReply.parse(await usage(client, { scopes: windows, width, span }))
      return used.map(([calls, tokens, inFlight]) => ({ calls, tokens, inFlight }))
    },
  }
}
