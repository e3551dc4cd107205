import { afterEach, expect, it, vi } from 'vitest'
import { OperatorError } from '../../../src/contracts/facts/errors.ts'
import { startStackForCommand } from '../../../src/kit/stack-for-command.ts'

afterEach(() => void vi.unstubAllEnvs())

it('a machine without Redis is told every way to one', async () => {
  vi.stubEnv('PATH', '/nowhere')
  const starting = startStackForCommand({}, { kafka: 'memory', say: () => {} })
  const error = await starting.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(OperatorError)
  expect(String(error)).toMatch(/No Redis here.*\n.*REDIS_URL.*\n.*install redis-server/s)
})
