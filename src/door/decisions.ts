import { BrokerRefused } from '../contracts/facts/broker-refusal.ts'
import { decisionMessage, MAX_WHY_CHARS, MEASURES, MOST_APPEALS } from '../contracts/facts/decision-messages.ts'
import { MAX_QUOTE_CHARS } from '../contracts/facts/verdict-fields.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionReceipt } from '../contracts/ports/decisions.ts'
import { jsonOf } from './body.ts'
import type { DecisionRate } from './decision-rate.ts'
import { DECISION_FIELDS } from './messages.ts'
import { invalidBody, RequestRefused } from './problem.ts'
import { type DoorRoute, json, type Operation } from './route.ts'
import { unsent } from './sending.ts'
import { checkKnown } from './unknown-fields.ts'
import { type WaiterLimits, waitersOf } from './waiters.ts'

type DecisionParts = {
  readonly decisionDesk: DecisionDesk
  readonly withinMs: number
  readonly overDecided: DecisionRate
  readonly clock: Clock
} & WaiterLimits

const PATH = '/v1/human-verdicts'
/** Its path in 0.2.0. OpenAI's clients ask models for decisions there. */
const OLD_PATH = '/v1/decisions'
/** From when on the old path is deprecated (RFC 9745). */
const DEPRECATION = `@${Date.UTC(2026, 10, 30) / 1_000}`

/** `POST /v1/human-verdicts`, and the same at its old path, which says where it went. */
export function decisionRoutes(parts: DecisionParts): readonly DoorRoute[] {
  const route = decisionRoute(parts)
  const { operation } = route
  return [
    route,
    {
      ...route,
      path: OLD_PATH,
      operation: {
        ...operation,
        operationId: 'decideAtOldPath',
        deprecated: true,
        description: `The same as \`${PATH}\`, which to use instead. ${operation.description}`,
      },
      async answer(call) {
        const given = jsonOf(call.body)
        if (typeof given === 'object' && given !== null && 'questions' in given)
          throw new RequestRefused(
            'invalid',
            `no model is asked for decisions here: this is the old path of ${PATH}, for people's verdicts. Ask a model at its own endpoint`,
          )
        const response = await route.answer(call)
        response.headers.set('deprecation', DEPRECATION)
        response.headers.set('link', `<${PATH}>; rel="successor-version"`)
        return response
      },
    },
  ]
}

/** A person's verdict, in the name of the key, answered once the service has carried it out. */
function decisionRoute({ decisionDesk, withinMs, overDecided, clock, ...limits }: DecisionParts): DoorRoute {
  const waiters = waitersOf(limits)
  return {
    method: 'POST',
    path: PATH,
    scope: 'decide',
    takesBody: true,
    operation: OPERATION,
    needs: { dependency: 'kafka', withinMs },
    problems: [
      'invalid',
      'too-deep',
      'bad-encoding',
      'tenant',
      'deleted',
      'late',
      'undecided',
      'waiting',
      'kafka-away',
      'store-away',
    ],
    async answer({ body, caller, signal, waiting, checkAnswers }) {
      const given = jsonOf(body)
      if (typeof given !== 'object' || given === null || Array.isArray(given))
        throw new RequestRefused('invalid', 'the body is no object: send one decision')
      if ('by' in given) throw new RequestRefused('invalid', 'by: it is the key that decides: leave it out')
      checkKnown(Object.keys(given), DECISION_FIELDS)
      const written = given as Readonly<Record<string, unknown>>
      if (written.appeals != null && written.code == null)
        throw new RequestRefused('invalid', 'code: appeals are answered with the code of a reason')
      if ((written.tenant ?? caller.tenant) !== caller.tenant)
        throw new RequestRefused('tenant', `the decision names another tenant than ${caller.tenant}`)
      const at = written.at ?? new Date(clock()).toISOString()
      const read = decisionMessage.safeParse({ ...written, at, by: caller.by, tenant: caller.tenant })
      if (!read.success) throw invalidBody(read.error)
      // It is carried out in the store. While that is known to be away nobody waits for it in vain, and nothing is begun.
      checkAnswers('redis')
      const tooMany = overDecided(caller.tenant, read.data)
      if (tooMany !== null) throw tooMany
      const done = waiters.enter(caller.tenant)
      const heard = await waiting(decisionDesk.decide(read.data, signal()))
        .catch((cause: unknown) => {
          if (cause instanceof BrokerRefused) throw unsent(cause)
          const name = cause instanceof Error ? cause.name : 'unknown'
          const same = `sent again with "at": "${new Date(read.data.createdAt).toISOString()}" it counts once`
          throw new RequestRefused('kafka-away', `Kafka has not acknowledged it (${name}): ${same}`, { retryAfter: 5 })
        })
        .finally(done)
      return answered(heard, caller.by)
    },
  }
}

function answered({ of, decided }: DecisionReceipt, by: string): Response {
  if (decided === null || decided.outcome === 'waiting') return json(202, { of, by, outcome: 'unheard' })
  switch (decided.outcome) {
    case 'stands':
    case 'withdrawn':
    case 'noted':
    case 'duplicate':
      return json(200, { of, by, ...decided })
    case 'deleted':
      throw new RequestRefused('deleted', 'its subject was deleted')
    case 'unknown':
      throw new RequestRefused('not-found', 'nothing is known of such a subject')
    case 'late':
      throw new RequestRefused('late', `the last revision is ${decided.last}`)
    case 'refused':
      throw new RequestRefused('undecided', decided.why)
  }
}

const ANSWER = {
  type: 'object',
  required: ['of', 'by', 'outcome'],
  properties: {
    of: { type: 'string', description: 'Its place on the topic of decisions: PARTITION@OFFSET.' },
    by: { type: 'string', description: 'Who decides: the key’s.' },
    outcome: {
      type: 'string',
      enum: ['stands', 'withdrawn', 'noted', 'duplicate', 'unheard'],
      description: 'unheard: it is on its topic, and is carried out as soon as it is read.',
    },
    verdict: { type: ['string', 'null'], description: 'The verdict that it brought about; null: it is judged anew.' },
  },
}

const OPERATION: Operation = {
  operationId: 'decide',
  summary: "A person's verdict, or its withdrawal",
  description: `It overrules machines until it is withdrawn or its subject is deleted. Who decides is the key's \`by\`. \`against\` is the revision that the person saw. \`why\` has at most ${MAX_WHY_CHARS} characters, and outlives a deletion. The same decision sent again counts once.`,
  request: {
    schema: {
      type: 'object',
      required: ['subjectId', 'protocol', 'against', 'why'],
      properties: {
        subjectId: { type: 'string', description: 'The id of the post or reply.' },
        kind: { type: 'string', enum: ['post', 'reply'], description: 'Needed if the protocol does not decide it.' },
        subjectKind: {
          type: 'string',
          enum: ['post', 'reply', 'comment'],
          description: 'The same, by the word of verdicts.',
        },
        postId: { type: 'string', description: 'Of a comment: its post.' },
        protocol: { type: 'string', description: 'The protocol whose verdict it replaces.' },
        label: { type: 'string', description: 'The verdict: one of the labels of the protocol.' },
        withdraw: { type: 'boolean', const: true, description: 'In place of a label.' },
        against: { type: 'integer', minimum: 0, description: 'The revision that was seen; 0 for none.' },
        why: { type: 'string', minLength: 1, maxLength: MAX_WHY_CHARS, description: 'Why. Quote nothing.' },
        at: { type: 'string', description: 'Its time, by default now. A repeat has the same.' },
        force: { type: 'boolean', description: 'Whatever has come since.' },
        opinion: { type: 'boolean', description: 'A second opinion: counted, and changes nothing.' },
        golden: {
          type: 'string',
          enum: ['key', 'answer'],
          description: 'Of an opinion on a golden item: the key, by which others are checked, or such an answer.',
        },
        clauses: {
          type: 'array',
          minItems: 1,
          maxItems: 10,
          description: 'The clauses of the policy that the label rests on, with words of the post that break them.',
          items: {
            type: 'object',
            required: ['id'],
            properties: { id: { type: 'string' }, quote: { type: 'string', maxLength: MAX_QUOTE_CHARS } },
          },
        },
        seconds: {
          type: 'integer',
          minimum: 0,
          maximum: 86_400,
          description: 'How long it was shown to them before.',
        },
        code: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,39}$', description: 'The code of the reason.' },
        appeals: {
          type: 'array',
          minItems: 1,
          maxItems: MOST_APPEALS,
          description: 'The appeals that it answers, by their ids. Needs `code`.',
          items: { type: 'string' },
        },
        measure: {
          type: 'string',
          enum: MEASURES,
          description: 'What is to become of the actions that these appeals are against, where the label stays.',
        },
        sawLabel: { type: 'boolean', description: 'The label in force was shown before they chose.' },
        unseen: { type: 'boolean', const: true, description: 'An image was not shown to them as it was judged.' },
      },
    },
    example: {
      subjectId: 'p1',
      protocol: 'rumor',
      label: 'non-rumor',
      against: 1,
      why: 'Confirmed by the city, ticket 88',
    },
  },
  response: { status: 200, description: 'Its outcome.', schema: ANSWER },
  others: [{ status: 202, description: 'It is acknowledged, and was not carried out yet.', schema: ANSWER }],
}
