import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { MOST_AUDITED } from '../../src/contracts/facts/audit.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

const WORDS = 'zanzibar'

async function withVerdict(note?: () => Promise<void>) {
  const decided: unknown[] = []
  const console = await aConsole({
    ...(note === undefined ? {} : { note }),
    async decide(decision) {
      decided.push(decision)
      return { of: '0@0', decided: null }
    },
  })
  const { id } = await console.judged({
    verdict: { rationale: WORDS, label: null, decidedBy: 'none' },
    post: { text: WORDS },
  })
  return { console, id, decided }
}

it('whatever page shows a verdict, it is noted before who saw it, by ids and never by words', async () => {
  const { console, id } = await withVerdict()
  const cookie = await console.signedIn('anna')
  expect(console.audited).toMatchObject([{ what: 'signed-in', by: 'anna', verdicts: [] }])
  const token = tokenIn((await console.page('/health', cookie)).text)
  await console.post('/review/take', { id, token }, { cookie })
  for (const path of [
    '/live',
    `/search?q=${WORDS}&protocol=rumor&show=${WORDS}%20x`,
    `/verdict?id=${id}`,
    `/verdict/file?id=${id}`,
    `/thread?id=${id}`,
    '/review',
    `/review/item?id=${id}`,
  ]) {
    console.audited.length = 0
    const { text } = await console.page(path, cookie)
    expect([path, text.includes(WORDS) || text.includes(id)]).toEqual([path, true])
    expect(console.audited).toEqual([
      {
        schema: 1,
        at: expect.any(String),
        by: 'anna',
        session: expect.stringMatching(/^[\w-]{16}$/),
        network: '127.0.0.1',
        what: 'saw',
        page: path.split('?')[0],
        verdicts: [id],
        more: 0,
        // Of what somebody wrote that they did, and no word of it.
        ...(path.startsWith('/search') ? { asked: { q: '', protocol: 'rumor', show: '' } } : {}),
        ...(path.startsWith('/verdict/file') ? { sha256: hash('sha256', text, 'hex') } : {}),
      },
    ])
    expect(JSON.stringify(console.audited)).not.toContain(WORDS)
  }
  console.audited.length = 0
  await console.page('/health', cookie)
  await console.page('/search?q=nothing-like-it', cookie)
  expect(console.audited).toEqual([])
  await console.post('/decide', { id, label: 'rumor', why: WORDS, token }, { cookie })
  expect(console.audited[0]).toMatchObject({
    what: 'did',
    page: '/decide',
    verdicts: [id],
    asked: { label: '', why: '' },
  })
  expect(JSON.stringify(console.audited)).not.toContain(WORDS)
  await console.post('/sign-out', { token }, { cookie })
  expect(console.audited.at(-1)).toMatchObject({ what: 'signed-out', by: 'anna' })
})

it('nothing is shown or done if it can’t be noted', async () => {
  const { console, id, decided } = await withVerdict(async () => {
    throw new Error('Kafka is away')
  })
  const cookie = await console.signedIn('anna')
  const health = await console.page('/health', cookie)
  expect(health.status).toBe(200)
  const token = tokenIn(health.text)
  for (const { method, path } of console.pages.filter(
    ({ path: one }) =>
      ![
        '/health',
        '/quality',
        '/agreement',
        '/agreement.json',
        '/agreement.csv',
        '/agreement/posts',
        '/quality/draws',
        '/decisions',
        '/review/list',
        '/covers',
        '/review/item',
        '/review/own-case',
        '/review/mine',
        '/verdict/news',
        // There is none: nothing is shown.
        '/picture',
        '/stories/story',
        '/stories/story.json',
        '/stories/story.csv',
        // Nothing is ticked.
        '/stories/decide',
      ].includes(one),
  )) {
    const answer =
      method === 'GET'
        ? await console.ask(`${path}?id=${id}`, { headers: { cookie } })
        : await console.post(path, { id, label: 'rumor', why: 'x', token }, { cookie })
    const text = await answer.text()
    expect(text, path).not.toContain(WORDS)
    expect([path, [503, 204].includes(answer.status) || (path === '/search' && !text.includes(id))]).toEqual([
      path,
      true,
    ])
  }
  expect(decided).toEqual([])
  expect((await console.record.review.list({}, 10, 0)).items[0]?.reservation).toBe(null)
  // Once in a while, however many there are.
  expect(console.reported).toEqual(['error: Error: Kafka is away'])
})

it('a stream’s rows are noted, and refusals too', async () => {
  const { console } = await withVerdict()
  const cookie = await console.signedIn('anna')
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  const reader = stream.body?.getReader()
  await reader?.read()
  const { id } = await console.judged({ verdict: { subjectId: 'later' } })
  await console.arriving.poll()
  await reader?.read()
  await reader?.cancel()
  expect(console.audited.slice(1)).toMatchObject([
    { what: 'streamed', page: '/live/stream', verdicts: [] },
    { what: 'streamed', page: '/live/stream', verdicts: [id] },
  ])
  const viewer = `gavel-console-8421=${console.sessions.open({ by: 'ben', grants: [{ role: 'viewer' }] })}`
  await console.page('/review', viewer)
  expect(console.audited.at(-1)).toMatchObject({ what: 'refused', by: 'ben', page: '/review', verdicts: [] })
})

it('it notes a bounded part of very many verdicts, and the number of the others', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn('anna')
  const { id } = await console.judged({ verdict: { subjectId: 'p0', revision: 1 } })
  // The record returns as many of one subject, the newest: the page has one more.
  for (let revision = 2; revision <= MOST_AUDITED + 1; revision++)
    await console.judged({ verdict: { subjectId: 'p0', revision } })
  await console.page(`/verdict?id=${id}`, cookie)
  const { verdicts, more } = console.audited.at(-1) ?? { verdicts: [], more: 0 }
  expect(verdicts).toHaveLength(MOST_AUDITED)
  expect(more).toBe(1)
})

it('a page that could not be noted offers itself again; of a form it says whether it was done', async () => {
  let isAway = false
  const { console, id, decided } = await withVerdict(async () => {
    if (isAway) throw new Error('Kafka is away')
  })
  const cookie = await console.signedIn('anna')
  const token = tokenIn((await console.page('/health', cookie)).text)
  isAway = true
  const page = await console.page(`/verdict?id=${id}&done=stands`, cookie)
  expect([page.status, page.text.includes(`href="/verdict?id=${id}&amp;done=stands"`)]).toEqual([503, true])
  const form = await console.post('/decide', { id, label: 'rumor', why: 'x', token }, { cookie })
  expect([form.status, await form.text(), decided]).toEqual([503, expect.stringContaining('nothing was done'), []])
})

it('so much is noted of one person, who is told to wait beyond that, and nobody else is', async () => {
  const { console, id } = await withVerdict()
  const [anna, ben] = [await console.signedIn('anna'), await console.signedIn('ben')]
  const token = tokenIn((await console.page('/covers', anna)).text)
  const body = new URLSearchParams({ token })
  for (let n = 0; n < 30; n++) body.append('copy', 'x'.repeat(2_000))
  const headers = { 'sec-fetch-site': 'same-origin', cookie: anna }
  let sent = 0
  while (sent < 1_000 && (await console.ask('/covers', { method: 'POST', headers, body })).status !== 429) sent++
  expect(sent).toBeGreaterThan(100)
  expect(sent).toBeLessThan(400)
  const statusOf = async (cookie: string) => (await console.ask(`/verdict?id=${id}`, { headers: { cookie } })).status
  expect([await statusOf(anna), await statusOf(ben)]).toEqual([429, 200])
  console.pass(3_600_000 - 1)
  expect(await statusOf(anna)).toBe(200)
})
