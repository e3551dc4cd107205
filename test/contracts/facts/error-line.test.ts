import { spawnSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { machineFault } from '../../../src/contracts/facts/error-line.ts'
import { RecordFull } from '../../../src/contracts/ports/record.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'

it('a full disk is told as such, not as something unexpected', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  expect(machineFault(full)).toBe('No space is left on the disk. Free some first.')
  expect(machineFault(Object.assign(full, { path: '/data/x' }))).toMatch(/^\/data\/x: No space/)
  expect(machineFault(new RecordFull('/data/record.sqlite: database or disk is full'))).toBe(
    'The record cannot be written: /data/record.sqlite: database or disk is full. Free space first.',
  )
  expect(machineFault(Object.assign(new Error('x'), { code: 'constructor' }))).toBeNull()
  expect(machineFault(new TypeError('x is undefined'))).toBeNull()
})

it.runIf(process.platform === 'linux')('nor is an output that takes nothing', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, 'src', 'main.ts'), '--version'], {
    env: bareEnvironment({}),
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([1, 'gavel: No space is left on the disk. Free some first.\n'])
})
