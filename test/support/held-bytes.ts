import type { Redis } from 'ioredis'
import type { Keys } from '../../src/store/redis/keys.ts'

/** How many bytes a tenant's threads of the stream hold, by what stands in Redis. */
export async function threadBytesIn(client: Redis, keys: Keys, tenant: string): Promise<number> {
  const all = await client.keys(`${keys.thread('')}*`)
  for (const kind of [keys.comments(''), keys.orphans('')])
    all.push(...(await client.keys(`${kind}*`)).map((key) => keys.thread(key.slice(kind.length))))
  const members = new Set(all.map((key) => key.slice(keys.thread('').length)))
  let sum = 0
  for (const member of members) {
    const [of, kind] = (/^[^:]*/.exec(member)?.[0] ?? '').split('/')
    if (of === tenant && kind !== 'asked') sum += await bytesOf(client, keys, member)
  }
  return sum
}

async function bytesOf(client: Redis, keys: Keys, member: string): Promise<number> {
  const sizes = async (key: string) =>
    Object.entries(await client.hgetall(key)).map(([name, value]) => Buffer.byteLength(name + value))
  const sum = (some: readonly number[]) => some.reduce((all, size) => all + size, 0)
  const [post, counted] = await client.hmget(keys.thread(member), 'post', 'held')
  const judges = (counted ?? '').split(' ')[3]
  const [said, origins, images] = await Promise.all([
    sizes(keys.comments(member)),
    sizes(keys.orphans(member)),
    sizes(keys.images(member)),
  ])
  const words = Buffer.byteLength(post ?? '') + sum(said) + 200 * said.length
  const isEmpty = words + origins.length === 0
  return isEmpty ? 0 : 1_000 + (1 + Number(judges ?? 0)) * words + sum(origins) + sum(images)
}
