import { describe, expect, test } from 'vitest'
import { repeatsIn } from '../../../src/kit/demo/repeats.ts'

const record = (id: string, label: string) => ({ id, value: JSON.stringify({ id, label }) })

describe('the demo', () => {
  test('accepts a byte-identical repeat, as after a lost acknowledgement', () => {
    expect(repeatsIn([record('a', 'rumor'), record('b', 'rumor'), record('a', 'rumor')])).toEqual({
      verdicts: 2,
      identical: 1,
      conflicting: 0,
    })
  })

  test('counts a second, different verdict under one id', () => {
    expect(repeatsIn([record('a', 'rumor'), record('a', 'non-rumor'), record('a', 'rumor')])).toEqual({
      verdicts: 1,
      identical: 1,
      conflicting: 1,
    })
  })

  test('counts a repeat that says the same in other bytes as different', () => {
    const { id, value } = record('a', 'rumor')
    expect(
      repeatsIn([
        { id, value },
        { id, value: `${value} ` },
      ]),
    ).toMatchObject({ identical: 0, conflicting: 1 })
  })
})
