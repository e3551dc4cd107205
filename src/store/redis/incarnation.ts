import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import { VERDICT_SCHEMAS, type VerdictSchema } from '../../contracts/facts/verdict-fields.ts'
import { type Keys, outboxPlace, PUBLISHERS } from './keys.ts'
import { script } from './script.ts'

/** Why the data in Redis are not everything that was written there; `forgotten`: the group has no offsets either. */
const LOSSES = ['emptied', 'forgotten', 'rolled-back', 'recovering'] as const
export type Loss = (typeof LOSSES)[number]

/**
 * What a process last learnt about the data: their incarnation, their watermark, and the server run in which it learnt
 * them. Redis opens or concludes no case for a process with a token that it never issued.
 */
export interface FencingToken {
  readonly incarnationId: string
  readonly watermark: number
  readonly serverRun: string
}
export const TOKEN = ['incarnationId', 'watermark', 'serverRun'] as const

/** A token that always holds, for tests and commands that don't watch the incarnation. */
export const NO_FENCING = (): FencingToken => ({ incarnationId: '', watermark: 0, serverRun: '' })

/** Next offset by `topic/partition`: everything before it is durable here. */
export type Positions = ReadonlyMap<string, string>

const begin = script('redis/begin', {
  keys: ['incarnation', 'marks'],
  args: ['freshId', 'schema', 'alone', 'published', 'committed[].partition', 'committed[].offset'],
})
const advance = script('redis/advance', {
  keys: ['incarnation', 'outbox', 'letters'],
  args: [
    ...TOKEN,
    'durable[].partition',
    'durable[].offset',
    'group',
    'publisher',
    'entries[].id',
    'entries[].place',
    'entries[].isLetter',
  ],
})
const suspend = script('redis/suspend', { keys: ['incarnation'], args: ['recovery'] })
const setComplete = script('redis/set-complete', { keys: ['incarnation'], args: ['complete'] })
const createIncarnation = script('redis/create', {
  keys: ['incarnation'],
  args: ['freshId', 'schema', 'suspendedRun', 'recovery', 'durable[].partition', 'durable[].offset'],
})

const suspended = z.tuple([z.number(), z.string()])
const reply = z.tuple([z.string(), z.string(), z.string(), z.string(), z.number()])
const advanced = z.tuple([reply, z.array(z.string())])

/**
 * The forms in which this version keeps data in Redis: those of the form 2 may hold verdicts of schema 2, and are the same
 * otherwise. A version that keeps them otherwise has the next number, and takes nothing over: what it needs comes from the topics.
 */
const FORMS: ReadonlySet<string> = new Set(VERDICT_SCHEMAS.map(String))

/** The form of the data in Redis, the newest if there are none. Throws an `OperatorError` if it is another than this version's. */
export async function checkSchema(client: Redis, { incarnation }: Keys): Promise<VerdictSchema> {
  const [id = null, schema = null] = await client.hmget(incarnation, 'id', 'schema')
  if ((id === null && schema === null) || FORMS.has(schema ?? '')) return schema === '1' ? 1 : 2
  throw new OperatorError(
    `Redis holds data in the form ${printable(schema ?? '0', 20)}, and this version of Gavel keeps them in the form ${Math.max(...VERDICT_SCHEMAS)}. Run the version that wrote them; or stop all processes, set another redis.prefix, and run "gavel recover": it restores revisions and threads from the topics.`,
  )
}

/** Each process of a service raises the watermark at least this often, in ms. */
const HEARTBEATS_MS = 3_000

/**
 * For a process that writes verdicts of schema 2: raises the form of data that were in the form 1, in which earlier versions start
 * no more. Throws an `OperatorError`, with the form as it was, while a process of such a version raises the watermark.
 */
export async function raiseForm(client: Redis, { incarnation }: Keys, waitMs = HEARTBEATS_MS): Promise<void> {
  const look = async () => {
    const [schema, watermark, told] = await client.hmget(incarnation, 'schema', 'watermark', 'told')
    return { schema, untold: Number(watermark) - Number(told) }
  }
  const before = await look()
  if (before.schema !== '1') return
  await sleep(waitMs)
  if ((await look()).untold > before.untold)
    throw new OperatorError(
      'Processes of an earlier version run on this Redis, and can’t read verdicts of schema 2. Start this version with verdicts.schema: 1 beside them; once none of them is left, remove that setting and restart (docs/contracts.md#from-schema-1-to-2).',
    )
  await client.hset(incarnation, 'schema', 2)
}

/**
 * Detects that Redis lost acknowledged data; new data get this form. The data have an incarnation id and a watermark that only rises. A process
 * knows of a loss if the id is gone (emptied; forgotten, if only the verdicts topic shows that), or if the data began the server's current run with a lower watermark than
 * the process has once read (an older dump, a replica that was behind). For 3 s after each start of a server nothing is
 * opened, concluded or published, so that a process that knows of a loss can report it first.
 */
export function redisIncarnation(client: Redis, keys: Keys, form: VerdictSchema = 2) {
  const { incarnation, marks, outbox, letters } = keys
  let token: FencingToken = { incarnationId: 'none', watermark: 0, serverRun: '' }
  let quiet = false
  let lost: Loss | null = null
  /** The server's run when this process suspended the data; empty if it did not. */
  let suspendedRun = ''
  /** The name under which it did; empty if it did not. */
  let recovery = ''

  async function advanceBy(durable: Positions, publisher: string, ids: readonly string[]) {
    const entries = ids.map((id) => {
      const place = outboxPlace(keys, id)
      return { id, place: place.entry, isLetter: place.outbox === letters }
    })
    const given = {
      incarnation,
      outbox,
      letters,
      group: PUBLISHERS,
      publisher,
      entries,
      ...token,
      durable: partitionsOf(durable),
    }
    return advanced.parse(await advance(client, given))
  }

  function learn([incarnationId, watermark, loss, serverRun, quietNow]: z.infer<typeof reply>): Loss | null {
    quiet = quietNow === 1
    lost = loss === '' ? null : z.enum(LOSSES).parse(loss)
    if (lost !== null) return lost
    // Replies may arrive out of order.
    const isNewer =
      incarnationId !== token.incarnationId || serverRun !== token.serverRun || Number(watermark) > token.watermark
    if (isNewer) token = { incarnationId, watermark: Number(watermark), serverRun }
    return lost
  }

  return {
    /** For scripts that must not run on data other than those that this process knows. */
    token: (): FencingToken => (lost === null ? token : { incarnationId: 'lost', watermark: 0, serverRun: '' }),
    /** The server has just started: a process that knows of a loss may not have reported it yet. */
    get quiet() {
      return quiet
    },
    get lost() {
      return lost
    },
    /**
     * Adopts the data, or creates an incarnation if nothing was ever accepted or published. `committed` is the group's
     * progress in Kafka; `alone`: no other process can have advanced it a moment ago; `published`: the verdicts topic has
     * held records.
     */
    begin: async (committed: Positions, alone: boolean, published = false): Promise<Loss | null> =>
      learn(
        reply.parse(
          await begin(client, {
            incarnation,
            marks,
            freshId: randomUUID(),
            schema: form,
            alone,
            published,
            committed: partitionsOf(committed),
          }),
        ),
      ),
    /** A heartbeat: raises the watermark, and records what has been made durable. */
    advance: async (durable: Positions = new Map()): Promise<Loss | null> =>
      learn((await advanceBy(durable, '', []))[0]),
    /**
     * Raises the watermark past outbox entries that were read: those of them that the same data have for this publisher.
     * Who was redirected to another master since the read would otherwise raise the watermark of data that may lack them.
     */
    async advancePast(publisher: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
      const [said, handed] = await advanceBy(new Map(), publisher, ids)
      return new Set(learn(said) === null ? handed : [])
    },
    /**
     * Stops every process from opening and concluding cases at once, and its intake at its next heartbeat, until
     * `createIncarnation`; returns true if they were already stopped.
     */
    async suspend(): Promise<boolean> {
      const name = randomUUID()
      const [hadEnded, run] = suspended.parse(await suspend(client, { incarnation, recovery: name }))
      suspendedRun = run
      recovery = name
      return hadEnded === 1
    },
    /**
     * While suspended: whether all revisions that were ever published are known here, so that an unknown post has had
     * none.
     */
    setComplete: async (complete: boolean): Promise<void> => {
      await setComplete(client, { incarnation, complete })
    },
    /**
     * Creates a new incarnation, which has the effects of everything before these offsets. False, with none created, if the
     * server was started anew since this process suspended the data: what was written meanwhile may be gone. Throws an
     * `OperatorError` if another process has suspended them since: it may be in the middle of its work.
     */
    createIncarnation: async (durable: Positions): Promise<boolean> => {
      const fresh = { freshId: randomUUID(), schema: form }
      const given = { incarnation, ...fresh, suspendedRun, recovery, durable: partitionsOf(durable) }
      const created = await createIncarnation(client, given)
      if (created === 2)
        throw new OperatorError(
          'Another "gavel recover" was started after this one, and completes the recovery. Run it again if that one was stopped.',
        )
      return created === 1
    },
  }
}
export type Incarnation = ReturnType<typeof redisIncarnation>

function partitionsOf(positions: Positions): { partition: string; offset: string }[] {
  return [...positions].map(([partition, offset]) => ({ partition, offset }))
}
