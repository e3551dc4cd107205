import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findOrInstall } from '../../src/kit/stack/servers/apt.ts'

const PROGRAM = {
  what: 'Chromium',
  names: ['chromium', 'chromium-browser', 'google-chrome'],
  packageName: 'chromium',
  service: 'chromium',
  ways: ['install Chromium: apt-get install chromium', 'run as root on Debian or Ubuntu: it is then installed'],
} as const

/** A real browser; null, which is said, where there is none and none can be installed. */
export async function aBrowser(): Promise<Browser | null> {
  try {
    const executablePath = await findOrInstall(
      PROGRAM,
      { aptAllowed: process.env.CI !== undefined || process.getuid?.() === 0 },
      say,
    )
    return await chromium.launch({
      executablePath,
      chromiumSandbox: false,
      args: ['--disable-background-networking', '--no-first-run'],
    })
  } catch (error) {
    say(`SKIPPED, nothing was tried in a browser: ${String(error)}`)
    return null
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

export const SIZES = { desktop: { width: 1200, height: 850 }, phone: { width: 390, height: 844 } } as const

/** A page that notes whatever should not happen in one: errors, dialogs, what the policy blocks, requests to elsewhere. */
export async function watchedPage(browser: Browser, own: string, options: BrowserContextOptions) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', ({ message }) => wrong.push(`error: ${message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (401|403|404|409|410)/.test(message.text()))
      wrong.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`)
    return dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(own)) wrong.push(`request: ${request.url()}`)
    if (new URL(request.url()).pathname === '/csp') wrong.push('a report of the policy')
  })
  return { context, page, wrong }
}

/** What axe finds that keeps people from using the page; by these of its rules alone, if any are named. */
export async function barriersOn(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source)
  const found = await page.evaluate(async (only) => {
    // This runs in the page, where the script above has set it.
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>
      }
    }
    const options = { resultTypes: ['violations'], ...(only.length === 0 ? {} : { runOnly: only }) }
    const { violations } = await axe.run(options)
    return violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html ?? '' }))
  }, rules)
  return found.map(({ id, impact, html }) => `${impact} ${id}: ${html.slice(0, 160)}`)
}
