import { expect, it, vi } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

/** A console with two comments of one id, each on a post of its own, that were judged by themselves. */
async function withComments(of: Partial<Verdict>) {
  const console = await aConsole({
    decide: async ({ postId }) => ({
      of: '0@0',
      decided: { outcome: 'stands', verdict: `hate/comment~${postId}~c~r2` },
    }),
  })
  const judged = (postId: string) =>
    console.judged({
      verdict: { protocol: 'hate', subjectKind: 'comment', subjectId: 'c', postId, ...of },
      post: { text: `zanzibar of ${postId}` },
    })
  const verdicts = [await judged('p1'), await judged('p2')]
  const cookie = await console.signedIn('anna')
  const page = async (path: string, query: Record<string, string> = {}) =>
    (await console.page(`${path}?${new URLSearchParams(query)}`, cookie)).text
  return { console, cookie, verdicts, page }
}

it('whoever uncovers comments of one id on two posts has looked at two', async () => {
  const { console, verdicts, page } = await withComments({ label: 'hate' })
  const noted = vi.spyOn(console.record.pictures, 'noteUncovered')
  for (const { id } of [...verdicts, ...verdicts]) await page('/uncovered', { id })
  expect(noted).toHaveBeenCalledTimes(2)
})

it('a comment is named beside its post, and one of its id on another post is another', async () => {
  const { console, cookie, page } = await withComments({ label: null, decidedBy: 'none' })
  const token = tokenIn(await page('/health'))
  const to = async (path: string, fields: Record<string, string>) =>
    (await console.post(path, { token, ...fields }, { cookie })).headers.get('location') ?? ''
  const first = new URLSearchParams((await to('/review/next', {})).split('?')[1]).get('id') ?? ''
  const [, post = ''] = /~(p\d)~/.exec(first) ?? []
  const next = await to('/review/decide', { id: first, label: 'hate', why: 'so it is' })
  const { text } = await console.page(next, cookie)
  expect(text).toContain(`You chose hate for c (of ${post}) (hate)`)
  expect(text).toContain('What follows is another post.')
  expect(await page('/review/mine')).toContain(`c (of ${post}) (hate)`)
  expect(await page('/verdict/file', { id: first })).toContain(`c (of ${post}) (tenant default)`)
  const found = await page('/search', { q: 'c (of p2)' })
  expect([found.includes('zanzibar of p2'), found.includes('zanzibar of p1')]).toEqual([true, false])
  expect(await page('/search')).toContain('data-subject="c%20(of%20p2)"')
})
