import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { BlindReviews } from '../../src/console/blind-review.ts'
import { ratedDecisions } from '../../src/console/rated-decisions.ts'
import { storyPages } from '../../src/console/stories.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { at } from '../contracts/record.ts'
import { aConsole } from './console-for-tests.ts'

const TEXT = 'The harbor is closed until further notice'
const TRAMS = 'Trams stopped between Eastgate and the market'
const minuteOf = (seconds: number) => `${at(seconds).slice(0, 16).replace('T', ' ')} UTC`

/** Five posts: three of a story whose verdicts contradict one another, one of a story of its own, and one without. */
async function planted() {
  const console = await aConsole()
  const judge = (
    id: string,
    change: Partial<Verdict> & { minute: number },
    post: { text?: string; lang?: string; author?: string } = {},
  ) => {
    const { minute, ...verdict } = change
    const [createdAt, decidedAt] = [at(60 * minute), at(60 * minute + 30)]
    const timing = { createdAt, receivedAt: createdAt, openedAt: createdAt, decidedAt, modelMs: 0, overheadMs: 0 }
    const own = { id: `rumor~${id}~r1`, subjectId: id, timing, ...verdict }
    return console.judged({ verdict: own, post: { text: TEXT, ...post } })
  }
  const story = (members: number) => ({ id: 'aaa', members, reach: 100 * members, labels: { rumor: 1 } })
  await judge(
    'first',
    { minute: 1, label: 'rumor', story: story(1), scores: { support: 4, oppose: 1 } },
    { author: 'eve', lang: 'en' },
  )
  await judge(
    'second',
    {
      minute: 20,
      label: 'non-rumor',
      story: story(2),
      scores: { support: 2, oppose: 3 },
      opposed: { since: at(60 * 19) },
    },
    { lang: 'es' },
  )
  await judge('third', { minute: 40, label: 'non-rumor', story: story(3) })
  const other = { id: 'bbb', members: 1, reach: 0, labels: {} }
  await judge('other', { minute: 5, label: 'unverified', story: other }, { text: TRAMS })
  const opposed = { since: at(60 * 6 + 5) }
  await judge('alone', { minute: 6, label: 'rumor', opposed, scores: { support: 0, oppose: 2 } }, { text: 'Fire!' })
  return { console, cookie: await console.signedIn() }
}

const textOf = (one: { textContent: string | null } | null | undefined) => one?.textContent?.replace(/\s+/g, ' ').trim()

it('lists all posts by what they say, those first that are contested, and since when they are', async () => {
  const { console, cookie } = await planted()
  const { text, status } = await console.page('/stories', cookie)
  expect(status).toBe(200)
  const { document } = parseHTML(text)
  const stories = [...document.querySelectorAll('article.story')]
  expect(stories.map((one) => textOf(one.querySelector('h2')))).toEqual([TEXT, 'Fire!', TRAMS])
  expect(textOf(document.querySelector('[role=status]'))).toBe(
    '3 stories in 5 posts. Comments dispute 2; verdicts contradict one another in 1.',
  )
  const [contested] = stories
  expect(stories.map((one) => [...one.querySelectorAll('.notice')].map(textOf))).toEqual([
    [
      `Comments dispute one of its posts since ${minuteOf(60 * 19)}: 3 against, 2 for it.`,
      `Verdicts of rumor contradict one another since ${minuteOf(60 * 20 + 30)}.`,
    ],
    [`Its comments dispute it since ${minuteOf(60 * 6 + 5)}: 2 against, 0 for it.`],
    [],
  ])
  expect(stories.map((one) => textOf(one.querySelector('.opposed')) ?? '')).toEqual([
    '',
    `disputed since ${minuteOf(60 * 6 + 5)}`,
    '',
  ])
  expect(textOf(contested?.querySelector('.row-head'))).toContain(`written ${minuteOf(60)} judged ${minuteOf(60 + 30)}`)
  expect(contested?.querySelector('h2 a')?.getAttribute('href')).toBe('/stories/story?id=aaa&tenant=default')
  // The post that was written first stands for all.
  expect(contested?.querySelector('.row-words')?.textContent).toContain(TEXT)
  expect(textOf(contested?.querySelector('dl'))).toContain('3 posts, reached 300')
  expect(textOf(contested?.querySelector('dl'))).toContain('by eve')
  expect(textOf(contested?.querySelector('dl'))).toContain('en, es')
  expect(textOf(contested?.querySelector('dl'))).toContain('rumor non-rumor 2 rumor rumor 1')
})

it('finds a story by words, time, language and contradiction, with all of its posts', async () => {
  const { console, cookie } = await planted()
  const heads = async (query: string) => {
    const { document } = parseHTML((await console.page(`/stories?${query}`, cookie)).text)
    return [...document.querySelectorAll('article.story h2')].map(textOf)
  }
  expect(await heads('q=harbor')).toEqual([TEXT])
  expect(await heads('lang=es')).toEqual([TEXT])
  expect(await heads('differs=yes')).toEqual([TEXT])
  expect(await heads('opposed=yes')).toEqual([TEXT, 'Fire!'])
  expect(await heads('order=written')).toEqual([TEXT, TRAMS, 'Fire!'])
  expect(await heads('q=trams')).toEqual([TRAMS])
  expect(await heads('q=nothing')).toEqual([])
  expect(await heads(`to=${at(-86_400).slice(0, 10)}`)).toEqual([])
})

it('shows one story under an address of its own: posts, verdicts over time, and what comments said', async () => {
  const { console, cookie } = await planted()
  const { text } = await console.page('/stories/story?id=aaa&tenant=default', cookie)
  const { document } = parseHTML(text)
  expect(document.querySelectorAll('section[aria-labelledby=members] li')).toHaveLength(3)
  const cells = [...document.querySelectorAll('section[aria-labelledby=times] tr')].map((row) =>
    [...row.querySelectorAll('th, td')].map(textOf),
  )
  const quarter = (minute: number) =>
    `${at(60 * minute)
      .slice(0, 16)
      .replace('T', ' ')} UTC`
  expect(cells).toEqual([
    ['From', 'non-rumor', 'rumor', 'support', 'oppose'],
    [quarter(0), '0', '1', '4', '1'],
    [quarter(15), '1', '0', '6', '4'],
    [quarter(30), '1', '0', '6', '4'],
  ])
})

it('names what a person decided, and counts it no more as contested once all agree', async () => {
  const { console, cookie } = await planted()
  await console.judged({
    verdict: {
      id: 'rumor~first~r2',
      subjectId: 'first',
      revision: 2,
      supersedes: 'rumor~first~r1',
      label: 'non-rumor',
      decidedBy: 'human',
      decision: { by: 'ann', against: 'rumor~first~r1', of: '0@1' },
      rationale: 'I asked the port',
      story: { id: 'aaa', members: 3, reach: 300, labels: { 'non-rumor': 3 } },
    },
    post: { text: TEXT },
  })
  const { document } = parseHTML((await console.page('/stories/story?id=aaa&tenant=default', cookie)).text)
  expect(textOf(document.querySelector('h1'))).toBe(TEXT)
  expect([...document.querySelectorAll('.notice')].map(textOf).join()).not.toContain('contradict')
  expect(textOf(document.querySelector('dl'))).toContain('rumor: non-rumor by ann')
  expect(textOf(document.querySelector('main'))).toContain('“I asked the port” by ann')
})

it('says since when labels contradict one another, and not when the newest revision came', async () => {
  const { console, cookie } = await planted()
  const judge = (id: string, revision: number, minute: number, label: string) => {
    const decidedAt = at(60 * minute)
    const timing = {
      createdAt: at(60),
      receivedAt: decidedAt,
      openedAt: decidedAt,
      decidedAt,
      modelMs: 0,
      overheadMs: 0,
    }
    const story = { id: 'aaa', members: 3, reach: 300, labels: {} }
    const verdict = { id: `rumor~${id}~r${revision}`, subjectId: id, revision, label, timing, story }
    return console.judged({ verdict, post: { text: TEXT } })
  }
  const since = async () => {
    const read = async (path: string) => (await console.page(path, cookie)).text
    const [first] = JSON.parse(await read('/stories.json?q=harbor')) as { differs: { since: string }[] }[]
    const one = JSON.parse(await read('/stories/story.json?id=aaa')) as { differs: { since: string }[] }
    expect(one.differs).toEqual(first?.differs)
    return one.differs.map((differs) => differs.since)
  }
  // The second post is non-rumor since its first verdict.
  await judge('first', 2, 50, 'rumor')
  await judge('second', 2, 55, 'non-rumor')
  expect(await since()).toEqual([at(60 * 20 + 30)])
  // All agree for a while.
  await judge('first', 3, 60, 'non-rumor')
  expect(await since()).toEqual([])
  await judge('third', 2, 70, 'rumor')
  await judge('third', 3, 80, 'rumor')
  expect(await since()).toEqual([at(60 * 70)])
})

it('still says what comments dispute after a person has decided, with what they said', async () => {
  const { console, cookie } = await planted()
  const story = { id: 'aaa', members: 3, reach: 300, labels: {} }
  const decision = { by: 'ann', against: 'rumor~second~r1', of: '0@1' }
  const own = { subjectId: 'second', revision: 2, supersedes: 'rumor~second~r1', opposed: { since: at(60 * 19) } }
  const verdict = { ...own, id: 'rumor~second~r2', label: 'rumor', decidedBy: 'human', decision, story } as const
  await console.judged({ verdict, post: { text: TEXT } })
  const dispute = `Comments dispute one of its posts since ${minuteOf(60 * 19)}: 3 against, 2 for it.`
  for (const path of ['/stories', '/stories?opposed=yes', '/stories/story?id=aaa']) {
    const { document } = parseHTML((await console.page(path, cookie)).text)
    expect([...document.querySelectorAll('.notice')].map(textOf), path).toContain(dispute)
  }
  for (const path of ['/stories.json?q=harbor', '/stories/story.json?id=aaa']) {
    const { opposed } = [JSON.parse((await console.page(path, cookie)).text)].flat()[0]
    expect(opposed).toEqual([{ protocol: 'rumor', posts: 1, support: 2, oppose: 3, since: at(60 * 19) }])
  }
})

it('names what a person decided and took back, and no more on another post that it is decided', async () => {
  const { console, cookie } = await planted()
  const current = { label: 'rumor', verdictId: 'rumor~third~r2' }
  const story = { id: 'aaa', members: 3, reach: 300, labels: {}, current }
  await console.judged({
    verdict: { id: 'rumor~second~r2', subjectId: 'second', revision: 2, label: 'non-rumor', story },
    post: { text: TEXT },
  })
  const own = { subjectId: 'third', label: 'rumor', story: { id: 'aaa', members: 3, reach: 300, labels: {} } } as const
  const judge = (verdict: Partial<Verdict>) => console.judged({ verdict: { ...own, ...verdict }, post: { text: TEXT } })
  const on = async (path: string) => parseHTML((await console.page(path, cookie)).text).document
  const linked = async () =>
    [...(await on('/verdict?id=rumor~second~r2')).querySelectorAll('.notice a')].map((one) =>
      decodeURIComponent(one.getAttribute('href') ?? ''),
    )
  const id = 'rumor~third~r2'
  const decision = { by: 'ann', against: 'rumor~third~r1', of: '0@1' }
  await judge({ id, revision: 2, supersedes: 'rumor~third~r1', decidedBy: 'human', decision })
  expect(await linked()).toContain('/verdict?id=rumor~third~r2')
  expect(textOf((await on('/stories/story?id=aaa')).querySelector('dl'))).not.toContain('withdrawn')
  const restored = { from: 'rumor~third~r1', by: 'ben', why: 'a slip', of: '0@2' }
  await judge({ id: 'rumor~third~r3', revision: 3, supersedes: id, restored })
  expect((await linked()).filter((to) => to?.includes('third'))).toEqual([])
  for (const path of ['/stories/story?id=aaa', '/stories'])
    expect(textOf((await on(path)).querySelector('dl')), path).toMatch(
      /No decision of a person is in force\. Withdrawn ?rumor: rumor .* UTC, withdrawn by ben, /,
    )
  // Decided anew, it is that which is in force.
  await judge({ id: 'rumor~third~r4', revision: 4, supersedes: 'rumor~third~r3', decidedBy: 'human', decision })
  expect(await linked()).toContain('/verdict?id=rumor~third~r4')
})

it('does not give the time of a decision, or of its withdrawal, as that at which a post was written', async () => {
  const { console, cookie } = await planted()
  const story = { id: 'aaa', members: 3, reach: 300, labels: { rumor: 3 } }
  const own = { subjectId: 'third', label: 'rumor', story } as const
  const withdrawn = { from: 'rumor~third~r1', by: 'ann', why: 'a slip', of: '0@2' }
  const decision = { by: 'ann', against: 'rumor~third~r1', of: '0@1' }
  const people = [
    { ...own, id: 'rumor~third~r2', revision: 2, decidedBy: 'human', decision },
    { ...own, id: 'rumor~third~r3', revision: 3, decidedBy: 'judge', restored: withdrawn },
  ] as const
  for (const verdict of people) {
    await console.judged({ verdict, post: { text: TEXT } })
    const { document } = parseHTML((await console.page('/stories/story?id=aaa', cookie)).text)
    const heads = [...document.querySelectorAll('section[aria-labelledby=members] .row-head')].map(textOf)
    expect(heads.filter((head) => head?.includes('written '))).toHaveLength(2)
    const { verdicts } = JSON.parse((await console.page('/stories/story.json?id=aaa', cookie)).text) as {
      verdicts: { verdict: string; written: string | null }[]
    }
    expect(verdicts.find((one) => one.verdict === verdict.id)?.written).toBeNull()
    expect(verdicts.find((one) => one.verdict === 'rumor~third~r1')?.written).toBe(at(60 * 40))
  }
})

it('is a file as well, with words and authors in those for people alone', async () => {
  const { console, cookie } = await planted()
  const file = async (path: string) => (await console.page(path, cookie)).text
  const [story] = JSON.parse(await file('/stories.json')) as { id: string; posts: number; differs: unknown[] }[]
  expect(story).toMatchObject({ id: 'aaa', posts: 3, reach: 300, differs: [{ protocol: 'rumor' }] })
  const one = JSON.parse(await file('/stories/story.json?id=aaa')) as { verdicts: unknown[] }
  expect(one).toMatchObject({ id: 'aaa', first: { subjectId: 'first', author: 'eve' } })
  expect(one.verdicts).toHaveLength(3)
  expect((await file('/stories/story.csv?id=aaa')).split('\r\n')).toHaveLength(5)
  expect((await file('/stories.csv')).split('\r\n')[1]).toMatch(/^aaa,default,3,300,first,/)
  for (const path of ['/stories.json', '/stories/story.json?id=aaa']) expect(await file(path)).not.toContain('harbor')
  expect((await file('/stories.csv')).split('\r\n')[1]).toContain(`,eve,${TEXT},rumor,`)
  const lines = (await file('/stories/story.csv?id=aaa')).split('\r\n')
  expect(lines[0]).toMatch(/,author,text$/)
  expect(lines.filter((line) => line.endsWith(`,${TEXT}`))).toHaveLength(3)
  expect(lines.filter((line) => line.endsWith(`,eve,${TEXT}`))).toHaveLength(1)
})

it('of a lone post is not named on its verdict, nor what a person decided on that post as if it were another', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const noteOn = async (id: string, members: number, decided: string) => {
    const current = { label: 'rumor', verdictId: `rumor~${decided}~r1` }
    const story = { id: 'aaa', members, reach: 0, labels: { rumor: members }, current }
    const own = id === decided ? ({ decidedBy: 'human' } as const) : {}
    await console.judged({ verdict: { id: `rumor~${id}~r1`, subjectId: id, story, ...own }, post: { text: TEXT } })
    const { document } = parseHTML((await console.page(`/verdict?id=rumor~${id}~r1`, cookie)).text)
    const notes = [...document.querySelectorAll('.notice')].map((one) => textOf(one) ?? '')
    return notes.filter((note) => note.includes('same'))
  }
  const decided = 'A person decided on another post in the same words.'
  expect(await noteOn('alone', 1, 'alone')).toEqual([])
  expect(await noteOn('left', 1, 'gone')).toEqual([decided])
  expect(await noteOn('own', 3, 'own')).toEqual(['3 posts say the same.'])
  expect(await noteOn('copy', 3, 'own')).toEqual([`3 posts say the same. ${decided}`])
})

it('of another tenant, of nobody or of a strange name is not there', async () => {
  const { console, cookie } = await planted()
  for (const query of ['id=aaa&tenant=acme', 'id=zzz', 'id=__proto__', ''])
    expect((await console.page(`/stories/story?${query}`, cookie)).status, query).toBe(404)
  const { sessions } = console
  const grants = [{ who: 'person:ben', by: 'ben', role: 'viewer' as const, tenants: ['acme'] }]
  const ben = `gavel-console-8421=${sessions.open({ by: 'ben', grants })}`
  expect((await console.page('/stories/story?id=aaa&tenant=default', ben)).status).toBe(404)
  expect((await console.page('/stories', ben)).text).not.toContain('harbor')
})

it('does not show what its reader is to judge without seeing it', async () => {
  const { console } = await planted()
  const blinds = new BlindReviews(() => 0)
  blinds.close('anna', { tenant: 'default', kind: 'post', postId: 'second' }, 1)
  const [, , , one] = storyPages({
    record: console.record,
    blinds,
    decides: false,
    kinds: new Map(),
    disturbing: { look: async () => [], because: () => null } as never,
    people: console.record.pictures,
  })
  const answer = await one?.answer({
    query: new URLSearchParams('id=aaa'),
    session: { by: 'anna', tenants: ['default'] },
  } as never)
  expect(answer).toMatchObject({ hides: ['rumor~second~r1'] })
  expect(String(answer !== undefined && 'body' in answer ? answer.body : '')).not.toContain('second')
})

it('decides on each post that is ticked, against its own revision, and says of which it could not', async () => {
  const sent: { subjectId: string; against: number; label?: string | undefined; by: string }[] = []
  const console = await aConsole({
    decide: async ({ subjectId, against, label, by }) => {
      sent.push({ subjectId, against, label, by })
      const isLate = subjectId === 'late'
      return { of: '0@1', decided: isLate ? { outcome: 'late', last: 2 } : null }
    },
  })
  const story = { id: 'aaa', members: 4, reach: 0, labels: { rumor: 4 } }
  for (const [id, change] of [
    ['a', {}],
    ['b', { revision: 3, id: 'rumor~b~r3' }],
    ['late', {}],
    ['elsewhere', { story: { ...story, id: 'bbb' } }],
  ] as const)
    await console.judged({
      verdict: { id: `rumor~${id}~r1`, subjectId: id, label: 'rumor', story, ...change },
      post: { text: TEXT },
    })
  const cookie = await console.signedIn()
  const { text } = await console.page('/stories/story?id=aaa', cookie)
  const { document } = parseHTML(text)
  const boxes = [...document.querySelectorAll('input[name=copy]')].map((one) => one.getAttribute('value') ?? '')
  expect(boxes.sort()).toEqual(['rumor~a~r1', 'rumor~b~r3', 'rumor~late~r1'].map(encodeURIComponent))
  const token = document.querySelector('input[name=token]')?.getAttribute('value') ?? ''
  const post = async (copies: readonly string[], fields: Record<string, string> = {}) => {
    const form = new URLSearchParams({
      token,
      id: 'aaa',
      tenant: 'default',
      label: 'non-rumor',
      why: 'it is',
      ...fields,
    })
    for (const copy of copies) form.append('copy', copy)
    return console.ask('/stories/decide', {
      method: 'POST',
      body: form,
      headers: { 'sec-fetch-site': 'same-origin', cookie },
    })
  }
  const done = await post(['rumor~a~r1', 'rumor~b~r3'])
  expect([done.status, done.headers.get('location')]).toEqual([303, '/stories/story?id=aaa&tenant=default&done=2'])
  expect(sent).toEqual([
    { subjectId: 'a', against: 1, label: 'non-rumor', by: 'anna' },
    { subjectId: 'b', against: 3, label: 'non-rumor', by: 'anna' },
  ])
  const missed = await post(['rumor~late~r1', 'rumor~elsewhere~r1', 'rumor~nobody~r1'])
  expect(missed.status).toBe(409)
  expect(parseHTML(await missed.text()).document.querySelectorAll('main li')).toHaveLength(3)
  expect(sent.map(({ subjectId }) => subjectId)).toEqual(['a', 'b', 'late'])
  expect((await post(['rumor~a~r1'], { label: 'true' })).status).toBe(409)
  expect(sent).toHaveLength(3)
})

it('goes on with what is left of many posts after the console died, each once', async () => {
  const story = { id: 'aaa', members: 120, reach: 0, labels: { rumor: 120 } }
  const sent: string[] = []
  let left = 47
  const console = await aConsole({
    decide: async ({ subjectId }) => {
      if (left-- <= 0) throw new Error('the process is gone')
      sent.push(subjectId)
      const id = `rumor~${subjectId}~r2`
      const decision = { by: 'anna', against: `rumor~${subjectId}~r1`, of: '0@1' }
      await console.judged({
        verdict: { id, subjectId, revision: 2, label: 'non-rumor', decidedBy: 'human', decision, story },
        post: { text: TEXT },
      })
      return { of: '0@1', decided: { outcome: 'stands', verdict: id } }
    },
  })
  for (let nth = 0; nth < 120; nth++)
    await console.judged({
      verdict: { id: `rumor~p${nth}~r1`, subjectId: `p${nth}`, label: 'rumor', story },
      post: { text: TEXT },
    })
  const cookie = await console.signedIn()
  const press = async () => {
    const { document } = parseHTML((await console.page('/stories/story?id=aaa', cookie)).text)
    const form = new URLSearchParams({ id: 'aaa', tenant: 'default', label: 'non-rumor', why: 'it is', all: 'rumor' })
    form.set('token', document.querySelector('input[name=token]')?.getAttribute('value') ?? '')
    for (const one of document.querySelectorAll('input[name=copy][checked]'))
      form.append('copy', one.getAttribute('value') ?? '')
    const headers = { 'sec-fetch-site': 'same-origin', cookie }
    return (await console.ask('/stories/decide', { method: 'POST', body: form, headers })).status
  }
  expect(await press()).toBe(500)
  left = 1_000
  expect(await press()).toBe(303)
  expect(sent).toHaveLength(120)
  expect(new Set(sent).size).toBe(120)
  expect(await press()).toBe(409)
  expect(sent).toHaveLength(120)
})

it('decides together no more than one person may, and no post twice that the record does not have yet', async () => {
  const story = { id: 'aaa', members: 60, reach: 0, labels: { rumor: 60 } }
  const sent: string[] = []
  let now = 0
  const desk = ratedDecisions(
    {
      async decide({ subjectId }) {
        sent.push(subjectId)
        return { of: '0@1', decided: { outcome: 'waiting' } }
      },
    },
    () => now,
  )
  const console = await aConsole({ decide: desk.decide, leftOf: desk.left })
  const one = {
    tenant: 'default',
    protocol: 'rumor',
    label: 'rumor',
    against: 1,
    by: 'anna',
    why: 'y',
    at: 0,
    createdAt: 0,
  }
  for (let nth = 0; nth < 150; nth++)
    await desk.decide({ ...one, subjectId: `before${nth}` }, new AbortController().signal)
  sent.length = 0
  for (let nth = 0; nth < 80; nth++)
    await console.judged({
      verdict: { id: `rumor~p${nth}~r1`, subjectId: `p${nth}`, label: 'rumor', story },
      post: { text: TEXT },
    })
  const cookie = await console.signedIn()
  const press = async () => {
    const { document } = parseHTML((await console.page('/stories/story?id=aaa', cookie)).text)
    const fields = { id: 'aaa', tenant: 'default', label: 'non-rumor', why: 'it is', all: 'rumor' }
    const token = document.querySelector('input[name=token]')?.getAttribute('value') ?? ''
    const { status, headers } = await console.post('/stories/decide', { ...fields, token }, { cookie })
    return [status, headers.get('location')]
  }
  const at = '/stories/story?id=aaa&tenant=default'
  expect(await press()).toEqual([303, `${at}&done=50&waits=30`])
  expect((await console.page(`${at}&done=50&waits=30`, cookie)).text).toContain('30 more can be decided so')
  now += 10_000
  expect(await press()).toEqual([303, `${at}&done=30`])
  expect(new Set(sent).size).toBe(80)
  expect(sent).toHaveLength(80)
})
