import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { kafkaClient } from '../../src/stream/client.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { ownFolder } from '../support/own-folder.ts'
import { eventually } from '../support/pipeline.ts'

const folder = ownFolder('kept-stack')
const keep = join(folder, 'kept')

/** `gavel stack --keep` while `work` runs with its settings; ended as by Ctrl-C. */
async function during<Result>(work: (given: Record<string, string>) => Promise<Result>): Promise<Result> {
  const main = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  const child = spawn(process.execPath, [...main, 'stack', '--keep', keep, '--json'], {
    cwd: folder,
    env: bareEnvironment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let [out, said] = ['', '']
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  try {
    await eventually(
      async () => said.includes('Everything is up') || child.exitCode !== null,
      240_000,
      () => said,
    )
    return await work(JSON.parse(out) as Record<string, string>)
  } finally {
    child.kill('SIGINT')
    expect((await ended)[0], said).toBe(0)
  }
}

it('gavel stack --keep goes on with the data and the key of the last time, on other ports', async () => {
  const value = JSON.stringify({ id: 'p', text: 'A post.', createdAt: '2026-01-01T12:00:00Z' })
  const posts = (given: Record<string, string>) => {
    const settings = loadSettings(given)
    return { kafka: kafkaClient(settings.kafka, 'proof', () => {}), topic: topicsOf(settings).posts }
  }
  const first = await during(async (given) => {
    const redis = new Redis(given.REDIS_URL ?? '')
    await redis.set('mark', 'kept')
    await redis.quit()
    const { kafka, topic } = posts(given)
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic, messages: [{ key: 'p', value }] })
    await producer.disconnect()
    return given
  })
  for (const path of ['redis', 'kafka', 'fences.key']) expect(statSync(join(keep, path)).mode & 0o077, path).toBe(0)
  await during(async (given) => {
    expect(given.GAVEL_FENCES_KEY).toBe(first.GAVEL_FENCES_KEY)
    const redis = new Redis(given.REDIS_URL ?? '')
    expect(await redis.get('mark')).toBe('kept')
    await redis.quit()
    const { kafka, topic } = posts(given)
    const read: (string | undefined)[] = []
    const { signal } = new AbortController()
    await readTopic(kafka, topic, { follow: false, signal }, ({ message }) => void read.push(message.value?.toString()))
    expect(read).toEqual([value])
  })
})
