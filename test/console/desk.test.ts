import { expect, it } from 'vitest'
import type { CaseworkEntry } from '../../src/contracts/facts/casework.ts'
import type { NamedGrant, PersonRole } from '../../src/contracts/facts/person-roles.ts'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

async function aDesk(people: readonly NamedGrant[] = []) {
  const told: CaseworkEntry[] = []
  const own = await aConsole({
    people,
    casework: {
      async tell(entry) {
        told.push(entry)
        await own.topics.send('casework', entry.subjectId, entry, 150)
      },
    },
  })
  const console = { ...own, told }
  const enter = async (by: string, role: PersonRole = 'moderator', tenants?: string[]) => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role, tenants }] })}`
    const token = tokenIn((await console.page('/covers', cookie)).text)
    const to = async (path: string, fields: Record<string, string> = {}) => {
      const answer = await console.post(path, { token, ...fields }, { cookie })
      return answer.headers.get('location') ?? `${answer.status}`
    }
    const body = async (path: string, fields: Record<string, string>) =>
      await (await console.post(path, { token, ...fields }, { cookie })).text()
    return { to, body, page: async (path: string) => (await console.page(path, cookie)).text }
  }
  return { console, enter }
}

it('notes are for who may decide, on the item and the verdict, and go with the post', async () => {
  const { console, enter } = await aDesk()
  const { id } = await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'] } })
  const [anna, vera, other] = [
    await enter('anna'),
    await enter('vera', 'viewer'),
    await enter('otto', 'lead', ['acme']),
  ]
  expect(await anna.to('/note', { id, text: 'see <b>ticket</b> 88' })).toBe('/verdict?id=rumor%7Ep%7Er1')
  expect(await anna.to('/note', { id, text: ' ' })).toBe('409')
  // A browser lets people write 2,000 characters with their lines' ends, and sends each end as two.
  expect(await anna.to('/note', { id, text: `one\r\n${'x'.repeat(1_996)}` })).toBe('/verdict?id=rumor%7Ep%7Er1')
  expect(await anna.to('/note', { id, text: 'x'.repeat(2_001) })).toBe('409')
  expect(await anna.to('/note', { id: 'rumor~q~r1', text: 'x' })).toBe('409')
  expect(await vera.to('/note', { id, text: 'x' })).toBe('403')
  expect(await other.to('/note', { id, text: 'x' })).toBe('409')
  expect(await anna.page(`/verdict?id=${id}`)).toContain('see &lt;b&gt;ticket&lt;/b&gt; 88')
  expect(await vera.page(`/verdict?id=${id}`)).not.toContain('ticket')
  expect(await anna.page(`/verdict/file?id=${id}`)).not.toContain('ticket')
  expect(await anna.page(await anna.to('/review/next'))).toContain('see &lt;b&gt;ticket')
  expect(await anna.to('/note', { id, text: 'more', item: 'yes', only: 'lang=ko' })).toBe(
    '/review/item?id=rumor%7Ep%7Er1&only=lang%3Dko',
  )
  await console.topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
  expect(await console.record.pictures.notesOf({ tenant: 'default', postId: 'p', kind: 'post' })).toEqual([])
})

it('who gives a second opinion sees no note, which may tell what was decided', async () => {
  const { console, enter } = await aDesk()
  const decision = { by: 'ben', against: null, of: '0@1' }
  const { id } = await console.judged({ verdict: { decidedBy: 'human', label: 'rumor', decision } })
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  await ben.to('/note', { id, text: 'so I took it for a rumor' })
  const item = await anna.to('/review/next')
  expect(item).toContain('/review/item')
  expect(await anna.page(item)).not.toContain('took it for')
  expect(await anna.to('/note', { id, text: 'x' })).toBe('409')
  expect(await console.record.pictures.notesOf({ tenant: 'default', postId: 'p', kind: 'post' })).toHaveLength(1)
})

it('a person names lists for themselves, opens them, and forgets them', async () => {
  const { enter } = await aDesk()
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  const only = 'lang=ko&q=%EB%B6%88'
  expect(await anna.page('/review')).not.toContain('Your lists')
  expect(await anna.page(`/review?${only}`)).toContain('Name this list')
  expect(await anna.to('/review/views', { only, name: 'Korean <fires>' })).toBe(`/review?${only}&said=saved`)
  expect(await anna.to('/review/views', { only, name: ' ' })).toBe('409')
  expect(await anna.to('/review/views', { only: 'x'.repeat(3_000), name: 'long' })).toBe('409')
  const page = await anna.page('/review')
  expect(page).toContain('href="/review?lang=ko&amp;q=%EB%B6%88"')
  expect(page).toContain('Korean &lt;fires&gt;')
  expect(await ben.page('/review')).not.toContain('Korean &lt;')
  expect(await ben.to('/review/views', { name: 'Korean <fires>', drop: 'yes' })).toBe('/review?said=forgotten')
  expect(await anna.page('/review')).toContain('Korean &lt;')
  await anna.to('/review/views', { name: 'Korean <fires>', drop: 'yes' })
  expect(await anna.page('/review')).not.toContain('Korean &lt;')
})

it('assigning offers who may decide on posts of this tenant: whom the settings name, and who is signed in', async () => {
  const { console, enter } = await aDesk([
    { who: 'person:lea', role: 'lead' },
    { who: 'person:acme only', role: 'moderator', tenants: ['acme'] },
    { who: 'person:vera', role: 'viewer' },
    { who: 'group:mods', role: 'moderator' },
  ])
  await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'] } })
  const anna = await enter('anna')
  await enter('otto', 'moderator', ['acme'])
  await enter('walter', 'viewer')
  const page = await anna.page(await anna.to('/review/next'))
  expect([...page.matchAll(/<option value="([^"]*)">/g)].map(([, name]) => name)).toEqual(['anna', 'lea'])
  // Others of the group are not known yet.
  expect(await anna.to('/review/assign', { id: 'rumor~p~r1', to: 'otto' })).toContain('said=assigned')
})

it('where the settings name each person nobody else is assigned, and the answer names them; else it says to whom', async () => {
  const { console, enter } = await aDesk([
    { who: 'person:anna', role: 'moderator' },
    { who: 'person:ben', role: 'moderator' },
    { who: 'person:otto', role: 'moderator', tenants: ['acme'] },
  ])
  const { id } = await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'] } })
  const said = { tenant: 'default', protocol: 'rumor', against: 1, why: 'w', label: 'rumor', at: at(30) }
  // Who has left may decide no more, whatever they decided of late.
  await console.topics.send('decisions', 'q', { ...said, subjectId: 'q', by: 'dora' }, 30)
  const anna = await enter('anna')
  expect(await anna.to('/review/assign', { id, to: 'dora' })).toBe('409')
  const wrong = await anna.body('/review/assign', { id, to: 'bne' })
  expect(wrong).toContain('Nobody called “bne” may decide on posts of this tenant. Who may: anna, ben.')
  expect(await anna.to('/review/assign', { id, to: 'otto' })).toBe('409')
  expect(console.told).toEqual([])
  // Nor does anybody review what they decided themselves.
  const human = { decidedBy: 'human', label: 'rumor', decision: { by: 'ben', against: null, of: '0@1' } } as const
  const { id: bens } = await console.judged({ verdict: { ...human, subjectId: 'bens' } })
  const party = await anna.body('/review/assign', { id: bens, to: 'ben' })
  expect(party).toContain('ben has decided on this post, or given an opinion on it')
  // In whichever letters.
  const answered = await anna.to('/review/assign', { id, to: 'BEN' })
  expect(await anna.page(answered)).toMatch(/Assigned\. <bdi[^>]*>p \(rumor\)\. It is assigned to ben now\./)
  // Who gave it takes it back; nobody else does.
  const otto = await enter('otto')
  const give = 'Take the assignment back'
  expect(await otto.page('/review?show=any')).not.toContain(give)
  expect(await otto.to('/review/assign', { id })).toBe('/review?said=notAssigned')
  expect(await anna.page('/review?show=any')).toContain(give)
  expect(await anna.page(await anna.to('/review/assign', { id }))).toContain('It is assigned to nobody now.')
  expect(await anna.page('/review?show=any')).not.toContain(give)
  // Words of an address are not believed.
  expect(await anna.page('/review?said=assigned&post=somebody')).not.toContain('somebody now')
})
