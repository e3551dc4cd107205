import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { DecisionResult } from '../../src/contracts/ports/decisions.ts'
import { type DecisionRate, decisionRate, tenantRate } from '../../src/door/decision-rate.ts'
import { decisionRoutes } from '../../src/door/decisions.ts'
import type { Dependency } from '../../src/door/in-time.ts'
import { DECISION_FIELDS } from '../../src/door/messages.ts'
import { NOW, POST, testDoor } from './door-for-tests.ts'

const DECISION = { subjectId: 'p1', protocol: 'rumor', label: 'non-rumor', against: 1, why: 'The city says so.' }

/** A door behind which decisions come to this; null: nothing is heard of them. */
function deciding(
  comesTo: DecisionResult | null | Error,
  heard = Promise.resolve(),
  isAway: (dependency: Dependency) => boolean = () => false,
  overDecided: DecisionRate = () => null,
) {
  const sent: DecisionMessage[] = []
  const door = testDoor({
    isAway,
    routes: [
      ...decisionRoutes({
        decisionDesk: {
          async decide(message) {
            if (comesTo instanceof Error) throw comesTo
            sent.push(message)
            await heard
            return { of: '0@7', decided: comesTo }
          },
        },
        withinMs: 60_000,
        overDecided,
        clock: () => NOW,
        waiting: 4,
        waitingPerTenant: 2,
      }),
    ],
  })
  const as = { authorization: `Bearer ${door.keyOf('acme', ['decide'])}` }
  return { ...door, sent, as, decide: (body: unknown) => door.ask('POST', '/v1/human-verdicts', body, as) }
}

interface DescribedBody {
  readonly example: unknown
  readonly schema: { readonly properties: object }
}

describe('decisions of one tenant', () => {
  const perKey = { perSecond: 100, burst: 200 }

  test('have a hundredth of a key’s rate, whichever keys they are made by, and stop no other tenant’s', async () => {
    let now = NOW
    const { ask, keyOf, sent } = deciding(
      { outcome: 'noted' },
      undefined,
      undefined,
      decisionRate(perKey, () => now),
    )
    const decide = async (tenant: string) => {
      const as = { authorization: `Bearer ${keyOf(tenant, ['decide'])}` }
      const { status, headers } = await ask('POST', '/v1/human-verdicts', DECISION, as)
      return [status, headers.get('retry-after')]
    }
    expect([await decide('acme'), await decide('acme')]).toEqual([
      [200, null],
      [200, null],
    ])
    expect(await decide('acme')).toEqual([429, '1'])
    expect(await decide('other')).toEqual([200, null])
    now += 1_000
    expect(await decide('acme')).toEqual([200, null])
    expect(sent).toHaveLength(4)
  })

  test('on one subject are few: each waits for the verdict of the one before, and others with it', async () => {
    let now = NOW
    const { ask, keyOf } = deciding(
      { outcome: 'noted' },
      undefined,
      undefined,
      decisionRate({ perSecond: 5_000, burst: 25_000 }, () => now),
    )
    const decide = async (change: object) => {
      const as = { authorization: `Bearer ${keyOf('acme', ['decide'])}` }
      return (await ask('POST', '/v1/human-verdicts', { ...DECISION, ...change }, as)).status
    }
    const statuses: number[] = []
    for (let n = 0; n < 8; n++) statuses.push(await decide({}))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect([await decide({ subjectId: 'p2' }), await decide({ protocol: 'hate' })]).toEqual([200, 200])
    now += 1_000
    expect([await decide({}), await decide({})]).toEqual([200, 429])
  })

  test('are refused by themselves in a list, and what else stands there is sent', async () => {
    const { ask, keyOf } = testDoor({ overDecided: decisionRate(perKey, () => NOW) })
    const decision = { type: 'decision', ...DECISION, at: '2026-01-01T00:00:00Z' }
    const list = [decision, decision, decision, POST]
    const as = { authorization: `Bearer ${keyOf('acme', ['send', 'decide'])}` }
    const { status, body } = await ask('POST', '/v1/messages', list, as)
    expect([status, body]).toMatchObject([200, { accepted: 3, refused: 1 }])
    expect(body).toMatchObject({ items: [{}, {}, { problem: { type: '/problems/rate' } }, {}] })
  })
})

test('feedback of one tenant has a tenth of a key’s rate, and is refused by itself in a list', async () => {
  let now = NOW
  const { ask, keyOf, records } = testDoor({
    overFed: tenantRate('words of feedback', { perSecond: 20, burst: 30 }, () => now),
  })
  const word = (by: string) => ({
    type: 'feedback',
    subjectId: 'p1',
    protocol: 'rumor',
    label: 'rumor',
    by,
    at: '2026-01-01T00:00:00Z',
  })
  const tells = async (tenant: string, words: number) => {
    const list = [POST, ...Array.from({ length: words }, (_, nth) => word(`m${nth}`))]
    const as = { authorization: `Bearer ${keyOf(tenant, ['send'])}` }
    return (await ask('POST', '/v1/messages', list, as)).body as { accepted: number; items: { problem?: unknown }[] }
  }
  const first = await tells('acme', 5)
  expect(first.accepted).toBe(4)
  expect(first.items[5]?.problem).toMatchObject({ type: '/problems/rate' })
  // By another key of the tenant; another tenant has a rate of its own.
  expect((await tells('acme', 2)).accepted).toBe(1)
  expect((await tells('other', 3)).accepted).toBe(4)
  now += 1_000
  expect((await tells('acme', 3)).accepted).toBe(3)
  expect(records).toHaveLength(12)
})

describe('a decision', () => {
  test('is made by the key, as its tenant, and answered with what came of it', async () => {
    const { decide, sent } = deciding({ outcome: 'stands', verdict: 'rumor~p1~r2' })
    const { status, body } = await decide(DECISION)
    expect([status, body]).toEqual([200, { of: '0@7', by: 'acme-backend', outcome: 'stands', verdict: 'rumor~p1~r2' }])
    expect(sent).toMatchObject([{ ...DECISION, tenant: 'acme', by: 'acme-backend', at: NOW }])
  })

  test.each([
    [{ outcome: 'late', last: 3 }, 409, 'late'],
    [{ outcome: 'deleted' }, 409, 'deleted'],
    [{ outcome: 'unknown' }, 404, 'not-found'],
    [{ outcome: 'refused', why: 'rumor has no such label' }, 422, 'undecided'],
  ] as const)('that comes to %o is that problem', async (outcome, status, problem) => {
    const said = await deciding(outcome).decide(DECISION)
    expect([said.status, said.body.type]).toEqual([status, `/problems/${problem}`])
  })

  test('of which nothing is heard yet is a 202, one that Kafka does not take a 503', async () => {
    expect((await deciding(null).decide(DECISION)).body).toEqual({ of: '0@7', by: 'acme-backend', outcome: 'unheard' })
    expect((await deciding(null).decide(DECISION)).status).toBe(202)
    expect((await deciding(new Error('broker')).decide(DECISION)).status).toBe(503)
  })

  test.each([
    ['redis', 'store-away'],
    ['kafka', 'kafka-away'],
  ] as const)('is not begun while %s is known to be away', async (away, problem) => {
    const { decide, sent } = deciding(null, undefined, (dependency) => dependency === away)
    const { status, body, headers } = await decide(DECISION)
    expect([status, body.type, headers.has('retry-after')]).toEqual([503, `/problems/${problem}`, true])
    expect(sent).toEqual([])
  })

  test('waits beside others up to a number, and one more is told to wait', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { decide, sent } = deciding({ outcome: 'stands', verdict: 'rumor~p1~r2' }, promise)
    const two = [decide(DECISION), decide(DECISION)]
    const { status, body, headers } = await decide(DECISION)
    expect([status, body.type, headers.has('retry-after')]).toEqual([429, '/problems/waiting', true])
    resolve()
    expect((await Promise.all(two)).map((one) => one.status)).toEqual([200, 200])
    expect([(await decide(DECISION)).status, sent.length]).toEqual([200, 3])
  })

  test('names no other person, no other tenant, and has what a decision has', async () => {
    const { decide, sent, ask } = deciding(null)
    for (const [body, status] of [
      [{ ...DECISION, by: 'somebody' }, 400],
      [{ ...DECISION, tenant: 'other' }, 403],
      [{ ...DECISION, label: undefined }, 400],
      [{ ...DECISION, withdraw: true }, 400],
      [{ ...DECISION, lable: 'x' }, 400],
      [[DECISION], 400],
    ] as const)
      expect((await decide(body)).status).toBe(status)
    expect((await ask('POST', '/v1/human-verdicts', DECISION)).status).toBe(403)
    expect(sent).toEqual([])
  })

  test('says its reason’s code, whether the label was shown, and that an image was not', async () => {
    const { decide, sent } = deciding({ outcome: 'stands', verdict: null })
    const clauses = [{ id: 'H1', quote: 'closed' }]
    const noted = { ...DECISION, code: 'irony', sawLabel: false, unseen: true, clauses }
    expect((await decide(noted)).status).toBe(200)
    expect(sent).toMatchObject([noted])
  })

  test('is described as OpenAPI 3.1, with every field that is taken and an example', async () => {
    const { document, decide } = deciding({ outcome: 'stands', verdict: null })
    expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true })
    const { paths } = document as {
      paths: Record<string, { post: { requestBody: { content: Record<string, DescribedBody> } } }>
    }
    const { content } = paths['/v1/human-verdicts']?.post.requestBody ?? { content: {} }
    const { example, schema } = content['application/json'] ?? {}
    expect((await decide(example)).status).toBe(200)
    expect(['tenant', ...Object.keys(schema?.properties ?? {})].sort()).toEqual([...DECISION_FIELDS].sort())
  })

  test('are taken at their old path too, which says where they went, and where no model is asked', async () => {
    const { ask, as, sent, document } = deciding({ outcome: 'noted' })
    const { status, headers } = await ask('POST', '/v1/decisions', DECISION, as)
    expect([status, headers.get('link')]).toEqual([200, '</v1/human-verdicts>; rel="successor-version"'])
    expect(headers.get('deprecation')).toMatch(/^@\d{10}$/)
    expect(sent).toMatchObject([DECISION])
    const asked = { model: 'gpt-6-luna', input: 'Hello', questions: [{ type: 'predicate', instructions: 'Rude?' }] }
    const refused = await ask('POST', '/v1/decisions', asked, as)
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('/v1/human-verdicts')
    expect(sent).toHaveLength(1)
    const { paths } = document as { paths: Record<string, { post: { deprecated?: boolean } }> }
    expect([paths['/v1/decisions']?.post.deprecated, paths['/v1/human-verdicts']?.post.deprecated]).toEqual([
      true,
      undefined,
    ])
  })
})
