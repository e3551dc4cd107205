import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { aVerdict } from '../support/verdicts.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
import { aTurn } from './console-for-tests.ts'
import { MARKUP_ATTACKS } from './markup-attacks.ts'
import { servedConsole } from './served.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

const T0 = Date.parse('2026-03-01T12:00:00Z')

/** A console as `gavel console` serves it, over a record in memory that a test writes. */
async function served() {
  const decided: DecisionMessage[] = []
  const at = (minutes: number) => new Date(T0 + minutes * 60_000).toISOString()
  const console = await servedConsole(({ topics }) => ({
    decide: {
      async decide(message) {
        decided.push(message)
        const change = { decidedBy: 'human' as const, rationale: message.why, label: message.label ?? null }
        const verdict = aVerdict(at(9), {
          subjectId: message.subjectId,
          revision: 9,
          ...change,
          decision: { by: message.by, against: null, of: '0@1' },
        })
        await topics.send('verdicts', message.subjectId, verdict, 600)
        return { of: '0@1', decided: { outcome: 'stands', verdict: verdict.id } }
      },
    },
  }))
  const { topics } = console
  const judged = async (
    subjectId: string,
    revision: number,
    text: string,
    comments: readonly string[] = [],
    change: Partial<Verdict> = {},
  ) => {
    const ids = comments.map((_, n) => `${subjectId}-c${n}`)
    const verdict = aVerdict(at(revision), {
      subjectId,
      revision,
      rationale: `why ${text}`,
      degraded: [text],
      final: false,
      ...change,
      supersedes: revision === 1 ? null : `rumor~${subjectId}~r${revision - 1}`,
      evidence: { support: ids.slice(0, 1), oppose: ids.slice(1), precedents: [] },
    })
    const createdAt = T0
    const subject = {
      post: { id: subjectId, text, author: text, createdAt, lang: 'en' },
      comments: comments.map((one, n) => ({ id: ids[n], text: one, author: one.slice(0, 20), createdAt: T0 + n })),
      leftOut: 0,
    }
    const turns = [
      aTurn(
        'stance',
        'scorer',
        { scores: ids.map((_, n) => ({ comment: n + 1, reason: text, score: n === 0 ? 0.8 : -0.6 })) },
        { about: ids },
      ),
      aTurn('opinion', 'debater (support)', { reasoning: `${text} ${comments[0] ?? ''}`, answer: 'Real' }),
      aTurn('opinion', 'debater (oppose)', { reasoning: text, answer: 'Fake' }),
    ]
    await topics.send('verdicts', subjectId, verdict, revision * 60)
    await topics.send(
      'transcripts',
      subjectId,
      { schema: 1, verdictId: verdict.id, subject, turns, cut: [] },
      revision * 60,
    )
    return verdict
  }
  return { ...console, judged, decided, link: console.nextLink() }
}

it('somebody signs in, sees a verdict come, reads its argument and overrules it', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    await console.judged('bridge', 1, 'The bridge has fallen', ['I am on the bridge right now', 'No, it stands'])
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(`${console.own}/verdict?id=rumor~bridge~r1`)
    expect(await page.getByRole('heading').allTextContents()).toEqual(['Sign in'])
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    // The page that was asked for.
    await page.waitForURL('**/verdict?id=rumor~bridge~r1')
    const streaming = page.waitForResponse((response) => response.url().includes('/live/stream'))
    await page.goto(`${console.own}/live`)

    // What arrives is shown without loading the page again, its words as text.
    await streaming
    for (const [at, attack] of MARKUP_ATTACKS.entries()) await console.judged(`attack${at}`, 1, attack, [attack])
    await console.judged('bridge', 2, 'The bridge has fallen', [
      'I am on the bridge right now',
      'No, it stands',
      'Me too',
    ])
    await page.locator('.row.new', { hasText: 'The bridge has fallen' }).waitFor()
    // What another protocol finds hateful is hidden in the rows that are there already.
    await console.judged('quay', 1, 'They are all vermin')
    const quay = page.locator('.row[data-subject=quay]')
    await quay.locator(':scope > p.row-words').waitFor()
    await console.judged('quay', 1, 'They are all vermin', [], { protocol: 'hate', label: 'hate' })
    await quay.locator(':scope > details:not([open])').waitFor({ state: 'attached' })
    expect(await quay.locator('.found .label').allTextContents()).toEqual(['hate', 'rumor'])
    expect(await barriersOn(page)).toEqual([])

    await page.locator('.row', { hasText: 'The bridge has fallen' }).getByRole('link').first().click()
    await page.waitForURL('**/verdict?id=*')
    await page
      .getByRole('link', { name: /I am on the bridge/ })
      .first()
      .click()
    expect(new URL(page.url()).hash).toBe('#c0')
    expect(await page.locator('#c0').textContent()).toContain('+0.8')
    expect(await page.locator('#since').textContent()).toBe('Since the revision before')

    // By keys alone.
    await page.keyboard.press('2')
    await page.keyboard.press('w')
    await page.keyboard.type('I called the city: it stands. 1 w')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').filter({ hasText: 'Decided' }).waitFor()
    expect(console.decided).toMatchObject([
      { subjectId: 'bridge', label: 'non-rumor', by: 'anna', against: 2, why: 'I called the city: it stands. 1 w' },
    ])
    expect(await page.locator('h1').textContent()).toContain('non-rumor')
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)

it('what was written when the session had ended is sent after signing in again', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    await console.judged('bridge', 1, 'The bridge has fallen')
    const { page, wrong, context: tab } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    const signIn = async (at: typeof page, link: string) => {
      await at.goto(link)
      await at.getByRole('button', { name: 'Sign in here' }).click()
      await at.waitForURL('**/live')
    }
    await signIn(page, console.link)
    await page.goto(`${console.own}/verdict?id=rumor~bridge~r1`)
    await page.getByRole('radio', { name: 'non-rumor' }).check()
    await page.locator('textarea[name=why]').fill('I called the city, and it stands.')
    await tab.clearCookies()
    await page.locator('form[action="/decide"] button.main').click()
    await page.getByRole('heading', { name: 'Not sent yet' }).waitFor()
    expect(await barriersOn(page)).toEqual([])
    const other = await tab.newPage()
    await signIn(other, console.nextLink())
    await other.close()
    await page.reload()
    expect(await page.locator('main').textContent()).toContain('I called the city, and it stands.')
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('status').filter({ hasText: 'Decided' }).waitFor()
    expect(console.decided).toMatchObject([
      { label: 'non-rumor', why: 'I called the city, and it stands.', by: 'anna' },
    ])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
})

it('words of strangers do nothing on any page, and pages are read without script', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    for (const [at, attack] of MARKUP_ATTACKS.entries()) await console.judged(`p${at}`, 1, attack, [attack, attack])
    const { page, wrong, context: tab } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    for (const [at, attack] of MARKUP_ATTACKS.entries()) {
      // Each of them was in Live; every page of every one is read in `pages.test.ts`.
      if (at % 3 !== 0) continue
      await page.goto(`${console.own}/verdict?id=rumor~p${at}~r1`)
      if (at % 6 === 0)
        await page.goto(
          `${console.own}/search?${new URLSearchParams({ q: attack.toWellFormed(), author: attack.toWellFormed() })}`,
        )
    }
    expect(wrong).toEqual([])
    const still = await watchedPage(browser, console.own, {
      javaScriptEnabled: false,
      storageState: await tab.storageState(),
    })
    await still.page.goto(`${console.own}/live`)
    await still.page.getByRole('link', { name: 'rumor' }).first().click()
    expect(await still.page.locator('h2').allTextContents()).toContain('The argument')
    await still.page.getByLabel('non-rumor').check()
    await still.page.getByRole('textbox', { name: /^Why/ }).fill('because')
    await still.page.getByRole('button', { name: 'Decide' }).click()
    expect(console.decided).toMatchObject([{ why: 'because', by: 'anna' }])
  } finally {
    await console.close()
  }
}, 120_000)
