import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { drawnLines, PROTOCOLS } from './items.ts'

const DATA = join(PROJECT, '../shared/data')
const page = readFileSync(join(PROJECT, 'docs/readers.md'), 'utf8')

interface Drawn {
  readonly id: string
  readonly type: string
  readonly split?: string
}

// Public data that no project ships.
describe.skipIf(!existsSync(DATA))('the items of docs/readers.md', () => {
  test.each(PROTOCOLS)('%s: the first step is the registered one, and a second one adds to it', async (protocol) => {
    const posts = (lines: readonly string[]) =>
      lines.map((line) => JSON.parse(line) as Drawn).filter(({ type }) => type === 'post')
    const one = posts(await drawnLines(protocol, DATA, 1)).map(({ id }) => id)
    const sum = createHash('sha256').update(one.join('\n')).digest('hex')
    expect(page).toContain(`- \`${protocol}\`: \`${sum}\``)
    const two = posts(await drawnLines(protocol, DATA, 2))
    expect(new Set(two.map(({ id }) => id)).size).toBe(60)
    expect(two.filter(({ split }) => split === 'step-1').map(({ id }) => id)).toEqual(one)
  })
})
