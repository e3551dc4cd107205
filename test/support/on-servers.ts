import { test } from 'vitest'
import { startStack } from '../../src/kit/stack/stack.ts'
import type { UnderstudyOptions } from '../../src/kit/understudy/server.ts'
import { type Service, startService, tell } from './pipeline.ts'
import { type Servers, startServers } from './servers.ts'

/**
 * Tests on a real Redis, Kafka (or what stands in for it, said) and an understudy, which live as long as their file's tests: `stack`.
 * What `start` starts of the service ends with its test; what `startForFile` starts, with the file. `shared` is the Apache Kafka
 * that all files have, which nobody may stop; `apache` is one of the file's own.
 */
export function onServers(understudy: UnderstudyOptions, kafka: 'shared' | 'apache' | 'memory' = 'shared') {
  const own = test
    .extend('servers', { scope: 'file' }, { kafka, understudy })
    .extend('stack', { scope: 'file' }, async ({ servers }, { onCleanup }): Promise<Servers> => {
      const { kafka, understudy } = servers
      const stack = await (kafka === 'shared'
        ? startServers(understudy)
        : startStack({}, { kafka, say: tell, understudy }))
      onCleanup(stack.close)
      return stack
    })
    // Whoever depends on the servers ends before them.
    .extend('startForFile', { scope: 'file' }, ({ stack: _ }, { onCleanup }) => starting(onCleanup))
    .extend('start', ({ stack: _ }, { onCleanup }) => starting(onCleanup))
  // A hook may take longer than a test.
  own.beforeAll(({ stack: _ }) => {})
  return own
}

function starting(onCleanup: (clean: () => Promise<void>) => void) {
  const services: Service[] = []
  onCleanup(async () => void (await Promise.all(services.map((service) => service.kill('SIGKILL')))))
  return async (...args: Parameters<typeof startService>): Promise<Service> => {
    const service = await startService(...args)
    services.push(service)
    return service
  }
}
