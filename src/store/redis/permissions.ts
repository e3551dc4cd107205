import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Keys } from './keys.ts'
import { script } from './script.ts'

const tryCommands = script('redis/permissions', { keys: ['probe'], args: ['commands[]'] })

const readUndeclared = script('redis/undeclared', { keys: ['probe'], args: ['other'] })

/**
 * The commands of Gavel's and BullMQ's scripts, and those that are sent by themselves, each in a form that changes
 * nothing but the key that it is tried on.
 */
export const COMMANDS = [
  'SET KEY 0 PX 1000',
  'GET KEY',
  'MGET KEY',
  'EXISTS KEY',
  'TYPE KEY',
  'PEXPIRE KEY 1000',
  'PEXPIREAT KEY 1',
  'PTTL KEY',
  'PERSIST KEY',
  'INCR KEY',
  'INCRBY KEY 1',
  'GETDEL KEY',
  'RENAME KEY KEY',
  'UNLINK KEY',
  'HSET KEY f 0',
  'HSETNX KEY f 0',
  'HMSET KEY f 0',
  'HGET KEY f',
  'HMGET KEY f',
  'HGETALL KEY',
  'HKEYS KEY',
  'HLEN KEY',
  'HSTRLEN KEY f',
  'HEXISTS KEY f',
  'HINCRBY KEY f 1',
  'HSCAN KEY 0',
  'HDEL KEY f',
  'SADD KEY m',
  'SCARD KEY',
  'SISMEMBER KEY m',
  'SMEMBERS KEY',
  'SREM KEY m',
  'SPOP KEY',
  'SRANDMEMBER KEY 1',
  'RPUSH KEY e',
  'LPUSH KEY e',
  'LSET KEY 0 e',
  'LINDEX KEY 0',
  'LLEN KEY',
  'LPOS KEY e',
  'LRANGE KEY 0 1',
  'LREM KEY 1 x',
  'LTRIM KEY 0 1',
  'RPOPLPUSH KEY KEY',
  'LPOP KEY',
  'RPOP KEY',
  'DEL KEY',
  'ZADD KEY 1 m',
  'ZINCRBY KEY 1 m',
  'ZSCAN KEY 0',
  'ZCARD KEY',
  'ZCOUNT KEY 0 1',
  'ZLEXCOUNT KEY - +',
  'ZRANDMEMBER KEY 1',
  'ZRANGE KEY 0 1',
  'ZRANGEBYLEX KEY - +',
  'ZRANGEBYSCORE KEY 0 1',
  'ZRANK KEY m',
  'ZREVRANGE KEY 0 1',
  'ZREVRANGEBYLEX KEY + -',
  'ZREVRANGEBYSCORE KEY 1 0',
  'ZSCORE KEY m',
  'ZREM KEY x',
  'ZREMRANGEBYRANK KEY 5 6',
  'ZREMRANGEBYSCORE KEY 5 6',
  'ZPOPMIN KEY',
  'DEL KEY',
  'XADD KEY * f 0',
  'XLEN KEY',
  'XRANGE KEY - +',
  'XREAD COUNT 1 STREAMS KEY 0',
  'XTRIM KEY MAXLEN 1',
  'XGROUP CREATE KEY g 0',
  'XINFO CONSUMERS KEY g',
  'XREADGROUP GROUP g c COUNT 1 STREAMS KEY >',
  'XPENDING KEY g',
  'XCLAIM KEY g c 0 0-1',
  'XAUTOCLAIM KEY g c 0 0',
  'XACK KEY g 0-1',
  'XDEL KEY 0-1',
  'TIME',
  'INFO server',
] as const

/** Not allowed in a script: it may block. */
const BLOCKING = 'BZPOPMIN'

/** Dragonfly: "script tried accessing undeclared key"; ElastiCache: "keys that were not declared". */
const UNDECLARED = /undeclared|not declared/i

/** What the server says to a script that reads a key which its call does not name; null if it lets it, or fails otherwise. */
export async function undeclaredRefusal(client: Redis, keys: Pick<Keys, 'under'>): Promise<string | null> {
  return readUndeclared(client, { probe: keys.under('probe'), other: keys.under('probe/other') }).then(
    () => null,
    (error: unknown) => (error instanceof Error && UNDECLARED.test(error.message) ? error.message : null),
  )
}

/** The commands that the user of this connection lacks the right to, on Gavel's keys. Leaves nothing behind. */
export async function deniedCommands(client: Redis, keys: Pick<Keys, 'under'>): Promise<string[]> {
  const probe = keys.under('probe')
  const scripting = await denied('eval', () => client.eval('return 1', 1, probe))
  const hashed = await denied('evalsha', () => tryCommands(client, { probe, commands: COMMANDS }))
  const blocking = await denied(BLOCKING.toLowerCase(), () => client.call(BLOCKING, probe, '0.001'))
  return [...new Set([...scripting, ...hashed, ...blocking])]
}

/** Empty if Redis refuses for another reason than the user's rights: that is another check's. */
async function denied(name: string, ask: () => Promise<unknown>): Promise<string[]> {
  try {
    const lines = z.array(z.string()).safeParse(await ask())
    return lines.success ? lines.data.map((line) => line.split(' ', 1)[0]?.toLowerCase() ?? line) : []
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM'))
      return [/access .*key/.test(error.message) ? 'all of them (it has no access to these keys)' : name]
    if (error instanceof Error && error.name === 'ReplyError') return []
    throw error
  }
}
