import type { Browser, Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
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

it('twenty items are decided by keys alone, in at most 45 chords, half of them overruled in own words, four with a reason', async (context) => {
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
      if (n % 2 === 0) {
        // Sooner after a page has come it confirms nothing.
        await page.waitForTimeout(650)
        await on('c')
      } else {
        const shown = await page.getByRole('radio', { name: 'current' }).getAttribute('data-key')
        await press(shown === '1' ? '2' : '1')
        if (n < 8) await press('d')
        await press('w')
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
    expect(overruled.filter(({ code }) => code === 'context')).toHaveLength(4)
    for (const { why, sawLabel } of overruled)
      expect([why, sawLabel]).toEqual([expect.stringMatching(/the city says so, ticket \d+$/), true])
    // Where nobody decides a stray key undoes nothing.
    await page.goto(`${console.own}/live`)
    await page.keyboard.press('u')
    await page.waitForURL('**/review/mine')
    expect(console.decided).toHaveLength(20)
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)

it('keys mean the framed part of a post alone, and confirm nothing that is blind, covered, held down or just come', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue({ ...PLAIN, GAVEL_REVIEW_BLIND_SHARE: '1' })
  try {
    const decision = { by: 'ben', against: null, of: '0@0' }
    await console.judged({ id: 'p', text: 'a claim' }, { ...DOUBTFUL, protocol: 'hate', label: 'hate' })
    await console.judged({ id: 'p', text: 'a claim' }, { decidedBy: 'human', label: 'rumor', decision })
    const { page, wrong } = await atTheQueue(browser, console)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item*')
    const [hate, rumor] = [page.locator('section.judged').nth(0), page.locator('section.judged').nth(1)]
    expect([await hate.locator('h2').first().textContent(), await rumor.locator('h2').first().textContent()]).toEqual([
      expect.stringContaining('hate'),
      expect.stringContaining('rumor'),
    ])
    const isFramed = (one: Locator) => one.evaluate((section) => section.matches('.reached'))
    const chosen = (one: Locator) => one.locator('input:checked').count()
    expect([await isFramed(hate), await isFramed(rumor)]).toEqual([true, false])
    await page.waitForTimeout(650)
    await page.keyboard.press('c')
    expect(await hate.getByRole('status').textContent()).toContain('the post is still covered')
    // Nor by a button, or by the way in which any form is sent.
    const reason = () => hate.getByRole('status').evaluate((one) => one.textContent)
    const clear = () => hate.getByRole('status').evaluate((one) => one.replaceChildren())
    for (const send of [
      () => hate.getByRole('button', { name: 'Confirm this label' }).click(),
      async () => {
        await hate.getByRole('radio').first().check()
        await page.keyboard.press('Control+Enter')
      },
    ]) {
      await clear()
      await send()
      expect(await reason()).toContain('the post is still covered')
    }
    await hate
      .getByRole('radio')
      .first()
      .evaluate((one) => Object.assign(one, { checked: false }))
    await page.keyboard.press('o')
    await page.locator('.post details.covered[data-seen]').waitFor()
    await page.keyboard.press('j')
    expect([await isFramed(hate), await isFramed(rumor)]).toEqual([false, true])
    await page.keyboard.press('c')
    expect(await rumor.getByRole('status').textContent()).toContain('no label is shown here')
    // A reason is no label, and leads nowhere: what is pressed next is a key as well.
    await page.keyboard.press('d')
    await page.keyboard.press('i')
    expect([await chosen(hate), await chosen(rumor)]).toEqual([0, 1])
    await page.keyboard.press('2')
    expect([await chosen(hate), await chosen(rumor)]).toEqual([0, 2])
    expect(await rumor.getByRole('textbox').inputValue()).toBe('')
    await page.keyboard.press('k')
    await page.keyboard.press('d')
    expect([await chosen(hate), await chosen(rumor)]).toEqual([1, 2])
    await page.locator('body').dispatchEvent('keydown', { key: 'c', bubbles: true, repeat: true })
    // As it has come, and though its post was seen.
    const early = `document.querySelector('.post details').dataset.seen = 'yes'; document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'c', bubbles: true }))`
    await page.addInitScript({ content: `document.addEventListener('DOMContentLoaded', () => { ${early} })` })
    await page.reload()
    await page.waitForTimeout(650)
    expect(console.decided).toEqual([])
    await page.keyboard.press('c')
    await page.getByRole('status').filter({ hasText: 'Decided' }).waitFor()
    expect(console.decided).toMatchObject([{ protocol: 'hate', label: 'hate' }])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)

it('a batch of copies is one decision; one that somebody else decided meanwhile is named, and the others go through', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue(PLAIN)
  try {
    const words = [
      'The bridge has fallen.',
      'THE BRIDGE has fallen!',
      'the bridge has  fallen',
      '@lena The bridge has fallen',
    ]
    for (const [n, text] of words.entries())
      await console.judged(
        { id: `p${n}`, text, author: `writer ${n}` },
        { ...DOUBTFUL, label: n === 3 ? 'non-rumor' : 'rumor' },
      )
    const { page, wrong } = await atTheQueue(browser, console)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item*')
    const group = page.getByRole('group', { name: /3 copies in the same words/ })
    expect(await group.getByRole('checkbox', { checked: true }).count()).toBe(3)
    expect(await group.textContent()).toContain('Its label is another')
    expect(await barriersOn(page)).toEqual([])
    const own = decodeURIComponent(new URL(page.url()).searchParams.get('id') ?? '').split('~')[1] ?? ''
    const others = ['p0', 'p1', 'p2', 'p3'].filter((id) => id !== own)
    // Somebody else is faster with one of them; one is left out.
    const taken = others[0] ?? ''
    const id = `rumor~${taken}~r1`
    await console.record.review.reserve(id, { for: 'ben' }, Date.now() + 60_000, Date.now())
    await group.getByRole('checkbox', { name: others[1] ?? '' }).uncheck()
    // Keys go on from there.
    await page.keyboard.press('2')
    expect(await page.getByRole('radio', { name: /^2 non-rumor/ }).isChecked()).toBe(true)
    await page.getByRole('radio', { name: /irony/ }).check()
    await page.getByRole('textbox', { name: 'In your own words' }).fill('it is from a film')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'Not all copies were decided' }).waitFor()
    expect(await page.locator('main li').allTextContents()).toEqual([expect.stringContaining('Somebody else')])
    expect(await barriersOn(page)).toEqual([])
    expect(console.decided.map(({ subjectId }) => subjectId).toSorted()).toEqual([own, others[2] ?? ''].toSorted())
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)

it('the words of copies, and those that a clause cites, are covered as their post is', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue(PLAIN)
  try {
    const policy = { name: 'harassment', version: '1', hash: 'h' }
    const cited = { policy, clauses: [{ id: 'H1', quote: 'hurtful words' }] }
    for (const id of ['p0', 'p1'])
      await console.judged(
        { id, text: 'such hurtful words', author: `writer ${id}` },
        { ...DOUBTFUL, ...cited, protocol: 'hate', label: 'hate' },
      )
    const { page, wrong } = await atTheQueue(browser, console)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item*')
    await page.locator('.judged summary', { hasText: 'Why' }).first().click()
    const said = page.getByText('hurtful words')
    const seen = () => said.filter({ visible: true }).count()
    expect([await said.count(), await seen()]).toEqual([3, 0])
    // A copy that nobody has seen is not decided with the post.
    const ticked = () => page.getByRole('checkbox', { name: /^p\d$/, checked: true }).count()
    expect(await ticked()).toBe(0)
    for (let nth = 0; nth < 3; nth++) {
      await page.keyboard.press('o')
      await said.nth(nth).waitFor({ state: 'visible' })
      // The post's own words stay beside each.
      expect(await seen()).toBe(nth === 0 ? 1 : 2)
    }
    expect(await ticked()).toBe(1)
    expect(await barriersOn(page)).toEqual([])
    await page.goto(`${console.own}/verdict?id=hate~p0~r1`)
    expect([await page.locator('main q').count(), await seen()]).toEqual([1, 0])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)

it('the queue is filtered by words and languages of every script, and nobody is kept from its pages', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue(PLAIN)
  try {
    await console.judged({ id: 'en', text: 'The bridge has fallen', lang: 'en' }, DOUBTFUL)
    await console.judged({ id: 'ko', text: '도서관이 불타고 있다고 합니다', lang: 'ko' }, DOUBTFUL)
    await console.judged({ id: 'ar', text: 'المكتبة تحترق الآن', lang: 'ar' }, DOUBTFUL, ['نعم', 'لا'])
    await console.judged(
      { id: 'ar', text: 'المكتبة تحترق الآن', lang: 'ar' },
      { protocol: 'hate', label: null, decidedBy: 'none' },
    )
    const { page, wrong } = await atTheQueue(browser, console)
    const shown = () => page.locator('ol.rows > li').allTextContents()
    for (const [words, found] of [
      ['불타고', '도서관이'],
      ['تحترق', 'المكتبة'],
    ] as const) {
      await page.goto(`${console.own}/review`)
      await page.locator('form.search summary').click()
      await page.getByRole('searchbox').fill(words)
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.waitForURL('**/review?*')
      expect(await shown()).toEqual([expect.stringContaining(found)])
    }
    // Right to left stands right.
    await page.locator('details.covered summary').click()
    const box = await page.locator('.row-words').boundingBox()
    const text = await page.locator('.row-words bdi').boundingBox()
    expect((text?.x ?? 0) + (text?.width ?? 0)).toBeGreaterThan((box?.x ?? 0) + (box?.width ?? 0) - 5)
    await page.goto(`${console.own}/review?lang=ko`)
    expect(await shown()).toHaveLength(1)
    await page.goto(`${console.own}/review?lang=xx`)
    expect(await page.locator('main').textContent()).toContain('Nothing that waits fits these filters')
    await page.goto(`${console.own}/review`)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('t')
    await page.waitForURL('**/review/item*')
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 90_000)

it('a golden item is answered like a second opinion; who makes one is never asked it', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await servedQueue({ ...PLAIN, GAVEL_REVIEW_SHARES_GOLDEN: '1', GAVEL_REVIEW_BLIND_SHARE: '0' })
  try {
    const decision = { by: 'ben', against: null, of: '0@0' }
    const human = (id: string) =>
      console.judged({ id, text: `claim ${id}` }, { decidedBy: 'human', label: 'rumor', decision })
    await human('own')
    await console.judged({ id: 'other', text: 'claim other' }, DOUBTFUL)
    const { page, wrong } = await atTheQueue(browser, console)
    await page.goto(`${console.own}/verdict?id=rumor~own~r1`)
    // It comes after they have looked at Live, which would have shown them its label.
    await human('theirs')
    const key = { protocol: 'rumor', against: 1, label: 'rumor', why: 'w', opinion: true, golden: 'key', by: 'lea' }
    await console.topics.send('decisions', 'theirs', { subjectId: 'theirs', ...key, at: '2026-03-01T12:03:00Z' }, 180)
    await page.getByText('Make a golden item').click()
    expect(await barriersOn(page)).toEqual([])
    await page.getByRole('button', { name: 'Hold this label to be right' }).click()
    await page.getByRole('status').filter({ hasText: 'it is a golden item' }).waitFor()
    expect(await page.getByText('Make a golden item').count()).toBe(0)
    // Of what waits it is none.
    await page.goto(`${console.own}/review?show=any`)
    expect(await page.locator('main').textContent()).toContain('1 post waits.')
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'A second opinion' }).waitFor()
    expect(await page.content()).not.toMatch(/golden/i)
    expect(await page.locator('main').textContent()).toContain('claim theirs')
    await page.getByRole('radio', { name: /non-rumor/ }).check()
    await page.getByRole('radio', { name: /irony/ }).check()
    await page.getByRole('textbox', { name: 'In your own words' }).fill('as it seems to me')
    await page.getByRole('button', { name: 'Decide' }).click()
    // The key that they made themselves is not for them.
    await page.locator('main').filter({ hasText: 'claim other' }).waitFor()
    expect(console.decided.map(({ subjectId, golden, label }) => [subjectId, golden, label])).toEqual([
      ['own', 'key', 'rumor'],
      ['theirs', 'answer', 'non-rumor'],
    ])
    await page.goto(`${console.own}/verdict?id=rumor~theirs~r1`)
    const told = await page.locator('main').textContent()
    expect(told).toContain('as it seems to me')
    expect(told).not.toMatch(/\blea\b|golden item,/)
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 60_000)
