import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startApacheKafka } from '../../../src/kit/stack/servers/apache-kafka.ts'
import { startKafka } from '../../../src/kit/stack/servers/kafka.ts'
import { freePort, type LocalServer, spawnServer } from '../../../src/kit/stack/servers/local-server.ts'
import { startMemoryKafka } from '../../../src/kit/stack/servers/memory-kafka.ts'
import { startPrometheus } from '../../../src/kit/stack/servers/prometheus.ts'
import { startRedis } from '../../../src/kit/stack/servers/redis.ts'
import { firingAt } from '../../../src/operations/status/pages.ts'
import { createTopics } from '../../support/create-topics.ts'

const SECOND = 1000
const DOWNLOADS = 900 * SECOND // the first start ever may fetch the server
const said: string[] = []
const say = (line: string) => said.push(line)
const opened: { close(): Promise<unknown> }[] = []

beforeEach(() => {
  said.length = 0
})

afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close()
}, 30 * SECOND)

describe('a spawned server', () => {
  const shell = (script: string) => ({ name: 'the test server', command: '/bin/sh', args: ['-c', script], say })

  it('fails with its last words when it ends before it is ready', async () => {
    const started = spawnServer({
      ...shell('echo bad luck >&2; exit 7'),
      ready: async () => false,
      readyWithinMs: 5000,
    })
    await expect(started).rejects.toThrow(/the test server ended \(exit code 7\) before it was ready:\nbad luck/)
  })

  it('fails with its last words and leaves nothing behind when it is not ready in time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gavel-test-'))
    const started = spawnServer({
      ...shell('echo "I am $$"; exec sleep 60'),
      temporaryFolder: folder,
      ready: () => Promise.reject(new Error('no answer')),
      readyWithinMs: 300,
    })
    const error = await started.catch((reason: Error) => reason)
    expect(error).toMatchObject({
      message: expect.stringMatching(/not ready after 0.3 s:\nI am \d+/),
      cause: { message: 'no answer' },
    })
    const pid = Number(/I am (\d+)/.exec(String(error))?.[1])
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(folder)).toBe(false)
  })

  it('is killed when it does not heed SIGTERM', async () => {
    const server = await spawnServer({
      ...shell('trap "" TERM; echo up; while :; do sleep 0.1; done'),
      ready: async (output) => output.includes('up'),
      readyWithinMs: 5000,
      stopWithinMs: 200,
    })
    const { pid } = server
    await server.close()
    expect(isAlive(pid)).toBe(false)
    expect(server.pid).toBeUndefined()
  })

  it('says so when it ends by itself', async () => {
    const server = await spawnServer({
      ...shell('echo up; sleep 0.2; echo out of luck; exit 3'),
      ready: async (output) => output.includes('up'),
      readyWithinMs: 5000,
    })
    opened.push(server)
    await eventually(() => expect(said.join()).toMatch(/ended by itself \(exit code 3\).*\n.*out of luck/s))
    expect(server.pid).toBeUndefined()
  })

  it('leaves nothing running when it is closed while it restarts', async () => {
    const pids: number[] = []
    const server = await spawnServer({
      ...shell('echo "pid $$"; exec sleep 60'),
      ready: async (output) => {
        const pid = /pid (\d+)/.exec(output)?.[1]
        if (pid) pids.push(Number(pid))
        return pid !== undefined
      },
      readyWithinMs: 5000,
    })
    const restarting = server.restart()
    await server.close()
    await restarting
    expect(new Set(pids).size).toBe(2)
    expect(pids.filter(isAlive)).toEqual([])
    await expect(server.restart()).rejects.toThrow('is closed')
  })
})

it('never gives out a port twice', async () => {
  const ports = await Promise.all(Array.from({ length: 30 }, freePort))
  expect(new Set(ports).size).toBe(30)
})

describe('Redis', () => {
  it('keeps its data as Gavel wants it, and is gone after close', async () => {
    const redis = await startRedis({ say })
    const client = new Redis(redis.settings.REDIS_URL ?? '')
    opened.push(redis, { close: () => client.quit() })
    expect(await client.config('GET', 'appendonly')).toContain('yes')
    expect(await client.config('GET', 'maxmemory-policy')).toContain('noeviction')
    expect(await client.config('GET', 'save')).toContain('')
    const [, folder = ''] = (await client.config('GET', 'dir')) as string[]
    expect(existsSync(folder)).toBe(true)
    await expectGoneAfterClose(redis)
    expect(existsSync(folder)).toBe(false)
  }, 180_000)

  it('comes back on the same port with the same data after a crash', async () => {
    const redis = await startRedis({ say })
    const client = new Redis(redis.settings.REDIS_URL ?? '', { maxRetriesPerRequest: null })
    client.on('error', () => {})
    opened.push(redis, { close: () => client.quit() })
    await client.set('verdict', 'rumor')
    const { pid } = redis
    await redis.kill()
    expect(isAlive(pid)).toBe(false)
    await redis.restart()
    expect(redis.pid).not.toBe(pid)
    expect(await client.get('verdict')).toBe('rumor')
    expect(said).toEqual([])
  })

  it('leaves a given folder to its owner', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gavel-test-'))
    opened.push({ close: () => rm(directory, { recursive: true }) })
    const port = await freePort()
    for (const expected of [1, 2]) {
      const redis = await startRedis({ say, directory, port })
      const client = new Redis(port)
      expect(await client.incr('starts')).toBe(expected)
      await client.quit()
      await redis.close()
    }
  })
})

describe('Prometheus', () => {
  it('scrapes what it is told to and evaluates the rules', async () => {
    const metrics = createServer((_, response) =>
      response.setHeader('content-type', 'text/plain').end('gavel_test 42\n'),
    )
    await new Promise<void>((resolve) => metrics.listen(0, '127.0.0.1', resolve))
    const folder = await mkdtemp(join(tmpdir(), 'gavel-test-'))
    opened.push({ close: () => rm(folder, { recursive: true }) }, { close: async () => metrics.close() })
    const rules = join(folder, 'rules.yml')
    const twice = '{ record: gavel_test_twice, expr: 2 * gavel_test }'
    const alert = (name: string, expr: string) =>
      `{ alert: ${name}, expr: ${expr}, labels: { severity: page }, annotations: { summary: 'is {{ $value }}' } }`
    const group = [twice, alert('Much', "'gavel_test > 41'"), alert('More', "'gavel_test > 42'")].join(', ')
    await writeFile(rules, `groups: [{ name: test, rules: [${group}] }]`)

    const target = `127.0.0.1:${(metrics.address() as AddressInfo).port}`
    const prometheus = await startPrometheus({ say, scrape: [target], ruleFiles: [rules] })
    opened.push(prometheus)
    await eventually(async () => {
      const response = await fetch(`${prometheus.settings.PROMETHEUS_URL}/api/v1/query?query=gavel_test_twice`)
      expect(await response.json()).toMatchObject({
        data: { result: [{ metric: { job: 'gavel', instance: target }, value: [expect.anything(), '84'] }] },
      })
    })
    const { PROMETHEUS_URL = '' } = prometheus.settings
    await eventually(async () => {
      expect(await firingAt(PROMETHEUS_URL)).toEqual([{ name: 'Much', severity: 'page', summary: 'is 42' }])
    })
    await expectGoneAfterClose(prometheus)
    expect(await firingAt(PROMETHEUS_URL)).toBeNull()
  }, 180_000)
})

describe('Apache Kafka', () => {
  it(
    'takes topics, messages and commits, and keeps them over a crash',
    async () => {
      const kafka = await startApacheKafka({ say })
      const client = kafkaClient(kafka)
      const admin = client.admin()
      opened.push(kafka, { close: () => admin.disconnect() })
      await admin.connect()
      await createTopics(admin, [{ topic: 'posts', numPartitions: 2 }])
      await produce(client, 'posts', ['one', 'two'])
      expect((await consumeAndCommit(client, 'posts', 2)).sort()).toEqual(['one', 'two'])

      const { pid } = kafka
      await kafka.kill()
      expect(isAlive(pid)).toBe(false)
      await kafka.restart()
      await produce(client, 'posts', ['three'])
      expect(await consumeAndCommit(client, 'posts', 1)).toEqual(['three'])
      await admin.disconnect()
      await expectGoneAfterClose(kafka)
    },
    DOWNLOADS,
  )

  it(
    'has no automatic topics',
    async () => {
      const kafka = await startApacheKafka({ say })
      opened.push(kafka)
      await expect(produce(kafkaClient(kafka), 'nobody-made-this', ['x'])).rejects.toThrow('does not host this topic')
    },
    DOWNLOADS,
  )
})

describe('the in-memory Kafka', () => {
  it(
    'takes messages, a group and its commits',
    async () => {
      const kafka = await startMemoryKafka({ say })
      const client = kafkaClient(kafka)
      const admin = client.admin()
      opened.push(kafka, { close: () => admin.disconnect() })
      await admin.connect()
      await produce(client, 'posts', ['one', 'two', 'three'])
      expect((await consumeAndCommit(client, 'posts', 3)).sort()).toEqual(['one', 'three', 'two'])

      const ends = await admin.fetchTopicOffsets('posts')
      const committed = await admin.fetchOffsets({ groupId: 'test', topics: ['posts'] })
      const positions = new Map(committed[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
      expect(ends).toHaveLength(4)
      expect(ends.map(({ partition, high }) => Math.max(0, positions.get(partition) ?? 0) - Number(high))).toEqual([
        0, 0, 0, 0,
      ])

      await produce(client, 'posts', ['four'])
      expect(await consumeAndCommit(client, 'posts', 1)).toEqual(['four'])
      await admin.disconnect()
      await expectGoneAfterClose(kafka)
    },
    DOWNLOADS,
  )

  it(
    'can make no topics by an admin client: callers must do without',
    async () => {
      const kafka = await startMemoryKafka({ say })
      const admin = kafkaClient(kafka).admin()
      opened.push(kafka, { close: () => admin.disconnect() })
      await admin.connect()
      await expect(admin.createTopics({ topics: [{ topic: 'posts' }] })).rejects.toThrow('does not support')
      expect(await admin.listTopics()).toEqual([])
    },
    DOWNLOADS,
  )
})

describe('the choice of a Kafka', () => {
  it(
    'takes the kind that is preferred, and what it is can be told',
    async () => {
      const kafka = await startKafka({ prefer: 'memory', say })
      opened.push(kafka)
      expect(kafka.kind).toBe('memory')
      expect(kafka.what).toMatch(/^an in-memory stand-in .* 127\.0\.0\.1:\d+/)
    },
    DOWNLOADS,
  )

  it(
    'falls back on the in-memory one where there is no Java, and says why',
    async () => {
      const { lines } = await runElsewhere(`
      const kafka = await startKafka({ prefer: 'apache', say })
      say(kafka.kind)
      await kafka.close()
    `)
      expect(lines.at(-1)).toBe('memory')
      expect(lines.at(-2)).toBe(
        'Not the Kafka that was asked for: Apache Kafka 4 takes Java 17 or newer, and there is no java on the PATH. To have it, install Java 17 and Maven, or set KAFKA_BROKERS to a Kafka that is running.',
      )
    },
    DOWNLOADS,
  )

  it('does not fall back where data are to be kept, and says why', async () => {
    const { lines } = await runElsewhere(
      `await startKafka({ prefer: 'apache', say, directory: '/nowhere' }).catch((error) => say(error.name + ': ' + error.message))`,
    )
    expect(lines[0]).toMatch(
      /^UnavailableError: .* no java on the PATH\. To have it, install Java 17 and Maven, or set/,
    )
  })

  it('lists the ways to a Redis where there is none', async () => {
    const { lines } = await runElsewhere(
      `await startRedis({ say }).catch((error) => say(error.name + ': ' + error.message))`,
    )
    expect(lines[0]).toBe('UnavailableError: No Redis here. Any of these will do:')
    expect(lines.join()).toMatch(/REDIS_URL.*redis-server.*compose\.yaml/)
  })
})

describe('the servers of a process', () => {
  const everything = `
    const memory = await startKafka({ prefer: 'memory', say })
    const servers = [memory, await startRedis({ say }), await startKafka({ prefer: 'apache', say })]
    const folders = servers.map((server) => / data in (.*)$/.exec(server.what)?.[1])
    process.on('SIGINT', async () => {
      say('alive ' + servers.every((server) => server.pid !== undefined && process.kill(server.pid, 0)))
      for (const server of servers.reverse()) await server.close()
      say('closed')
    })
    say('up ' + JSON.stringify({ pids: servers.map((server) => server.pid), folders: folders.filter(Boolean) }))
  `

  it(
    'are gone with their folders when it is killed with SIGKILL',
    async () => {
      const { child, up } = await startElsewhere(everything)
      expect(up.pids.map(isAlive)).toEqual([true, true, true])
      expect(up.folders.length).toBeGreaterThan(0)
      child.kill('SIGKILL')
      await eventually(() => {
        expect(up.pids.map(isAlive)).toEqual([false, false, false])
        expect(up.folders.filter(existsSync)).toEqual([])
      })
    },
    DOWNLOADS,
  )

  it(
    'hear nothing of a Ctrl-C, so that it can close them in order',
    async () => {
      const { child, up, lines } = await startElsewhere(everything)
      const end = new Promise((resolve) => child.once('close', resolve))
      process.kill(-(child.pid ?? Number.NaN), 'SIGINT') // what a terminal does: to the whole foreground group
      expect(await end).toBe(0)
      expect(lines.slice(-2)).toEqual(['alive true', 'closed'])
      expect(up.pids.map(isAlive)).toEqual([false, false, false])
      expect(up.folders.filter(existsSync)).toEqual([])
    },
    DOWNLOADS,
  )
})

/** False also for a process that has ended and that nobody has collected yet. */
function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    process.kill(pid, 0)
    return !existsSync('/proc/self') || !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function expectGoneAfterClose(server: LocalServer): Promise<void> {
  const { pid } = server
  expect(isAlive(pid)).toBe(true)
  await server.close()
  expect(isAlive(pid)).toBe(false)
  expect(server.pid).toBeUndefined()
  await server.close()
  expect(said.filter((line) => line.includes('by itself'))).toEqual([])
}

function kafkaClient(server: LocalServer): Kafka {
  const brokers = [server.settings.KAFKA_BROKERS ?? '']
  return new Kafka({ clientId: 'test', brokers, logLevel: logLevel.NOTHING, retry: { retries: 3 } })
}

async function produce(client: Kafka, topic: string, values: readonly string[]): Promise<void> {
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  try {
    await producer.send({ topic, messages: values.map((value) => ({ key: value, value })) })
  } finally {
    await producer.disconnect()
  }
}

async function consumeAndCommit(client: Kafka, topic: string, count: number): Promise<string[]> {
  const consumer = client.consumer({
    groupId: 'test',
    sessionTimeout: 6000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 100,
  })
  const values: string[] = []
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
        values.push(String(message.value))
      },
    })
    await eventually(() => expect(values.length).toBeGreaterThanOrEqual(count))
    return values
  } finally {
    await consumer.disconnect()
  }
}

interface Elsewhere {
  readonly child: ChildProcess
  readonly lines: string[]
  readonly errors: string[]
  readonly ended: Promise<unknown>
}

/** Runs a script that starts servers in a process of its own. */
function elsewhere(script: string, env?: Record<string, string>): Elsewhere {
  const servers = new URL('../../../src/kit/stack/servers/', import.meta.url)
  const source = `
    import { writeSync } from 'node:fs'
    import { startKafka } from '${new URL('kafka.ts', servers)}'
    import { startRedis } from '${new URL('redis.ts', servers)}'
    const say = (line) => writeSync(1, line + '\\n')
    ${script}
  `
  const options = ['--disable-warning=TimeoutNegativeWarning', '--input-type=module', '--eval', source]
  const child = spawn(process.execPath, options, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env ? { env } : {}),
  })
  const lines: string[] = []
  const errors: string[] = []
  child.stdout?.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n').filter(Boolean)))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  return { child, lines, errors, ended: new Promise((resolve) => child.once('close', resolve)) }
}

/** Runs it to its end where the PATH leads nowhere. */
async function runElsewhere(script: string): Promise<Elsewhere> {
  const run = elsewhere(script, { PATH: '/nowhere' })
  expect(await run.ended, run.errors.join('')).toBe(0)
  return run
}

/** Starts it and waits until it says that its servers are up. */
async function startElsewhere(script: string): Promise<Elsewhere & { up: { pids: number[]; folders: string[] } }> {
  const run = elsewhere(script)
  opened.push({ close: async () => run.child.kill('SIGKILL') })
  const words = await eventually(() => {
    const line = run.lines.find((each) => each.startsWith('up '))
    expect(line, run.errors.join('')).toBeDefined()
    return line?.slice(3) ?? ''
  }, DOWNLOADS)
  return { ...run, up: JSON.parse(words) }
}

async function eventually<T>(check: () => T | Promise<T>, withinMs = 20 * SECOND): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(50)
    }
  }
}
