import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { aBrowser, SIZES, watchedPage } from './browser.ts'
import { servedQueue } from './served-queue.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

/** Of no verdict the label is shown afterwards, and nothing is drawn: the order is that of the costs. */
const PLAIN = { GAVEL_REVIEW_LABEL_AFTER: '0', GAVEL_REVIEW_SHARES_AUDIT: '0', GAVEL_REVIEW_SHARES_SECOND_OPINION: '0' }

type Served = Awaited<ReturnType<typeof servedQueue>>

/** A page of somebody who has signed in, and works in the queue. */
async function atTheQueue(own: Browser, console: Served, viewport: { width: number; height: number } = SIZES.desktop) {
  const watched = await watchedPage(own, console.own, { viewport })
  await watched.page.goto(console.link)
  await watched.page.getByRole('button', { name: 'Sign in here' }).click()
  await watched.page.waitForURL('**/live')
  await watched.page.goto(`${console.own}/review`)
  return watched
}

const DOUBTFUL: Partial<Verdict> = { decidedBy: 'single', degraded: ['1 of 2 images not seen'] }

it('twenty items are decided by keys alone, in at most 45 chords, half of them overruled in own words', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue(PLAIN)
  try {
    for (let n = 0; n < 20; n++)
      await console.judged(
        { id: `p${n}`, text: `claim number ${n}` },
        { ...DOUBTFUL, label: n % 2 === 0 ? 'rumor' : 'non-rumor' },
      )
    const { page, wrong } = await atTheQueue(browser, console)
    let chords = 0
    const press = async (key: string) => {
      chords++
      await page.keyboard.press(key)
    }
    /** Presses a key that leads to another page. */
    const on = async (key: string) => {
      const before = page.url()
      await press(key)
      await page.waitForURL((url) => url.href !== before)
    }
    await on('n')
    for (let n = 0; n < 20; n++) {
      if (n % 2 === 0) await on('c')
      else {
        // A reason against one of two labels means the other, and leads to one's own words.
        await press('d')
        await page.keyboard.type(`the city says so, ticket ${n}`)
        await on('Control+Enter')
      }
    }
    await page.getByRole('status').filter({ hasText: 'No further item waits' }).waitFor()
    expect(chords).toBeLessThanOrEqual(45)
    expect(console.decided).toHaveLength(20)
    expect(new Set(console.decided.map(({ subjectId }) => subjectId)).size).toBe(20)
    const overruled = console.decided.filter(({ code }) => code !== 'fits')
    expect(overruled).toHaveLength(10)
    for (const { code, why, sawLabel } of overruled)
      expect([code, sawLabel, /^Its context changes what it means\. the city says so, ticket \d+$/.test(why)]).toEqual([
        'context',
        true,
        true,
      ])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)
