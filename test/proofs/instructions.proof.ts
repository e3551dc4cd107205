import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { redisThreads } from '../../src/store/thread/redis.ts'
import { ARRIVAL, postOf, RULES, T0, thread } from '../contracts/samples.ts'
import { ownFolder } from '../support/own-folder.ts'

// Counted, so a busy machine changes nothing: the instructions of a Redis under valgrind's callgrind.

const keys = keysUnder('counted')
const TEXT = 'Report 17: police confirm nobody was hurt at the bridge but my neighbour says smoke is still rising over'

async function putPost(client: Redis, nth: number): Promise<void> {
  const ref = thread(`p${nth}`)
  const place = { topic: 'gavel.posts', partition: 1, offset: String(nth), timestamp: T0 }
  const threads = redisThreads(client, keys, { keepTombstoneMs: 600_000_000, keepAfterFinalMs: 1_000 })
  await threads.putPost(ref, postOf(ref, { text: TEXT }), { ...ARRIVAL, place }, RULES)
}

/** The commands that the script runs, with what it writes, each sent by itself. */
async function plainly(client: Redis, nth: number): Promise<void> {
  const member = `default:p${nth}`
  const fields = { post: JSON.stringify(postOf(thread(`p${nth}`), { text: TEXT })), createdAt: T0, share: member }
  const more = { postPlace: `gavel.posts/1 ${nth} ${T0}`, held: '0 0 0 1', version: 1, postVersion: 1, accepted: 0 }
  const commands = client.pipeline()
  commands.exists(
    ...['thread', 'comments', 'orphans', 'images', 'revisions', 'decided', 'early'].map((kind) => `${kind}:${member}`),
  )
  commands.hset(keys.thread(member), { ...fields, ...more, nextAge: T0 })
  commands.hincrby(`${keys.kept}parts:default`, member, 1_300)
  commands.zincrby(`${keys.kept}tenants`, 1_300, 'default')
  commands.zadd(`${keys.due}:default`, T0, member)
  commands.zrank(`${keys.due}:default`, member)
  await commands.exec()
}

/** Those of a Redis that did this so many times. */
async function instructions(work: (client: Redis, nth: number) => Promise<void>, times: number): Promise<number> {
  const folder = ownFolder('callgrind')
  const [port, out] = [await freePort(), join(folder, 'out')]
  const tool = [
    '--tool=callgrind',
    `--callgrind-out-file=${out}`,
    'redis-server',
    '--port',
    String(port),
    '--dir',
    folder,
  ]
  const server = spawn('valgrind', [...tool, '--save', '', '--hz', '1', '--activerehashing', 'no'], { stdio: 'ignore' })
  const ended = once(server, 'exit')
  const client = connect(`redis://127.0.0.1:${port}`, () => {}, 'retrying')
  while ((await client.ping().catch(() => '')) !== 'PONG') await sleep(100)
  for (let nth = 0; nth < times; nth += 100)
    await Promise.all(Array.from({ length: 100 }, (_, more) => work(client, nth + more)))
  void client.shutdown('NOSAVE').catch(() => {})
  await ended
  client.disconnect()
  return Number(/^(?:totals|summary): (\d+)/m.exec(await readFile(out, 'utf8'))?.[1])
}

async function each(work: (client: Redis, nth: number) => Promise<void>): Promise<number> {
  const [few, many] = [await instructions(work, 200), await instructions(work, 1_200)]
  return Math.round((many - few) / 1_000)
}

test.runIf(spawnSync('valgrind', ['--version']).status === 0)(
  'a new post takes at most 2.55 times of Redis what the commands take that write it, each sent by itself',
  async () => {
    const [post, plain] = [await each(putPost), await each(plainly)]
    process.stdout.write(`instructions of Redis: ${post} a new post, ${plain} its commands by themselves\n`)
    expect(post / plain).toBeLessThan(2.55)
  },
)
