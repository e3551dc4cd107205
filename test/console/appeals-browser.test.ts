import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownFolder } from '../support/own-folder.ts'
import { completedMap } from '../support/own-map.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
import { servedQueue } from './served-queue.ts'

let browser: Awaited<ReturnType<typeof aBrowser>> = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

it('an appeal is read and answered by keys, beside the ruling that it is against, without barriers at either size', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const map = join(ownFolder('own-map'), 'map.yaml')
  writeFileSync(map, `${completedMap()}furtherRedress: { en: 'Go to court.', de: 'Vor Gericht.' }\n`)
  const console = await servedQueue({
    GAVEL_REVIEW_BLIND_SHARE: '0',
    GAVEL_REVIEW_AUDIT_SHARE: '0',
    GAVEL_REVIEW_STATEMENTS: map,
  })
  try {
    const said = { by: 'author', text: 'العبارة اقتباس. <img src=x onerror=alert(1)>', contact: 'case 1' }
    for (const id of ['p', 'q']) {
      await console.judged({ id, text: `a claim of ${id}` }, { decidedBy: 'consensus', label: 'rumor' })
      const appeal = { id: `of ${id}`, verdictId: `rumor~${id}~r1`, ...said, at: '2026-03-01T12:02:00Z' }
      await console.topics.send('appeals', appeal.id, appeal, 120)
    }
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.goto(`${console.own}/health`)
    // Since the appeals came, at 120 s, and not since the verdicts.
    const count = page.getByText('2 of them were appealed against:')
    expect(await count.locator('time').getAttribute('datetime')).toBe('2026-03-01T00:02:00.000Z')
    await page.goto(`${console.own}/review`)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item*')
    await page.getByRole('heading', { name: 'An appeal' }).waitFor()
    await page.getByText('Appealed against').waitFor()
    expect(await page.locator('blockquote', { hasText: 'onerror' }).count()).toBe(1)
    for (const size of [SIZES.desktop, SIZES.phone]) {
      await page.setViewportSize(size)
      expect(await barriersOn(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    // Nothing is chosen beforehand; a label without the code of a reason answers no appeal.
    expect(await page.locator('input[name=label]:checked').count()).toBe(0)
    const other = await page.getByRole('radio', { name: 'current' }).getAttribute('data-key')
    await page.keyboard.press(other === '1' ? '2' : '1')
    await page.keyboard.press('w')
    await page.keyboard.type('it quotes a song')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').filter({ hasText: 'code of a reason' }).waitFor()
    expect(console.decided).toEqual([])
    await page.keyboard.press('d')
    const before = page.url()
    await page.keyboard.press('Control+Enter')
    await page.waitForURL((url) => url.href !== before)
    expect(console.decided).toMatchObject([{ code: 'context', appeals: [expect.stringMatching(/^of [pq]$/)] }])
    // From there the letter is two steps away, each of which stands where the one before leads.
    await page.getByRole('link', { name: 'The outcome, and the answer in words' }).click()
    await page.waitForURL('**/verdict?*')
    const outcome = page.getByText('A person answered: the verdict was changed.')
    await outcome.waitFor()
    expect((await outcome.boundingBox())?.y).toBeLessThan(SIZES.phone.height)
    await outcome.getByRole('link', { name: 'The answer in words' }).click()
    await page.getByText('The context changes what it means.').waitFor()
    expect(await page.locator('pre').textContent()).not.toContain('it quotes a song')
    expect(await barriersOn(page)).toEqual([])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)
