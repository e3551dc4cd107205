import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { RecordReader } from '../../src/contracts/ports/record.ts'
import type { ThreadStatus } from '../../src/contracts/ports/threads.ts'
import { subjectsRoute } from '../../src/door/subjects.ts'
import { NOW, testDoor } from './door-for-tests.ts'

const nameOf = ({ tenant, kind, postId }: ThreadRef) => `${tenant} ${kind} ${postId}`
const VERDICT = { id: 'rumor~p1~r1', protocol: 'rumor', label: 'rumor', revision: 1 }

/** A door that knows these subjects, by `TENANT KIND ID`. */
function knowing(
  known: Readonly<Record<string, { status?: ThreadStatus; recorded?: { deletedAt: number | null } }>>,
  { recorded = true, fails = false, whileRead = async () => {} } = {},
) {
  const state = {
    accepted: 3,
    kept: 2,
    late: 1,
    final: false,
    dueSince: NOW,
    nextAge: null,
    dormantFor: ['hate'],
    revisions: new Map([['rumor', { revision: 2, final: false, openId: 'rumor~p1~r2' }]]),
  }
  const record = {
    subject: async ({ tenant, id, kind = 'post' }: { tenant: string; id: string; kind?: ThreadRef['kind'] }) => {
      const subject = { tenant, postId: id, kind }
      const found = known[nameOf(subject)]?.recorded
      const verdicts = [
        { verdict: { ...VERDICT, id: 'rumor~p1~r0' }, standing: false },
        { verdict: VERDICT, standing: true },
      ]
      return found === undefined ? null : { subject, ...found, verdicts, said: [] }
    },
    transcript: async (id: string) => (id === VERDICT.id ? JSON.stringify({ turns: [id] }) : null),
    // The route asks for nothing else.
  } as unknown as RecordReader
  return testDoor({
    routes: [
      subjectsRoute({
        threads: {
          outline: async (ref) => (known[nameOf(ref)]?.status === undefined ? null : state),
          statusOf: async (ref) => {
            if (fails) throw new Error('no connection')
            return known[nameOf(ref)]?.status ?? null
          },
        },
        cases: {
          async unpublished(id) {
            await whileRead()
            const record = { id, protocol: 'rumor', revision: 2, final: false, openedAt: NOW }
            return { record, concluded: false } as never
          },
        },
        decisions: { published: async (_, protocol) => (protocol === 'rumor' ? 1 : 0) },
        record: async () => (recorded ? record : null),
        report: () => {},
      }),
    ],
  })
}

describe('a subject', () => {
  test('is told with what is on its way, and what stands by the record', async () => {
    const { ask } = knowing({ 'acme post p1': { status: 'threaded', recorded: { deletedAt: null } } })
    const { status, body } = await ask('GET', '/v1/subjects/p1?transcript=true')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id: 'p1',
      kind: 'post',
      tenant: 'acme',
      deleted: false,
      status: 'threaded',
      waitsFor: ['hate'],
      comments: { accepted: 3, kept: 2, late: 1 },
      dueSince: new Date(NOW).toISOString(),
      open: [{ id: 'rumor~p1~r2', protocol: 'rumor', decided: false }],
      revisions: { rumor: { revision: 2, final: false, published: 1 } },
      standing: [VERDICT],
      transcripts: [{ turns: [VERDICT.id] }],
    })
  })

  test.each([
    [
      '/v1/subjects/p1?kin=reply',
      'kin: is no parameter of this address. Did you mean "kind"? There are kind, post, standing, transcript.',
    ],
    ['/v1/subjects/p1?transcript=true&standig=true', 'Did you mean "standing"?'],
  ])('is not told where a parameter is misspelt, whose wish would be lost: %s', async (path, detail) => {
    const { ask } = knowing({ 'acme post p1': { status: 'threaded' } })
    const answer = await ask('GET', path)
    expect([answer.status, answer.body.type, answer.body.detail]).toEqual([
      400,
      '/problems/invalid',
      expect.stringContaining(detail),
    ])
  })

  test('with open cases, which are read whole, is read for each caller in turn', async () => {
    let [reading, most] = [0, 0]
    const whileRead = async () => {
      most = Math.max(most, ++reading)
      await new Promise((resolve) => setTimeout(resolve, 20))
      reading--
    }
    const { ask, keyOf } = knowing({ 'acme post p1': { status: 'threaded' } }, { recorded: false, whileRead })
    const as = { authorization: `Bearer ${keyOf('acme', ['read'])}` }
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask('GET', '/v1/subjects/p1', undefined, as)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect(most).toBeLessThanOrEqual(2)
  })

  test('without a record is told as far as it is on its way; what stands is a 501 that names the record', async () => {
    const { ask } = knowing({ 'acme post p1': { status: 'threaded' } }, { recorded: false })
    expect((await ask('GET', '/v1/subjects/p1')).body.standing).toBeUndefined()
    const { status, body } = await ask('GET', '/v1/subjects/p1?standing=true')
    expect([status, body.type, body.detail]).toEqual([
      501,
      '/problems/record-off',
      expect.stringContaining('record.path'),
    ])
  })

  test('that the store has forgotten is told by the record; a deleted one with nothing that was said of it', async () => {
    const { ask } = knowing({
      'acme post old': { recorded: { deletedAt: null } },
      'acme post gone': { status: 'deleted', recorded: { deletedAt: NOW } },
    })
    expect((await ask('GET', '/v1/subjects/old')).body).toMatchObject({ status: 'forgotten', standing: [VERDICT] })
    expect((await ask('GET', '/v1/subjects/gone')).body).toMatchObject({ deleted: true, standing: [], open: [] })
  })

  test('has an id of any characters, and is a reply where there is no such post', async () => {
    const id = 'a/b?c#d e%ü'
    const { ask } = knowing({ [`acme reply ${id}`]: { status: 'threaded' }, 'acme post both': { status: 'threaded' } })
    expect((await ask('GET', `/v1/subjects/${encodeURIComponent(id)}`)).body).toMatchObject({ id, kind: 'reply' })
    expect((await ask('GET', '/v1/subjects/both?kind=reply')).status).toBe(404)
  })

  test('of another tenant is nobody’s; faults of the query are named; a store that is away is a 503', async () => {
    const { ask, keyOf } = knowing({ 'acme post p1': { status: 'threaded', recorded: { deletedAt: null } } })
    const as = { authorization: `Bearer ${keyOf('other', ['read'])}` }
    expect((await ask('GET', '/v1/subjects/p1', undefined, as)).status).toBe(404)
    for (const query of ['kind=asked', 'standing=yes', 'transcript=1'])
      expect((await ask('GET', `/v1/subjects/p1?${query}`)).status).toBe(400)
    expect((await knowing({}, { fails: true }).ask('GET', '/v1/subjects/p1')).status).toBe(503)
  })

  test('is described as OpenAPI 3.1', async () => {
    expect(await new Validator().validate({ ...knowing({}).document })).toMatchObject({ valid: true })
  })
})
