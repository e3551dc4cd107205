import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { allFinal, send, verdictsOf } from './pipeline.ts'

let files = 0

/** A file of a few posts with two comments each, and their ids. */
export function handful(posts = 5): { file: string; ids: readonly string[] } {
  const file = join(mkdtempSync(join(tmpdir(), 'gavel-handful-')), 'posts.jsonl')
  const ids = Array.from({ length: posts }, (_, index) => `post-${++files}-${index}`)
  const createdAt = '2026-01-01T00:00:00Z'
  const lines = ids.flatMap((id) => [
    { type: 'post', id, text: `The bridge at the harbor is closed, says ${id}.`, createdAt },
    { type: 'comment', id: `${id}-a`, postId: id, text: 'That is true, I saw it.', createdAt },
    { type: 'comment', id: `${id}-b`, postId: id, text: 'That is fake, it is open.', createdAt },
  ])
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return { file, ids }
}

/** Sends a handful and expects one final verdict on each post, as an independent reader with an environment of its own sees. */
export async function expectJudged(
  environment: Record<string, string>,
  reader: Record<string, string> = environment,
): Promise<void> {
  const { file, ids } = handful()
  const { skipped } = await send(environment, file, 'gavel', { kind: 'flat-out' })
  expect(skipped).toEqual([])
  await allFinal(reader, ids.length, 30_000)
  const verdicts = await verdictsOf(reader)
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  expect(verdicts.flatMap(({ subjectId, final }) => (final ? [subjectId] : [])).sort()).toEqual([...ids].sort())
}
