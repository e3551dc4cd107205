import { expect, it } from 'vitest'
import { grantsOf, type PersonRole, RIGHTS, ROLES, roleIn, tenantsOf } from '../../src/contracts/facts/person-roles.ts'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

const GROUPS = (role: PersonRole, tenants?: readonly string[]) => [
  { who: 'group:mods', role, ...(tenants === undefined ? {} : { tenants }) },
]

/** Which page each role is let into; every page of the console stands here. */
const PAGES: Readonly<Record<string, PersonRole>> = {
  'GET /live': 'viewer',
  'GET /live/stream': 'viewer',
  'GET /verdict': 'viewer',
  'GET /verdict/file': 'viewer',
  'GET /verdict/news': 'viewer',
  'GET /thread': 'viewer',
  'GET /uncovered': 'viewer',
  'GET /quality': 'lead',
  'GET /agreement': 'lead',
  'GET /agreement.json': 'lead',
  'GET /agreement.csv': 'lead',
  'GET /agreement/posts': 'lead',
  'GET /audit': 'lead',
  'GET /decisions': 'lead',
  'GET /quality/draws': 'lead',
  'GET /review/list': 'moderator',
  'GET /search': 'viewer',
  'GET /stories': 'viewer',
  'GET /stories.json': 'viewer',
  'GET /stories.csv': 'viewer',
  'GET /stories/story': 'viewer',
  'GET /stories/story.json': 'viewer',
  'GET /stories/story.csv': 'viewer',
  'POST /stories/decide': 'moderator',
  'GET /health': 'viewer',
  'GET /picture': 'viewer',
  'GET /picture/news': 'viewer',
  'GET /covers': 'viewer',
  'POST /covers': 'viewer',
  'GET /review': 'moderator',
  'GET /review/item': 'moderator',
  'GET /review/own-case': 'moderator',
  'GET /review/mine': 'moderator',
  'POST /review/next': 'moderator',
  'POST /review/take': 'moderator',
  'POST /review/release': 'moderator',
  'POST /review/undo': 'moderator',
  'POST /review/skip': 'moderator',
  'POST /review/unseen': 'moderator',
  'POST /review/decide': 'moderator',
  'POST /review/views': 'moderator',
  'POST /note': 'moderator',
  'POST /golden': 'lead',
  'POST /decide': 'moderator',
}

async function withTwoTenants() {
  const decided: unknown[] = []
  const console = await aConsole({
    auditLog: { find: async () => ({ entries: [], next: null }) },
    async decide(decision) {
      decided.push(decision)
      return { of: '0@0', decided: null }
    },
  })
  const human = { decidedBy: 'human', decision: { by: 'ben', against: null, of: '0@0' } } as const
  const judged = (tenant: string, change = {}) =>
    console.judged({
      verdict: { subjectId: 'm', tenant, rationale: `words of ${tenant}`, ...change },
      post: { text: `said in ${tenant}` },
    })
  const ids = {
    acme: (await judged('acme')).id,
    globex: (await judged('globex')).id,
    byBen: (await judged('acme', { subjectId: 'h', ...human })).id,
  }
  return { console, decided, ids }
}

async function enter(
  console: Awaited<ReturnType<typeof aConsole>>,
  by: string,
  role: PersonRole,
  tenants?: readonly string[],
) {
  const grants = grantsOf({ by, groups: ['mods'] }, GROUPS(role, tenants))
  return `gavel-console-8421=${console.sessions.open({ by, grants })}`
}

it('each page is for the roles of the table, and for no other', async () => {
  const { console } = await withTwoTenants()
  expect(console.pages.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(PAGES).sort())
  for (const role of ROLES) {
    const cookie = await enter(console, 'anna', role)
    const token = tokenIn((await console.page('/health', cookie)).text)
    for (const { method, path } of console.pages) {
      const answer =
        method === 'GET'
          ? await console.ask(path, { headers: { cookie } })
          : await console.post(path, { token, id: 'none' }, { cookie })
      const needed = PAGES[`${method} ${path}`] ?? 'admin'
      const isFor = ROLES.indexOf(role) >= ROLES.indexOf(needed)
      expect([`${role} ${method} ${path}`, answer.status === 403]).toEqual([`${role} ${method} ${path}`, !isFor])
      await answer.body?.cancel()
    }
  }
})

it('nothing of another tenant is shown or decided on any page, as if it were not there', async () => {
  const { console, decided, ids } = await withTwoTenants()
  for (const role of ROLES) {
    const cookie = await enter(console, 'anna', role, ['acme'])
    const token = tokenIn((await console.page('/health', cookie)).text)
    const theirs = ids.globex
    for (const { method, path } of console.pages) {
      if (path === '/live/stream') continue
      for (const query of [`id=${encodeURIComponent(theirs)}`, 'tenant=globex', 'q=globex', 'q=said']) {
        const answer =
          method === 'GET'
            ? await console.ask(`${path}?${query}`, { headers: { cookie } })
            : await console.post(path, { token, id: theirs, label: 'rumor', why: 'x' }, { cookie })
        const text = await answer.text()
        expect(text, `${role} ${path} ${query}`).not.toContain('said in globex')
        expect(text, `${role} ${path} ${query}`).not.toContain('words of globex')
        if (query.startsWith('id=') && ['/verdict', '/verdict/file', '/thread'].includes(path))
          expect(answer.status).toBe(404)
      }
    }
    expect((await console.page(`/verdict?id=${encodeURIComponent(ids.acme)}`, cookie)).text).toContain('words of acme')
    expect((await console.page('/live', cookie)).text).toContain('said in acme')
  }
  expect(decided).toEqual([])
})

it('a moderator of one tenant who sees another decides in the first alone', async () => {
  const { console, decided, ids } = await withTwoTenants()
  const people = [
    { who: 'person:anna', role: 'moderator', tenants: ['acme'] },
    { who: 'group:all', role: 'viewer' },
  ] as const
  const grants = grantsOf({ by: 'anna', groups: ['all'] }, people)
  const cookie = `gavel-console-8421=${console.sessions.open({ by: 'anna', grants })}`
  const [acme, globex] = [
    await console.page(`/verdict?id=${encodeURIComponent(ids.acme)}`, cookie),
    await console.page(`/verdict?id=${encodeURIComponent(ids.globex)}`, cookie),
  ]
  expect([acme.text.includes('action="/decide"'), globex.text.includes('action="/decide"')]).toEqual([true, false])
  const token = tokenIn(acme.text)
  const send = (id: string) => console.post('/decide', { id, label: 'rumor', why: 'x', token }, { cookie })
  expect((await send(ids.globex)).status).toBe(404)
  expect(decided).toEqual([])
  await send(ids.acme)
  expect(decided).toMatchObject([{ by: 'anna', tenant: 'acme' }])
})

it('a moderator takes back what they decided, a lead what others did', async () => {
  const { console, decided, ids } = await withTwoTenants()
  const withdraw = async (by: string, role: PersonRole) => {
    const cookie = await enter(console, by, role)
    const page = await console.page(`/verdict?id=${encodeURIComponent(ids.byBen)}`, cookie)
    const fields = { id: ids.byBen, withdraw: 'yes', why: 'x', token: tokenIn(page.text) }
    const { status } = await console.post('/decide', fields, { cookie })
    return [page.text.includes('name="withdraw"'), status === 403]
  }
  expect(await withdraw('anna', 'moderator')).toEqual([false, true])
  expect(decided).toEqual([])
  expect(await withdraw('ben', 'moderator')).toEqual([true, false])
  expect(await withdraw('carl', 'lead')).toEqual([true, false])
  expect(decided).toMatchObject([
    { by: 'ben', withdraw: true },
    { by: 'carl', withdraw: true },
  ])
})

it('a lead releases what another holds, a moderator does not', async () => {
  const { console } = await withTwoTenants()
  await console.judged({ verdict: { id: 'rumor~u~r1', subjectId: 'u', label: null, decidedBy: 'none' } })
  const now = Date.parse(at(20))
  await console.record.review.reserve('rumor~u~r1', { for: 'ben' }, now + 900_000, 0)
  const holder = async () =>
    (await console.record.review.list({}, 10, 0)).items.find(({ verdict }) => verdict === 'rumor~u~r1')?.reservation?.by
  for (const [by, role, held] of [
    ['anna', 'moderator', 'ben'],
    ['carl', 'lead', undefined],
  ] as const) {
    const cookie = await enter(console, by, role)
    const token = tokenIn((await console.page('/review', cookie)).text)
    await console.post('/review/release', { id: 'rumor~u~r1', token }, { cookie })
    expect(await holder()).toBe(held)
  }
})

it('faults and backlog of the service are shown only to its operator', async () => {
  const console = await aConsole({
    look: async () => ({
      at: 0,
      away: [],
      lag: [],
      replicas: [],
      stages: [],
      openCases: 0,
      due: 0,
      paused: [],
      outbox: { size: 0, oldestSeconds: 0 },
      firing: [{ name: 'GavelBudget', summary: 'globex has spent all' }],
    }),
  })
  for (const [role, tenants, sees] of [
    ['lead', undefined, false],
    ['admin', ['acme'], false],
    ['admin', undefined, true],
  ] as const) {
    const { text } = await console.page('/health', await enter(console, 'anna', role, tenants))
    expect([role, text.includes('globex')]).toEqual([role, sees])
    expect(text).toContain('One problem needs attention')
  }
})

it('roles come of names and groups, each with its tenants', () => {
  const people = [
    { who: 'group:mods', role: 'moderator', tenants: ['acme'] },
    { who: 'person:anna', role: 'lead', tenants: ['globex'] },
    { who: 'group:person:anna', role: 'admin' },
  ] as const
  const grants = grantsOf({ by: 'anna', groups: ['mods'] }, people)
  const held = Object.keys(RIGHTS).map((right) => tenantsOf(grants, right as keyof typeof RIGHTS))
  expect(held).toEqual([['acme', 'globex'], ['acme', 'globex'], ['globex'], []])
  expect([roleIn(grants, 'acme'), roleIn(grants, 'globex'), roleIn(grants, 'other')]).toEqual([
    'moderator',
    'lead',
    null,
  ])
  expect(grantsOf({ by: 'mods', groups: ['anna'] }, people)).toEqual([])
})
