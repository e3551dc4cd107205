import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OVERLAPS, overlapOf } from '../../../../src/lab/evaluation/statistics/overlap.ts'

type Pair = [reply: string, reference: string, ...values: number[]]
const pairs: Pair[] = JSON.parse(readFileSync(join(import.meta.dirname, 'overlap.json'), 'utf8'))

describe('a similarity to a reference', () => {
  it.each(OVERLAPS.map((metric, at) => [metric, at] as const))(
    '%s equals its reference implementation on 500 pairs',
    (metric, at) => {
      expect(pairs).toHaveLength(500)
      const wrong = pairs.filter(
        ([reply, reference, ...values]) => !(Math.abs(overlapOf(metric, reply, reference) - (values[at] ?? -1)) < 1e-8),
      )
      expect(wrong).toEqual([])
    },
  )

  it('to nothing, or of nothing, is none', () => {
    for (const metric of OVERLAPS)
      expect([overlapOf(metric, '', 'A reply.'), overlapOf(metric, 'A reply.', ''), overlapOf(metric, '', '')]).toEqual(
        [0, 0, 0],
      )
  })
})
