import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { trialDesk } from '../../src/app/commands/variant/trial-desk.ts'
import { ownFolder } from '../support/own-folder.ts'
import { aVerdict } from '../support/verdicts.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
import { servedConsole } from './served.ts'
import { aShadow, historyOf, writtenReport } from './trials-for-tests.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

it('a lead finds a variant beside the live verdicts and a report’s posts, on a phone in the dark as well', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const folder = ownFolder('trials')
  const now = new Date().toISOString()
  writtenReport(folder, 'hate.md-1234', [{}], ['default'])
  const policies = ownFolder('policies')
  writeFileSync(join(policies, 'next.md'), '## H6 Insults of anybody\n- such as "idiot"\n')
  const console = await servedConsole(({ record }) => ({
    // What has become live since the console began.
    reread: () =>
      loadSettings({
        GAVEL_PROTOCOLS_HATE_POLICIES_PATH: policies,
        GAVEL_PROTOCOLS_HATE_POLICIES: 'next',
      }),
    trials: trialDesk(loadSettings({ GAVEL_CONSOLE_WHAT_IF_PATH: folder }), {
      reader: record,
      ramps: () => [{ protocol: 'hate', variant: 'stricter', ramp: 0.1, judges: 0.1 }],
      historyUntil: async () => historyOf([aShadow('p0', 'hate', now), aShadow('p1', 'non-hate', now)]),
    }),
  }))
  try {
    for (const [subjectId, variant] of [
      ['p0', undefined],
      ['p1', 'stricter'],
    ] as const)
      await console.topics.judged(
        { ...aVerdict(now, { protocol: 'hate', label: 'non-hate', subjectId }), ...(variant && { variant }) },
        'you idiot',
      )
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(console.nextLink())
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.getByRole('link', { name: 'Trials' }).click()
    expect(await page.locator('article h3').allTextContents()).toEqual(['hate: stricter', 'hate: stricter'])
    expect(await page.locator('article li').first().textContent()).toMatch(/^Nothing to go by yet: people agree/)
    const gate = page.locator('article li', { hasText: 'of verdicts flip' })
    expect(await gate.textContent()).toBe('Not held: 50.0 % of verdicts flip; at most 5.0 % may')
    await page.locator('article summary', { hasText: 'Commands' }).first().click()
    expect(await page.locator('article pre').first().textContent()).toContain('gavel variant live stricter')
    for (const path of ['/trials', '/what-if?run=hate.md-1234']) {
      await page.goto(console.own + path)
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
      for (const [size, colorScheme] of [
        ['desktop', 'light'],
        ['phone', 'dark'],
      ] as const) {
        await page.setViewportSize(SIZES[size])
        await page.emulateMedia({ colorScheme })
        const { width } = SIZES[size]
        expect(await page.evaluate<number>('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(width)
        expect(await barriersOn(page), `${path} ${size}`).toEqual([])
      }
    }
    expect(await page.locator('.row .row-words').textContent()).toBe('you idiot')
    await page.goto(`${console.own}/verdict?id=hate~p0~r1`)
    expect(await page.locator('.decide').textContent()).toContain('Insults of anybody')
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)
