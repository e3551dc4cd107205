import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect } from 'vitest'
import { inputsOf, topicsOf } from '../../config/topics.ts'
import { type RecoverResult, recover } from '../../src/app/commands/recover.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { repeats } from '../support/ledger.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
  silent,
  type startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'

const POSTS = 6

const folder = ownFolder('forgotten')
const it = onServers({ latencyMs: 5 })

type Environment = Record<string, string>

async function sendThreads(environment: Environment, prefix: string, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, at) => `${prefix}-${at}`).flatMap((id) => [
    { type: 'post', id, text: `The dam above ${id} has burst, they say.`, createdAt: '2025-03-01T10:00:00Z' },
    { type: 'comment', id: `${id}-c`, postId: id, text: 'It is true, I saw it.', createdAt: '2025-03-01T10:01:00Z' },
  ])
  const file = join(folder, `${prefix}-${Date.now()}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

/** Threads that are judged, by a service that is stopped then; and a Redis that was emptied. */
async function judgedAndEmptied({ settings }: Servers, start: typeof startService): Promise<Environment> {
  const environment = environmentOn({ settings }, { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s' })
  const service = await start(environment)
  await sendThreads(environment, 'p', POSTS)
  await allFinal(environment, POSTS, 40_000)
  await service.kill('SIGTERM')
  const client = new Redis(settings.REDIS_URL ?? '')
  await client.flushall()
  client.disconnect()
  return environment
}

/** Kafka forgets a group that nobody is in after `offsets.retention.minutes`. */
async function forgetGroup(environment: Environment): Promise<void> {
  const admin = clientOf(environment).admin()
  await admin.connect()
  const group = environment.GAVEL_KAFKA_GROUP ?? ''
  await eventually(async () => {
    const { groups } = await admin.describeGroups([group])
    return groups.every(({ members }) => members.length === 0)
  }, 20_000)
  await admin.deleteGroups([group])
  await admin.disconnect()
}

function recovered(
  environment: Environment,
  options: Partial<Parameters<typeof recover>[1]> = {},
): Promise<RecoverResult> {
  const io = { terminal: silent, signal: new AbortController().signal }
  return recover(settingsOf(environment), { since: null, dryRun: false, ...options }, io)
}

async function readySays(service: Service): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${service.httpPort}/health/ready`)
  return { status: response.status, text: await response.text() }
}

async function untilReady(service: Service): Promise<void> {
  let said = ''
  await eventually(
    async () => {
      const { status, text } = await readySays(service)
      said = text
      return status === 200
    },
    30_000,
    () => `${said}\n${service.log.slice(-20).join('\n')}`,
  )
}

/** A service stands still, says what to run, and has judged nothing after some seconds. */
async function expectStopped(service: Service, environment: Environment): Promise<void> {
  const before = (await recordsOf(environment, 'verdicts')).length
  await sleep(4_000)
  const { status, text } = await readySays(service)
  expect(status).toBe(503)
  expect(text).toContain('gavel recover')
  expect(service.log.join('\n')).toContain('"why":"forgotten"')
  expect((await recordsOf(environment, 'verdicts')).length).toBe(before)
}

async function expectOneContentEach(environment: Environment): Promise<void> {
  const again = repeats(await recordsOf(environment, 'verdicts'))
  expect(again.filter(({ identical }) => !identical)).toEqual([])
}

describe('an empty Redis and a group without offsets', () => {
  it.runIf(IN_PROOF)(
    'stop a service until somebody names what was accepted; nothing is judged again then',
    {
      timeout: 180_000,
    },
    async ({ stack, start }) => {
      const environment = await judgedAndEmptied(stack, start)
      await forgetGroup(environment)
      const service = await start(environment)
      await expectStopped(service, environment)

      await expect(recovered(environment)).rejects.toThrow('--up-to end')
      const before = (await verdictsOf(environment)).length
      const planned = await recovered(environment, { dryRun: true })
      expect(planned).toMatchObject({ unknownOffsets: true, subjects: POSTS })
      expect(planned.forecast).toMatchObject({ first: { verdicts: 0 }, again: { verdicts: POSTS } })
      const calls = stack.understudy?.calls().length
      const done = await recovered(environment, { upTo: 'end' })
      tell(`recovered: ${JSON.stringify(done)}`)
      expect(done).toMatchObject({ messages: 2 * POSTS, forecast: { again: { verdicts: 0 } } })
      await untilReady(service)
      await sleep(3_000)
      expect((await verdictsOf(environment)).length).toBe(before)
      expect(stack.understudy?.calls().length).toBe(calls)

      await sendThreads(environment, 'later', 1)
      await allFinal(environment, POSTS + 1, 30_000)
      await expectOneContentEach(environment)
    },
  )

  it('are a new beginning only by name, above the last numbers: so a new kafka.group begins', {
    timeout: 180_000,
  }, async ({ stack, start }) => {
    const earlier = await judgedAndEmptied(stack, start)
    const environment = { ...earlier, GAVEL_KAFKA_GROUP: `${earlier.GAVEL_KAFKA_GROUP}-new` }
    const service = await start(environment)
    await expectStopped(service, environment)
    const last = new Map((await verdictsOf(environment)).map((one) => [one.subjectId, one.revision]))
    expect(await recovered(environment, { upTo: 'nothing' })).toMatchObject({
      messages: 0,
      forecast: { again: { verdicts: POSTS } },
    })
    await untilReady(service)
    await eventually(async () => {
      const anew = (await verdictsOf(environment)).filter((one) => one.revision > (last.get(one.subjectId) ?? 0))
      return new Set(anew.filter(({ final }) => final).map(({ subjectId }) => subjectId)).size === POSTS
    }, 40_000)
    await expectOneContentEach(environment)
  })

  it.runIf(IN_PROOF)(
    'are noticed where the input topics were made anew, and a time divides what was accepted from the rest',
    {
      timeout: 180_000,
    },
    async ({ stack, start }) => {
      const environment = await judgedAndEmptied(stack, start)
      const settings = settingsOf(environment)
      const kafka = clientOf(environment)
      const admin = kafka.admin()
      await admin.connect()
      await admin.deleteTopics({ topics: inputsOf(topicsOf(settings)) })
      await eventually(
        async () => !(await admin.listTopics()).some((name) => inputsOf(topicsOf(settings)).includes(name)),
        20_000,
      )
      await admin.disconnect()
      await makeTopics(kafka, settings)
      await forgetGroup(environment).catch(() => undefined)
      await sendThreads(environment, 'p', POSTS)
      await sleep(50)
      const divide = Date.now()
      await sendThreads(environment, 'later', 2)
      const service = await start(environment)
      await expectStopped(service, environment)
      const planned = await recovered(environment, { upTo: divide, dryRun: true })
      expect(planned.forecast).toMatchObject({ first: { verdicts: 2 }, again: { verdicts: 0 } })
      const done = await recovered(environment, { upTo: divide })
      expect(done.messages).toBe(2 * POSTS)
      await untilReady(service)
      await allFinal(environment, POSTS + 2, 30_000)
      await expectOneContentEach(environment)
    },
  )
})
