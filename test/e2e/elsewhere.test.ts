import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, expect } from 'vitest'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, send, settingsOf, transcriptsOf, verdictsOf } from '../support/pipeline.ts'
import { everythingIn, filesWith } from '../support/stored.ts'

const folder = ownFolder('elsewhere')
let environment: Record<string, string>
let client: Redis
const it = onServers({ latencyMs: 5 })
it.beforeAll(async ({ stack }) => {
  client = new Redis(stack.settings.REDIS_URL ?? '')
  environment = environmentOn(stack, {
    GAVEL_PROTOCOLS_RUMOR_ELSEWHERE: 'true',
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_DRAIN: '3s',
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
    GAVEL_RECORD_PATH: join(folder, 'record', 'record.sqlite'),
    GAVEL_REVIEW_AUDIT_SHARE: '0',
  })
})
afterAll(() => client?.disconnect())

let files = 0
async function sendLines(lines: readonly object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

const post = (id: string, said: Readonly<Record<string, string>>) => [
  {
    type: 'post',
    id,
    text: 'The dam above Calvera has burst and the old town is under water',
    createdAt: '2025-03-01T10:00:00Z',
  },
  ...Object.entries(said).map(([author, text], nth) => ({
    type: 'comment',
    id: `${id}-${author}`,
    postId: id,
    author,
    text,
    createdAt: `2025-03-01T10:0${nth + 1}:00Z`,
  })),
]
const [ONE, TWO] = ['zebrastreet', 'zebrasquare']
const last = async (id: string) => (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === id).at(-1)
const asked = async (verdictId: string) =>
  JSON.stringify((await transcriptsOf(environment)).find((one) => one.verdictId === verdictId)?.turns ?? [])
/** Where these words stand: in Redis, the record's files, and the shelves. */
const placesOf = async (words: string) => [
  ...(await everythingIn(client)).filter((text) => text.includes(words)).map((text) => text.slice(0, 100)),
  ...filesWith(words, folder).filter((file) => !file.endsWith('.jsonl')),
]

it('comments under a post in the same words are shown, marked, and erased with the comment and with its post', {
  timeout: 240_000,
}, async ({ start }) => {
  const service = await start(environment, 'intake,judge,publish,record')
  const log = () => service.log.slice(-20).join('\n')
  await sendLines(
    post('first', {
      eve: `It is true, I saw it in ${ONE}.`,
      ben: `It is true, we have water in ${TWO}.`,
      ann: 'It is true, my cellar is full.',
    }),
  )
  await eventually(async () => (await last('first'))?.label === 'non-rumor', 60_000, log)
  const words = { cal: 'This is fake, it was debunked.', dee: 'This is fake, says the mayor.', fay: 'So fake.' }
  await sendLines(post('copy', words))
  await eventually(async () => (await last('copy'))?.label !== undefined, 60_000, log)
  const shown = await last('copy')
  expect(shown?.evidence.elsewhere?.toSorted()).toEqual(['first~first-ann', 'first~first-ben', 'first~first-eve'])
  expect(shown?.degraded.join()).toContain('3 comments under 1 other posts in the same words were shown')
  // The debaters were told what they are.
  const said = await asked(shown?.id ?? '')
  expect(said).toContain('Comments under other posts in the same words')
  expect([said.includes(ONE), said.includes(TWO)]).toEqual([true, true])
  const record = await recordReaderOf(settingsOf(environment))
  const has = async (id: string) => (await record.transcript(id))?.includes(ONE) ?? false
  try {
    await eventually(() => has(shown?.id ?? ''), 30_000, log)
    expect((await placesOf(ONE)).length).toBeGreaterThan(0)
    const gone = { createdAt: '2025-03-01T11:00:00Z', deleted: true }
    await sendLines([{ type: 'comment', id: 'first-eve', postId: 'first', ...gone }])
    await eventually(
      async () => (await placesOf(ONE)).length === 0,
      60_000,
      () => log(),
    )
    expect(await record.transcript(shown?.id ?? '')).toBeNull()
    expect((await record.verdict(shown?.id ?? ''))?.verdict).toMatchObject({ label: shown?.label, rationale: '' })
    await sendLines([{ type: 'post', id: 'first', ...gone }])
    await eventually(async () => (await placesOf(TWO)).length === 0, 60_000, log)
    expect((await record.search(TWO, {}, 9)).found).toEqual([])
    expect((await last('copy'))?.decidedBy).not.toBe('deleted')
  } finally {
    await record.close()
  }
})
