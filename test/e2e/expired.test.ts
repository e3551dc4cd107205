import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { command, type JudgeAgainOptions } from '../../src/app/commands/judge-again.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { keysUnder, memberOf } from '../../src/store/redis/keys.ts'
import { perform } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  send,
  settingsOf,
  silent,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const COMMENTS = 300

const folder = ownFolder('expired')
let environment: Record<string, string>
const it = onServers({ latencyMs: 5 })
it.beforeAll(async ({ stack }) => {
  environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'hate'),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_THREADS_KEEP_AFTER_FINAL: '2s',
  })
})

const post = (text: string) => ({ type: 'post', id: 'p', text, author: 'x', createdAt: '2025-03-01T10:00:00Z' })
const comment = (at: number) => ({
  type: 'comment',
  id: `c${at}`,
  postId: 'p',
  author: `a${at}`,
  text: `${at % 2 === 0 ? 'It is true, I saw it' : 'Fake, this is an old picture'} (${at}).`,
  createdAt: new Date(Date.UTC(2025, 2, 1, 10, 1, 0, at)).toISOString(),
})

async function say(name: string, lines: readonly object[]): Promise<void> {
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const lastOf = async (protocol: string, postId = 'p') =>
  (await verdictsOf(environment)).filter((one) => one.protocol === protocol && one.subjectId === postId).at(-1)
const threadKey = (postId: string) =>
  keysUnder(environment.GAVEL_REDIS_PREFIX ?? '').thread(memberOf({ tenant: 'default', kind: 'post', postId }))

it('an edit after a thread has expired is judged by who reads the post alone, and takes no verdict from its comments', {
  timeout: 120_000,
}, async ({ startForFile }) => {
  const redis = new Redis(environment.REDIS_URL ?? '')
  const isForgotten = async () => (await redis.exists(threadKey('p'))) === 0
  try {
    const service = await startForFile(environment)
    await say('said', [post('The mast has fallen.'), ...Array.from({ length: COMMENTS }, (_, at) => comment(at))])
    await eventually(async () => (await lastOf('rumor'))?.final === true && (await isForgotten()), 60_000)
    const verdict = await lastOf('rumor')
    expect(verdict?.scores).toEqual({ support: COMMENTS / 2, oppose: COMMENTS / 2 })
    expect(await lastOf('hate')).toMatchObject({ revision: 1 })

    await say('edited', [post('They are vermin, and the mast has fallen.'), comment(COMMENTS)])
    await eventually(async () => (await lastOf('hate'))?.revision === 2, 30_000)
    await eventually(isForgotten, 30_000)
    const { id, supersedes, label } = (await lastOf('hate')) ?? {}
    expect({ id, supersedes, label }).toEqual({ id: 'hate~p~r2', supersedes: 'hate~p~r1', label: 'hate' })
    const judged = (await transcriptsOf(environment)).find(({ verdictId }) => verdictId === id)?.subject
    expect(judged).toMatchObject({ post: { text: 'They are vermin, and the mast has fallen.' } })
    expect(await lastOf('rumor')).toEqual(verdict)
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    const metrics = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    const count = (topic: string, outcome: string) =>
      samplesOf(metrics, 'gavel_messages_total').find(
        ({ labels }) => labels.outcome === outcome && labels.topic?.endsWith(`.${topic}`),
      )?.value
    expect([count('posts', 'updated'), count('comments', 'late')]).toEqual([1, 1])
  } finally {
    redis.disconnect()
  }
})

it('a subject without a label whose thread has expired is judged again, with the comments on the topics', {
  timeout: 120_000,
}, async () => {
  const redis = new Redis(environment.REDIS_URL ?? '')
  const isForgotten = async () => (await redis.exists(threadKey('q'))) === 0
  const judgeAgain = (options: Partial<JudgeAgainOptions> = {}) =>
    perform(
      command,
      settingsOf(environment),
      [],
      { rate: 100, protocol: 'rumor', ...options },
      { terminal: silent, signal: new AbortController().signal },
    )
  try {
    const image = { ...post(''), id: 'q', text: undefined, media: [{ kind: 'image', url: 'https://images.invalid/q' }] }
    await say('image', [image, { ...comment(0), postId: 'q' }, { ...comment(1), postId: 'q' }])
    await eventually(async () => (await lastOf('rumor', 'q'))?.id === 'rumor~q~r1' && (await isForgotten()), 60_000)
    expect(await lastOf('rumor', 'q')).toMatchObject({ label: null, decidedBy: 'none', counts: { accepted: 2 } })
    expect(await judgeAgain({ dryRun: true })).toMatchObject({ plan: { verdicts: 1 }, outcomes: {} })
    expect(await judgeAgain({ reason: 'another' })).toMatchObject({ plan: { verdicts: 0 }, outcomes: {} })
    expect(await judgeAgain()).toMatchObject({ plan: { verdicts: 1 }, outcomes: { due: 1 } })
    await eventually(async () => (await lastOf('rumor', 'q'))?.id === 'rumor~q~r2', 30_000)
    expect(await lastOf('rumor', 'q')).toMatchObject({ supersedes: 'rumor~q~r1', final: true, counts: { accepted: 2 } })
    await eventually(isForgotten, 30_000)

    // From its deletion on nothing brings it back.
    await say('deleted', [{ ...post(''), id: 'q', text: undefined, deleted: true }])
    await eventually(async () => (await lastOf('rumor', 'q'))?.decidedBy === 'deleted', 30_000)
    expect(await judgeAgain()).toMatchObject({ plan: { verdicts: 0 }, outcomes: {} })
  } finally {
    redis.disconnect()
  }
})
