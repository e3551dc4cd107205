import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { SinkNotes } from '../../contracts/ports/sink-notes.ts'
import { type Keys, memberOf } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

const noteEntries = script('sink/note', { keys: ['notes'], args: ['member', 'protocol', 'keep', 'entries[]'] })
const noted = z.array(z.string())

/** What sinks have had, in Redis: each note for so long after the last verdict that its subject's sinks were asked about. */
export function redisSinkNotes(client: Redis, keys: Keys, keepMs: number): SinkNotes {
  return {
    async note({ ref, protocol }, entries) {
      const member = memberOf(ref)
      const notes = keys.under(`sunk:${protocol}:${member}`)
      return new Set(noted.parse(await noteEntries(client, { notes, member, protocol, keep: keepMs, entries })))
    },
  }
}
