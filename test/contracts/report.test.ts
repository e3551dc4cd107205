import { expect, it } from 'vitest'
import type { Listener } from '../../src/contracts/ports/report.ts'
import { broadcast } from '../../src/operations/broadcast.ts'

it('a listener that throws hurts neither the work nor the other listeners', () => {
  const heard: string[] = []
  const complaints: unknown[] = []
  const good: Listener = (name) => heard.push(name)
  const bad: Listener = () => {
    throw new Error('no disk')
  }
  const report = broadcast([bad, good, bad], (error) => complaints.push(error))
  report('intake:resumed', {})
  report('service:stopped', {})
  expect(heard).toEqual(['intake:resumed', 'service:stopped'])
  expect(complaints).toHaveLength(4)
})

it('not even one whose complaint fails too', () => {
  const heard: string[] = []
  const bad: Listener = () => {
    throw new Error('no disk')
  }
  const report = broadcast([bad, (name) => heard.push(name)], () => {
    throw new Error('the log has no disk either')
  })
  expect(() => report('intake:resumed', {})).not.toThrow()
  expect(heard).toEqual(['intake:resumed'])
})

it('a listener that is added later hears what comes then', () => {
  const heard: string[] = []
  const listeners: Listener[] = []
  const report = broadcast(listeners, () => {})
  report('intake:resumed', {})
  listeners.push((name) => heard.push(name))
  report('service:stopped', {})
  expect(heard).toEqual(['service:stopped'])
})
