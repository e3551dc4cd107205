import { expect, it } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

const DOUBTFUL: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['1 of 3 images not seen'] }
const ITEM = 'rumor~p~r1'

/** A console whose decisions all stand, and the people who work in it. */
async function atWork() {
  const decided: DecisionMessage[] = []
  const console = await aConsole({
    async decide(decision) {
      decided.push(decision)
      return { of: '0@0', decided: { outcome: 'noted' } }
    },
    casework: { tell: (entry) => console.topics.send('casework', entry.subjectId, entry, 150) },
  })
  const enter = async (by: string, role: PersonRole = 'moderator') => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role }] })}`
    const token = tokenIn((await console.page('/health', cookie)).text)
    const send = async (path: string, body: URLSearchParams) => {
      const headers = { 'sec-fetch-site': 'same-origin', cookie }
      const answer = await console.ask(path, { method: 'POST', body, headers })
      return answer.headers.get('location') ?? String(answer.status)
    }
    return {
      page: async (path: string) => (await console.page(path, cookie)).text,
      send,
      to: (path: string, fields: Record<string, string>) => send(path, new URLSearchParams({ token, ...fields })),
    }
  }
  const held = async () => {
    const { items } = await console.record.review.list({ reserved: 'all' }, 99, 0)
    return items.map(({ verdict, reservation }) => `${verdict} ${reservation?.by}`).sort()
  }
  return { console, decided, enter, held }
}

/** What a browser sends of the form that decides, its copies ticked as they are. */
function formIn(page: string): URLSearchParams {
  const form = /<form method="post" action="\/review\/decide">.*?<\/form>/s.exec(page)?.[0] ?? ''
  const fields = [...form.matchAll(/<input type="(?:hidden|checkbox)" name="([^"]+)" value="([^"]*)"/g)]
  return new URLSearchParams(fields.map(([, name = '', value = '']): [string, string] => [name, value]))
}

it('a decision goes through with as many copies as a page offers, and all that its form has', async () => {
  const { console, decided, enter } = await atWork()
  for (let n = 0; n < 18; n++)
    await console.judged({ verdict: { ...DOUBTFUL, subjectId: `s${n}` }, post: { text: 'the same', lang: 'en' } })
  const anna = await enter('anna')
  await anna.to('/review/take', { id: 'rumor~s0~r1' })
  const fields = formIn(await anna.page('/review/item?id=rumor~s0~r1&only=lang%3Den'))
  for (const [name, value] of Object.entries({ label: 'rumor', code: 'fits', why: '' })) fields.append(name, value)
  expect(fields.getAll('copy')).toHaveLength(15)
  expect(await anna.send('/review/decide', fields)).toContain('copies=15')
  expect(decided).toHaveLength(16)
})

it('a lead gives back what somebody else has of a post, and keeps what is theirs; to skip takes from nobody', async () => {
  const { console, enter, held } = await atWork()
  await console.judged({ verdict: DOUBTFUL })
  const { id } = await console.judged({ verdict: { protocol: 'hate', label: null, decidedBy: 'none' } })
  const lea = await enter('lea', 'lead')
  await console.record.review.reserve(ITEM, { for: 'ben' }, 9e12, 0)
  await lea.to('/review/take', { id })
  await lea.to('/review/release', { id: ITEM })
  expect(await held()).toEqual([`${id} lea`])
  await lea.to('/review/release', { id })
  await console.record.review.reserve(ITEM, { for: 'ben' }, 9e12, 0)
  await lea.to('/review/skip', { id: ITEM })
  expect((await held()).filter((one) => one.startsWith(ITEM))).toEqual([`${ITEM} ben`])
})

it('nobody but a lead assigns what somebody else has taken', async () => {
  const { console, enter, held } = await atWork()
  await console.judged({ verdict: DOUBTFUL })
  const [anna, ben, lea] = [await enter('anna'), await enter('ben'), await enter('lea', 'lead')]
  await ben.to('/review/take', { id: ITEM })
  expect(await anna.to('/review/assign', { id: ITEM, me: 'yes' })).toBe('/review?said=notAssigned')
  expect(await ben.to('/review/decide', { id: ITEM, label: 'rumor', code: 'fits' })).toBe('/review?said=last')
  await ben.to('/review/take', { id: ITEM })
  expect(await lea.to('/review/assign', { id: ITEM, to: 'cay' })).toContain(
    '/review?said=assigned&posts=rumor%7Ep%7Er1',
  )
  expect(await held()).toEqual([])
})
