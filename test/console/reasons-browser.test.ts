import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownFolder } from '../support/own-folder.ts'
import { completedMapIn } from '../support/own-map.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
import { servedQueue } from './served-queue.ts'

let browser: Awaited<ReturnType<typeof aBrowser>> = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

it('a statement of reasons is found by the post that was acted on, in either language, without barriers at either size', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue({
    GAVEL_REVIEW_BLIND_SHARE: '0',
    GAVEL_REVIEW_AUDIT_SHARE: '0',
    GAVEL_REVIEW_STATEMENTS: completedMapIn(ownFolder('own-map')),
  })
  try {
    await console.judged({ id: 'p', text: 'Zyzzyva <img src=x onerror=alert(1)>' }, { protocol: 'hate', label: 'hate' })
    const since = '2026-03-01T12:05:00Z'
    const rests = { verdictId: 'hate~p~r1', source: 'own-initiative', automated: true, by: 'Zyzzyva', since, at: since }
    const acted = (id: string, what: string) =>
      console.topics.send('actions', 'p', { id, subjectId: 'p', what, ...rests }, 300)
    await acted('a 1/<b>', 'remove')
    await acted('a2', 'frobnicate')
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.goto(`${console.own}/verdict?id=hate~p~r1`)
    await page.locator('a[href^="/reasons"]').first().click()
    await page.waitForURL('**/reasons?*')
    await page.getByText('We removed your content.').waitFor()
    for (const size of [SIZES.desktop, SIZES.phone]) {
      await page.setViewportSize(size)
      expect(await barriersOn(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    expect(await page.locator('main').textContent()).not.toContain('Zyzzyva')
    await page.locator('a[lang=de]').click()
    await page.locator('pre[lang=de]', { hasText: 'entfernt' }).waitFor()
    expect(await barriersOn(page)).toEqual([])
    await page.goto(`${console.own}/reasons?tenant=default&id=${encodeURIComponent('a 1/<b>')}`)
    expect(await page.locator('.notice').count()).toBe(0)
    await console.judged({ id: 'p', text: 'Zyzzyva' }, { protocol: 'hate', label: 'non-hate', revision: 2 })
    await page.reload()
    await page.locator('.notice a').click()
    await page.waitForURL(/verdict\?id=hate.+r2$/)
    // What is missing for one is named, and what there is none of is said.
    await page.goto(`${console.own}/reasons?tenant=default&id=a2`)
    await page.getByText('frobnicate').waitFor()
    expect(await barriersOn(page)).toEqual([])
    expect((await page.goto(`${console.own}/reasons?tenant=acme&id=a2`))?.status()).toBe(404)
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)
