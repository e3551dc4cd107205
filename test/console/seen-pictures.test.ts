import { createHash } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import { PermanentError } from '../../src/contracts/facts/errors.ts'
import type { Medium } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { imageLoader } from '../../src/models/images/images.ts'
import { drawnPng } from '../support/drawn.ts'
import { aVerdict } from '../support/verdicts.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from './browser.ts'
import { aTurn } from './console-for-tests.ts'
import { servedConsole } from './served.ts'

let browser: Browser | null = null
beforeAll(async () => {
  browser = await aBrowser()
}, 120_000)
afterAll(() => browser?.close())

const T0 = Date.parse('2026-03-01T12:00:00Z')
const at = (minutes: number) => new Date(T0 + minutes * 60_000).toISOString()
const BRIDGE = drawnPng(400, 300, (x, y) => [(x * 255) / 400, (y * 255) / 300, 128, 255])
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const HOST = 'https://images.example'

/** A console as `gavel console` serves it, over a record in memory; images come from a host that a test fills. */
async function served() {
  const decided: DecisionMessage[] = []
  const hosted = new Map<string, Buffer>()
  const real = imageLoader(loadSettings({}).images)
  const console = await servedConsole(() => ({
    async loadImage(url, signal) {
      if (!url.startsWith(HOST)) return real(url, signal)
      const bytes = hosted.get(url)
      if (bytes === undefined) throw new PermanentError('image', 'image download failed (status 404)')
      return real(`data:image/png;base64,${bytes.toString('base64')}`, signal)
    },
    decide: {
      async decide(message) {
        decided.push(message)
        return { of: '0@1', decided: null }
      },
    },
  }))
  const { topics } = console
  return {
    ...console,
    decided,
    hosted,
    link: console.nextLink(),
    /** A post with an image that models were shown, unless `judged` is null. */
    async judged(id: string, media: readonly Medium[], change: Partial<Verdict> = {}, judged: Buffer | null = BRIDGE) {
      const verdict = aVerdict(at(1), {
        subjectId: id,
        protocol: 'safety',
        label: null,
        decidedBy: 'none',
        degraded: ['1 of 1 images not seen'],
        ...change,
      })
      const post = { id, text: `zanzibar ${id}`, createdAt: T0, media }
      const images = media.flatMap(({ url }) => url ?? [])
      const shown = {
        messages: [{ role: 'user' as const, content: 'Q', images }],
        imageHashes: images.map(() => sha256(judged ?? BRIDGE)),
      }
      const turns = judged === null ? [] : [aTurn('describe', 'describer', { description: 'a bridge' }, shown)]
      await topics.send('verdicts', id, verdict, 60)
      const subject = { post, comments: [], leftOut: 0 }
      await topics.send('transcripts', id, { schema: 1, verdictId: verdict.id, subject, turns, cut: [] }, 60)
      return verdict.id
    },
  }
}
const image = (url: string): Medium => ({ kind: 'image', url })

/** How wide images are drawn, as the browser tells; 0: not at all. */
const WIDTHS = `[...document.querySelectorAll('img.seen')].map((one) => one.checkVisibility({ contentVisibilityAuto: true }) && one.complete ? one.naturalWidth : 0)`

/** The first picture has this width within seconds. The page's own policy forbids `waitForFunction`, which evaluates there. */
const drawsAt = (page: Page, width: number) =>
  expect.poll(async () => ((await page.evaluate(WIDTHS)) as number[])[0], { timeout: 20_000 }).toBe(width) // as: WIDTHS is a list of numbers

it('who decides sees the picture, under a cover that a key opens, and whether it is what was judged', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    console.hosted.set(`${HOST}/a`, BRIDGE)
    await console.judged('bridge', [image(`${HOST}/a`)])
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname + new URL(request.url()).search))
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.goto(`${console.own}/review`)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item?*')
    await page.getByText('The same bytes as were judged.').waitFor()
    // Covered: nothing but the cover has been loaded.
    expect(asked.filter((path) => path.startsWith('/picture?') && !path.includes('part=cover'))).toEqual([])
    expect(await page.evaluate(WIDTHS)).toEqual([0])
    expect(await page.getByText('zanzibar').isVisible()).toBe(false)
    expect(await barriersOn(page)).toEqual([])
    await page.keyboard.press('o')
    await page.getByText('zanzibar').waitFor()
    await page.keyboard.press('o')
    await drawsAt(page, 400)
    // The words stay beside it.
    expect(await page.getByText('zanzibar').isVisible()).toBe(true)
    expect(await barriersOn(page)).toEqual([])
    // Both are counted for who uncovered them: the words, and the picture.
    await expect
      .poll(() => console.record.pictures.exposures({ since: 0 }))
      .toEqual([{ person: 'anna', label: 'undecided', uncovered: 2, minutes: 1 }])
    await page.keyboard.press('1')
    await page.keyboard.press('w')
    await page.keyboard.type('I saw it.')
    await page.keyboard.press('Control+Enter')
    await page.waitForURL('**/review?*')
    expect(console.decided).toMatchObject([{ subjectId: 'bridge' }])
    expect(console.decided[0]).not.toHaveProperty('unseen')
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)

it('pictures stand in lists, small and covered, also of what comes while one looks, and count once uncovered', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  const harmless = { label: 'safe', decidedBy: 'consensus' } as const
  try {
    console.hosted.set(`${HOST}/a`, BRIDGE)
    await console.record.pictures.chooseCovers('anna', { covered: 'harmful', cover: 'blur', hover: true })
    await console.judged('first', [image(`${HOST}/a`), image(`${HOST}/gone`)], harmless, null)
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).search))
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    const first = page.locator('[data-subject=first]')
    await first.getByText('image not shown').waitFor()
    expect(await first.locator('.thumbs details').count()).toBe(1)
    expect((await first.locator('.thumbs').boundingBox())?.height).toBeLessThan(40)
    await console.judged('late', [image(`${HOST}/a`)], harmless, null)
    const late = page.locator('[data-subject=late] .thumbs details')
    await late.waitFor()
    const widthOf = (what: string) =>
      page.evaluate(`document.querySelector('[data-subject=late] ${what}')?.naturalWidth`)
    await expect.poll(() => widthOf('.cover img'), { timeout: 20_000 }).toBe(16)
    expect(asked.filter((one) => one.includes('n=0') && !one.includes('part=cover'))).toEqual([])
    expect(await console.record.pictures.exposures({ since: 0 })).toEqual([])
    expect(await barriersOn(page)).toEqual([])
    await late.locator('summary').hover()
    await expect.poll(() => widthOf('.seen'), { timeout: 20_000 }).toBe(400)
    expect(await page.getByAltText('Image', { exact: true }).isVisible()).toBe(true)
    expect(await barriersOn(page)).toEqual([])
    expect(await console.record.pictures.exposures({ since: 0 })).toMatchObject([{ label: 'unseen', uncovered: 1 }])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)

it('says of a picture that it has changed, is gone, refused or a program, and marks a decision on it', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    console.hosted.set(
      `${HOST}/other`,
      drawnPng(40, 30, () => [0, 90, 0, 255]),
    )
    const svg = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`
    const all = [`${HOST}/other`, `${HOST}/gone`, 'https://127.0.0.1/a', 'http://images.example/a', svg].map(image)
    const id = await console.judged('quay', [...all, { kind: 'image', alt: 'a quay' }])
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.phone, colorScheme: 'dark' })
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    await page.goto(`${console.own}/verdict?id=${encodeURIComponent(id)}`)
    const states = () => page.locator('figure .state').allTextContents()
    await expect.poll(async () => (await states()).filter((one) => one === ''), { timeout: 30_000 }).toEqual([])
    const said = [
      'It has changed since it was judged: this is another image.',
      'It can’t be shown: image download failed (status 404).',
      'It can’t be shown: at an address that is not public, or at a port other than 443.',
      'It can’t be shown: neither an https nor a data URL.',
      'It can’t be shown: not a PNG, JPEG, GIF or WebP image.',
      'It can’t be shown: its message gives no address.',
    ]
    expect(await states()).toEqual(said)
    expect(await page.locator('figure .state.bad').count()).toBe(said.length)
    await page.reload()
    expect(await states()).toEqual(said)
    expect(await page.locator('figure .hash').first().textContent()).toContain(
      sha256(console.hosted.get(`${HOST}/other`) ?? BRIDGE),
    )
    expect(await barriersOn(page)).toEqual([])
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect(wide).toBeLessThanOrEqual(SIZES.phone.width)
    await page.goto(`${console.own}/review`)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item?*')
    await page.getByText('A decision is marked so').waitFor()
    await page.keyboard.press('o')
    await page.keyboard.press('1')
    await page.keyboard.press('w')
    await page.keyboard.type('By its words.')
    await page.keyboard.press('Control+Enter')
    // Nobody has to look at what may harm; who does not is asked once whether they mean that.
    await page.getByText('a picture is still covered').waitFor()
    expect(console.decided).toEqual([])
    await page.keyboard.press('Control+Enter')
    await page.waitForURL('**/review?*')
    expect(console.decided).toMatchObject([{ subjectId: 'quay', unseen: true }])
    // Nobody has seen it is an answer, too.
    await console.judged('pier', [image(`${HOST}/gone`)])
    await page.goto(`${console.own}/review`)
    await page.keyboard.press('n')
    await page.waitForURL('**/review/item?*')
    await page.getByRole('button', { name: 'I could not see it' }).click()
    await page.waitForURL('**/review?*')
    expect(console.decided).toHaveLength(1)
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)

it('covers are as each person chose, and stay so', async (context) => {
  if (browser === null) return context.skip('no browser: see above')
  const console = await served()
  try {
    console.hosted.set(`${HOST}/a`, BRIDGE)
    const id = await console.judged('bridge', [image(`${HOST}/a`)], { label: 'safe', decidedBy: 'consensus' })
    const unseen = await console.judged('quay', [image(`${HOST}/a`)], { label: 'safe', decidedBy: 'consensus' }, null)
    const { page, wrong } = await watchedPage(browser, console.own, { viewport: SIZES.desktop })
    await page.goto(console.link)
    await page.getByRole('button', { name: 'Sign in here' }).click()
    await page.waitForURL('**/live')
    const covers = async (of: string) => {
      await page.goto(`${console.own}/verdict?id=${encodeURIComponent(of)}`)
      return page.locator('figure details.covered').count()
    }
    expect([await covers(id), await covers(unseen)]).toEqual([0, 1])
    await page.locator('details.who summary').click()
    await page.getByRole('button', { name: 'End all my sessions' }).click({ trial: true })
    await page.getByRole('link', { name: 'What is covered' }).click()
    await page.waitForURL('**/covers')
    expect(await barriersOn(page)).toEqual([])
    await page.getByRole('radio', { name: /every image/ }).check()
    await page.getByRole('radio', { name: /without colours/ }).check()
    await page.getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect(await covers(id)).toBe(1)
    expect(await page.locator('.cover.grey').count()).toBe(1)
    await page.locator('figure summary').hover()
    await drawsAt(page, 400)
    await page.mouse.move(0, 0)
    await drawsAt(page, 0)
    await page.goto(`${console.own}/covers`)
    await page.getByRole('radio', { name: 'nothing', exact: true }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    expect([await covers(id), await covers(unseen)]).toEqual([0, 0])
    expect(wrong).toEqual([])
  } finally {
    await console.close()
  }
}, 120_000)
