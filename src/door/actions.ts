import { actionMessage } from '../contracts/facts/action-messages.ts'
import { subjectKeyOf } from '../contracts/facts/messages.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { jsonOf } from './body.ts'
import type { TenantRate } from './decision-rate.ts'
import { invalidBody, RequestRefused } from './problem.ts'
import { type DoorRoute, json, type Operation } from './route.ts'
import type { RecordSender } from './sending.ts'
import { checkKnown } from './unknown-fields.ts'

interface ActionParts {
  readonly sending: RecordSender
  readonly topic: string
  readonly overRate: TenantRate
  readonly clock: Clock
}

const FIELDS =
  'id tenant subjectId subjectKind postId protocol verdictId decisionAt what ground clause since until countries source automated withdraw at'.split(
    ' ',
  )

/** `POST /v1/actions`: what was done about a subject, or that this is over, in the name of the key; answered when Kafka has it. */
export function actionsRoute({ sending, topic, overRate, clock }: ActionParts): DoorRoute {
  return {
    method: 'POST',
    path: '/v1/actions',
    scope: 'act',
    takesBody: true,
    operation: OPERATION,
    needs: { dependency: 'kafka', withinMs: sending.withinMs },
    problems: ['invalid', 'too-deep', 'bad-encoding', 'tenant', 'back-pressure', 'kafka-away'],
    async answer({ body, caller }) {
      const given = jsonOf(body)
      if (typeof given !== 'object' || given === null || Array.isArray(given))
        throw new RequestRefused('invalid', 'the body is no object: send one action')
      if ('by' in given) throw new RequestRefused('invalid', 'by: it is the key that acts: leave it out')
      checkKnown(Object.keys(given), FIELDS)
      const written = given as Readonly<Record<string, unknown>> // An object, as was asked above.
      if ((written.tenant ?? caller.tenant) !== caller.tenant)
        throw new RequestRefused('tenant', `the action names another tenant than ${caller.tenant}`)
      const tooMany = overRate(caller.tenant)
      if (tooMany !== null) throw tooMany
      const at = written.at ?? new Date(clock()).toISOString()
      const action = { ...written, at, by: caller.by, tenant: caller.tenant }
      const read = actionMessage.safeParse(action)
      if (!read.success) throw invalidBody(read.error)
      // A withdrawal goes the way of its action, behind it.
      if (written.subjectId === undefined) {
        const message = 'is missing: it is that of the action'
        throw new RequestRefused('invalid', `subjectId: ${message}`, { errors: [{ path: 'subjectId', message }] })
      }
      const record = { topic, key: subjectKeyOf(written), value: JSON.stringify(action) }
      const [became] = await sending.send(caller.tenant, [record])
      if (became === 'refused') throw new RequestRefused('invalid', 'Kafka takes no record of this size')
      return json(202, { id: written.id, by: caller.by })
    },
  }
}

const TEXT = { type: 'string', minLength: 1, maxLength: 200 }
const TIME = { type: 'string', description: 'ISO 8601 with an offset.' }

const OPERATION: Operation = {
  operationId: 'act',
  summary: 'What was done about a subject, or that this is over',
  description:
    'The platform reports what it did. Who acted is the key’s `by`. It is kept for good; the same `id` sent again counts once. If the verdict is overruled while the action is in force, its reversal is asked for on `gavel.reviews` and in the review queue.',
  request: {
    schema: {
      type: 'object',
      required: ['id', 'subjectId'],
      properties: {
        id: { type: 'string', description: 'The action’s own id.' },
        subjectId: {
          type: 'string',
          description: 'What it was done about; of a withdrawal, what its action was about.',
        },
        subjectKind: { type: 'string', enum: ['post', 'reply', 'comment'] },
        postId: { type: 'string', description: 'Of a comment: its post.' },
        protocol: { type: 'string', description: 'The protocol whose verdict it rests on.' },
        verdictId: { type: 'string', description: 'The verdict that it rests on.' },
        decisionAt: { ...TIME, description: 'Of a person’s decision that it rests on: its at.' },
        what: { ...TEXT, description: 'What was done, by a word of your own; none where nothing was.' },
        ground: { ...TEXT, description: 'Why it may be done, by a word of your own.' },
        clause: { ...TEXT, description: 'The clause of the policy or the law.' },
        since: TIME,
        until: TIME,
        countries: { type: 'array', items: { type: 'string', pattern: '^[A-Z]{2}$' } },
        source: { ...TEXT, description: 'What led to it, by a word of your own.' },
        automated: { type: 'boolean', description: 'Whether a rule did it, and no person looked.' },
        withdraw: { type: 'boolean', const: true, description: 'It is over: id and subjectId are enough then.' },
        at: TIME,
      },
    },
    example: {
      id: 'act-1',
      subjectId: 'p1',
      verdictId: 'hate~p1~r1',
      what: 'remove',
      ground: 'terms',
      since: '2026-11-30T12:00:00Z',
      source: 'own-initiative',
      automated: true,
    },
  },
  response: {
    status: 202,
    description: 'It is on its topic, and the record takes it.',
    schema: {
      type: 'object',
      required: ['id', 'by'],
      properties: { id: { type: 'string' }, by: { type: 'string', description: 'Who acted: the key’s.' } },
    },
  },
}
