import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  environmentOn,
  eventually,
  protocolsOn,
  send,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const LATENCY_MS = 30
const OPEN = 16
const AT_WORK = 4
const LOUD = IN_PROOF ? 400 : 160
const CREATED = Date.parse('2024-05-01T12:00:00Z')

const folder = ownFolder('fairness')
const it = onServers({ latencyMs: LATENCY_MS }, 'memory')

const few = { GAVEL_CASES_MAX_OPEN: String(OPEN), GAVEL_STAGES_DEFAULT_CONCURRENCY: String(AT_WORK) }

async function sendAll(environment: Record<string, string>, messages: readonly object[]): Promise<void> {
  const file = join(folder, 'messages.jsonl')
  await writeFile(file, messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

it(`judges ten posts of a quiet tenant among those of a loud one that sent ${LOUD} before`, {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, { ...few, ...protocolsOn('counterspeech') })
  // Those that were open, and then one of each tenant in turn.
  await judgesQuietOnes({ environment, start }, OPEN + 2 * 10 + AT_WORK)
})

it.runIf(IN_PROOF)(
  'does so where all of the loud one’s cases are open',
  {
    timeout: 120_000,
  },
  async ({ stack, start }) => {
    const environment = environmentOn(stack, {
      ...protocolsOn('counterspeech'),
      GAVEL_STAGES_DEFAULT_CONCURRENCY: String(AT_WORK),
    })
    // At each of three steps a turn that has begun and another one, of 32.
    await judgesQuietOnes({ environment, start }, 3 * 2 * 32 + 2 * 10 + AT_WORK, 1)
  },
)

/** `times`: so many times as many of the loud tenant's verdicts come afterwards. */
async function judgesQuietOnes(
  {
    environment,
    start,
  }: { environment: Record<string, string>; start: (with_: Record<string, string>) => Promise<unknown> },
  turns: number,
  times = 2,
): Promise<void> {
  const repliesOf = (tenant: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      type: 'counterspeech',
      id: `${tenant}-${index}`,
      tenant,
      hateSpeech: `${tenant} says of group ${index} that they should go away`,
      text: `They belong here as much as you do, number ${index} of ${tenant}.`,
      createdAt: new Date(CREATED + index).toISOString(),
    }))
  await start(environment)
  await sendAll(environment, repliesOf('loud', LOUD))
  await eventually(async () => (await verdictsOf(environment)).length >= 20, 60_000)
  await sendAll(environment, repliesOf('quiet', 10))
  await eventually(async () => (await verdictsOf(environment)).length === LOUD + 10, 90_000)

  const verdicts = await verdictsOf(environment)
  const order = verdicts.toSorted((a, b) => a.timing.decidedAt.localeCompare(b.timing.decidedAt))
  const received = verdicts
    .filter(({ tenant }) => tenant === 'quiet')
    .map(({ timing }) => timing.receivedAt)
    .toSorted()[0]
  const last = order.findLastIndex(({ tenant }) => tenant === 'quiet')
  const isLouds = ({ tenant, timing }: (typeof order)[number]) =>
    tenant === 'loud' && timing.decidedAt > (received ?? '')
  const waitedFor = order.slice(0, last).filter(isLouds).length
  const after = order.slice(last).filter(isLouds).length
  tell(`${waitedFor} verdicts of the loud tenant came while the quiet one waited for its ten, ${after} after them`)
  expect(waitedFor).toBeLessThanOrEqual(turns)
  // In the order in which they came it would have waited for all of these.
  expect(waitedFor + after).toBeGreaterThan(times * turns)
}

it('asks about twenty small threads before it has asked all about one of four hundred comments', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    ...few,
    GAVEL_CASES_MAX_OPEN: '64',
    GAVEL_STAGES_DEFAULT_CONCURRENCY: '2',
    // One case a thread, that scores every comment.
    GAVEL_CHECKPOINTS_COUNTS: '100000',
    GAVEL_CHECKPOINTS_AGES: '12h',
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_PROTOCOLS_RUMOR_FOLD_NEAR_IDENTICAL: 'false',
    GAVEL_CASES_OVERLOAD_SAMPLE_COMMENTS: '1000',
  })
  const threadOf = (id: string, at: number, comments: number) => [
    {
      type: 'post',
      id,
      text: `Breaking: ${id} is said to have happened`,
      createdAt: new Date(CREATED + at).toISOString(),
    },
    ...Array.from({ length: comments }, (_, index) => ({
      type: 'comment',
      id: `${id}-${index}`,
      postId: id,
      text: `${index % 2 === 0 ? 'This is true, I saw it' : 'This is false, no source'} (${id}, ${index})`,
      author: `author ${index}`,
      createdAt: new Date(CREATED + at + index + 1).toISOString(),
    })),
  ]
  await sendAll(environment, [
    ...threadOf('giant', 0, 400),
    ...Array.from({ length: 20 }, (_, index) => threadOf(`small-${index}`, 1_000 + index, 4)).flat(),
  ])
  await start(environment)
  await allFinal(environment, 21, 90_000)

  const stances = (await transcriptsOf(environment))
    .flatMap(({ verdictId, turns }) =>
      turns.filter(({ stage }) => stage === 'stance').map(({ startedAt }) => ({ verdictId, startedAt })),
    )
    .toSorted((a, b) => a.startedAt.localeCompare(b.startedAt))
  const isGiants = ({ verdictId }: { verdictId: string }) => verdictId.includes('giant')
  const giants = stances.filter(isGiants).length
  const last = stances.findLastIndex((stance) => !isGiants(stance))
  const before = stances.slice(0, last).filter(isGiants).length
  tell(`${before} of the giant's ${giants} stance asks began before the last small thread's`)
  expect(giants).toBeGreaterThanOrEqual(15)
  expect(before).toBeLessThanOrEqual(giants / 2)
})
