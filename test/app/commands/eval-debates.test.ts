import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseHTML } from 'linkedom'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { debateSpool } from '../../../src/lab/commands/eval/debate-pages.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { aBrowser, barriersOn, SIZES, watchedPage } from '../../console/browser.ts'
import { MARKUP_ATTACKS } from '../../console/markup-attacks.ts'
import { commandHere } from '../../support/commands.ts'

// The debates of an evaluation's items as pages beside its report, opened without a server.

const folder = mkdtempSync(join(tmpdir(), 'gavel-eval-debates-'))
const report = join(folder, 'report')
const PEOPLE = ['hate', 'non-hate']
const POSTS = Array.from({ length: 12 }, (_, at) => ({
  id: `p${at}`,
  // Of the last two people say the contrary of what words show.
  label: PEOPLE[(at + (at < 10 ? 0 : 1)) % 2],
  text: `${at % 2 === 0 ? `number ${at}: they are vermin and scum` : `number ${at}: a quiet day in the garden`}${
    at === 10 ? ` ${MARKUP_ATTACKS.join(' ')}` : ''
  }`,
}))
const HOSTILE_ID = `id"><img src=x onerror=alert(1)>`
let understudy: Understudy
let browser: Browser | null
let evaluation: Evaluation
let files: string[]
beforeAll(async () => {
  understudy = await startUnderstudy()
  browser = await aBrowser()
  const data = join(folder, 'posts.jsonl')
  const lines = POSTS.map((post, at) => (at === 11 ? { ...post, id: HOSTILE_ID } : post))
  writeFileSync(data, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const settings = join(folder, 'always.yaml')
  writeFileSync(settings, 'protocols: { hate: { debateWhen: always } }\n')
  // A foreign system that contradicts itself everywhere has no debates, and draws no item in.
  const guard = join(folder, 'guard.jsonl')
  const guesses = lines.flatMap(({ id }) => PEOPLE.map((label, repeat) => JSON.stringify({ id, repeat, label })))
  writeFileSync(guard, guesses.join('\n'))
  const rows = [
    '--predictions',
    `Guard=${guard}`,
    '--with',
    `always=${settings}`,
    '--only',
    'hate',
    '--only',
    'zero-shot',
    '--only',
    'always',
  ]
  const args = ['eval', '--protocol', 'hate', '--data', data, ...rows, '--repeat', '2', '--json']
  const { out, said } = await commandHere([...args, '--report', report, '--debates', '5'], understudy.settings)
  if (out === '') throw new Error(said)
  evaluation = JSON.parse(out)
  files = readdirSync(join(report, 'debates')).sort()
})
afterAll(async () => {
  await browser?.close()
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})

type Page = ReturnType<typeof parseHTML>['document']
const parsed = new Map<string, Page>()
function pageOf(name: string): Page {
  const page = parsed.get(name) ?? parseHTML(readFileSync(join(report, name), 'utf8')).document
  parsed.set(name, page)
  return page
}
const pageAbout = (id: string) =>
  files.map((name) => `debates/${name}`).find((name) => pageOf(name).querySelector('h1')?.textContent?.includes(id)) ??
  ''

it('so many items have a page, those first that its rows judge other than people say, with every turn and prompt of each run', () => {
  expect(files).toEqual(['0001.html', '0002.html', '0003.html', '0004.html', '0005.html'])
  const debated = evaluation.table.filter(({ row }) => row !== 'Guard')
  const wrong = new Set(
    debated.flatMap(({ outcomes }) => outcomes.flatMap(({ id, gold, label }) => (label === gold ? [] : [id]))),
  )
  expect([...wrong].sort()).toEqual([HOSTILE_ID, 'p10'])
  const first = files.slice(0, 2).map((name) => pageOf(`debates/${name}`).querySelector('h1')?.textContent)
  expect(first.join(' ')).toContain('p10')
  expect(first.join(' ')).toContain(HOSTILE_ID)
  const page = pageOf(pageAbout('p10'))
  const runs = [...page.querySelectorAll('.run')]
  const names = ['hate', 'zero-shot', 'always'].flatMap((row) => [1, 2].map((repeat) => `${row} (repeat ${repeat})`))
  expect(runs.map((run) => run.querySelector('h2')?.textContent?.split(':')[0])).toEqual(names)
  // Of each of its calls a turn, with what was asked and what came back.
  for (const [at, run] of runs.entries()) {
    const { outcomes = [] } = evaluation.table[Math.floor(at / 2)] ?? {}
    const outcome = outcomes.find(({ id, repeat = 1 }) => id === 'p10' && repeat === (at % 2) + 1)
    const turns = [...run.querySelectorAll('details')].filter((one) => one.querySelector('pre') !== null)
    expect(turns.length).toBeGreaterThanOrEqual(outcome?.usage.calls ?? 1)
    for (const turn of turns) expect(turn.textContent).toContain('number 10: they are vermin')
    expect(run.textContent).toContain(outcome?.rationale.slice(0, 40))
  }
  // The debate stands in two columns only where it was held.
  expect(runs.map((run) => run.querySelectorAll('.columns .speech').length > 0)).toEqual([
    ...[false, false, false, false],
    ...[true, true],
  ])
})

it('report and list of items link to each debate, and the list shows those on which judgings differ', () => {
  const items = pageOf('items.html')
  const links = [...items.querySelectorAll('tbody a')].map((link) => link.getAttribute('href') ?? '')
  expect(links).toHaveLength(5 * 6)
  for (const link of links) {
    const [file = '', run = ''] = link.split('#')
    expect(existsSync(join(report, file))).toBe(true)
    expect(pageOf(file).getElementById(run)).not.toBeNull()
  }
  const told = [...pageOf('report.html').querySelectorAll('.case a')].map((link) => link.getAttribute('href'))
  // The first that the report names have the first pages.
  expect(told.map((link) => link?.split('#')[0])).toEqual(['debates/0001.html', 'debates/0002.html'])
  expect(pageOf('report.html').querySelector('a[href="items.html"]')).not.toBeNull()
  const cells = [...items.querySelectorAll('tbody tr')].map(({ children }) => children[3]?.textContent)
  expect([...new Set(cells)].sort()).toEqual(['1', '2'])
  const wrong = [...items.querySelectorAll('tbody tr')].filter((row) => row.getAttribute('data-is')?.includes('wrong'))
  const judgings = evaluation.table.flatMap(({ outcomes }) => outcomes)
  expect(wrong).toHaveLength(judgings.filter(({ gold, label }) => label !== gold).length)
})

it('strangers’ words stay words: no element, no address, no script but its own', () => {
  for (const name of files.map((file) => `debates/${file}`)) {
    const page = pageOf(name)
    expect(
      page.querySelectorAll('img, iframe, object, embed, base, form, svg[onload], [onerror], [onload]').length,
    ).toBe(0)
    expect(page.querySelectorAll('script')).toHaveLength(1)
    const addresses = [...page.querySelectorAll('[href], [src]')].map(
      (one) => one.getAttribute('href') ?? one.getAttribute('src'),
    )
    expect(addresses.filter((one) => !/^(\.\.\/items\.html|#)/.test(one ?? ''))).toEqual([])
  }
})

it('in a browser two runs stand side by side, and are chosen; nothing is fetched, blocked or said', async () => {
  if (browser === null) return
  const { context, page, wrong } = await watchedPage(browser, 'file://', { viewport: SIZES.desktop })
  try {
    const shown = () => page.locator('.run:visible').evaluateAll((runs) => runs.map(({ id }) => id))
    // Without a run in its address, a debate that people contradict is shown first.
    await page.goto(`${pathToFileURL(join(report, pageAbout('p10')))}`)
    expect(await page.getByLabel('Left').inputValue()).toBe('4')
    // One below the other, each turn names its side.
    expect((await page.locator('#run-4 .side-name').first().boundingBox())?.width).toBeGreaterThan(20)
    await page.goto(`${pathToFileURL(join(report, 'items.html'))}`)
    await page.getByLabel('Show').selectOption('wrong')
    const rows = await page.locator('tbody tr:visible').count()
    expect(rows).toBe(await page.locator('tbody tr[data-is~=wrong]').count())
    await page.locator('tbody tr:visible a', { hasText: 'p10' }).nth(2).click()
    expect(page.url()).toContain('#run-2')
    expect(await shown()).toContain('run-2')
    expect(await shown()).toHaveLength(2)
    const [one, other] = [page.getByLabel('Left'), page.getByLabel('Right')]
    await one.selectOption('0')
    await other.selectOption('5')
    expect(await shown()).toEqual(['run-0', 'run-5'])
    const boxes = await Promise.all(['#run-0', '#run-5'].map((run) => page.locator(run).boundingBox()))
    expect(boxes[0]?.x).toBeLessThan(boxes[1]?.x ?? 0)
    await one.selectOption('5')
    await other.selectOption('0')
    const turned = await Promise.all(['#run-0', '#run-5'].map((run) => page.locator(run).boundingBox()))
    expect(turned[0]?.x).toBeGreaterThan(turned[1]?.x ?? 0)
    expect(await barriersOn(page)).toEqual([])
    expect(wrong).toEqual([])
  } finally {
    await context.close()
  }
})

it('need a folder where they go', async () => {
  const { said } = await commandHere(
    ['eval', '--protocol', 'hate', '--data', 'x', '--debates', '5'],
    understudy.settings,
  )
  expect(said).toContain('--debates needs --out FOLDER or --report FOLDER')
})

it('a debate is found under the name that its row is shown under', () => {
  const spool = debateSpool()
  try {
    const at = { row: 'GPT3.5 + S2MAD', data: 'd', id: 'i', repeat: 1 }
    spool.keep(at, { verdict: '{}', transcript: '{}' })
    const shown = { ...at, row: '[mine for GPT3.5] + S2MAD' }
    expect(spool.has(shown)).toBe(false)
    spool.rename(new Map([[shown.row, at.row]]))
    expect([spool.has(shown), spool.read(shown)?.verdict]).toEqual([true, '{}'])
  } finally {
    spool.close()
  }
})
