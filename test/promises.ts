import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { PROJECT } from '../config/load.ts'

/** A promise, the tests that would fail if it were broken, each by its own title, and the long proof of it, if there is one. */
export type Kept = {
  readonly promise: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
  readonly proof?: string
}

const TABLE = join(import.meta.dirname, 'promises.json')
const PAGE = join(PROJECT, 'docs', 'invariants.md')

const HEAD = `# What always holds

Each line is a promise, with the tests that fail if it is broken. \`test/promises.json\` has the tests' titles; after a change there, run \`npm run promises\`. Long proofs run apart: \`npm run proof -- NAME\`.
`

/** All promises by the heading that they come under. */
export function promises(): Readonly<Record<string, readonly Kept[]>> {
  return JSON.parse(readFileSync(TABLE, 'utf8')) as Record<string, Kept[]>
}

/** The page of all promises. */
export function promisesPage(): string {
  const sections = Object.entries(promises()).map(
    ([heading, rows]) => `\n## ${heading}\n\n${rows.map(lineOf).join('\n')}\n`,
  )
  return [HEAD, ...sections].join('')
}

function lineOf({ promise, tests, proof }: Kept): string {
  const files = [...new Set(tests.map(({ file }) => file))].map((file) => `[${basename(file, '.ts')}](../${file})`)
  return `- ${promise} (${[...files, ...(proof === undefined ? [] : [`proof \`${proof}\``])].join(', ')})`
}

// `npm run promises`: the page is that of the table.
if (import.meta.main) writeFileSync(PAGE, promisesPage())
