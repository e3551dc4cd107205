import { appealMessage } from '../contracts/facts/appeal-messages.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { jsonOf } from './body.ts'
import type { TenantRate } from './decision-rate.ts'
import { knownOf } from './messages.ts'
import { invalidBody, RequestRefused } from './problem.ts'
import { type DoorRoute, json, type Operation } from './route.ts'
import type { RecordSender } from './sending.ts'
import { checkKnown } from './unknown-fields.ts'

const FIELDS =
  'id tenant by text contact ground objectsTo at verdictId actionId subjectId subjectKind postId protocol withdraw'.split(
    ' ',
  )

/** `POST /v1/appeals`: an objection, or its withdrawal, answered when Kafka has acknowledged it. */
export function appealsRoute({
  sending,
  topic,
  overRate,
  clock,
}: {
  readonly sending: RecordSender
  readonly topic: string
  readonly overRate: TenantRate
  readonly clock: Clock
}): DoorRoute {
  return {
    method: 'POST',
    path: '/v1/appeals',
    scope: 'send',
    takesBody: true,
    operation: OPERATION,
    needs: { dependency: 'kafka' },
    problems: ['invalid', 'too-deep', 'bad-encoding', 'tenant', 'too-large', 'kafka-away'],
    async answer({ body, caller: { tenant }, within }) {
      const given = jsonOf(body)
      if (typeof given !== 'object' || given === null || Array.isArray(given))
        throw new RequestRefused('invalid', 'the body is no object: send one appeal')
      checkKnown(Object.keys(given), FIELDS)
      const written = { at: new Date(clock()).toISOString(), ...knownOf(given, FIELDS) }
      const named = 'tenant' in written ? written.tenant : null
      if ((named ?? tenant) !== tenant)
        throw new RequestRefused('tenant', `the appeal names another tenant than ${tenant}`)
      const tooMany = overRate(tenant)
      if (tooMany !== null) throw tooMany
      const message = { ...written, tenant }
      const read = appealMessage.safeParse(message)
      if (!read.success) throw invalidBody(read.error)
      within(sending.withinMs)
      const { id } = read.data
      // Of its words no more than are read.
      const text = 'text' in read.data ? { text: read.data.text } : {}
      const value = JSON.stringify({ ...message, id, ...text })
      const [became] = await sending.send(tenant, [{ topic, key: id, value }])
      if (became === 'refused') throw new RequestRefused('too-large', "Kafka's topic does not take it")
      return json(200, { id, status: 'acknowledged' })
    },
  }
}

const OPERATION: Operation = {
  operationId: 'appeal',
  summary: 'An objection of who wrote or reported something',
  description:
    'Against a verdict (`verdictId`), an action (`actionId`), or how a subject is treated (`subjectId`). A person answers it in the review queue; its one outcome is on the topic appeal-outcomes, and goes to webhooks. The same id counts once. `withdraw: true` takes it back, and erases its words.',
  request: {
    schema: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', description: 'Its own id.' },
        by: { type: 'string', enum: ['author', 'notifier'], description: 'Who appeals.' },
        text: { type: 'string', description: 'Their words, in any language.' },
        contact: { type: 'string', maxLength: 512, description: 'A token of yours by which you reach them.' },
        ground: { type: 'string', maxLength: 200, description: 'What they say is wrong, by a word of your own.' },
        objectsTo: {
          type: 'string',
          enum: ['label', 'measure'],
          description: 'Beside actionId. measure: the label may be right, and what was done is too much.',
        },
        at: { type: 'string', description: 'When, by default now.' },
        verdictId: { type: 'string', description: 'The verdict that it is against.' },
        actionId: { type: 'string', description: 'The action that it is against.' },
        subjectId: { type: 'string', description: 'The post, reply or comment that it is about.' },
        subjectKind: { type: 'string', enum: ['post', 'reply', 'comment'] },
        postId: { type: 'string', description: 'Of a comment: its post.' },
        protocol: { type: 'string', description: 'Beside a subjectId that several protocols have judged.' },
        withdraw: { type: 'boolean', const: true, description: 'Takes it back.' },
      },
    },
    example: {
      id: 'e1',
      verdictId: 'rumor~p1~r2',
      by: 'author',
      text: 'The city has confirmed it',
      contact: 'case 4711',
    },
  },
  response: {
    status: 200,
    description: 'It is on its topic.',
    schema: {
      type: 'object',
      required: ['id', 'status'],
      properties: { id: { type: 'string' }, status: { type: 'string', const: 'acknowledged' } },
    },
  },
}
