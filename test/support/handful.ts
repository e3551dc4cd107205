import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { recover } from '../../src/app/commands/recover.ts'
import { ownFolder } from './own-folder.ts'
import { allFinal, eventually, type Service, send, settingsOf, silent, tell, verdictsOf } from './pipeline.ts'

let files = 0

/** A file of a few posts with two comments each, and their ids. */
export function handful(posts = 5): { file: string; ids: readonly string[] } {
  const file = join(ownFolder('handful'), 'posts.jsonl')
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
  await allFinal(reader, ids.length, 60_000)
  const verdicts = await verdictsOf(reader)
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  expect(verdicts.flatMap(({ subjectId, final }) => (final ? [subjectId] : [])).sort()).toEqual([...ids].sort())
}

/**
 * Resolves when so many subjects are final after a failover, and tells whether it took `gavel recover`: the new master may
 * lack the last writes, and the service then stands still and says what to run.
 */
export async function finalOrRecovered(
  service: Service,
  environment: Record<string, string>,
  subjects: number,
): Promise<boolean> {
  const io = { terminal: silent, signal: new AbortController().signal }
  let recovered = false
  let finals = 0
  await eventually(
    async () => {
      if (!recovered && service.log.some((line) => line.includes('"store:lost"'))) {
        recovered = true
        await recover(settingsOf(environment), { since: null, dryRun: false }, io)
      }
      const final = (await verdictsOf(environment)).filter((one) => one.final)
      finals = new Set(final.map(({ subjectId }) => subjectId)).size
      return finals >= subjects
    },
    100_000,
    () => `${finals} of ${subjects} are final; the log ends:\n${service.log.slice(-20).join('\n')}`,
  )
  tell(`After the failover all went on ${recovered ? 'with "gavel recover"' : 'by itself'}.`)
  return recovered
}
