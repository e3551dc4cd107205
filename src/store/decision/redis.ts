import { z } from 'zod'
import { StoreSuspended } from '../../contracts/ports/cases.ts'
import {
  type DecidedVerdict,
  type DecisionResult,
  type DecisionStore,
  decisionName,
} from '../../contracts/ports/decisions.ts'
import { KEEP_TOLD_MS, TOLD_BYTES } from '../../judging/threads/decision-rules.ts'
import { TOKEN } from '../redis/incarnation.ts'
import { memberOf, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import type { ThreadContext } from '../thread/redis-context.ts'
import { placeOf } from '../thread/redis-intake.ts'
import type { Fields } from '../thread/redis-state.ts'

// The rules of a decision are in src/store/thread/decide.lua, which this calls.

const decide = script('thread/decide', {
  keys: ['thread', 'revisions', 'decided', 'due', 'outbox', 'incarnation', 'casePrefix', 'told'],
  args: [
    'member',
    'protocol',
    'of',
    'place',
    'same',
    'withdraw',
    'against',
    'force',
    'opinion',
    'golden',
    'label',
    'by',
    'at',
    'now',
    'keep',
    'keepTold',
    'toldBytes',
    'scope',
    'number',
    'machine',
    'verdict',
    'transcript',
    ...TOKEN,
  ],
})

/** How long the outcome can be read of a message that is no decision, and so nobody's, in ms: its sender waits some seconds. */
const KEEP_REFUSED_MS = 60_000
/** A decision is written again if its subject changes meanwhile; after this many tries something else is wrong. */
const TRIES = 100

const changedReply = z.tuple([z.literal('changed'), z.string(), z.string(), z.string(), z.number()])
const outcomeReply = z.union([
  z.tuple([z.enum(['suspended', 'waiting', 'duplicate', 'deleted', 'unknown', 'noted'])]),
  z.tuple([z.literal('late'), z.string()]),
  z.tuple([z.enum(['stands', 'withdrawn']), z.string()]),
  z.tuple([z.literal('refused'), z.string()]),
])

/** What people decide, in Redis: beside each thread a hash that outlives it. */
export function redisDecisions({ client, keys, settings, token }: ThreadContext): DecisionStore {
  return {
    async decide(decision, scope, now, write) {
      const { ref, protocol, place, same, withdraw, against, force, opinion, golden = false, label, by } = decision
      const member = memberOf(ref)
      const of = decisionName(place)
      const { due, outbox, incarnation } = keys
      const given = {
        ...threadKeys(keys, member),
        due,
        outbox,
        incarnation,
        casePrefix: keys.case(''),
        told: keys.told(of),
        member,
        protocol,
        of,
        place: placeOf(place),
        same,
        withdraw,
        against,
        force,
        opinion,
        golden,
        by,
        at: place.timestamp,
        now,
        keep: settings.keepTombstoneMs,
        keepTold: KEEP_TOLD_MS,
        toldBytes: TOLD_BYTES,
        scope,
      }
      let written = { label, number: '', machine: '', verdict: '', transcript: '' }
      for (let tries = 0; tries < TRIES; tries++) {
        const reply = await decide(client, { ...given, ...written, ...token() })
        const changed = changedReply.safeParse(reply)
        if (!changed.success) return decidedOf(outcomeReply.parse(reply))
        const [, number, published, machine, live] = changed.data
        const on = { scope, number: Number(number), published: Number(published), isLive: live === 1 }
        const { label: said = null, ...made } = write({ ...on, machine: machine === '' ? null : machine }) ?? {
          label: null,
          verdict: '',
          transcript: '',
        }
        written = { label: said, number, machine, ...made }
      }
      throw new Error(`the subject ${member} kept changing during a decision; gave up`)
    },
    async told(of) {
      const json = await client.get(keys.told(of))
      return json === null ? null : decidedOf(outcomeReply.parse(JSON.parse(json)))
    },
    async tell(of, decided) {
      await client.set(keys.told(of), JSON.stringify(replyOf(decided)), 'PX', KEEP_REFUSED_MS)
    },
    async published(ref, protocol) {
      const { thread, revisions, decided } = threadKeys(keys, memberOf(ref))
      const [[last, opened, number], ended, above] = await Promise.all([
        client.hmget(thread, `last:${protocol}`, `open:${protocol}`, `rev:${protocol}`),
        client.hget(revisions, protocol),
        client.hget(decided, `rev:${protocol}`),
      ])
      const known = Math.max(Number(last ?? 0), Number(ended ?? 0), Number(above ?? 0))
      return known === 0 && (opened ?? null) === null ? Number(number ?? 0) : known
    },
    decided: async (ref) => decidedIn(await client.hgetall(keys.decided(memberOf(ref)))),
  }
}

function decidedOf([outcome, detail]: z.infer<typeof outcomeReply>): DecisionResult {
  if (outcome === 'suspended') throw new StoreSuspended()
  if (outcome === 'late') return { outcome, last: Number(detail) }
  if (outcome === 'refused') return { outcome, why: detail }
  if (outcome === 'stands' || outcome === 'withdrawn') return { outcome, verdict: detail === '' ? null : detail }
  return { outcome }
}

function replyOf(decided: DecisionResult): string[] {
  if (decided.outcome === 'late') return [decided.outcome, String(decided.last)]
  if (decided.outcome === 'refused') return [decided.outcome, decided.why]
  if (decided.outcome === 'stands' || decided.outcome === 'withdrawn') return [decided.outcome, decided.verdict ?? '']
  return [decided.outcome]
}

function decidedIn(fields: Fields): ReadonlyMap<string, DecidedVerdict> {
  const of = (name: string, protocol: string) => fields[`${name}:${protocol}`] ?? ''
  const protocols = Object.keys(fields).flatMap((field) => (field.startsWith('top:') ? [field.slice(4)] : []))
  return new Map(
    protocols.map((protocol) => [
      protocol,
      {
        verdict: of('top', protocol),
        stands: of('id', protocol) !== '',
        revision: Number(of('rev', protocol)),
        label: of('label', protocol) === '' ? null : of('label', protocol),
        by: of('by', protocol),
        of: of('of', protocol),
      },
    ]),
  )
}
