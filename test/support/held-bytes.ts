import type { Redis } from 'ioredis'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { STORY_BYTES } from '../../src/judging/threads/story.ts'
import { type Keys, memberOf } from '../../src/store/redis/keys.ts'

/** How many bytes these threads of the stream hold, by what stands in Redis. */
export async function threadBytesIn(client: Redis, keys: Keys, refs: readonly ThreadRef[]): Promise<number> {
  const sizes = await Promise.all(refs.map((ref) => bytesOf(client, keys, memberOf(ref))))
  return sizes.reduce((all, size) => all + size, 0)
}

async function bytesOf(client: Redis, keys: Keys, member: string): Promise<number> {
  const sizes = async (key: string) =>
    Object.entries(await client.hgetall(key)).map(([name, value]) => Buffer.byteLength(name + value))
  const sum = (some: readonly number[]) => some.reduce((all, size) => all + size, 0)
  const id = Buffer.byteLength(member.slice(member.indexOf(':') + 1))
  const [post, counted, deleted, story] = await client.hmget(keys.thread(member), 'post', 'held', 'deleted', 'story')
  const judges = (counted ?? '').split(' ')[3]
  const early = await client.get(keys.early(member))
  const reach = early === null ? 0 : 500 + 3 * id
  if (deleted !== null) return reach + 500 + 3 * id
  const [said, ids, origins, images] = await Promise.all([
    sizes(keys.comments(member)),
    client.hkeys(keys.comments(member)),
    sizes(keys.orphans(member)),
    sizes(keys.images(member)),
  ])
  const words = Buffer.byteLength(post ?? '') + sum(said) + sum(ids.map((one) => Buffer.byteLength(one) + 200))
  const isEmpty = words + origins.length === 0
  const more = story === null ? 0 : STORY_BYTES
  return reach + (isEmpty ? 0 : 1_000 + 6 * id + (1 + Number(judges ?? 0)) * words + sum(origins) + sum(images) + more)
}
