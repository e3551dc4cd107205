import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { agreementOfGroups } from '../../src/contracts/facts/agreement.ts'
import { grantsOf, type PersonRole } from '../../src/contracts/facts/person-roles.ts'
import { prometheusMetrics } from '../../src/operations/metrics/metrics.ts'
import { at } from '../contracts/record.ts'
import { countedApart, PACE, plantWords, sameForm } from '../support/planted-words.ts'
import { aConsole } from './console-for-tests.ts'

const ratio = (times: number, of: number) => `${times} of ${of}`
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

async function planted() {
  const console = await aConsole()
  const lines = await plantWords(console.topics.send, 300)
  console.pass(Date.parse(at((lines.length + 1) * PACE)))
  const enter = (role: PersonRole, tenants: readonly string[]) => {
    const grants = grantsOf({ by: role, groups: ['mods'] }, [{ who: 'group:mods', role, tenants }])
    return `gavel-console-8421=${console.sessions.open({ by: role, grants })}`
  }
  return { console, lines, lead: enter('lead', ['default']), other: enter('lead', ['nobody']), enter }
}

it('the page, its files and the metrics have the figures that a script counts which shares no code', async () => {
  const { console, lines, lead, other, enter } = await planted()
  const expected = countedApart(lines, { since: 0, tenants: ['default'] })
  const blind = countedApart(lines, { since: 0, tenants: ['default'], seen: 'blind' })
  const { text, status } = await console.page('/agreement', lead)
  expect(status).toBe(200)
  const { document } = parseHTML(text)
  const sections = [...document.querySelectorAll('section')]
  const tables = (section: (typeof sections)[number]) =>
    [...section.querySelectorAll('table')].map((table) =>
      [...table.querySelectorAll('tbody tr')].map((row) =>
        [...row.querySelectorAll('th, td')].map(({ textContent }) => textContent?.trim() ?? ''),
      ),
    )
  expect(sections.map((one) => one.querySelector('h2')?.textContent)).toEqual(['hate', 'rumor'])
  for (const section of sections) {
    const protocol = section.querySelector('h2')?.textContent ?? ''
    const said = (part: string, counted = expected) =>
      Object.entries(counted.figures).flatMap(([name, [hits, of, low, high, none]]) => {
        if (!name.startsWith(`${protocol}|${part}|`)) return []
        const few = of < 10 || low === null || high === null
        const share = few
          ? 'too few to tell: ten are needed'
          : `${percent(hits / of)}, ${percent(low)}–${percent(high)}`
        return [{ value: name.split('|')[2] ?? '', ratio: ratio(hits, of), share, none: String(none) }]
      })
    const [labels = [], alone = [], confusion = [], ...parts] = tables(section)
    expect(labels.map(([label, times, share]) => [label, times, share]).sort()).toEqual(
      said('label')
        .map((one) => [one.value, one.ratio, one.share])
        .sort(),
    )
    const harm = protocol === 'hate' ? 'hate' : 'rumor'
    const count = (fits: (people: string, machine: string) => boolean) =>
      Object.entries(expected.cells).reduce((sum, [name, times]) => {
        const [of, people = '', machine = ''] = name.split('|')
        return of === protocol && fits(people, machine) ? sum + times : sum
      }, 0)
    const found = count((people) => people === harm)
    expect(alone.map(([, times]) => times)).toEqual([
      ratio(
        count((people, machine) => people === harm && machine === harm),
        found,
      ),
      ratio(
        count((people, machine) => people === harm && machine !== harm && machine !== 'null'),
        found,
      ),
      ratio(
        count((people, machine) => people === harm && machine === 'null'),
        found,
      ),
      ratio(
        count((people, machine) => people !== harm && machine === harm),
        count((people) => people !== harm),
      ),
      ratio(
        count((people, machine) => people !== harm && machine === harm),
        count((_, machine) => machine === harm),
      ),
    ])
    expect(labels.map(([label, , , unseen]) => [label, unseen]).sort()).toEqual(
      said('label', blind)
        .map((one) => [one.value, `${one.ratio}: ${one.share}`])
        .sort(),
    )
    expect(
      confusion
        .flatMap((row) => row.slice(1))
        .map(Number)
        .reduce((a, b) => a + b),
    ).toBe(count(() => true))
    // Of label and language no pair of few posts is shown.
    const pairs = said('label-language').filter(({ ratio: times }) => Number(times.split(' of ')[1]) >= 10)
    expect([pairs.length > 2, pairs.length < said('label-language').length]).toEqual([true, true])
    expect(said('week').length).toBeGreaterThan(1)
    expect(
      parts
        .flat()
        .map(([, times, share, none]) => [times, share, none].join())
        .sort(),
    ).toEqual(
      [...pairs, ...['week', 'language', 'clause', 'reach', 'seen', 'source'].flatMap((part) => said(part))]
        .map((one) => [one.ratio, one.share, one.none].join())
        .sort(),
    )
  }

  // Each link leads to as many posts as its figure has.
  const links = [...document.querySelectorAll('section a')].map((one) => ({
    path: one.getAttribute('href') ?? '',
    count: Number.parseInt(one.textContent ?? '', 10),
  }))
  expect(links.length).toBeGreaterThan(40)
  for (const { path, count } of links) {
    let [rows, next]: [number, string | undefined] = [0, path]
    while (next !== undefined) {
      const page = parseHTML((await console.page(next, lead)).text).document
      rows += page.querySelectorAll('tbody tr').length
      next = page.querySelector('a[rel=next]')?.getAttribute('href') ?? undefined
    }
    expect([path, rows]).toEqual([path, count])
  }

  const json = JSON.parse((await console.page('/agreement.json', lead)).text)
  expect(sameForm({ figures: json.figures, cells: json.confusion })).toEqual(sameForm(expected))
  const csv = (await console.page('/agreement.csv', lead)).text
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','))
  expect(
    Object.fromEntries(
      csv.map(([protocol, part, value, hits, of]) => [`${protocol}|${part}|${value}`, [Number(hits), Number(of)]]),
    ),
  ).toEqual(Object.fromEntries(Object.entries(expected.figures).map(([name, [hits, of]]) => [name, [hits, of]])))

  // Tenants are walls, on the page and behind it.
  const nobodys = await console.page('/agreement', other)
  expect(nobodys.text).toContain('nobody gave their word')
  expect((await console.page('/agreement/posts?protocol=rumor', other)).text).toContain('No post fits.')
  expect((await console.page('/agreement', enter('moderator', ['default']))).status).toBe(403)

  const everybody = agreementOfGroups(await console.record.review.comparedGroups({ since: 0 }))
  const { listen, page } = prometheusMetrics({
    protocols: ['rumor', 'hate'].map((name) => ({ name, stages: [], labels: [name, `non-${name}`] })),
    topics: [],
    models: [],
    roles: {},
    endpointOf: () => '',
    objectiveSeconds: 60,
    bounds: () => ({ limits: [], budgets: [] }),
    prompts: '',
    identity: { gavel: 'g', version: '0', settings: '', host: 'h', roles: [] },
  })
  listen('agreement:counted', everybody)
  const metrics = (await page()).text
  for (const [name, [hits, of, low, high]] of Object.entries(countedApart(lines, { since: 0 }).figures)) {
    const [protocol, part, value] = name.split('|')
    if (part === 'week' || part === 'label-language') continue
    const labels = `protocol="${protocol}",part="${part}",value="${part === 'language' && value === '' ? 'none' : value}"`
    expect(metrics).toContain(`gavel_agreement_verdicts{${labels},agrees="true",gavel="g"} ${hits}\n`)
    expect(metrics).toContain(`gavel_agreement_verdicts{${labels},agrees="false",gavel="g"} ${of - hits}\n`)
    for (const [bound, expectedShare] of Object.entries({ share: hits / of, low, high })) {
      const line = metrics.split('\n').find((one) => one.startsWith(`gavel_agreement_ratio{${labels},bound="${bound}"`))
      expect(Number(line?.split(' ').at(-1))).toBeCloseTo(expectedShare ?? Number.NaN, 9)
    }
  }
  // What strangers write as a language is no label.
  const odd = { ...(everybody.figures[0] ?? expect.unreachable()), part: 'language' as const }
  const strange = Array.from({ length: 50 }, (_, n) => ({
    ...odd,
    value: n % 2 === 0 ? `x-${n}"` : `q${String.fromCharCode(97 + (n >> 1))}`,
  }))
  listen('agreement:counted', { figures: [...strange, { ...odd, value: 'pt-BR' }] })
  const values = [...(await page()).text.matchAll(/gavel_agreement_verdicts\{.*?value="([^"]*)",agrees="true"/g)].map(
    ([, value]) => value,
  )
  expect(values).toContain('pt')
  expect(values).toContain('other')
  expect(values.filter((value) => value?.startsWith('x'))).toEqual([])
  console.close()
})

it('a post behind a figure stands with its words, covered where people or a verdict found that it may harm', async () => {
  const console = await aConsole()
  const posts = [
    { subjectId: 'mild', text: 'a <b>mild</b> word', label: 'non-hate', people: 'non-hate' },
    { subjectId: 'found', text: 'harm by people', label: 'non-hate', people: 'hate' },
    { subjectId: 'judged', text: 'harm by a verdict', label: 'hate', people: 'non-hate' },
    { subjectId: 'other', text: `harm by another ${'long '.repeat(100)}end`, label: 'non-hate', people: 'non-hate' },
  ]
  for (const { subjectId, text, label, people } of posts) {
    await console.judged({ verdict: { protocol: 'hate', subjectId, label }, post: { text } })
    const feedback = { subjectId, protocol: 'hate', label: people, by: 'desk', at: at(9) }
    await console.topics.send('feedback', subjectId, feedback, 9)
  }
  await console.judged({
    verdict: { protocol: 'safety', subjectId: 'other', label: 'unsafe' },
    post: { text: posts[3]?.text ?? '' },
  })
  console.pass(Date.parse(at(100)))
  const cookie = await console.signedIn()
  const { document } = parseHTML((await console.page('/agreement/posts?protocol=hate', cookie)).text)
  const shown = Object.fromEntries(
    [...document.querySelectorAll('tbody tr')].map((row) => {
      const words = row.querySelector('.row-words')
      const cover = words?.closest('details.covered')?.querySelector('summary')?.textContent ?? null
      return [row.querySelector('a')?.textContent, { words: words?.textContent, cover }]
    }),
  )
  const cover = 'it may be harmful'
  expect(shown).toEqual({
    mild: { words: 'a <b>mild</b> word', cover: null },
    found: { words: 'harm by people', cover },
    judged: { words: 'harm by a verdict', cover },
    other: { words: expect.stringMatching(/^harm by another long .{100,150}…$/), cover },
  })
  console.close()
})

it('what people write without end, such as languages, has a hundred figures of its own, and one for the rest', () => {
  const group = (nth: number) => ({
    protocol: 'hate',
    machine: 'hate',
    people: nth < 900 ? 'hate' : `label ${nth}`,
    source: 'feedback' as const,
    seen: 'blind' as const,
    clauses: [`house/C${nth}`],
    reach: 0,
    lang: `x-${nth}`,
    week: '2026-03-02',
    count: nth === 7 ? 3 : 1,
  })
  const { figures, cells } = agreementOfGroups(Array.from({ length: 1_000 }, (_, nth) => group(nth)))
  for (const part of ['language', 'clause', 'label-language'] as const) {
    const own = figures.filter((one) => one.part === part)
    expect(own).toHaveLength(101)
    expect(own.reduce((sum, one) => sum + one.of, 0)).toBe(1_002)
    expect(own.map(({ of, agreeing }) => [of, agreeing])).toContainEqual([3, 3])
    expect(own[0]).toMatchObject({ value: expect.stringContaining('(others)'), of: 900 })
  }
  expect(figures.find(({ part }) => part === 'all')).toMatchObject({ of: 1_002, agreeing: 902 })
  expect(cells.map(({ people, count }) => [people, count])).toContainEqual(['hate', 902])
})
