import { describe, expect, it } from 'vitest'
import { oldWordsIn } from './main.ts'

const found = (file: string, text: string) => oldWordsIn(file, text).map(({ line, word }) => `${line} ${word}`)

describe('the word list', () => {
  it('finds old words in code, comments and documents', () => {
    expect(found('docs/some.md', 'A retraction.\nIts farewell.\n')).toEqual(['2 farewell'])
    expect(found('src/some.ts', '// Gave no sign of life.\nexport const ok = 1\n')).toEqual(['1 sign of life'])
    expect(found('src/some.lua', "-- the lineage of the data\nreturn redis.call('GET', KEYS[1])\n")).toEqual([
      '1 lineage',
    ])
  })

  it('finds old names where shipped code declares them, and lets prose, tests and calls of others be', () => {
    const code = [
      'const held = 1',
      'function f({ pressed }: { pressed: boolean }, within = pressed) { return [held, within].join() }',
      'export type Standing = { readonly pieces: number }',
      '// held within its pieces',
      'const text = "pressed"',
    ].join('\n')
    const names = ['1 held', '2 pressed', '2 pressed', '2 within', '3 Standing', '3 pieces']
    expect(found('src/some.ts', code).toSorted()).toEqual(names)
    expect(found('test/some.ts', code)).toEqual([])
    expect(found('src/some.ts', 'const { a } = of.held.within(1)\nconst heldOut = a\n')).toEqual([])
  })

  it('lets a name stay where it is on the wire or on disk', () => {
    expect(found('src/adapters/redis/keys.ts', "const key = 'lineage'\n")).toEqual([])
    expect(found('src/adapters/redis/other.ts', "const key = 'lineage'\n")).toEqual(['1 lineage'])
    expect(found('src/adapters/log.ts', "const EVENT = 'trouble:met'\n")).toEqual([])
  })
})
