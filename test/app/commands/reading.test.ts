import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AssignerProtocol, type MemberDescription } from 'kafkajs'
import { afterAll, describe, expect } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { topicsOf } from '../../../config/topics.ts'
import { readTopic } from '../../../src/stream/bounded-reader.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { performWords } from '../../support/commands.ts'
import { createTopics } from '../../support/create-topics.ts'
import { onServers } from '../../support/on-servers.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { clientOf, environmentOn, eventually, send, settingsOf } from '../../support/pipeline.ts'
import { aVerdict } from '../../support/verdicts.ts'

const STACK = /\n {4}at /

const folder = ownFolder('reading')
const commands: ChildProcess[] = []
const it = onServers({ latencyMs: 10 })
afterAll(async () => {
  for (const command of commands) command.kill('SIGKILL')
})

interface Running {
  readonly child: ChildProcess
  readonly out: () => string
  readonly said: () => string
  /** Its exit code. */
  readonly ended: Promise<number>
}

function gavel(environment: Record<string, string>, args: readonly string[], flags: readonly string[] = []): Running {
  const command = ['--disable-warning=TimeoutNegativeWarning', ...flags, join(PROJECT, 'src', 'main.ts'), ...args]
  const child = spawn(process.execPath, command, {
    env: bareEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  commands.push(child)
  let [out, said] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(child, 'close').then(([code]) => Number(code ?? -1))
  return { child, out: () => out, said: () => said, ended }
}

describe.concurrent('a command that reads a topic', () => {
  it('follows one that is made after it: it waits, says so, and prints what comes', async ({ stack, start }) => {
    const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
    const { verdicts } = topicsOf(settingsOf(environment))
    const follower = gavel(environment, ['verdicts', '--follow'])
    await eventually(async () => follower.said().includes(`Waiting for the topic ${verdicts}`), 15_000, follower.said)
    await start(environment)
    const file = join(folder, 'post.jsonl')
    const post = { type: 'post', id: 'p1', text: 'The bridge has fallen.', createdAt: '2025-06-01T12:00:00Z' }
    writeFileSync(file, `${JSON.stringify(post)}\n`)
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    await eventually(async () => follower.out().includes('rumor~p1~r1'), 30_000, follower.said)
    follower.child.kill('SIGINT')
    expect(await follower.ended).toBe(0)
    expect(follower.said().match(/Waiting for the topic/g)).toHaveLength(1)
    expect(follower.said()).not.toMatch(STACK)
  })

  it('prints the newest verdicts in the order in which they were decided, or those since a time, and follows from there', {
    timeout: 120_000,
  }, async ({ stack }) => {
    const environment = environmentOn(stack)
    const kafka = clientOf(environment)
    const topic = topicsOf(settingsOf(environment)).verdicts
    const sent = async (subjectId: string, partition: number, at: string, decidedAt = at) => {
      const timestamp = String(Date.parse(at))
      const value = JSON.stringify(aVerdict(decidedAt, { subjectId }))
      await producer.send({ topic, messages: [{ key: subjectId, value, partition, timestamp }] })
    }
    const [admin, producer] = [kafka.admin(), kafka.producer()]
    // What is as old as this would be deleted.
    const configEntries = [{ name: 'retention.ms', value: '-1' }]
    await admin.connect()
    await createTopics(admin, [{ topic, numPartitions: 2, configEntries }])
    await admin.disconnect()
    await producer.connect()
    await sent('a', 0, '2026-01-01T12:00:00Z')
    await sent('b', 1, '2026-01-01T12:01:00Z')
    // Two that were overtaken on their way.
    await sent('d', 1, '2026-01-01T12:03:00Z')
    await sent('c', 0, '2026-01-01T12:04:00Z', '2026-01-01T12:02:00Z')
    const printed = async (...args: string[]) => {
      const { out } = await performWords(['verdicts', '--json', ...args], settingsOf(environment))
      return out.map((line) => (JSON.parse(line) as { subjectId: string }).subjectId)
    }
    try {
      expect((await printed()).sort()).toEqual(['a', 'b', 'c', 'd'])
      expect(await printed('--last', '3')).toEqual(['b', 'c', 'd'])
      expect(await printed('--last', '1')).toEqual(['d'])
      expect(await printed('--last', '9')).toEqual(['a', 'b', 'c', 'd'])
      expect((await printed('--since', '2026-01-01T12:02:30Z')).sort()).toEqual(['c', 'd'])
      expect(await printed('--since', '2026-01-01T12:00:30Z', '--last', '1', '--protocol', 'rumor')).toEqual(['d'])

      const follower = gavel(environment, ['verdicts', '--json', '--follow', '--since', '2026-01-01T12:03:30Z'])
      await eventually(async () => follower.out().includes('"c"'), 20_000, follower.said)
      await sent('e', 1, '2026-01-01T12:05:00Z')
      await eventually(async () => follower.out().includes('"e"'), 20_000, follower.said)
      // Whoever joins its group, and leaves, makes it begin anew where it was.
      await admin.connect()
      const { groups } = await admin.listGroups()
      const named = groups.map(({ groupId }) => groupId).filter((name) => name.startsWith('gavel-read-'))
      const reads = ({ memberMetadata }: MemberDescription) =>
        AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics.includes(topic) === true
      const described = (await admin.describeGroups(named)).groups
      const groupId = described.find(({ members }) => members.some(reads))?.groupId ?? ''
      await admin.disconnect()
      const other = kafka.consumer({ groupId })
      await other.connect()
      await other.subscribe({ topics: [topic] })
      const joined = new Promise((resolve) => other.on(other.events.GROUP_JOIN, resolve))
      await other.run({ eachMessage: async () => {} })
      await joined
      await other.disconnect()
      await sent('f', 0, '2026-01-01T12:06:00Z')
      await sent('g', 1, '2026-01-01T12:07:00Z')
      await eventually(async () => ['"f"', '"g"'].every((id) => follower.out().includes(id)), 30_000, follower.said)
      const followed = follower.out().match(/(?<="subjectId":")./g) ?? []
      expect(followed.sort()).toEqual(['c', 'e', 'f', 'g'])
      follower.child.kill('SIGINT')
      expect(await follower.ended).toBe(0)
    } finally {
      await producer.disconnect()
    }
  })

  it('reads one that is just being made', async ({ stack }) => {
    const environment = environmentOn(stack)
    const kafka = clientOf(environment)
    const admin = kafka.admin()
    await admin.connect()
    const failed: unknown[] = []
    try {
      const read = async (time: number) => {
        const topic = `${environment.GAVEL_KAFKA_TOPIC_PREFIX}made-${time}`
        const making = admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 20 }] })
        const reading = { follow: false, signal: new AbortController().signal }
        await readTopic(kafka, topic, reading, () => {}).catch((error: unknown) => failed.push(String(error)))
        await making
      }
      // A few at a time: each mostly waits for what a topic that was made a moment ago has not yet.
      for (let first = 0; first < 20; first += 4) await Promise.all([0, 1, 2, 3].map((nth) => read(first + nth)))
    } finally {
      await admin.disconnect()
    }
    expect(failed).toEqual([])
  })

  it('says what to do where there is none after some seconds', { timeout: 90_000 }, async ({ stack }) => {
    const environment = environmentOn(stack)
    const topics = topicsOf(settingsOf(environment))
    const file = join(folder, 'feedback.jsonl')
    const feedback = { subjectId: 'p1', protocol: 'rumor', label: 'rumor', by: 'ann', at: '2025-06-01T12:00:00Z' }
    writeFileSync(file, `${JSON.stringify({ type: 'feedback', ...feedback })}\n`)
    const asked: [string, string[]][] = [
      [topics.verdicts, ['verdicts']],
      [topics.deadLetters, ['dead-letters', 'list']],
      [topics.deadLetters, ['dead-letters', 'replay', '--dry-run']],
      [topics.verdicts, ['learn', file]],
      [topics.posts, ['recover', '--dry-run']],
    ]
    // One after the other, a start would take longer than the wait.
    await Promise.all(
      asked.map(async ([topic, args]) => {
        const run = gavel(environment, args)
        const code = await run.ended
        const lines = run.said().trimEnd().split('\n')
        expect(lines.at(-1), args.join(' ')).toBe(
          `gavel: There is no topic ${topic}. Check that kafka.topicPrefix matches the service; "gavel run" creates missing topics.`,
        )
        expect(run.said()).toContain(`Waiting for the topic ${topic}`)
        expect(run.said()).not.toMatch(STACK)
        expect([code, run.out()]).toEqual([1, ''])
      }),
    )
  })
})

describe('a mistake of the program', () => {
  // Thrown in the command's own process, once it listens for such.
  const broken = `setInterval(() => {
    if (process.listenerCount('uncaughtException') > 0) throw new TypeError('broken on purpose')
  }, 20)`
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(broken)}`]
  const judge = ['judge', join(PROJECT, 'config', 'demo', 'event.jsonl'), '--protocol', 'rumor']

  it('ends a command with one line, which says how to see more', async () => {
    const run = gavel({}, judge, preload)
    expect(await run.ended).toBe(1)
    const lines = run.said().trimEnd().split('\n')
    expect(lines.filter((line) => line.includes('broken on purpose'))).toEqual([
      'gavel judge: unexpected: TypeError: broken on purpose; GAVEL_LOG_LEVEL=debug shows the stack',
    ])
    expect(run.said()).not.toMatch(STACK)
  })

  it('shows its stack to whoever asks for it', async () => {
    const run = gavel({ GAVEL_LOG_LEVEL: 'debug' }, judge, preload)
    expect(await run.ended).toBe(1)
    expect(run.said()).toMatch(/gavel judge: unexpected: TypeError: broken on purpose\n {4}at /)
  })
})
