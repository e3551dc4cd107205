import type { RecordReader } from '../contracts/ports/record.ts'
import { RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json, type Operation } from './route.ts'

const LANGUAGES = ['en', 'de'] as const

/** A statement of reasons in each of its forms, or what is missing for one. */
interface StatedReasons {
  readonly isWithdrawn: boolean
  /** It needs none. */
  readonly isExempt: boolean
  /** What is read later may bring what is missing. */
  readonly isWaiting: boolean
  readonly stated:
    | { readonly statement: object; readonly text: string; readonly dsa: object | null }
    | { readonly lacks: readonly string[] }
}

export interface ReasonsParts {
  /** The record; null where none is kept here. */
  readonly record: () => Promise<RecordReader | null>
  /** Null: it has no such action. */
  readonly read: (
    record: RecordReader,
    of: { readonly tenant: string; readonly id: string; readonly lang: (typeof LANGUAGES)[number] },
  ) => Promise<StatedReasons | null>
}

/** `GET /v1/reasons/{id}`: the statement of reasons for an action. */
export function reasonsRoute({ record, read }: ReasonsParts): DoorRoute {
  return {
    method: 'GET',
    path: '/v1/reasons/{id}',
    scope: 'act',
    orScope: 'read',
    operation: OPERATION,
    problems: ['invalid', 'record-off'],
    async answer(call) {
      const lang = languageIn(call)
      const [id, { tenant }] = [call.param('id'), call.caller]
      const own = await record()
      if (own === null)
        throw new RequestRefused('record-off', 'statements are made of the record (role record, record.path)')
      const found = await call.inTurn(() => read(own, { tenant, id, lang }))
      if (found === null) throw new RequestRefused('not-found', 'the record has no such action, or not yet')
      return json(200, { id, tenant, lang, withdrawn: found.isWithdrawn, ...found.stated })
    },
  }
}

function languageIn({ query }: DoorCall): (typeof LANGUAGES)[number] {
  const given = query.get('lang') ?? 'en'
  const lang = LANGUAGES.find((one) => one === given)
  if (lang === undefined) throw new RequestRefused('invalid', `lang: ${LANGUAGES.join(' or ')}`)
  return lang
}

const OPERATION: Operation = {
  operationId: 'reasons',
  summary: 'The statement of reasons for an action',
  description:
    'Made of closed lists, ids and dates alone, by the words of `review.statements`. Where something is missing for one, `lacks` names it in place of `statement`, `text` and `dsa`.',
  parameters: [
    { name: 'id', in: 'path', description: 'The action.', schema: { type: 'string' }, example: 'act-1' },
    {
      name: 'lang',
      in: 'query',
      description: 'The language of its text: en, the default, or de.',
      schema: { type: 'string', enum: [...LANGUAGES] },
    },
  ],
  response: {
    status: 200,
    description: 'The statement, or what is missing for one.',
    schema: {
      type: 'object',
      required: ['id', 'tenant', 'lang', 'withdrawn'],
      properties: {
        id: { type: 'string' },
        tenant: { type: 'string' },
        lang: { type: 'string', enum: [...LANGUAGES] },
        withdrawn: { type: 'boolean', description: 'Whether the action is over.' },
        statement: { type: 'object', description: 'Its fields.' },
        text: { type: 'string', description: 'For the person concerned.' },
        dsa: {
          type: ['object', 'null'],
          description: 'The form of the EU’s Transparency Database; null where it would break a rule of that.',
        },
        lacks: { type: 'array', items: { type: 'string' }, description: 'What is missing for a statement.' },
      },
    },
  },
}
