import { z } from 'zod'
import { decisionMessage } from '../contracts/facts/decision-messages.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { writtenFields } from '../contracts/facts/json-walk.ts'
import {
  commentMessage,
  counterspeechMessage,
  feedbackMessage,
  keyOf,
  type MessageType,
  postMessage,
  subjectKeyOf,
} from '../contracts/facts/messages.ts'
import { faultIn, type ReadLimits, readValue } from '../contracts/facts/read-value.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { OutgoingMessage } from '../contracts/ports/topic.ts'
import { pauses } from '../platform/pauses.ts'
import { entriesOf } from './body.ts'
import type { DecisionRate, TenantRate } from './decision-rate.ts'
import { overDue, overShare, type ProblemName, RequestRefused } from './problem.ts'
import { inOrder } from './reading.ts'
import { type Caller, type DoorRoute, json } from './route.ts'
import type { RecordSender } from './sending.ts'
import { IGNORED, ignoredIn, unknownIn } from './unknown-fields.ts'

/** What each type of message is read by, and which of its fields are sent on. */
export const MESSAGE_TYPES = {
  post: {
    schema: postMessage,
    fields: 'id tenant text author authorSince lang createdAt media reach deleted'.split(' '),
  },
  comment: {
    schema: commentMessage,
    fields: 'id postId tenant parentId text author authorSince createdAt deleted'.split(' '),
  },
  counterspeech: {
    schema: counterspeechMessage,
    fields: 'id tenant postId hateSpeech text author createdAt deleted'.split(' '),
  },
  feedback: {
    schema: feedbackMessage,
    fields: 'subjectId tenant subjectKind postId protocol label by at note sawLabel'.split(' '),
  },
} as const satisfies Record<MessageType, { schema: z.ZodType<{ createdAt: number }>; fields: readonly string[] }>

/** A person's verdict among messages. Who decides is the key's. */
export const DECISION_FIELDS =
  'subjectId tenant kind subjectKind postId protocol label withdraw against why at force opinion golden clauses seconds code sawLabel appeals measure unseen'.split(
    ' ',
  )

const TYPES = [...Object.keys(MESSAGE_TYPES), 'decision']

/** Any message, by its `type`. */
const anyMessage = z.unknown().transform((json, context): { type: MessageType | 'decision'; createdAt: number } => {
  const type = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined
  const known = typeof type === 'string' ? entryOf(MESSAGE_TYPES, type) : undefined
  const schema = type === 'decision' ? decisionOfKey : known?.schema
  if (schema === undefined) {
    context.addIssue({ code: 'custom', path: ['type'], message: `one of ${TYPES.join(', ')}` })
    return z.NEVER
  }
  const read = schema.safeParse(json)
  if (read.success) return { type: type as MessageType | 'decision', createdAt: read.data.createdAt }
  for (const issue of read.error.issues) context.addIssue({ code: 'custom', path: issue.path, message: faultIn(issue) })
  return z.NEVER
})

const decisionOfKey = z
  .unknown()
  .refine((json) => typeof json !== 'object' || json === null || !('by' in json), {
    path: ['by'],
    error: 'it is the key that decides: leave it out',
  })
  .transform((json): unknown => (typeof json === 'object' ? { ...json, by: 'the key' } : json))
  .pipe(decisionMessage)

/** A message that may be sent, or why it may not. */
type Item =
  | { readonly id: string | null; readonly record: OutgoingMessage; readonly ignored: readonly string[] }
  | { readonly id: string | null; readonly refused: RequestRefused }

/** The problem by which a message is refused that can't be read. */
const PROBLEM_OF = { 'too-large': 'too-large', 'not-json': 'not-json' } as const satisfies Record<string, ProblemName>

export interface MessageParts {
  readonly sending: RecordSender
  readonly topics: Readonly<Record<MessageType, string>>
  /** Where decisions go; null where nobody carries them out. */
  readonly decisionsTopic: string | null
  /** The labels that people may give, by the name of each protocol that is on. */
  readonly labels: ReadonlyMap<string, readonly string[]>
  readonly limits: ReadLimits
  /** Most messages in one request. */
  readonly items: number
  readonly overDecided: DecisionRate
  readonly overFed: TenantRate
  /** Why intake is paused, in words; null while it is not. */
  readonly pressure: () => string | null
  /** Whether a tenant has more due than its share: no further subject of it may become due. */
  readonly isOverDue: (tenant: string) => boolean
  /** Whether a route judges comments by themselves: each is due then as a post is. */
  readonly takesComments: () => boolean
  /** Whether a tenant holds more than its share of Redis, which is short of memory: no further words of it are kept. */
  readonly isOverShare: (tenant: string) => boolean
  readonly clock: Clock
}

/**
 * `POST /v1/messages`: messages for the topics, one or a list, answered when Kafka has acknowledged them. All are read before any is
 * sent; what can't be read is refused by itself. What is checked is what is sent: the fields that are known, under the key's tenant.
 */
export function messagesRoute(parts: MessageParts): DoorRoute {
  // What one tenant sends reaches the topics in the order in which it came here.
  const inTurn = inOrder()
  return {
    method: 'POST',
    path: '/v1/messages',
    scope: 'send',
    takesBody: true,
    operation: OPERATION,
    needs: { dependency: 'kafka' },
    problems: [
      'back-pressure',
      'over-share',
      'invalid',
      'not-json',
      'too-large',
      'tenant',
      'none-accepted',
      'kafka-away',
    ],
    async answer({ body, caller, charge, reading, within }) {
      const read = async () => {
        const entries = entriesOf(body, parts.items)
        charge({ messages: entries?.length ?? 1 })
        const pressure = parts.pressure()
        if (pressure !== null)
          throw new RequestRefused('back-pressure', `intake is paused: ${pressure}`, { retryAfter: 5 })
        const now = parts.clock()
        const items: Item[] = []
        const pause = pauses()
        for (const bytes of entries ?? [body]) {
          items.push(itemOf(bytes, caller, parts, now))
          await pause(bytes.length)
        }
        const foreign = items.some((item) => 'refused' in item && item.refused.problem === 'tenant')
        if (foreign) throw new RequestRefused('tenant', `a message names another tenant than ${caller.tenant}`)
        const [only] = items
        if (entries === null && only !== undefined && 'refused' in only) throw only.refused
        const records = items.flatMap((item) => ('record' in item ? [item.record] : []))
        return { items, sending: parts.sending.send(caller.tenant, records) }
      }
      const { items, sending } = await inTurn(caller.tenant, () => reading(read))
      within(parts.sending.withinMs)
      const became = await sending
      let sent = 0
      const said = items.map((item, index) => {
        if ('refused' in item) return refusedItem(index, item.id, item.refused)
        return became[sent++] === 'refused'
          ? refusedItem(index, item.id, new RequestRefused('too-large', "Kafka's topic does not take it"))
          : { index, id: item.id, status: 'acknowledged' as const, ...ignoredIn(item.ignored) }
      })
      const accepted = said.filter(({ status }) => status === 'acknowledged').length
      if (accepted === 0 && said.length > 0)
        throw new RequestRefused('none-accepted', `none of ${said.length} was accepted`, { items: said })
      return json(200, { accepted, refused: said.length - accepted, items: said })
    },
  }
}

function refusedItem(index: number, id: string | null, { problem, message }: RequestRefused) {
  return { index, id, status: 'refused' as const, problem: { type: `/problems/${problem}`, detail: message } }
}

function itemOf(bytes: Buffer, caller: Caller, parts: MessageParts, now: number): Item {
  const { topics, decisionsTopic, labels, limits } = parts
  const { tenant } = caller
  const read = readValue(bytes, anyMessage, limits, now)
  if (!read.ok)
    return {
      id: writtenId(bytes),
      refused: new RequestRefused(entryOf(PROBLEM_OF, read.reason) ?? 'invalid', read.detail),
    }
  const given = read.json as Readonly<Record<string, unknown>>
  const { type } = read.message
  const own = type === 'feedback' || type === 'decision' ? given.subjectId : given.id
  const id = typeof own === 'string' ? own : null
  const named = given.tenant
  if (named !== undefined && named !== null && named !== tenant)
    return { id, refused: new RequestRefused('tenant', "another tenant than the key's") }
  if (type === 'decision' && !caller.scopes.has('decide'))
    return { id, refused: new RequestRefused('scope', 'this key may not decide') }
  if (type === 'decision' && decisionsTopic === null)
    return { id, refused: new RequestRefused('invalid', 'type: nobody carries decisions out here') }
  const tooMany =
    type === 'decision' ? parts.overDecided(tenant, given) : type === 'feedback' ? parts.overFed(tenant) : null
  if (tooMany !== null) return { id, refused: tooMany }
  const isKept = type !== 'feedback' && type !== 'decision' && given.deleted !== true
  if (isKept && parts.isOverShare(tenant)) return { id, refused: overShare() }
  if (isKept && (type !== 'comment' || parts.takesComments()) && parts.isOverDue(tenant))
    return { id, refused: overDue() }
  const fault = type === 'feedback' ? faultInFeedback(given, labels) : null
  if (fault !== null) return { id, refused: new RequestRefused('invalid', fault) }
  const message = type === 'decision' ? decisionAs(given, caller) : sentAs(type, given, tenant)
  const fields = type === 'decision' ? DECISION_FIELDS : MESSAGE_TYPES[type].fields
  const value = JSON.stringify(message)
  if (Buffer.byteLength(value) > limits.maxMessageBytes)
    return { id, refused: new RequestRefused('too-large', `more than ${limits.maxMessageBytes} bytes`) }
  const record =
    type === 'decision'
      ? { topic: decisionsTopic ?? '', key: subjectKeyOf(message), value }
      : { topic: topics[type], key: keyOf(type, message), value }
  return { id, record, ignored: unknownIn(given, ['type', ...fields]) }
}

/** Why feedback would be no use, whatever the verdict is; else null. */
function faultInFeedback(
  { protocol, label }: Readonly<Record<string, unknown>>,
  known: MessageParts['labels'],
): string | null {
  const labels = known.get(String(protocol))
  if (labels === undefined) return 'protocol: no protocol of this name is on'
  return labels.includes(String(label)) ? null : `label: none of ${protocol}'s: ${labels.join(', ')}`
}

/** Longer ids are not shown of a message that can't be read. */
const LONGEST_SHOWN = 200

/** The id of a message that can't be read, where it can be found all the same. */
function writtenId(bytes: Buffer): string | null {
  try {
    const fields = writtenFields(bytes, { most: 1_000, longestName: 20 })
    const written = fields?.get('id') ?? fields?.get('subjectId')
    if (written === undefined || written.length > LONGEST_SHOWN) return null
    const id: unknown = JSON.parse(written.toString())
    return typeof id === 'string' ? id : typeof id === 'number' ? written.toString().trim() : null
  } catch {
    return null
  }
}

/** The message with the fields that are known, as this tenant's: what goes onto the topic. */
export function sentAs(
  type: MessageType,
  given: Readonly<Record<string, unknown>>,
  tenant: string,
): Readonly<Record<string, unknown>> {
  return { ...knownOf(given, MESSAGE_TYPES[type].fields), tenant }
}

function decisionAs(
  given: Readonly<Record<string, unknown>>,
  { tenant, by }: Caller,
): Readonly<Record<string, unknown>> {
  return { ...knownOf(given, DECISION_FIELDS), tenant, by }
}

/** Those of these fields that it has. */
export function knownOf(given: object, fields: readonly string[]): Readonly<Record<string, unknown>> {
  const known = fields.flatMap((field) => {
    const value = entryOf(given as Readonly<Record<string, unknown>>, field) // any object has fields
    return value === undefined ? [] : [[field, value]]
  })
  return Object.fromEntries(known)
}

const ITEM = {
  type: 'object',
  required: ['index', 'id', 'status'],
  properties: {
    index: { type: 'integer', description: 'Its place in the request, from 0.' },
    id: { type: ['string', 'null'], description: 'Its id, where it could be read.' },
    status: { type: 'string', enum: ['acknowledged', 'refused'] },
    ignored: IGNORED,
    problem: {
      type: 'object',
      required: ['type', 'detail'],
      properties: { type: { type: 'string' }, detail: { type: 'string' } },
    },
  },
} as const

const OPERATION: DoorRoute['operation'] = {
  operationId: 'sendMessages',
  summary: 'Sends posts, comments, replies, deletions, feedback and decisions',
  description:
    'One message or a list. Answered when Kafka has acknowledged them; errors are by item. An id that is sent again with the same content is the same message, with other content an edit, with "deleted": true a deletion. A decision needs the scope decide as well, is made in the name of the key, and has its `at`; what comes of it tells /v1/human-verdicts.',
  request: {
    schema: {
      anyOf: [
        { $ref: '#/components/schemas/Message' },
        { type: 'array', items: {}, description: 'Messages; each is read by itself.' },
      ],
    },
    example: [
      { type: 'post', id: 'p1', text: 'The bridge is closed.', createdAt: '2026-01-01T10:00:00Z' },
      { type: 'comment', id: 'c1', postId: 'p1', text: 'I crossed it an hour ago.', createdAt: '2026-01-01T10:05:00Z' },
    ],
  },
  response: {
    status: 200,
    description: 'The outcome of each.',
    schema: {
      type: 'object',
      required: ['accepted', 'refused', 'items'],
      properties: {
        accepted: { type: 'integer' },
        refused: { type: 'integer' },
        items: { type: 'array', items: ITEM },
      },
    },
  },
}
