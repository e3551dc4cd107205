import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { connect } from '../../src/store/redis/connect.ts'
import { eventually, settingsOf } from '../support/pipeline.ts'
import { startRedisSentinel } from '../support/redis-servers.ts'

it('hears nothing of a master that was replaced while it stood still, and asks the new one', async () => {
  const sentinels = await startRedisSentinel('replaced')
  const client = connect(settingsOf(sentinels.settings).redis, () => {}, 'retrying')
  try {
    const portOf = (info: string) => Number(/^tcp_port:(\d+)/m.exec(info)?.[1])
    const before = portOf(await client.info('server'))
    const master = sentinels.servers[0]?.pid ?? 0
    process.kill(master, 'SIGSTOP')
    // The master will find this in its socket when it wakes.
    const asked = client.info('server')
    await eventually(async () => (await sentinels.masterPort()) !== before, 30_000)
    await sleep(500)
    process.kill(master, 'SIGCONT')
    expect(portOf(await asked)).toBe(await sentinels.masterPort())
  } finally {
    client.disconnect()
    await sentinels.close()
  }
})
