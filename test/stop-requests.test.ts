import { EventEmitter } from 'node:events'
import { expect, it, vi } from 'vitest'
import { stopRequests } from '../src/platform/stop-requests.ts'

function process() {
  const self = new EventEmitter()
  const clock = { now: 0 }
  const end = vi.fn()
  const requests = stopRequests(
    // Of a process, signals and the channel to its parent are all that is used.
    Object.assign(self, { channel: { unref() {} } }) as unknown as NodeJS.Process,
    () => clock.now,
    end,
  )
  return { self, clock, end, requests }
}

it('a hangup stops what does not listen for it', () => {
  const { self, requests, end } = process()
  self.emit('SIGHUP')
  expect(requests.signal.aborted).toBe(true)
  expect(end).not.toHaveBeenCalled()
})

it('a hangup that comes as signal and as message is told once, and stops nothing; the next one is told, too', () => {
  const { self, clock, requests } = process()
  const told = vi.fn()
  requests.onHangup(told)
  self.emit('SIGHUP')
  clock.now += 200
  self.emit('message', 'SIGHUP')
  expect(told).toHaveBeenCalledTimes(1)
  clock.now += 1_000
  self.emit('message', 'SIGHUP')
  expect(told).toHaveBeenCalledTimes(2)
  expect(requests.signal.aborted).toBe(false)
})

it('hangups beforehand do not count as a first request to stop', () => {
  const { self, clock, requests, end } = process()
  requests.onHangup(() => {})
  self.emit('SIGHUP')
  clock.now += 1_000
  self.emit('SIGTERM')
  expect(requests.signal.aborted).toBe(true)
  expect(end).not.toHaveBeenCalled()
})

it('a stop just after a hangup is heard', () => {
  const { self, requests } = process()
  requests.onHangup(() => {})
  self.emit('SIGHUP')
  self.emit('SIGTERM')
  expect(requests.signal.aborted).toBe(true)
})

it('the end of npm is a request, and never counts as the second one', async () => {
  const { self, requests, end } = process()
  self.emit('message', 'npm exited')
  expect(await requests.stopped).toBe('npm exited')
  self.emit('SIGTERM')
  expect(end).not.toHaveBeenCalled()
})
