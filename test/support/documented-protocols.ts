import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'

const page = readFileSync(join(PROJECT, 'docs', 'protocols.md'), 'utf8')

/** The protocols in the table of docs/protocols.md: other pages and tables have them too. A private one need not be there. */
export const DOCUMENTED = PROTOCOLS.filter(({ name }) => page.includes(`\n| \`${name}\` | `))
