import { expect, it } from 'vitest'
import { minutesOf, sharesOf } from './shares.ts'

const drill = (name: string, minutes: number) => ({ name, minutes })
const DRILLS = [drill('a', 6), drill('b', 19), drill('c', 5), drill('d', 12), drill('e', 19), drill('f', 7)]
const namesIn = (shares: readonly (readonly { readonly name: string }[])[]) =>
  shares.map((share) => share.map(({ name }) => name).join(''))

it('leaves all drills in their order where there is one world', () => {
  expect(namesIn(sharesOf(DRILLS, 1))).toEqual(['abcdef'])
})

it('gives each drill to one world, so that all end at about the same time, and keeps their order in each', () => {
  const shares = sharesOf(DRILLS, 3)
  expect(namesIn(shares)).toEqual(['ab', 'ce', 'df'])
  expect(shares.map(minutesOf)).toEqual([25, 24, 19])
})

it('starts no world that would have nothing to do', () => {
  expect(namesIn(sharesOf(DRILLS.slice(0, 2), 5))).toEqual(['b', 'a'])
  expect(sharesOf([], 5)).toEqual([])
})
