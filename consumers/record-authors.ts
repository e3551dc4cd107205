import type { AuthorErasure } from '../src/contracts/facts/author-erasure.ts'
import type { ThreadRef } from '../src/contracts/facts/thread.ts'
import type { AuthorErasures, AuthorIndex } from '../src/contracts/ports/authors.ts'
import type { RecordedTopic, RecordStore } from '../src/contracts/ports/record.ts'

/** Subjects that are looked up, and noted, at a time; how long one run may take, in ms. */
const [FOUND_AT_ONCE, RUN_MS] = [500, 500]

/**
 * What the record has to do for erasures of authors: it notes what it has of them, so that deletions are sent for that as well, and tells
 * when it has read these. To be run again and again; begun anew elsewhere it does the same.
 */
export function recordAuthors(of: {
  readonly store: Pick<RecordStore, 'writtenBy' | 'positions' | 'hasDependents'>
  readonly index: Pick<AuthorIndex, 'note'>
  readonly erasures: Pick<AuthorErasures, 'noteRecord' | 'all' | 'recordOf' | 'saveRecord'>
  /** The offset of the first message that a partition still has, and that behind its last. */
  readonly bounds: (topic: string, partition: number) => Promise<{ readonly low: number; readonly high: number }>
  /** The recorded topics, by their names in Kafka. */
  readonly topics: ReadonlyMap<string, RecordedTopic>
  /** How long the record holds anything, in ms. */
  readonly keepMs: number
}) {
  const { store, index, erasures, bounds, topics, keepMs } = of
  /** Where the search for an author goes on. */
  const reached = new Map<string, string>()

  /** Notes what the record has of an author; false if there is more to look for. */
  async function search({ id, tenant, author = '' }: AuthorErasure, until: number): Promise<boolean> {
    for (;;) {
      const page = await store.writtenBy({ tenant, author }, reached.get(id) ?? null, FOUND_AT_ONCE)
      // What an earlier version wrote is still to be looked through, and may stand before what was found so far: then it begins anew.
      if (!page.isComplete) {
        reached.delete(id)
        return false
      }
      const noted = page.subjects.map((subject: ThreadRef) => ({ tenant, author: id, subject }))
      await index.note(noted)
      if (page.next === null) {
        reached.delete(id)
        return true
      }
      reached.set(id, page.next)
      if (performance.now() > until) return false
    }
  }

  async function hasRead(upTo: AuthorErasure['upTo']): Promise<boolean> {
    const positions = await store.positions()
    for (const [key, offset] of Object.entries(upTo)) {
      const slash = key.lastIndexOf('/')
      const name = key.slice(0, slash)
      const topic = topics.get(name)
      if (topic === undefined) continue
      const next = positions.get(`${topic}${key.slice(slash)}`) ?? 0
      if (next >= Number(offset)) continue
      // Of what Kafka has deleted, and of a topic that was made anew, nothing will be read.
      const { low, high } = await bounds(name, Number(key.slice(slash + 1)))
      if (Math.max(next, low) < Math.min(Number(offset), high)) return false
    }
    return true
  }

  return {
    async step(): Promise<void> {
      await erasures.noteRecord(keepMs)
      const until = performance.now() + RUN_MS
      for (const one of await erasures.all()) {
        if (one.state !== 'sending' && one.state !== 'sent') continue
        const state = await erasures.recordOf(one.id)
        if (state === null && (await search(one, until))) await erasures.saveRecord(one.id, 'searched')
        if (state !== 'searched' || one.state !== 'sent' || !(await hasRead(one.upTo))) continue
        // What stood under the person's posts goes some at a time, after what was read of these.
        if (!(await store.hasDependents(one.tenant))) await erasures.saveRecord(one.id, 'clean')
      }
    },
  }
}
