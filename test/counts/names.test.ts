import { expect, it } from 'vitest'
import { CONCEPTS, wordsOfService } from './names.ts'

const words = wordsOfService()

it.each(Object.entries(CONCEPTS))('%s has the names that are counted, and none of those that it had', (_, of) => {
  expect(of.has.filter((name) => !words.has(name))).toEqual([])
  expect(of.had.filter((name) => words.has(name) || words.has(`${name}Ms`))).toEqual([])
})
