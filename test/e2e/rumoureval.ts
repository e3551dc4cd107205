import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import type { Pace } from '../../producers/replay.ts'
import type { Stack } from '../../src/stack/stack.ts'
import { repeats } from '../support/ledger.ts'
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

const FILE = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')

/** Null, said loudly, where the public data is not there. */
export function rumourEvalFile(threads: number): { file: string; ids: Map<string, Set<string>> } | null {
  if (!existsSync(FILE)) {
    tell('SKIPPED: ../shared/data/rumoureval2017 is not there; the main job was not run on real input.')
    return null
  }
  const lines = readFileSync(FILE, 'utf8').trim().split('\n').slice(0, threads)
  const file = join(mkdtempSync(join(tmpdir(), 'gavel-rumoureval-')), 'threads.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const read = lines.map((line) => JSON.parse(line) as { id: string; comments: { id: string }[] })
  return { file, ids: new Map(read.map(({ id, comments }) => [id, new Set(comments.map((comment) => comment.id))])) }
}

/**
 * Replays the threads through a service of their own and checks every promise of the main job; resolves to the final
 * snapshots by thread, as the transcripts hold them.
 */
export async function replayThreads(stack: Stack, data: { file: string; ids: Map<string, Set<string>> }, pace: Pace) {
  const environment = environmentOn(stack)
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
    return new Map(finals.map(({ id, subjectId }) => [subjectId, argued.get(id)?.subject]))
  } finally {
    await service.kill('SIGTERM')
  }
}
