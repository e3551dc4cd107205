import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Settings } from '../../config/schema.ts'
import { topicsOf } from '../../config/topics.ts'
import { produce } from '../../src/app/commands/produce.ts'
import { readingClient } from '../../src/app/commands/reading-client.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from '../console/browser.ts'
import { shownDemo } from '../console/shown-demo.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'

const QUIET = { out() {}, say() {}, progress() {} }
/** Everything that a machine decides is drawn for audit, so that ten wait for people. */
const ENVIRONMENT = { GAVEL_REVIEW_AUDIT_SHARE: '1' }
const LONG = { timeout: 120_000 }
/** In Korean, German and Arabic: words of comments and of a post of the demo's. */
const SEARCHES = [
  ['Korean', '변전소'],
  ['German', 'Hafenbrücke'],
  ['Arabic', 'الصوت'],
] as const

let browser: Awaited<ReturnType<typeof aBrowser>> = null
beforeAll(async () => {
  browser = await aBrowser()
}, 600_000)
afterAll(() => browser?.close())

/** The records of the topic of verdicts, as any consumer reads them. */
async function verdictsOn(settings: Settings): Promise<Verdict[]> {
  const all: Verdict[] = []
  await readTopic(
    await readingClient(settings, QUIET),
    topicsOf(settings).verdicts,
    { follow: false, signal: new AbortController().signal },
    ({ message }) => {
      all.push(verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
    },
  )
  return all
}

async function lastOn(settings: Settings, subjectId: string): Promise<Verdict | undefined> {
  const all = await verdictsOn(settings)
  return all.filter((one) => one.protocol === 'rumor' && one.subjectId === subjectId).at(-1)
}

async function overrule(page: Page, own: string): Promise<void> {
  await page.goto(`${own}/search?q=BOMB&protocol=rumor`)
  await page.locator('.row[data-subject="calvera-p3"] a.of').first().click()
  await page.getByRole('heading', { name: 'The argument' }).waitFor(LONG)
  expect(await page.locator('.says, .voice, .chip').count()).toBeGreaterThan(4)
  await page.keyboard.press('2')
  await page.keyboard.press('w')
  await page.keyboard.type('Confirmed by the fire service, ticket 88')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('status').filter({ hasText: 'Decided: this verdict is current' }).waitFor(LONG)
}

/** One item of the queue after the other, without a mouse. */
async function reviewed(page: Page, own: string, wanted: number): Promise<number> {
  await page.goto(`${own}/review`)
  await page.keyboard.press('n')
  await page.waitForURL('**/review/item*', LONG)
  for (let done = 0; ; done++) {
    if (done === wanted || !page.url().includes('/review/item')) return done
    const was = page.url()
    await page.keyboard.press('1')
    await page.keyboard.press('w')
    await page.keyboard.type(`looked at, ${done}`)
    await page.keyboard.press('Control+Enter')
    await page.waitForURL((url) => url.href !== was, LONG)
  }
}

it('the demo is watched live, and a verdict of it read, overruled, contradicted by a machine and withdrawn, in a real browser', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const demo = await shownDemo(ENVIRONMENT)
  try {
    const own = new URL(demo.link).origin
    const { page, wrong, context: tab } = await watchedPage(browser, own, { viewport: SIZES.desktop })
    tab.setDefaultTimeout(LONG.timeout)
    await page.goto(demo.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/stories')
    await page.goto(`${own}/live`)
    expect(await page.locator('.stand-in').textContent()).toContain('not a language model')
    const before = await page.locator('.row').count()
    await page.locator('.row.new').nth(9).waitFor(LONG)
    tell(`live: ${before} rows when the page was opened, ${await page.locator('.row.new').count()} came while it was`)
    const settings = await demo.stays

    await overrule(page, own)
    const human = await lastOn(settings, 'calvera-p3')
    expect(human).toMatchObject({
      decidedBy: 'human',
      label: 'non-rumor',
      rationale: 'Confirmed by the fire service, ticket 88',
    })
    tell(`overruled: ${human?.id} says ${human?.label}, by ${human?.decision?.by}, on ${topicsOf(settings).verdicts}`)

    const file = join(ownFolder('late-comment'), 'late.jsonl')
    const late = {
      type: 'comment',
      id: 'late-1',
      postId: 'calvera-p3',
      author: 'late_lou',
      createdAt: '2025-10-18T18:20:00.000Z',
    }
    await writeFile(
      file,
      `${JSON.stringify({ ...late, text: 'True: I saw the bomb myself, two dead dockers, confirmed' })}\n`,
    )
    const sent = await produce(
      settings,
      { file, format: 'gavel' },
      { kind: 'flat-out' },
      { terminal: QUIET, signal: new AbortController().signal },
    )
    expect(sent.comments).toBe(1)
    await page.locator('.news').filter({ hasText: 'came' }).waitFor(LONG)
    await page.locator('.news a').click()
    await page.locator('.headline').filter({ hasText: 'A machine now says' }).waitFor(LONG)
    tell(`proposal: ${await page.locator('.headline .notice').last().textContent()}`)

    await page.locator('.decide details summary').click()
    await page.locator('.decide details textarea').fill('ticket 88 is about another port')
    await page.getByRole('button', { name: 'Withdraw', exact: true }).click()
    await page.getByRole('status').filter({ hasText: 'Withdrawn' }).waitFor(LONG)
    const machine = await lastOn(settings, 'calvera-p3')
    expect(machine?.restored?.by).toBe(human?.decision?.by)
    tell(`withdrawn: ${machine?.id} says ${machine?.label}, restored from ${machine?.restored?.from}`)

    const done = await reviewed(page, own, 10)
    tell(`review: ${done} items by keys alone`)
    expect(done).toBe(10)

    for (const [language, word] of SEARCHES) {
      await page.goto(`${own}/search?${new URLSearchParams({ q: word })}`)
      const found = await page.locator('.row').count()
      tell(`search in ${language}: ${word}: ${found} verdicts`)
      expect(found).toBeGreaterThan(0)
    }
    expect(wrong).toEqual([])
    await page.goto(`${own}/review`)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item*', LONG)
    const item = page.url().slice(own.length)
    const state = await tab.storageState()
    for (const [size, viewport] of Object.entries(SIZES))
      for (const colorScheme of ['light', 'dark'] as const) {
        const other = await watchedPage(browser, own, { viewport, colorScheme, storageState: state })
        other.context.setDefaultTimeout(LONG.timeout)
        const id = encodeURIComponent(machine?.id ?? '')
        const paths = [
          '/live',
          '/search?q=bridge',
          `/verdict?id=${id}`,
          `/thread?id=${id}`,
          '/review',
          item,
          '/health',
          '/quality',
          '/sign-in',
        ]
        for (const path of paths) {
          await other.page.goto(own + path)
          expect(await barriersOn(other.page), `${path} ${size} ${colorScheme}`).toEqual([])
          const wide = await other.page.evaluate<number>('document.documentElement.scrollWidth')
          expect(wide, `${path} ${size}`).toBeLessThanOrEqual(viewport.width)
        }
        expect(other.wrong).toEqual([])
        tell(`axe: nothing on ${paths.length} pages, ${size}, ${colorScheme}`)
        await other.context.close()
      }
  } finally {
    await demo.close()
  }
}, 900_000)
