import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, send, transcriptsOf, verdictsOf } from '../support/pipeline.ts'

const CAP = 250
const HONEST = 200
const FLOOD = 10_000

const folder = ownFolder('takeover')
const it = onServers({ latencyMs: 5 })

const at = (second: number) => new Date(Date.UTC(2025, 2, 1, 10, 0, second)).toISOString()
const comment = (id: string, author: string, change: object = {}) => ({
  type: 'comment',
  id,
  postId: 'p',
  author,
  createdAt: at(60),
  text: `Fake, this is an old picture, says ${id}.`,
  ...change,
})
/** Ids that win wherever a hash without a key decides. */
const ground = Array.from({ length: 20_000 }, (_, number) => {
  const id = `ground-${number}`
  return { id, lot: createHash('sha256').update(id).digest().readUIntBE(0, 6) }
})
  .sort((a, b) => a.lot - b.lot)
  .slice(0, CAP)

it('one account, on a thread of the whole service, has its share of the evidence and no more: floods, ground ids, deletions', {
  timeout: 180_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    GAVEL_CLOCK_IDLE_AFTER: '3s',
    GAVEL_THREADS_MAX_COMMENTS: String(CAP),
    GAVEL_THREADS_MAX_PER_AUTHOR: '20',
    GAVEL_FENCES_KEY: 'the key of this test alone',
  })
  const lines = [
    { type: 'post', id: 'p', text: 'The mast has fallen.', author: 'x', createdAt: at(0) },
    ...ground.map(({ id }) => comment(id, 'the one')),
    ...Array.from({ length: FLOOD }, (_, number) => comment(`flood-${number}`, 'the one')),
    ...Array.from({ length: FLOOD / 10 }, (_, number) => comment(`never-${number}`, 'the one', { deleted: true })),
    ...Array.from({ length: HONEST }, (_, number) => comment(`honest-${number}`, `honest ${number}`)),
  ]
  const file = join(folder, 'attack.jsonl')
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await start(environment)
  await allFinal(environment, 1, 120_000)

  const last = (await verdictsOf(environment)).filter(({ final }) => final).at(-1)
  const transcript = (await transcriptsOf(environment)).find(({ verdictId }) => verdictId === last?.id)
  const ids = snapshot.parse(transcript?.subject).comments.map(({ id }) => id)
  expect(ids.filter((id) => id.startsWith('honest'))).toHaveLength(HONEST)
  expect(ids).toHaveLength(HONEST + 20)
  expect(last?.counts).toMatchObject({ accepted: CAP + FLOOD + HONEST, leftOut: { cap: 0 } })
})
