import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { PROJECT } from '../../config/load.ts'
import { aBrowser } from './browser.ts'
import { shownDemo } from './shown-demo.ts'

const HELP = `Usage: npm run pictures:console -- [options]

Takes a picture of each page of the console, light and dark, from the demo, in a real browser.

Options:
  --out <folder>  default: docs/pictures
  -h, --help      display help
`

/** What a person may see of a page before they scroll; of a verdict, its argument too. */
const [WIDTH, HEIGHT, TALL] = [1_200, 850, 1_500]
const PHONE = { width: 390, height: 844 }
const QUALITY = 62
/** Longest wait for a page, in ms, on a machine that does much beside. */
const SLOW_MS = 120_000

/** WebP, which a browser makes and its driver does not. */
async function picture(context: BrowserContext, page: Page, file: string): Promise<void> {
  const session = await context.newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  writeFileSync(file, Buffer.from(data, 'base64'))
  await session.detach()
}

async function signedIn(browser: Browser, link: string) {
  const context = await browser.newContext({ viewport: { width: WIDTH, height: HEIGHT } })
  context.setDefaultTimeout(SLOW_MS)
  const page = await context.newPage()
  await page.goto(link)
  await page.getByRole('button', { name: 'Sign in here' }).click()
  await page.waitForURL('**/stories')
  await page.goto(new URL('/live', link).href)
  return { context, page }
}

async function takeAll(browser: Browser, folder: string): Promise<void> {
  const demo = await shownDemo({ GAVEL_REVIEW_AUDIT_SHARE: '1' })
  try {
    const own = new URL(demo.link).origin
    const { context, page } = await signedIn(browser, demo.link)
    await demo.stays
    await page.goto(`${own}/review`)
    await page.getByRole('button', { name: 'Take the next' }).click()
    await page.waitForURL('**/review/item*')
    const item = page.url().slice(own.length)
    const verdictOf = async (query: string, subject: string) => {
      await page.goto(`${own}/search?${query}`)
      return page.locator(`.row[data-subject="${subject}"] a.of`).first().getAttribute('href')
    }
    const rumor = (await verdictOf('q=Hafenbr%C3%BCcke&protocol=rumor', 'calvera-p4')) ?? ''
    const hate = (await verdictOf('q=lowtiders&protocol=hate', 'calvera-p13')) ?? ''
    const pages: readonly (readonly [string, string, { width: number; height: number }])[] = [
      ['live', '/live', { width: WIDTH, height: HEIGHT }],
      ['verdict', rumor, { width: WIDTH, height: TALL }],
      ['verdict-hate', hate, { width: WIDTH, height: TALL }],
      ['verdict-phone', rumor, PHONE],
      ['review', '/review', { width: WIDTH, height: HEIGHT }],
      ['review-item', item, { width: WIDTH, height: HEIGHT }],
      ['search', '/search?q=bridge', { width: WIDTH, height: HEIGHT }],
      ['health', '/health', { width: WIDTH, height: 500 }],
    ]
    const storageState = await context.storageState()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const [name, path, viewport] of pages) {
        const other = await browser.newContext({ viewport, colorScheme, storageState, reducedMotion: 'reduce' })
        other.setDefaultTimeout(SLOW_MS)
        const shown = await other.newPage()
        await shown.goto(own + path)
        await shown.locator('h1').first().waitFor()
        const file = join(folder, `console-${name}-${colorScheme}.webp`)
        await picture(other, shown, file)
        process.stdout.write(`${file}\n`)
        await other.close()
      }
  } finally {
    await demo.close()
  }
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(PROJECT, 'docs', 'pictures') },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help === true) process.stdout.write(HELP)
else {
  const browser = await aBrowser()
  if (browser === null) process.exitCode = 1
  else {
    mkdirSync(values.out, { recursive: true })
    await takeAll(browser, values.out).finally(() => browser.close())
  }
}
