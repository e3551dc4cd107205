import { type AuthorErasure, NOBODYS_NAME, newAuthorErasure, toldErasure } from '../contracts/facts/author-erasure.ts'
import type { AuthorErasures } from '../contracts/ports/authors.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { RequestRefused } from './problem.ts'
import { type DoorRoute, json, type Operation, type Schema, STORE_MS } from './route.ts'

export type AuthorParts = Parameters<typeof newAuthorErasure>[1] & {
  readonly erasures: Pick<AuthorErasures, 'ask' | 'read'>
  readonly clock: Clock
  readonly report: Report
}

/** Erasures of a tenant that are under way at a time. */
const MOST_OPEN = 100

/** `DELETE /v1/authors/{id}` begins the erasure of a person; `GET /v1/erasures/{id}` says how far it is. */
export function authorRoutes(parts: AuthorParts): DoorRoute[] {
  const { erasures, clock, report } = parts
  const known = {
    scope: 'erase',
    needs: { dependency: 'redis', withinMs: STORE_MS },
    problems: ['invalid', 'store-away'],
  } as const
  async function stored(work: () => Promise<AuthorErasure | null>): Promise<AuthorErasure | null> {
    try {
      return await work()
    } catch (error) {
      report('error', { where: 'door', error })
      throw new RequestRefused('store-away', 'the store does not answer now', { retryAfter: 3 })
    }
  }
  return [
    {
      method: 'DELETE',
      path: '/v1/authors/{id}',
      ...known,
      problems: [...known.problems, 'back-pressure'],
      operation: ERASE,
      async answer({ caller: { tenant, by }, param }) {
        const asked = newAuthorErasure({ tenant, author: param('id'), by, now: clock() }, parts)
        if (asked === null) throw new RequestRefused('invalid', `id: ${NOBODYS_NAME}`)
        const begun = await stored(() => erasures.ask(asked, MOST_OPEN))
        if (begun === null)
          throw new RequestRefused('back-pressure', `${MOST_OPEN} erasures of this tenant are under way`, {
            retryAfter: 60,
          })
        const told = toldErasure(begun)
        return json(202, told, { location: `/v1/erasures/${told.erasure}` })
      },
    },
    {
      method: 'GET',
      path: '/v1/erasures/{id}',
      ...known,
      operation: LOOK,
      async answer({ caller: { tenant }, param }) {
        const found = await stored(() => erasures.read(param('id')))
        if (found === null || found.tenant !== tenant)
          throw new RequestRefused(
            'not-found',
            'there is no such erasure: it is done and forgotten, or Redis has lost it; ask again',
          )
        return json(200, toldErasure(found))
      },
    },
  ]
}

const TIME = { type: 'string', description: 'ISO 8601.' }

const ANSWER: Schema = {
  type: 'object',
  required: ['erasure', 'tenant', 'state', 'waitsFor', 'sent', 'askedAt', 'doneAt', 'stays'],
  properties: {
    erasure: { type: 'string', description: 'Names it, and nobody can tell the person by it.' },
    tenant: { type: 'string' },
    state: {
      type: 'string',
      enum: ['asked', 'sending', 'sent', 'done'],
      description: 'sending: deletions of what is found are sent; sent: they are carried out; done: they were.',
    },
    waitsFor: {
      type: ['string', 'null'],
      description:
        'What it waits for. intake: a process with that role reads the topics; record: one with that role searches it; shelves: one with the role judge erases what was learnt.',
    },
    sent: { type: 'integer', description: 'How many posts, comments and replies were deleted so far.' },
    askedAt: TIME,
    doneAt: { type: ['string', 'null'], description: 'ISO 8601.' },
    stays: { type: 'array', items: { type: 'string' }, description: 'What stays for longer, and where.' },
  },
}

const parameter = (description: string, example: string) => [
  { name: 'id', in: 'path', description, schema: { type: 'string' }, example } as const,
]

const ERASE: Operation = {
  operationId: 'eraseAuthor',
  summary: 'Erases all that a person wrote',
  description:
    'Posts, comments and replies of this author, wherever Gavel holds them, and what was derived from them; verdicts are retracted. It is begun at once, and goes on by itself, also after a restart. Sent again it tells how far it is; once it is done it begins anew. What the person writes afterwards is judged.',
  parameters: parameter('The author, as their messages name them; percent-encoded.', 'did:plc:3f'),
  response: { status: 202, description: 'It is begun, or under way.', schema: ANSWER },
}

const LOOK: Operation = {
  operationId: 'erasure',
  summary: 'How far the erasure of a person is',
  parameters: parameter('The erasure, as the answer to the deletion names it.', '3q2-7wEjRaiTmBdQkYxZpA'),
  response: {
    status: 200,
    description: 'Its state. One that is done is remembered for threads.keepTombstone.',
    schema: ANSWER,
  },
}
