import { parseHTML } from 'linkedom'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aVerdict } from '../support/verdicts.ts'
import { aBrowser, watchedPage } from './browser.ts'
import { aConsole } from './console-for-tests.ts'
import { servedConsole } from './served.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

const T0 = Date.parse('2026-03-01T00:00:00Z')
const PROTOCOLS = [
  ['rumor', 'non-rumor'],
  ['hate', 'non-hate'],
  ['safety', 'safe'],
] as const

it('twelve posts, each with all its verdicts in one row, stand in a window of 900 pixels', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedConsole()
  const judged = async (subjectId: string, protocol: string, label: string, revision = 1) => {
    const at = Date.now()
    const decidedAt = new Date(at).toISOString()
    const verdict = aVerdict(decidedAt, { subjectId, protocol, label, revision, final: false, degraded: ['x'] })
    const post = { id: subjectId, text: 'The bridge has fallen '.repeat(30), author: 'anna', lang: 'en', createdAt: at }
    const subject = { post, comments: [], leftOut: 0 }
    await console.topics.send('verdicts', subjectId, verdict, (at - T0) / 1000)
    const transcript = { schema: 1, verdictId: verdict.id, subject, turns: [], cut: [] }
    await console.topics.send('transcripts', subjectId, transcript, (at - T0) / 1000)
  }
  try {
    for (let n = 0; n < 14; n++) for (const [protocol, label] of PROTOCOLS) await judged(`p${n}`, protocol, label)
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: { width: 1200, height: 900 } })
    await page.goto(console.nextLink())
    const streaming = page.waitForResponse((response) => response.url().includes('/live/stream'))
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    const rows = page.locator('ol.rows > .row')
    expect(await rows.count()).toBe(14)
    expect(await rows.nth(11).locator('.found .label').allTextContents()).toEqual(['safe', 'non-hate', 'non-rumor'])
    const box = await rows.nth(11).boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 900)).toBeLessThanOrEqual(900)

    // A revision takes the place of the one before, in the row of its post, which comes first.
    await streaming
    await judged('p3', 'rumor', 'rumor', 2)
    await page.locator('.row.new[data-subject=p3]').waitFor()
    expect(await rows.count()).toBe(14)
    expect(await rows.first().locator('.found .label').allTextContents()).toEqual(['rumor', 'safe', 'non-hate'])

    // Words that may harm count as exposure once they are uncovered, also in a row that came by itself.
    const exposed = () => console.record.pictures.exposures({ since: 0 })
    await judged('harmful', 'hate', 'hate')
    const cover = page.locator('.row[data-subject=harmful] > details')
    await cover.waitFor()
    expect(await exposed()).toEqual([])
    await cover.locator('summary').click()
    await expect.poll(exposed, { timeout: 10_000 }).toMatchObject([{ person: 'anna', label: 'hate', uncovered: 1 }])

    // What another protocol says covers a post also where the page does not list that protocol.
    await page.goto(`${console.own}/live?protocol=rumor`)
    const shown = page.locator('.row[data-subject=p7]')
    expect([await shown.locator('details').count(), await shown.locator('.found').count()]).toEqual([0, 1])
    await judged('p7', 'hate', 'hate', 2)
    await shown.locator('details', { hasText: 'judged hate' }).waitFor()
    expect(await shown.locator('.found .label').allTextContents()).toEqual(['non-rumor'])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
})

it('tells by height and in a table what came in the last six hours, by quarter of an hour, of the tenant that is asked for', async () => {
  const console = await aConsole()
  console.pass(T0 + 7 * 3_600_000)
  const judged = (subjectId: string, hours: number, change: object = {}) => {
    const decidedAt = new Date(T0 + hours * 3_600_000).toISOString()
    const timing = {
      createdAt: decidedAt,
      receivedAt: decidedAt,
      openedAt: decidedAt,
      decidedAt,
      modelMs: 0,
      overheadMs: 0,
    }
    return console.judged({ verdict: { subjectId, timing, ...change } })
  }
  await judged('old', 0.5)
  await judged('a', 6.3, { models: { judge: 'm' } })
  await judged('b', 6.4, { label: 'non-rumor' })
  await judged('b', 6.4, { protocol: 'hate', label: 'hate' })
  await judged('c', 6.6)
  await judged('d', 6.6, { tenant: 'acme', label: 'unsafe', protocol: 'safety' })
  const cookie = await console.signedIn()
  const { document } = parseHTML((await console.page('/live?protocol=', cookie)).text)
  const figures = [...document.querySelectorAll('.small-figure')].map((figure) => ({
    caption: figure.querySelector('figcaption')?.textContent,
    heights: [...figure.querySelectorAll('rect')].map((bar) => Math.round(Number(bar.getAttribute('height')))),
  }))
  expect(figures.map(({ caption }) => caption)).toEqual([
    'Posts 4 max 2',
    'Verdicts 5 max 3',
    'Models split 20 % ',
    'rumor 2 max 1',
    'hate 1 max 1',
    'non-rumor 1 max 1',
    'other labels 1 max 1',
  ])
  // 24 quarters of an hour; the fourth last has three verdicts, the third last two.
  expect(figures[1]?.heights.length).toBe(24)
  expect(figures[1]?.heights.slice(-5)).toEqual([0, 33, 22, 0, 0])
  const cells = [...document.querySelectorAll('.strip tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map(({ textContent }) => textContent),
  )
  expect(cells).toEqual([
    ['2', '3', '33 %', '1', '1', '1', '0'],
    ['2', '2', '0 %', '1', '0', '0', '1'],
  ])
  const { text } = await console.page('/live?tenant=acme', cookie)
  expect(text).toContain('<strong>1</strong>')
  expect(text).not.toContain('non-rumor')
})
