import { expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { commentKey } from '../../src/contracts/facts/verdict-id.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import { aVerdict } from '../support/verdicts.ts'
import { aTranscript, at, feed } from './record.ts'

/** A record whose file, or schema, is opened again after what was done to it. */
export interface ReopenedRecord {
  open(): Promise<RecordStore>
  /** Takes away what an earlier version did not have. */
  asEarlier(): Promise<void>
}

/** What a record tells of who wrote what, for every adapter; `make` gives a record that keeps everything. */
export function writtenContract(where: string, make: () => ReopenedRecord): void {
  const post = (postId: string): ThreadRef => ({ tenant: 'default', kind: 'post', postId })
  const comment = (on: string, id: string): ThreadRef => ({
    tenant: 'default',
    kind: 'comment',
    postId: commentKey(on, id),
  })

  /** Who wrote a post and its comments, by their ids. */
  async function judged(
    store: RecordStore,
    topics: ReturnType<typeof feed>,
    subjectId: string,
    authors: Record<string, string>,
    tenant = 'default',
  ) {
    const { post: author, ...comments } = authors
    const verdict = aVerdict(at(0), { subjectId, tenant })
    const texts = Object.fromEntries(Object.keys(comments).map((id) => [id, `words of ${id}`]))
    const transcript = aTranscript(verdict.id, 'words', texts, 0, author === undefined ? {} : { author })
    const subject = {
      ...transcript.subject,
      comments: transcript.subject?.comments.map((one) => ({ ...one, author: authors[one.id] })),
    }
    await topics.send('verdicts', subjectId, verdict)
    await topics.send('transcripts', subjectId, { ...transcript, subject })
    return store
  }

  async function writtenBy(store: RecordStore, author: string, tenant = 'default', most = 2) {
    const all: ThreadRef[] = []
    for (let after: string | null = null, pages = 0; pages < 10; pages++) {
      const page = await store.writtenBy({ tenant, author }, after, most)
      all.push(...page.subjects)
      if (page.next === null) return { all, isComplete: page.isComplete }
      after = page.next
    }
    throw new Error('a search without an end')
  }

  it(`finds what somebody wrote, by the name that readers see, until it is deleted, ${where}`, async () => {
    const store = await make().open()
    const topics = feed(store)
    await judged(store, topics, 'p', { post: 'ann', c1: 'ben', c2: 'ann\u200b', c3: 'cleo' })
    await judged(store, topics, 'q~1', { post: 'ben', c1: 'ann' })
    await judged(store, topics, 'r', { post: 'ann' }, 'acme')
    expect(await writtenBy(store, 'ann')).toEqual({
      all: [post('p'), comment('p', 'c2'), comment('q~1', 'c1')],
      isComplete: true,
    })
    expect((await writtenBy(store, 'ann', 'acme')).all).toEqual([{ ...post('r'), tenant: 'acme' }])
    expect((await writtenBy(store, 'an')).all).toEqual([])
    // A deleted comment goes with the transcript that holds it; the others' are found all the same.
    await topics.send('comments', 'q~1', { id: 'c1', postId: 'q~1', createdAt: at(1), deleted: true }, 5)
    expect((await writtenBy(store, 'ann')).all).toEqual([post('p'), comment('p', 'c2')])
    await topics.send('posts', 'p', { id: 'p', createdAt: at(1), deleted: true }, 5)
    expect((await writtenBy(store, 'ann')).all).toEqual([])
    expect((await writtenBy(store, 'cleo')).all).toEqual([])
    expect((await writtenBy(store, 'ben')).all).toEqual([post('q~1')])
    await store.close()
  })

  it(`looks through what an earlier version wrote, and says until then that it has not, ${where}`, async () => {
    const record = make()
    const before = await record.open()
    const topics = feed(before)
    await judged(before, topics, 'p', { post: 'ann', c1: 'ben' })
    const of = { protocol: 'hate', subjectKind: 'comment', subjectId: 'c2', postId: 'q' } as const
    const shown = await topics.judged({ ...of, seconds: 1 }, 'a comment', { c1: 'what it answers' })
    await before.close()
    await record.asEarlier()
    const store = await record.open()
    expect((await writtenBy(store, 'ben')).isComplete).toBe(false)
    // Processes of the earlier version may go on beside it for some minutes.
    for (let step = 0; step < 3; step++) await store.tidy(Date.now() + 700_000)
    expect(await writtenBy(store, 'ben')).toEqual({ all: [comment('p', 'c1')], isComplete: true })
    expect((await writtenBy(store, 'ann')).all).toEqual([post('p')])
    // Nor is there what comments show.
    expect(await store.transcript(shown.id)).not.toBeNull()
    await feed(store, topics.ends).send('comments', 'q', { id: 'c1', postId: 'q', createdAt: at(1), deleted: true }, 5)
    expect(await store.transcript(shown.id)).toBeNull()
    await store.close()
  })
}
