import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import type { CaseworkEntry } from '../../src/contracts/facts/casework.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

async function aDesk(more: Parameters<typeof aConsole>[0] = {}) {
  const told: CaseworkEntry[] = []
  const console = await aConsole({
    ...more,
    casework: {
      async tell(entry) {
        told.push(entry)
        await console.topics.send('casework', entry.subjectId, entry, 150)
      },
    },
  })
  console.pass(Date.parse(at(1_000)))
  const enter = async (by: string, role: PersonRole = 'moderator', tenants?: string[]) => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role, tenants }] })}`
    const token = tokenIn((await console.page('/health', cookie)).text)
    const rows = async (path: string) => {
      const { document } = parseHTML((await console.page(path, cookie)).text)
      return [...document.querySelectorAll('tbody tr')].map((row) =>
        [...row.querySelectorAll('td')]
          .slice(1)
          .map(({ textContent }) => textContent?.trim())
          .join(' | '),
      )
    }
    return {
      page: async (path: string) => (await console.page(path, cookie)).text,
      status: async (path: string) => (await console.page(path, cookie)).status,
      rows,
      to: async (path: string, fields: Record<string, string> = {}) =>
        (await console.post(path, { token, ...fields }, { cookie })).headers.get('location') ?? '',
    }
  }
  let sent = 0
  /** A decision that was carried out with this outcome; without one it was not. */
  const decide = async (by: string, seconds: number, said: object = {}, outcome?: 'stands' | 'withdrawn') => {
    const about = { subjectId: 'p', protocol: 'rumor', label: 'rumor', by, at: at(seconds) }
    await console.topics.send('decisions', 'p', { ...about, against: 1, why: 'w', ...said }, seconds)
    const of = `0@${sent++}`
    const ended = { schema: 1, tenant: 'default', kind: 'post', ...about, outcome, of, revision: 2 }
    if (outcome !== undefined) await console.topics.send('decisionOutcomes', 'p', ended, seconds)
  }
  return { console, told, enter, decide }
}

const OPINION = { subjectId: 'p', protocol: 'rumor', against: 1, label: 'rumor', why: 'w', opinion: true }
const DOUBTFUL: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['x'] }

it('a list without a decision says whether nobody decided, or no decision fits', async () => {
  const { enter } = await aDesk()
  const { page } = await enter('lea', 'lead')
  expect(await page('/decisions')).toContain('Nobody has decided anything in the last 7 days.')
  expect(await page('/decisions?person=&days=30')).toContain('Nobody has decided anything in the last 30 days.')
  expect(await page('/decisions?person=ben&days=30')).toContain('No decision fits.')
})

it('leads see what people decided and withdrew, on what, and what came of it, and open the verdict', async () => {
  const { console, enter, decide } = await aDesk()
  await console.judged({ verdict: { ...DOUBTFUL, label: 'non-rumor' } })
  await decide('ben', 20, {}, 'stands')
  const decision = { by: 'ben', against: null, of: '0@0' }
  await console.judged({ verdict: { revision: 2, decidedBy: 'human', label: 'rumor', decision } })
  await decide('ben', 30, { against: 2, label: 'non-rumor' })
  const lea = await enter('lea', 'lead')
  expect(await lea.rows('/decisions')).toEqual([
    'ben | non-rumor | p | rumor | rumor | not carried out',
    'ben | rumor | p | rumor | non-rumor (lacked something) | in force',
  ])
  expect(await lea.rows('/decisions?kind=refused')).toHaveLength(1)
  expect(await lea.rows('/decisions?degraded=yes&person=ben')).toHaveLength(1)
  expect(await lea.rows('/decisions?person=Ben')).toHaveLength(2)
  expect(await lea.rows('/decisions?person=ann')).toEqual([])
  expect(await lea.page('/decisions')).toContain('/verdict?id=rumor%7Ep%7Er2')
  expect(console.audited.at(-1)).toMatchObject({ by: 'lea', page: '/decisions', verdicts: ['rumor~p~r2'] })
  expect(await (await enter('lou', 'lead', ['acme'])).rows('/decisions')).toEqual([])
  expect(await (await enter('mia')).status('/decisions')).toBe(403)
})

it('pages of decisions go on behind the last one', async () => {
  const { console, enter, decide } = await aDesk()
  await console.judged({ verdict: DOUBTFUL })
  for (let n = 0; n < 70; n++) await decide(`p${n}`, 20 + n, { opinion: true })
  const lea = await enter('lea', 'lead')
  const first = await lea.page('/decisions')
  const next = /rel="next" href="([^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
  expect([await lea.rows('/decisions'), await lea.rows(next)].map(({ length }) => length)).toEqual([50, 20])
  expect((await lea.rows(next))[0]).toContain('p19 ')
})

it('an auditor sees what was drawn, one by one, with its chance, and the share that is drawn', async () => {
  const { console, enter } = await aDesk({ auditShare: 1 })
  await console.judged({ verdict: { decidedBy: 'consensus' } })
  const lea = await enter('lea', 'lead')
  expect(await lea.page('/quality')).toContain('href="/quality/draws"')
  expect(await lea.rows('/quality/draws')).toEqual([
    // What could be drawn, was drawn, is reviewed, waits, and counts nowhere.
    'machine wrong | 2026-03-01 00:00 UTC | 1 | 1 | 100.0 % | 0 | 1 | 0',
    'machine wrong | rumor | rumor~p~r1 | 100.0 % | waits',
  ])
  expect(await lea.page('/quality/draws')).toContain('subjects 100.0 % are drawn now')
  expect(await lea.rows('/quality/draws?purpose=control')).toHaveLength(1)
  expect(await lea.page('/quality/draws?purpose=control')).toContain('No draw fits.')
})

it('a post is assigned from the list without being taken, back to the same list, which is found by who has it', async () => {
  const { console, told, enter } = await aDesk()
  for (const subjectId of ['p', 'q']) await console.judged({ verdict: { ...DOUBTFUL, subjectId } })
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  const list = '/review?protocol=rumor'
  const page = await anna.page(list)
  expect(page).toMatch(/action="\/review\/assign">.*?name="only" value="protocol=rumor"/)
  expect(/<datalist id="reviewers-default">(.*?)<\/datalist>/.exec(page)?.[1]).toContain('value="ben"')
  const back = await anna.to('/review/assign', { id: 'rumor~p~r1', to: 'ben', only: 'protocol=rumor' })
  expect(back).toBe('/review?protocol=rumor&said=assigned&posts=rumor%7Ep%7Er1&post=rumor%7Ep%7Er1#post-rumor~p~r1')
  expect(await anna.page(back.replace('#', '&show=any#'))).toMatch(
    /<li class="row" tabindex="-1" id="post-rumor~p~r1">/,
  )
  expect(await anna.page(back)).toMatch(/Assigned\. .*p \(rumor\)\. It is assigned to ben now\./)
  expect(told.map(({ to }) => to)).toEqual(['ben'])
  expect((await console.record.review.list({ reserved: 'all' }, 9, Date.parse(at(1_000)))).items).toEqual([])
  const ids = async (who: typeof anna, path: string) =>
    [...(await who.page(path)).matchAll(/<bdi class="words" dir="auto" lang="">a claim/g)].length
  expect([await ids(anna, '/review?assignee=ben'), await ids(anna, '/review?assignee=cay')]).toEqual([1, 0])
  expect(await ids(anna, '/review?assignee=BEN')).toBe(1)
  expect(await anna.page('/review?assignee=zoe')).toMatch(
    /is assigned to “zoe”\. People who are known here: anna, ben\./,
  )
  expect(await ids(ben, '/review?show=assigned')).toBe(1)
})

it('Review says what waits in all; languages are named, and found by their names', async () => {
  const { console, enter } = await aDesk()
  await console.judged({ verdict: { ...DOUBTFUL, subjectId: 'k' }, post: { lang: 'ko', text: '다리' } })
  await console.judged({ verdict: { ...DOUBTFUL, subjectId: 'e' }, post: { lang: 'en', text: 'bridge' } })
  const anna = await enter('anna')
  const page = await anna.page('/review?protocol=hate')
  expect(page).toContain('Nothing waits for you.')
  expect(page).toMatch(/In all, whoever may take it: .*rumor 2 /s)
  expect(page).toContain('<option value="Korean">')
  for (const lang of ['Korean', 'korean', 'ko']) {
    const found = await anna.page(`/review?lang=${lang}`)
    expect([found.includes('다리'), found.includes('bridge')]).toEqual([true, false])
    expect(found).toContain('name="lang" value="Korean"')
  }
  expect(await anna.page('/review?lang=korea')).toContain('No language is called “korea” here.')
  expect(await anna.page('/review?lang=ko')).not.toContain('No language is called')
  expect(page).not.toContain('oldest first.')
  expect(await anna.page('/review?order=oldest')).toContain('2 posts wait, the oldest first.')
})

it('a list has an address by which others open it, as it is then', async () => {
  const { enter } = await aDesk()
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  await anna.to('/review/views', { only: 'lang=ko', name: 'a & b' })
  const address = /data-copy="([^"]+)"/.exec(await anna.page('/review'))?.[1]?.replaceAll('&amp;', '&') ?? ''
  const open = async (path: string) => ben.page(path)
  expect(address).toBe('/review/list?of=anna&name=a+%26+b')
  // It is asked for twice, and not where the pointer is.
  expect(await anna.page('/review')).toMatch(/<summary>Forget a &amp; b<\/summary><button name="drop" value="yes">/)
  expect(await ben.status(address)).toBe(303)
  await anna.to('/review/views', { name: 'a & b', drop: 'yes' })
  expect([await ben.status(address), (await open(address)).includes('no such list')]).toEqual([404, true])
})

it('a list is open to who sees some of what it was named for, and to nobody else', async () => {
  const { enter } = await aDesk()
  const [acme, globex] = [await enter('anna', 'moderator', ['acme']), await enter('gil', 'moderator', ['globex'])]
  const [both, lea] = [await enter('bo', 'moderator', ['acme', 'globex']), await enter('lea', 'lead')]
  await acme.to('/review/views', { only: 'q=marzipan', name: 'ours' })
  const statuses = (path: string) => Promise.all([acme, both, lea, globex].map((one) => one.status(path)))
  expect(await statuses('/review/list?of=anna&name=ours')).toEqual([303, 303, 303, 404])
  expect(await acme.page('/review')).toContain('href="/review?q=marzipan"')
  await lea.to('/review/views', { only: 'lang=ko', name: 'all' })
  await lea.to('/review/views', { only: 'tenant=acme', name: 'theirs' })
  expect(await statuses('/review/list?of=lea&name=all')).toEqual([303, 303, 303, 303])
  expect(await statuses('/review/list?of=lea&name=theirs')).toEqual([303, 303, 303, 404])
})

it('a post of which one protocol is decided says so, where another part of it still waits', async () => {
  const { console, enter } = await aDesk()
  await console.judged({ verdict: { ...DOUBTFUL, protocol: 'hate' } })
  const anna = await enter('anna')
  const half = 'Half decided: a person has decided on rumor;'
  expect(await anna.page('/review')).not.toContain(half)
  const decision = { by: 'ben', against: null, of: '0@0' }
  await console.judged({ verdict: { decidedBy: 'human', label: 'rumor', decision } })
  await console.judged({ verdict: { subjectId: 'q', decidedBy: 'human', label: 'rumor', decision } })
  // Drawn for a second opinion it waits as well.
  expect(await anna.page('/review')).not.toContain(half)
  await console.topics.send('decisions', 'p', { ...OPINION, by: 'cay', at: at(40) }, 40)
  expect(await anna.page('/review')).toContain(half)
})

it('whoever has a post is found by their name by who sees all tenants', async () => {
  const { console, enter } = await aDesk()
  await console.judged({ verdict: { ...DOUBTFUL, tenant: 'acme' } })
  const [otto, lea] = [await enter('Otto', 'moderator', ['acme']), await enter('lea', 'lead')]
  await otto.to('/review/assign', { id: 'rumor@acme~p~r1', me: 'yes' })
  expect(await lea.page('/review?assignee=otto')).toContain('1 post waits')
})
