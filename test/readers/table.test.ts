import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import type { Evaluation } from '../../src/lab/evaluation/evaluation.ts'
import type { TextTable } from '../../src/lab/evaluation/report/cells.ts'
import { choiceTable } from '../../src/lab/evaluation/report/choice-table.ts'
import { debateTable } from '../../src/lab/evaluation/report/debate-table.ts'
import { commandIn } from '../support/command-in.ts'
import { drawnLines } from './items.ts'

// What readers answered, replayed: the tables of docs/evaluation.md are what the kept answers say.

const DATA = join(PROJECT, '../shared/data')
/** How many steps were answered. */
const STEPS = { hate: 3, safety: 2, rumor: 3 } as const
const page = readFileSync(join(PROJECT, 'docs/evaluation.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'gavel-readers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lineOf = (protocol: string, cells: readonly string[]) => `| \`${protocol}\` | ${cells.join(' | ')} |`
const linesOf = (protocol: string, table: TextTable | null) => (table?.rows ?? []).map((row) => lineOf(protocol, row))

// Public data that no project ships.
describe.skipIf(!existsSync(DATA))('what readers answered', () => {
  test.each(Object.keys(STEPS) as (keyof typeof STEPS)[])(
    '%s: its kept answers make the tables of the page',
    async (protocol) => {
      const items = join(folder, `${protocol}.jsonl`)
      writeFileSync(items, (await drawnLines(protocol, DATA, STEPS[protocol])).map((line) => `${line}\n`).join(''))
      const { code, out, said } = await commandIn(
        folder,
        [
          ...['eval', '--config', join(PROJECT, 'test/readers/settings.yaml'), '--protocol', protocol, '--data', items],
          ...['--unverified', 'unverified', '--rows', 'gates', '--json'],
          ...['--replay', join(PROJECT, 'test/readers/answers', protocol)],
        ],
        {},
      )
      expect(code, said).toBe(0)
      const evaluation = JSON.parse(out) as Evaluation
      const made = [...linesOf(protocol, choiceTable(evaluation)), ...linesOf(protocol, debateTable(evaluation))]
      expect(made.length).toBeGreaterThan(4)
      expect(made.filter((line) => !page.includes(line))).toEqual([])
    },
  )
})
