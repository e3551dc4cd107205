import { setTimeout as sleep } from 'node:timers/promises'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { type Post, snapshot, type ThreadRef } from '../contracts/facts/thread.ts'
import { transcript } from '../contracts/facts/verdict.ts'
import type { TopicHistory } from '../contracts/ports/topic.ts'
import type { Vetoes } from '../contracts/ports/vetoes.ts'
import { type RecoveryRun, sideBySide } from './run.ts'

interface ListedContext extends Pick<RecoveryRun, 'signal' | 'told'> {
  readonly topics: Pick<RecoveryRun['topics'], 'transcripts'>
  readonly history: TopicHistory
}

/** What came of comparing what verdicts saw with the lists. */
export interface ListedVerdicts {
  /** By the ids of verdicts whose subjects are on a list, which list. */
  readonly lists: ReadonlyMap<string, string>
  /** Of how many others a picture could not be compared. */
  readonly unchecked: number
}

const PARTS = transcript.pick({ verdictId: true, subject: true })
/** Whoever has no findings yet asks again after this time, in ms. */
const AGAIN_MS = 200

/** Compares the subjects of these verdicts, as their transcripts have them, with the lists of vetoes. */
export async function verdictsOnLists(
  { topics, history, signal, told }: ListedContext,
  verdicts: ReadonlyMap<string, ThreadRef>,
  vetoes: Vetoes,
): Promise<ListedVerdicts> {
  const lists = new Map<string, string>()
  const unchecked = new Set<string>()
  const compare = async ({ id, ref, post }: { id: string; ref: ThreadRef; post: Post }) => {
    for (;;) {
      signal.throwIfAborted()
      const found = await vetoes.check({ ref, caseId: id, post, around: new Map(), mayFetch: async () => {} })
      if (found === null) await sleep(AGAIN_MS, undefined, { signal })
      else {
        if (found.hit !== null) lists.set(id, found.hit.list)
        else if (found.unchecked.length > 0) unchecked.add(id)
        return
      }
    }
  }
  await history.read(topics.transcripts, await history.rangesOf(topics.transcripts, null), async (records) => {
    const seen = records.flatMap((record) => {
      const { success, data } = PARTS.safeParse(jsonOf(record))
      const ref = success ? verdicts.get(data.verdictId) : undefined
      const subject = ref === undefined ? undefined : snapshot.safeParse(data?.subject).data
      return ref === undefined || data === undefined || subject === undefined
        ? []
        : [{ id: data.verdictId, ref, post: subject.post }]
    })
    await sideBySide({ signal, told }, seen, 'compared', compare)
  })
  for (const id of lists.keys()) unchecked.delete(id)
  return { lists, unchecked: unchecked.size }
}
