import { expect, it } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

/** A console with people's verdicts to be judged blindly, and the lead who does. */
async function blindly() {
  const decided: DecisionMessage[] = []
  const console = await aConsole({
    auditShare: 1,
    async decide(decision) {
      decided.push(decision)
      return { of: '0@0', decided: { outcome: 'noted' } }
    },
  })
  const cookie = `gavel-console-8421=${console.sessions.open({ by: 'lea', grants: [{ role: 'lead' }] })}`
  const token = tokenIn((await console.page('/health', cookie)).text)
  const post = (path: string, fields: Record<string, string>) => console.post(path, { token, ...fields }, { cookie })
  return {
    console,
    cookie,
    page: async (path: string) => (await console.page(path, cookie)).text,
    human: (subjectId: string, revision = 1) =>
      console.judged({
        verdict: {
          subjectId,
          revision,
          label: 'rumor',
          decidedBy: 'human',
          decision: { by: 'ben', against: null, of: '0@1' },
        },
      }),
    take: (id: string) => post('/review/take', { id }),
    /** Whether an opinion is recorded as of who has seen the label. */
    async isSighted(id: string) {
      await post('/review/decide', { id, label: 'rumor', code: 'fits', opinion: 'yes' })
      return decided.at(-1)?.sawLabel
    },
  }
}

it('no blind opinion follows on what Live, Search or a list has shown', async () => {
  const { page, human, take, isSighted } = await blindly()
  for (const path of ['/live', '/search', '/decisions']) {
    const { id } = await human(path.slice(1))
    await page(path)
    await take(id)
    const isTold = (await page(`/review/item?id=${id}`)).includes('your opinion is kept, and counts in no figure')
    expect([path, isTold]).toEqual([path, path !== '/decisions'])
    // Of decisions none was sent here, so that their page shows nothing.
    expect([path, await isSighted(id)]).toEqual([path, path !== '/decisions'])
  }
})

it('nor on what a stream has sent, from the moment at which it is sent', async () => {
  const { console, cookie, human, take, isSighted } = await blindly()
  const leaving = new AbortController()
  const { body } = await console.ask('/live/stream', { headers: { cookie }, signal: leaving.signal })
  const reader = body?.getReader()
  await reader?.read()
  const { id } = await human('p')
  await console.arriving.poll()
  await take(id)
  expect(await isSighted(id)).toBe(true)
  leaving.abort()
})

it('what is closed while it is judged blindly is on no page, and so is not seen', async () => {
  const { console, page, human, take, isSighted } = await blindly()
  await console.judged({ verdict: { decidedBy: 'consensus', label: 'non-rumor' } })
  const { id } = await human('p', 2)
  const drawn = async () => [...(await page('/quality/draws')).matchAll(/rumor~p~r\d/g)].length
  await take(id)
  // What was found of the machine's verdict tells what the person's is.
  expect([(await page('/live')).includes('rumor%7Ep'), await drawn()]).toEqual([false, 0])
  expect(await isSighted(id)).toBe(false)
  expect(await drawn()).toBeGreaterThan(0)
  const [third] = [await human('p', 3)]
  await take(third.id)
  expect(await isSighted(third.id)).toBe(true)
})
