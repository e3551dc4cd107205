import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { PROJECT } from '../config/load.ts'
import { promises, promisesPage } from './promises.ts'

const text = (path: string) => readFileSync(join(PROJECT, path), 'utf8')

const DOCS = (readdirSync(join(PROJECT, 'docs'), { recursive: true }) as string[])
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...DOCS]

/** What a page says, without its blocks of code. */
const prose = (page: string) => text(page).replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = (page: string) =>
  [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('the documents', () => {
  test.each(PAGES)('%s links to what is there', (page) => {
    const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    for (const link of links.filter((one) => !/^[a-z]+:/.test(one))) {
      const [path = '', anchor] = link.split('#')
      const to = path === '' ? page : join(dirname(page), path)
      expect(existsSync(join(PROJECT, to)), link).toBe(true)
      if (anchor !== undefined && statSync(join(PROJECT, to)).isFile()) expect(anchors(to), link).toContain(anchor)
    }
  })

  it('stand all in the index', () => {
    const index = text('docs/README.md')
    const missing = DOCS.map((page) => relative('docs', page))
      .filter((page) => !page.startsWith('runbooks') && page !== 'README.md')
      .filter((page) => !index.includes(`(${page})`))
    expect(missing).toEqual([])
  })

  it('name with each promise tests and proofs that are there', () => {
    const kept = Object.values(promises()).flat()
    const named = kept.flatMap(({ tests }) => tests)
    expect(named.length).toBeGreaterThan(60)
    expect(kept.filter(({ tests }) => tests.length === 0)).toEqual([])
    const isTitle = (line: string, title: string) => /['"`]/.test(line.split(title, 1)[0] ?? '') && line.includes(title)
    const gone = named.filter(
      ({ title, file }) =>
        !text(file)
          .split('\n')
          .some((line) => isTitle(line, title)),
    )
    expect(gone).toEqual([])
    const files = (readdirSync(join(PROJECT, 'test'), { recursive: true }) as string[]).map((file) => basename(file))
    for (const { proof } of kept) if (proof !== undefined) expect(files).toContain(`${proof}.proof.ts`)
    expect(text('docs/invariants.md'), 'run: npm run promises').toBe(promisesPage())
  })

  it('name in ARCHITECTURE files that are there', () => {
    const folders = ['', 'src']
    const named = new Set(text('ARCHITECTURE.md').match(/(?<![\w/.-])[\w.-]+\/[\w./-]+\.(?:ts|lua|yaml|cjs)\b/g))
    expect(named.size).toBeGreaterThan(80)
    expect([...named].filter((file) => !folders.some((folder) => existsSync(join(PROJECT, folder, file))))).toEqual([])
  })

  it('begin with a README of at most a thousand words', () => {
    expect(text('README.md').split(/\s+/).length).toBeLessThan(1_000)
  })
})
