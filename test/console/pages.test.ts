import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { shown } from '../../src/console/view.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { at } from '../contracts/record.ts'
import { ATTACKS } from '../models/attacks.ts'
import { aVerdict } from '../support/verdicts.ts'
import { attackEverywhere } from './attacked.ts'
import { aConsole, aTurn } from './console-for-tests.ts'
import { MARKUP_ATTACKS } from './markup-attacks.ts'

/** The templates of a source, with § for what stands in them. */
function templatesIn(source: string): string[] {
  const found: string[] = []
  const open: { text: string; braces: number }[] = []
  for (let at = 0; at < source.length; at++) {
    const last = open.at(-1)
    const isText = last !== undefined && last.braces === 0
    if (source.startsWith('html`', at) && !isText) {
      open.push({ text: '', braces: 0 })
      at += 4
    } else if (isText && source.startsWith('${', at)) {
      last.text += '§'
      last.braces = 1
      at++
    } else if (isText && source[at] === '`') found.push(open.pop()?.text ?? '')
    else if (isText) last.text += source[at]
    else if (last !== undefined && source[at] === '{') last.braces++
    else if (last !== undefined && source[at] === '}') last.braces--
  }
  return found
}

const TEXTS = [...MARKUP_ATTACKS, ...ATTACKS.filter((_, at) => at % 12 === 0).map(({ text }) => text)]

// The whole corpus: test/proofs/console-attacks.proof.ts.
describe('words of strangers in every place of every page', () => {
  it.each(TEXTS.map((text, at) => [at, text] as const))('attack %i is a text and nothing else', (at, text) =>
    attackEverywhere(text, at),
  )
})

it('invisible characters of a text are made visible, except those that a script needs', () => {
  expect(shown('a\u202eb\u200bc\u0007d\u{e0041}\ufeff', 100)).toBe('a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩d⟨U+E0041⟩⟨U+FEFF⟩')
  for (const word of ['می\u200cخواهم', 'क्\u200dष', '👩\u200d🚒', '❤\ufe0f\u200d🔥', 'line\nline\ttab'])
    expect(shown(word, 100)).toBe(word)
  expect(shown('a\u200d b', 100)).toBe('a⟨U+200D⟩ b')
  expect(shown('👍👍', 3)).toBe('👍…')
})

it('a page is no larger than 100 KB but for what it shows, also of a thread of 500 comments as long as a transcript can hold', async () => {
  const console = await aConsole()
  const text = '<'.repeat(1_400)
  const comments = Array.from({ length: 500 }, (_, at) => ({ id: `c${at}`, text, author: text.slice(0, 64) }))
  const ids = comments.map(({ id }) => id)
  const scores = ids.map((_, at) => ({ comment: at + 1, reason: '<', score: -0.5 }))
  const { id } = await console.judged({
    verdict: {
      evidence: { support: ids.slice(0, 250), oppose: ids.slice(250), precedents: [] },
      rationale: text,
      degraded: Array(100).fill(text),
    },
    post: { text },
    comments,
    turns: [
      aTurn('stance', 'scorer', { scores }, { about: ids }),
      ...Array.from({ length: 40 }, (_, at) =>
        aTurn('debate', `debater (${at % 2 === 0 ? 'support' : 'oppose'})`, { reasoning: text, answer: 'Fake' }),
      ),
    ],
  })
  const cookie = await console.signedIn()
  for (const path of [
    `/verdict?id=${id}`,
    `/thread?id=${id}&from=450`,
    `/thread?id=${id}&from=9999999`,
    '/live',
    '/search',
  ]) {
    const { text: page, status } = await console.page(path, cookie)
    const shell = page.replace(/<bdi class="words"[^>]*>[^<]*<\/bdi>/g, '')
    expect([status, Buffer.byteLength(shell) < 100_000], `${path}: ${Buffer.byteLength(shell)}`).toEqual([200, true])
  }
})

it('stylesheets and script together with an empty page are no larger than 60 KB', () => {
  const folder = 'src/console/assets'
  const all = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`).length)
  expect(all.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(60_000)
})

it('every attribute of a template is quoted, interface texts are only in the one file, and no script makes markup of text', () => {
  const folder = 'src/console'
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.ts') && !file.endsWith('texts.ts'))) {
    const source = readFileSync(`${folder}/${name}`, 'utf8')
    const templates = templatesIn(source)
    for (const template of templates) {
      expect(template, name).not.toMatch(/=§/)
      expect(template.replace(/<!doctype html>|Gavel|UTC|· /g, ''), name).not.toMatch(/>[^<]*[A-Za-z]{2,}[^<]*</)
    }
  }
  for (const script of readdirSync(`${folder}/assets`).filter((file) => file.endsWith('.js')))
    expect(readFileSync(`${folder}/assets/${script}`, 'utf8'), script).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|createContextualFragment|DOMParser/,
    )
})

it('another tenant’s verdict is not there: the same answer as for one that is not', async () => {
  const console = await aConsole()
  const { id } = await console.judged({ verdict: { tenant: 'acme' }, post: { text: 'zanzibar' } })
  const ended = new AbortController().signal
  const session = { by: 'ben', token: 't', grants: [], tenants: ['other'], name: 's', ended, isOpen: () => true }
  const ask = (path: string, query: Record<string, string>) =>
    console.pages
      .find((page) => page.path === path && page.method === 'GET')
      ?.answer({
        query: new URLSearchParams(query),
        form: new URLSearchParams(),
        session,
        asker: { network: '127.0.0.1', person: 'ben', session: 's' },
        lastEventId: null,
        told: async () => true,
        signal: new AbortController().signal,
      })
  for (const path of ['/verdict', '/verdict/file', '/thread'])
    expect(await ask(path, { id })).toEqual(await ask(path, { id: 'rumor~nothing~r1' }))
  for (const path of ['/live', '/search'])
    for (const query of [{}, { tenant: 'acme' }, { q: 'zanzibar' }, { q: 'zanzibar', tenant: 'acme' }])
      expect(JSON.stringify(String(((await ask(path, query)) as { body: unknown }).body))).not.toMatch(/>zanzibar/)
})

it('words that one protocol finds hateful are hidden in the row of their subject, and shown when somebody asks', async () => {
  const console = await aConsole()
  await console.judged({ verdict: { label: 'non-rumor' }, post: { text: 'zanzibar' } })
  await console.judged({ verdict: { subjectId: 'other', label: 'non-rumor' }, post: { text: 'marzipan' } })
  await console.judged({ verdict: { protocol: 'hate', label: 'hate' }, post: { text: 'zanzibar' } })
  const cookie = await console.signedIn()
  for (const path of ['/live', '/search?q=zanzibar', '/search']) {
    const { document } = parseHTML((await console.page(path, cookie)).text)
    const open = [...document.querySelectorAll('.rows > .row > p.row-words')].map(({ textContent }) => textContent)
    const hidden = [...document.querySelectorAll('.rows > .row > details:not([open])')].map(
      ({ textContent }) => textContent,
    )
    expect([open.includes('zanzibar'), hidden.filter((text) => text?.includes('zanzibar'))]).toEqual([
      false,
      ['Hidden: judged hatezanzibar'],
    ])
    if (!path.includes('q=')) expect(open).toContain('marzipan')
  }
})

it('words that another protocol finds hateful are hidden in every list, also where its verdict is not listed', async () => {
  const paths = [
    '/live?protocol=rumor',
    '/search?protocol=rumor',
    '/search?q=zanzibar&protocol=rumor',
    '/review?protocol=rumor',
  ]
  for (const path of paths) {
    // Each is the first that anybody looks at.
    const console = await aConsole()
    await console.judged({ verdict: { protocol: 'hate', label: 'hate' }, post: { text: 'zanzibar' } })
    await console.judged({ verdict: { label: 'rumor', degraded: ['so'] }, post: { text: 'zanzibar' } })
    const { document } = parseHTML((await console.page(path, await console.signedIn())).text)
    expect([path, document.querySelector('.row > details')?.textContent]).toEqual([path, 'Hidden: judged hatezanzibar'])
  }
})

it('only ids and times of a deleted subject are shown', async () => {
  const console = await aConsole()
  const { id } = await console.judged({ post: { text: 'zanzibar' }, verdict: { rationale: 'zanzibar' } })
  await console.topics.send('posts', 'p', { id: 'p', deleted: true, createdAt: new Date(0).toISOString() }, 60)
  const page = await console.page(`/verdict?id=${id}`, await console.signedIn())
  expect(page.text).not.toContain('zanzibar')
})

it('a saved file holds the whole argument, every decision, and the messages with their hashes', async () => {
  const console = await aConsole()
  const long = 'x'.repeat(12_000)
  const first = await console.judged({ verdict: { subjectId: 'bridge', label: 'rumor', rationale: 'because' } })
  const raw = '{"reasoning":"all of it"}'
  await console.judged({
    verdict: { subjectId: 'bridge', revision: 2, label: 'rumor', supersedes: first.id },
    comments: [{ id: 'c1', text: long, author: 'lou' }],
    turns: [
      aTurn('opinion', 'debater (support)', { reasoning: long }, { raw, messages: [{ role: 'user', content: long }] }),
    ],
  })
  const decision = { by: 'anna', against: 'rumor~bridge~r2', of: '0@7' }
  const human = await console.judged({
    verdict: {
      subjectId: 'bridge',
      revision: 3,
      label: 'non-rumor',
      decidedBy: 'human',
      rationale: 'ticket 88',
      decision,
      supersedes: 'rumor~bridge~r2',
    },
  })
  const saved = await console.ask(`/verdict/file?id=${human.id}`, {
    headers: { cookie: await console.signedIn('ben') },
  })
  expect(saved.headers.get('content-disposition')).toBe('attachment; filename="gavel-rumor-bridge-r3.html"')
  const { document } = parseHTML(await saved.text())
  const text = document.body.textContent ?? ''
  for (const word of ['Saved byben', 'rumor~bridge~r1', '0@7', 'ticket 88', raw]) expect(text).toContain(word)
  expect(text.split(long).length - 1).toBeGreaterThanOrEqual(3)
  const messages = [...document.querySelectorAll('.base64')].map(({ textContent }) =>
    Buffer.from(textContent ?? '', 'base64').toString('utf8'),
  )
  const hashes = [...document.querySelectorAll('.hash')].map(({ textContent }) => textContent)
  expect(messages).toHaveLength(2)
  expect(hashes).toEqual(messages.map((one) => hash('sha256', one, 'hex')))
  expect(JSON.parse(messages[0] ?? '')).toEqual(human)
  expect(JSON.parse(messages[1] ?? '')).toMatchObject({ verdictId: 'rumor~bridge~r2' })
  expect(document.querySelector('[href^="/"]')).toBeNull()
})

it('the history, and whatever was left out, are shown in sentences', async () => {
  const console = await aConsole()
  const leftOut = { cap: 0, late: 0, folded: 0, author: 2, unscored: 0, load: 0 }
  const judged = (revision: number, label: string, accepted: number, change: Partial<Verdict> = {}) =>
    console.judged({
      post: { author: 'lou' },
      verdict: {
        subjectId: 'quay',
        revision,
        label,
        final: false,
        decidedBy: 'consensus',
        rounds: 1,
        timing: { ...aVerdict(at(0)).timing, decidedAt: at(revision * 60) },
        counts: { accepted, judged: accepted - 2, leftOut },
        ...change,
      },
    })
  await judged(1, 'non-rumor', 12)
  await judged(2, 'rumor', 27)
  const last = await judged(3, 'rumor', 27, { final: true, degraded: ['a budget was spent'], faults: ['ours'] })
  await console.topics.send(
    'decisions',
    'quay',
    {
      subjectId: 'quay',
      protocol: 'rumor',
      label: 'rumor',
      against: 3,
      by: 'mia',
      why: 'me too',
      at: at(300),
      opinion: true,
    },
    300,
  )
  const { document } = parseHTML((await console.page(`/verdict?id=${last.id}`, await console.signedIn())).text)
  const items = [...document.querySelectorAll('.timeline li')].map((one) =>
    (one.textContent ?? '')
      .replace(/^\S+ \S+ UTC\s+/, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
  expect(items).toEqual([
    'Posted by lou.',
    'First judged: non-rumor (revision 1). Both sides agreed after one round. 12 comments had come.',
    'Judged again: rumor (revision 2), before non-rumor. Both sides agreed after one round. 27 comments had come, 15 more than before.',
    'Judged again, and still rumor (revision 3). Both sides agreed after one round. 27 comments had come. No further revision is planned.',
    'mia gave a second opinion: rumor. Why: me too',
  ])
  const missing = (document.querySelector('.missing')?.textContent ?? '').replace(/\s+/g, ' ')
  expect(missing).toContain('25 of 27 comments were judged. Left out:2 beyond what one author may contribute')
  expect(missing).toContain('This service fell short')
  expect(missing).toContain('a budget was spent')
})
