import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { JetstreamStore, TakenRecord } from '../../contracts/ports/jetstream.ts'
import type { Keys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

const save = script('jetstream/save', {
  keys: ['position', 'gone', 'taken[].key'],
  args: ['time', 'relay', 'seq', 'keep', 'taken[].note', 'authors[]'],
})

/** What the reader of Jetstream remembers, in Redis: some 300 bytes for each record of which something was sent. */
export function redisJetstream(
  client: Redis,
  keys: Pick<Keys, 'jetstreamPosition' | 'jetstreamTaken' | 'jetstreamGone'>,
): JetstreamStore {
  const keyOf = (id: string) => keys.jetstreamTaken(hash('sha256', id, 'base64url').slice(0, SHORT))
  return {
    async position() {
      const { time, relay = '', seq = '' } = await client.hgetall(keys.jetstreamPosition)
      return time === undefined ? null : { time: Number(time), relay, seq: seq === '' ? null : Number(seq) }
    },
    async taken(ids) {
      if (ids.length === 0) return []
      return (await client.mget(ids.map(keyOf))).map((note) => (note === null ? null : recordOf(note)))
    },
    async save({ time, relay, seq }, { taken, gone }, keepMs) {
      const all = [...taken].map(([id, record]) => ({ key: keyOf(id), note: noteOf(record) }))
      const at = { position: keys.jetstreamPosition, gone: keys.jetstreamGone, time, relay, seq, keep: keepMs }
      await save(client, { ...at, taken: all, authors: [...gone] })
    },
    gone: (limit) => client.srandmember(keys.jetstreamGone, limit),
    async erased(author) {
      await client.srem(keys.jetstreamGone, author)
    },
  }
}

/** 132 bits of a hash: nobody finds two records with the same. */
const SHORT = 22

/** `REV CREATED ROOT`; ROOT is `-` where it was deleted, and empty for a post. */
function noteOf({ rev, createdAt, root, isDeleted }: TakenRecord): string {
  return `${rev} ${createdAt} ${isDeleted ? '-' : (root ?? '')}`
}

function recordOf(note: string): TakenRecord {
  const [rev = '', createdAt = '', root = ''] = note.split(' ')
  const isDeleted = root === '-'
  return { rev, createdAt: Number(createdAt), root: isDeleted || root === '' ? null : root, isDeleted }
}
