import { expect, test } from 'vitest'
import { nodeEnvironment, nodeFlags } from '../src/node-flags.js'

test('a process of the service has bounded memory, unless somebody set bounds of their own', () => {
  expect(nodeFlags()).toContain('--max-old-space-size=192')
  expect(nodeFlags('--max-old-space-size=4096').join(' ')).not.toContain('size')
  expect(nodeEnvironment({ PATH: '/bin' })).toEqual({ PATH: '/bin', MALLOC_ARENA_MAX: '1' })
  expect(nodeEnvironment({ MALLOC_ARENA_MAX: '8' })).toEqual({ MALLOC_ARENA_MAX: '8' })
})
