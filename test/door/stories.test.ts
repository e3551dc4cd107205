import { expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { storiesRoute } from '../../src/door/stories.ts'
import { readTurns } from '../../src/platform/asked-for.ts'
import { at, feed } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aVerdict } from '../support/verdicts.ts'
import { testDoor } from './door-for-tests.ts'

async function planted() {
  const record = await recordInMemory()
  const topics = feed(record)
  const judge = async (id: string, change: Partial<Verdict>, lang = 'en') => {
    const verdict = aVerdict(at(10), { id: `rumor@acme~${id}~r1`, subjectId: id, tenant: 'acme', ...change })
    const subject = { post: { id, text: 'The harbor is closed', lang, createdAt: 0 }, comments: [], leftOut: 0 }
    await topics.send('verdicts', id, verdict, 10)
    await topics.send('transcripts', id, { schema: 1, verdictId: verdict.id, subject, turns: [], cut: [] }, 10)
  }
  const story = { id: 'aaa', members: 2, reach: 20, labels: {} }
  await judge('a', { label: 'rumor', story })
  await judge('b', { label: 'non-rumor', story }, 'es')
  await judge('c', { label: 'rumor', opposed: { since: at(5) }, scores: { support: 1, oppose: 2 } })
  await judge('d', { label: 'rumor', story, tenant: 'default', id: 'rumor~d~r1' })
  return record
}

it('tells stories of the key’s tenant from the record, by language and contradiction, and one with its verdicts', async () => {
  const record = await planted()
  const door = testDoor({ routes: [storiesRoute({ record: async () => record })] })
  const ask = (query: string) => door.ask('GET', `/v1/stories${query}`)
  const sizes = async (query: string) =>
    ((await ask(query)).body.stories as { id: string; posts: number }[]).map(({ id, posts }) => [id, posts])
  expect((await sizes('')).sort()).toEqual([
    [null, 1],
    ['aaa', 2],
  ])
  expect(await sizes('?differs=true')).toEqual([['aaa', 2]])
  expect((await ask('?opposed=true')).body.stories).toMatchObject([
    { id: null, opposed: [{ protocol: 'rumor', posts: 1, support: 1, oppose: 2, since: at(5) }] },
  ])
  expect(await sizes('?lang=es')).toEqual([['aaa', 2]])
  expect(await sizes(`?since=${new Date(Date.parse(at(86_400))).toISOString()}`)).toEqual([])
  const one = await ask('?id=aaa')
  expect(one.body).toMatchObject({
    isCut: false,
    stories: [
      { id: 'aaa', tenant: 'acme', posts: 2, reach: 20, languages: ['en', 'es'], verdicts: [{}, {}], decided: [] },
    ],
  })
  expect(JSON.stringify(one.body)).not.toContain('harbor')
  expect((await ask('?id=none')).status).toBe(404)
  for (const query of ['?since=yesterday', '?differs=maybe', '?opposed=maybe'])
    expect((await ask(query)).status).toBe(400)
})

it('says where no record is kept', async () => {
  const door = testDoor({ routes: [storiesRoute({ record: async () => null })] })
  expect((await door.ask('GET', '/v1/stories')).status).toBe(501)
})

it('reads one story after the other, and none for who has left', async () => {
  const record = await planted()
  const leaving = new AbortController()
  let [atOnce, most, read] = [0, 0, 0]
  const inTurn = readTurns()
  const find: typeof record.find = (...asked) =>
    inTurn(async () => {
      most = Math.max(most, ++atOnce)
      if (++read === 2) leaving.abort()
      try {
        return await record.find(...asked)
      } finally {
        atOnce--
      }
    })
  const door = testDoor({ routes: [storiesRoute({ record: async () => ({ find }) })] })
  const headers = { authorization: `Bearer ${door.key}` }
  const request = new Request('http://localhost/v1/stories', { headers, signal: leaving.signal })
  await door.fetch(request, door.from)
  expect([read, most]).toEqual([2, 1])
  const whole = new Request('http://localhost/v1/stories', { headers })
  expect((await door.fetch(whole, door.from)).status).toBe(200)
  expect([read > 3, most]).toEqual([true, 1])
})
