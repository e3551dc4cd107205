import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { at } from '../contracts/record.ts'
import { drawnPng } from '../support/drawn.ts'
import { aBrowser, barriersOn, watchedPage } from './browser.ts'
import { aTurn } from './console-for-tests.ts'
import { MARKUP_ATTACKS } from './markup-attacks.ts'
import { servedQueue } from './served-queue.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 300_000)
afterAll(() => browser?.close())

const WIDTHS = [360, 768, 1_280]
/** Whether each text is read from the side from which its script is. */
const SIDES = `[...document.querySelectorAll('.row-words bdi, .claim-words bdi')].map((one) => {
  const range = document.createRange()
  range.selectNodeContents(one)
  const [text, place] = [range.getBoundingClientRect(), one.parentElement.getBoundingClientRect()]
  const isArabic = /[\\u0600-\\u06ff]/.test(one.textContent)
  return !one.checkVisibility() || Math.abs(isArabic ? text.right - place.right : text.left - place.left) < 2
})`

it('nobody is kept from any page, light or dark, narrow or wide, and each script stands on its side', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue()
  try {
    const degraded = { label: null, decidedBy: 'none', degraded: ['1 of 1 images not seen'] }
    const turns = [
      aTurn(
        'stance',
        'scorer',
        { scores: [0.8, -0.6].map((score, n) => ({ comment: n + 1, reason: 'r', score })) },
        {
          about: ['bridge-c0', 'bridge-c1'],
        },
      ),
      aTurn('opinion', 'debater (support)', { reasoning: 'it fell', answer: 'Real' }),
    ]
    await console.judged({ id: 'bridge', text: 'The bridge has fallen', lang: 'en' }, degraded, ['Yes', 'No'], turns)
    const url = `data:image/png;base64,${drawnPng(40, 30, () => [90, 90, 90, 255]).toString('base64')}`
    const media = [url, 'https://images.invalid/gone'].map((one) => ({ kind: 'image' as const, url: one }))
    await console.judged({ id: 'seen', text: 'Look at this', media }, degraded)
    await console.judged({ id: 'quay', text: 'They are all vermin' }, { protocol: 'hate', label: 'hate' })
    const word = { subjectId: 'quay', protocol: 'hate', label: 'hate', by: 'desk', at: at(3) }
    await console.topics.send('feedback', 'quay', word, 180)
    await console.judged({ id: 'pier', text: 'Am Pier ist Markt', lang: 'de' }, { protocol: 'hate', label: 'non-hate' })
    const unseen = { subjectId: 'pier', protocol: 'hate', label: 'non-hate', by: 'desk', at: at(4), sawLabel: false }
    await console.topics.send('feedback', 'pier', unseen, 181)
    await console.judged({ id: 'arabic', text: 'الجسر سقط هذا الصباح', lang: 'ar' }, degraded)
    await console.judged({ id: 'japanese', text: '橋が落ちたと聞きました'.repeat(20), lang: 'ja' }, degraded)
    const story = { id: 's', members: 2, reach: 20_000, labels: { rumor: 1 } }
    for (const [id, label] of [
      ['told', 'rumor'],
      ['retold', 'non-rumor'],
    ] as const)
      await console.judged({ id, text: 'The harbor is closed until further notice' }, { label, story })
    await console.judged({ id: 'attack', text: MARKUP_ATTACKS[9] ?? '' }, { rationale: MARKUP_ATTACKS[9] ?? '' })
    const { page, wrong } = await watchedPage(browser, console.own, {})
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.goto(`${console.own}/review`)
    await page.getByRole('button', { name: 'Take the next' }).click()
    await page.waitForURL('**/review/item*')
    const item = page.url().slice(console.own.length)
    const pages = [
      '/live',
      '/live?label=nothing',
      '/review',
      '/review?q=nothing',
      item,
      '/review/mine',
      '/quality',
      '/agreement?days=400',
      '/agreement?days=7',
      '/agreement/posts?protocol=hate&days=400',
      '/quality/draws',
      '/decisions?days=400',
      '/audit?days=1',
      '/search?q=bridge',
      '/stories',
      '/stories?q=nothing',
      '/stories/story?id=s&tenant=default',
      '/search?q=nothing',
      '/health',
      '/covers',
      ...['bridge', 'arabic', 'attack'].map((id) => `/verdict?id=rumor~${id}~r1`),
      '/thread?id=rumor~bridge~r1',
      '/verdict?id=nothing',
    ]
    for (const path of pages) {
      await page.goto(console.own + path)
      if (path === '/agreement?days=400') expect(await page.locator('main table').count()).toBeGreaterThan(4)
      // Everything that can be opened is looked at as well.
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(wide, `${path} ${width}`).toBeLessThanOrEqual(width)
        expect(await page.evaluate(SIDES), `${path} ${width}`).not.toContain(false)
        await page.emulateMedia({ colorScheme: 'light' })
        expect(await barriersOn(page), `${path} ${width} light`).toEqual([])
        // The theme changes colors, and nothing else.
        await page.emulateMedia({ colorScheme: 'dark' })
        expect(await barriersOn(page, ['color-contrast']), `${path} ${width} dark`).toEqual([])
      }
    }
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 300_000)
