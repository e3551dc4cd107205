import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { withMentions } from './mentions.ts'
import { countOwners, countRooms } from './rooms.ts'

interface Rule {
  readonly name: string
  readonly to: { readonly pathNot?: readonly string[] }
}
const rules: readonly Rule[] = createRequire(import.meta.url)('../../.dependency-cruiser.cjs').forbidden
const { lines, arrows, upward, circles } = countRooms()

describe('the rooms', () => {
  it('have no circle, and no import against the chain', () => {
    expect(circles).toEqual([])
    expect(upward).toEqual([])
  })

  it('import what the table of import rules draws, and nothing is drawn that nobody imports', () => {
    const drawn = [...lines.keys()].flatMap((room) =>
      (rules.find(({ name }) => name === `${room}-imports`)?.to.pathNot ?? [])
        .map((path) => /^\^(?:src\/)?([\w-]+)\/$/.exec(path)?.[1] ?? '')
        .filter((to) => to !== room)
        .map((to) => `${room} → ${to}`),
    )
    expect(drawn.toSorted()).toEqual([...arrows])
  })

  it('share the code: none holds more than an eighth', () => {
    const all = [...lines.values()].reduce((sum, one) => sum + one, 0)
    expect([...lines].filter(([, own]) => own > 0.12 * all)).toEqual([])
  })

  it('own their concepts: the keys, tables and topics of each are read and written in one or two', () => {
    const owners = countOwners().map(({ concept, owners }) => [concept, owners.size] as const)
    expect(owners.filter(([, count]) => count < 1 || count > 2)).toEqual([])
    expect(owners).toHaveLength(7)
  })

  it('have every file that names a webhook or a memo in the lists of ARCHITECTURE.md (npm run counts writes them)', () => {
    const { written, current } = withMentions()
    expect(written).toBe(current)
  })
})
