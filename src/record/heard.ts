import { z } from 'zod'
import { type Snapshot, snapshot } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import type { RecordReader } from '../contracts/ports/record.ts'

const heard = z.object({ subject: snapshot })
/** A human's verdict, or one that was restored, has seen nothing itself: so many verdicts back is looked for one that has. */
const FURTHEST = 5

/** Post and comments as the verdict saw them, or the one that it was decided against; null if they are not in the record. */
export async function heardBy(
  record: Pick<RecordReader, 'transcript' | 'verdict'>,
  of: Verdict,
): Promise<Snapshot | null> {
  let id: string | null = of.id
  for (let back = 0; back < FURTHEST && id !== null; back++) {
    const json = await record.transcript(id)
    const read = json === null ? null : heard.safeParse(JSON.parse(json))
    if (read?.success === true) return read.data.subject
    const verdict: Verdict | undefined = (await record.verdict(id))?.verdict
    id = verdict?.decision?.against ?? verdict?.restored?.from ?? null
  }
  return null
}
