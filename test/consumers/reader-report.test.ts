import { expect, test } from 'vitest'
import { besideIntake } from '../../consumers/group-reader.ts'
import type { Report } from '../../src/contracts/ports/report.ts'

const told = (loop?: 'decisions') => {
  const all: unknown[] = []
  const report: Report = (name, event) => void all.push([name, event])
  const own = besideIntake(report, loop)
  own('partitions:assigned', { partitions: [{ topic: 'posts', partition: 0 }] })
  own('loop:succeeded', { loop: 'kafka consumer' })
  own('error', { where: 'kafka consumer', error: 'away' })
  return all
}

test('a reader of another group passes neither for the intake’s loop nor for its partitions, and its errors are told', () => {
  const error = ['error', { where: 'kafka consumer', error: 'away' }]
  expect(told()).toEqual([error])
  expect(told('decisions')).toEqual([['loop:succeeded', { loop: 'decisions' }], error])
})
