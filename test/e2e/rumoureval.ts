import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { PROJECT } from '../../config/load.ts'
import type { Pace } from '../../producers/replay.ts'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { noComments, type Turn } from '../../src/contracts/facts/verdict.ts'
import { repeats } from '../support/ledger.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  environmentOn,
  recordsOf,
  send,
  startService,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'

const FILE = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')

/** Null, said loudly, where the public data is not there. */
export function rumourEvalFile(threads: number): { file: string; ids: Map<string, Set<string>> } | null {
  if (!existsSync(FILE)) {
    tell('SKIPPED: ../shared/data/rumoureval2017 is not there; the main job was not run on real input.')
    return null
  }
  const lines = readFileSync(FILE, 'utf8').trim().split('\n').slice(0, threads)
  const file = join(ownFolder('rumoureval'), 'threads.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const read = lines.map((line) => JSON.parse(line) as { id: string; comments: { id: string }[] })
  return { file, ids: new Map(read.map(({ id, comments }) => [id, new Set(comments.map((comment) => comment.id))])) }
}

type Data = NonNullable<ReturnType<typeof rumourEvalFile>>

/**
 * Replays the threads through a service of their own and checks every promise of the main job; resolves to the final
 * snapshots by thread, as the transcripts hold them.
 */
export async function replayThreads(stack: Servers, data: Data, pace: Pace) {
  const { finals, argued } = await replayed(stack, data, pace)
  return new Map(finals.map(({ id, subjectId }) => [subjectId, argued.get(id)?.subject]))
}

/**
 * Replays the threads, each final when it is older than any of its comments, and holds every verdict's counts against its
 * transcripts: each comment is judged, and each that is judged has its stance in this revision's transcript or an earlier one's.
 */
export async function countThreads(stack: Servers, data: Data, pace: Pace): Promise<void> {
  const { verdicts, finals, argued } = await replayed(stack, data, pace, {
    GAVEL_CHECKPOINTS_FINAL_AGE: '365d',
    GAVEL_PROTOCOLS_RUMOR_FOLD_NEAR_IDENTICAL: 'false',
  })
  const scored = new Map<string, Set<string>>()
  for (const { id, subjectId, counts } of verdicts.toSorted((a, b) => a.revision - b.revision)) {
    const own = argued.get(id)
    const known = scored.get(subjectId) ?? new Set()
    for (const one of scoredIn(own?.turns ?? [])) known.add(one)
    scored.set(subjectId, known)
    const shown = snapshot.parse(own?.subject).comments.map((comment) => comment.id)
    expect(counts).toEqual({ ...noComments(), accepted: shown.length, judged: shown.length })
    expect(shown.filter((comment) => !known.has(comment))).toEqual([])
  }
  for (const { subjectId, counts } of finals) expect(counts.accepted).toBe(data.ids.get(subjectId)?.size)
  const accepted = finals.reduce((sum, { counts }) => sum + counts.accepted, 0)
  tell(`${finals.length} final verdicts accepted ${accepted} comments, and judged each.`)
  expect(accepted).toBe([...data.ids.values()].reduce((sum, ids) => sum + ids.size, 0))
}

/** Ids of comments that have a stance in these turns: by the numbers in the answers, and what each turn was about. */
export function scoredIn(turns: readonly Turn[]): Set<string> {
  const answered = z.object({ scores: z.array(z.object({ comment: z.number() })) })
  return new Set(
    turns.flatMap(({ stage, answer, about = [] }) =>
      stage === 'stance' ? answered.parse(answer).scores.map(({ comment: number }) => about[number - 1] ?? '') : [],
    ),
  )
}

async function replayed(stack: Servers, data: Data, pace: Pace, changes: Record<string, string> = {}) {
  const environment = environmentOn(stack, changes)
  const service = await startService(environment)
  const started = Date.now()
  try {
    const { sent } = await send(environment, data.file, 'rumoureval2017', pace)
    await allFinal(environment, data.ids.size, 120_000)
    const [verdicts, transcripts, records] = [
      await verdictsOf(environment),
      await transcriptsOf(environment),
      await recordsOf(environment, 'verdicts'),
    ]
    const finals = verdicts.filter(({ final }) => final)
    const argued = new Map(transcripts.map((transcript) => [transcript.verdictId, transcript]))
    const labels = Object.entries(Object.groupBy(finals, ({ label }) => label ?? 'none')).map(
      ([label, all]) => `${label} ${all?.length}`,
    )
    tell(
      `${sent} messages, ${verdicts.length} verdicts, ${finals.length} final (${labels.join(', ')}), ${verdicts.reduce((sum, { usage }) => sum + usage.calls, 0)} calls, ${((Date.now() - started) / 1000).toFixed(0)} s`,
    )
    expect(finals.map(({ subjectId }) => subjectId).sort()).toEqual([...data.ids.keys()].sort())
    expect(repeats(records)).toEqual([])
    for (const verdict of verdicts) {
      for (const id of [...verdict.evidence.support, ...verdict.evidence.oppose])
        expect(data.ids.get(verdict.subjectId)).toContain(id)
      const turns = argued.get(verdict.id)?.turns
      expect(turns?.reduce((sum, { calls }) => sum + calls.length, 0)).toBe(verdict.usage.calls)
    }
    return { verdicts, finals, argued }
  } finally {
    await service.kill('SIGTERM')
  }
}
