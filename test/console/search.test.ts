import { parseHTML } from 'linkedom'
import { expect, it, vi } from 'vitest'
import { aConsole } from './console-for-tests.ts'

it('one search is made at a time, people take turns, few wait, and none is made for who has gone', async () => {
  const console = await aConsole()
  const cookies = [await console.signedIn(), await console.signedIn('ben')]
  const made: string[] = []
  const ends: (() => void)[] = []
  vi.spyOn(console.record, 'search').mockImplementation(async (query) => {
    made.push(query)
    await new Promise<void>((resolve) => void ends.push(resolve))
    return { found: [], stoppedEarly: false, reindexing: false }
  })
  const gone = new AbortController()
  const ask = (q: string, at: number) => {
    const cookie = cookies[at % 2] ?? ''
    return console.ask(`/search?q=${q}`, { headers: { cookie }, ...(q === 'b' ? { signal: gone.signal } : {}) })
  }
  const asked = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(async (q, at) => (await ask(q, at)).status)
  await vi.waitFor(() => expect(made).toEqual(['a']))
  // One of anna’s is made, and two of each wait.
  expect(await Promise.all(asked.slice(5))).toEqual([503, 503])
  expect(made).toEqual(['a'])
  gone.abort()
  for (let at = 0; at < 4; at++) {
    await vi.waitFor(() => expect(ends).toHaveLength(at + 1))
    ends[at]?.()
  }
  expect((await Promise.all(asked.slice(0, 5))).filter((status) => status === 200)).toHaveLength(4)
  expect(made).toEqual(['a', 'd', 'c', 'e'])
})

it('nobody takes all the searches that may wait', async () => {
  const console = await aConsole()
  const [anna, ben] = [await console.signedIn(), await console.signedIn('ben')]
  const { promise, resolve } = Promise.withResolvers<void>()
  vi.spyOn(console.record, 'search').mockImplementation(async () => {
    await promise
    return { found: [], stoppedEarly: false, reindexing: false }
  })
  const ask = async (cookie: string) => (await console.ask('/search?q=a', { headers: { cookie } })).status
  const three = [ask(anna), ask(anna), ask(anna)]
  expect(await ask(anna)).toBe(503)
  const other = ask(ben)
  resolve()
  expect(await Promise.all([...three, other])).toEqual([200, 200, 200, 200])
})

it('more words than a search may have are not looked for, and the page says so', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const searches = vi.spyOn(console.record, 'search')
  const ask = (q: string) => console.page(`/search?${new URLSearchParams({ q })}`, cookie)
  const { status, text } = await ask('one two three four five six seven eight nine')
  expect([status, text.includes('at most 8 words')]).toEqual([400, true])
  expect(text).toContain('seven eight nine')
  expect(searches).not.toHaveBeenCalled()
  expect((await ask('"one two three" four five six seven eight nine ten')).status).toBe(200)
})

it('a search among texts that are being indexed anew says that there may be more', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const page = async () => (await console.page('/search?q=a', cookie)).text
  expect(await page()).not.toContain('indexed anew')
  vi.spyOn(console.record, 'search').mockResolvedValue({ found: [], stoppedEarly: false, reindexing: true })
  expect(await page()).toContain('older texts are being indexed anew')
})

it('a post, or a verdict, is found by its id, and verdicts by who decided; those of other tenants are not', async () => {
  const console = await aConsole()
  const decision = { by: 'ben@acme.example', against: null, of: '0@0' }
  await console.judged({ verdict: { subjectId: '3lbw2k4', decidedBy: 'human', label: 'rumor', decision } })
  await console.judged({ verdict: { subjectId: '3lbw2k4', protocol: 'hate', label: 'hate' } })
  await console.judged({ verdict: { subjectId: 'other', label: 'rumor' }, post: { text: 'says 3lbw2k4 in words' } })
  const idsOf = async (query: Record<string, string>, session = 'anna') => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by: session, grants: [{ role: 'viewer', ...(session === 'anna' ? {} : { tenants: ['acme'] }) }] })}`
    const { text } = await console.page(`/search?${new URLSearchParams(query)}`, cookie)
    return [...text.matchAll(/class="found" data-id="([^"]+)"/g)].map(([, id]) => id)
  }
  expect(await idsOf({ q: '3lbw2k4' })).toEqual(['hate~3lbw2k4~r1', 'rumor~3lbw2k4~r1', 'rumor~other~r1'])
  expect(await idsOf({ q: 'hate~3lbw2k4~r1' })).toEqual(['hate~3lbw2k4~r1'])
  // What is found by its id must fit the filters, too.
  expect(await idsOf({ q: '3lbw2k4', protocol: 'hate' })).toEqual(['hate~3lbw2k4~r1'])
  expect(await idsOf({ q: '3lbw2k4', label: 'rumor', decider: 'ben@acme.example' })).toEqual(['rumor~3lbw2k4~r1'])
  expect(await idsOf({ q: 'hate~3lbw2k4~r1', label: 'hate' })).toEqual(['hate~3lbw2k4~r1'])
  for (const filter of [{ protocol: 'rumor' }, { label: 'non-hate' }, { contested: 'yes' }, { to: '1969-01-01' }])
    expect([filter, await idsOf({ q: 'hate~3lbw2k4~r1', ...filter })]).toEqual([filter, []])
  expect(await idsOf({ decider: 'ben@acme.example' })).toEqual(['rumor~3lbw2k4~r1'])
  expect(await idsOf({ decider: 'ben' })).toEqual([])
  for (const query of [{ q: '3lbw2k4' }, { q: 'hate~3lbw2k4~r1' }, { decider: 'ben@acme.example' }])
    expect(await idsOf(query, 'strange')).toEqual([])
})

it('what comments dispute is marked, with since when, and found by it in Search and in Live', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const since = new Date(1_000_000_000_000).toISOString()
  await console.judged({ verdict: { subjectId: 'fought', opposed: { since } } })
  await console.judged({ verdict: { subjectId: 'calm' } })
  for (const path of ['/search', '/live']) {
    const found = async (query: string) => {
      const { document } = parseHTML((await console.page(`${path}${query}`, cookie)).text)
      return [...document.querySelectorAll('li.row')].map((row) => [
        row.getAttribute('data-subject'),
        row.querySelector('.opposed')?.textContent,
      ])
    }
    const fought = ['fought', 'disputed since 2001-09-09 01:46 UTC']
    expect(await found('')).toEqual([['calm', undefined], fought])
    expect(await found('?opposed=yes')).toEqual([fought])
  }
})

it('a post of a search has all that is said of it now, first what was asked for; Live, where it is filtered, what fits alone', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const of = (protocol: string, label: string) => console.judged({ verdict: { subjectId: 'p', protocol, label } })
  const ids = [(await of('safety', 'safe')).id, (await of('rumor', 'rumor')).id]
  const labels = async (path: string) => {
    console.audited.length = 0
    const { text } = await console.page(path, cookie)
    const seen = console.audited.flatMap(({ verdicts }) => verdicts).toSorted()
    return [[...text.matchAll(/class="found(?: also)?" data-id="([a-z]+)/g)].map(([, protocol]) => protocol), seen]
  }
  const [safety = '', rumor = ''] = ids
  expect(await labels('/search?label=rumor')).toEqual([
    ['rumor', 'safety'],
    [rumor, safety],
  ])
  expect(await labels('/live?protocol=rumor')).toEqual([['rumor'], [rumor]])
  expect(await labels('/live')).toEqual([
    ['rumor', 'safety'],
    [rumor, safety],
  ])
})
