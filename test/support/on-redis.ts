import type { Redis } from 'ioredis'
import { test } from 'vitest'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { connect } from '../../src/store/redis/connect.ts'

const QUIET = { say() {} }

/** Tests on a Redis that lives as long as their file's, and its `client`. */
export const onRedis = test
  .extend('quiet', { scope: 'file' }, QUIET)
  .extend('redis', { scope: 'file' }, async ({ quiet }, { onCleanup }) => {
    const redis = await startRedis(quiet)
    onCleanup(redis.close)
    return redis
  })
  .extend('client', { scope: 'file' }, ({ redis }, { onCleanup }): Redis => {
    const client = connect(redis.settings.REDIS_URL ?? '', () => {}, 'retrying')
    onCleanup(() => client.disconnect())
    return client
  })
