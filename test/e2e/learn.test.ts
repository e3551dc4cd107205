import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { command as approveProposals } from '../../src/app/commands/learn/approve.ts'
import { learnTopic } from '../../src/app/commands/learn/learn-feedback.ts'
import { command as rollbackChange } from '../../src/app/commands/library/rollback.ts'
import { command as tellTouched } from '../../src/app/commands/library/touched.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Proposal } from '../../src/contracts/ports/library.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { perform } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  send,
  settingsOf,
  silent,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'

const FLOOD = 10_000
const SHARE = 20
const TEXT = 'I will stab the cucumber for the salad with my big knife'
const SIMILAR = 'I will stab the cucumber for the soup with my big knife'

const it = onServers({ latencyMs: 0 })

const now = () => new Date(Date.now() - 60_000).toISOString()
const io = { terminal: silent, signal: new AbortController().signal }
const folder = ownFolder('learn')

/** `gavel learn --topic` in a process of its own. */
function learnElsewhere(environment: Record<string, string>) {
  const code = `
    const { loadSettings } = await import(${JSON.stringify(join(PROJECT, 'config', 'load.ts'))})
    const { learnTopic } = await import(${JSON.stringify(join(PROJECT, 'src', 'app', 'commands', 'learn', 'learn-feedback.ts'))})
    const terminal = { out() {}, say() {}, progress() {} }
    await learnTopic(loadSettings(process.env), { all: false, json: true }, { terminal, signal: new AbortController().signal })`
  const flags = ['--disable-warning=TimeoutNegativeWarning', '--input-type=module', '--eval', code]
  return spawn(process.execPath, flags, { env: bareEnvironment(environment), stdio: 'ignore' })
}

it('takes each piece of feedback to one end, over a kill, and what is approved to the next case', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    ...protocolsOn('safety'),
    GAVEL_LIBRARY_EMBEDDER: 'some-model',
    GAVEL_LIBRARY_PROPOSALS_PER_AUTHOR: String(SHARE),
  })
  const settings = settingsOf(environment)
  const topics = topicsOf(settings)
  const library = libraryOf(settings, Date.now)
  await start(environment)
  const post = async (id: string, text: string) => {
    const path = join(folder, `${id}.jsonl`)
    writeFileSync(path, `${JSON.stringify({ type: 'post', id, text, createdAt: now() })}\n`)
    await send(environment, path, 'gavel', { kind: 'flat-out' })
  }
  const verdictOn = (verdicts: readonly Verdict[], id: string) => verdicts.findLast(({ subjectId }) => subjectId === id)

  // Two posts judged by the service, and many that somebody wants to fill the library with.
  await post('known', TEXT)
  await post('right', 'a walk in the park')
  await allFinal(environment, 2, 30_000)
  const verdicts = await verdictsOf(environment)
  const known = verdictOn(verdicts, 'known')
  const other = known?.label === 'unsafe' ? 'safe' : 'unsafe'
  const writer = await kafkaWriter(clientOf(environment), 'lz4')
  const flood = Array.from({ length: FLOOD }, (_, index) => `flood-${index}`)
  const feedback = (subjectId: string, label: string, by: string, protocol = 'safety') => ({
    topic: topics.feedback,
    key: subjectId,
    value: JSON.stringify({ subjectId, protocol, label, by, at: now() }),
  })
  try {
    await writer.send(
      flood.flatMap((id) => {
        const verdictId = `safety~${id}~r1`
        const subject = { post: { id, text: `knives, number ${id}`, createdAt: 0 }, comments: [], leftOut: 0 }
        return [
          { topic: topics.verdicts, key: id, value: JSON.stringify({ ...known, id: verdictId, subjectId: id }) },
          {
            topic: topics.transcripts,
            key: id,
            value: JSON.stringify({ schema: 1, verdictId, subject, turns: [], cut: [] }),
          },
        ]
      }),
    )
    await writer.send(flood.map((id) => feedback(id, other, 'mallory')))
    await writer.send([
      feedback('known', other, 'ann'),
      feedback('right', verdictOn(verdicts, 'right')?.label ?? '', 'bob'),
      feedback('unknown', 'safe', 'cem'),
      feedback('known', 'dangerous', 'dan'),
      feedback('known', 'rumor', 'eve', 'rumor'),
      { topic: topics.feedback, key: 'known', value: 'no JSON' },
    ])
  } finally {
    await writer.close()
  }

  // Killed in the middle, and run again.
  stack.understudy?.behave({ latencyMs: 400 })
  const doomed = learnElsewhere(environment)
  await eventually(async () => (await library.proposals()).length > 2, 40_000)
  const gone = once(doomed, 'exit')
  doomed.kill('SIGKILL')
  await gone
  const before = (await library.proposals()).length
  stack.understudy?.behave({ latencyMs: 0 })
  const done = await learnTopic(settings, { all: false, json: true }, io)
  tell(`killed with ${before} proposals; then ${JSON.stringify({ ...done, reasons: done.reasons.length })}`)
  expect(done).toMatchObject({
    read: FLOOD + 6,
    proposed: SHARE + 1 - before,
    alreadyProposed: before,
    agreed: 1,
    superseded: 0,
    refused: FLOOD - SHARE + 1,
    invalid: 2,
    unjudgeable: 1,
    curatorFailed: 0,
    left: 0,
  })
  const proposals = await library.proposals()
  const subjects = (of: readonly Proposal[]) => new Set(of.map(({ provenance }) => provenance.subjectId)).size
  const byAuthor = Map.groupBy(proposals, ({ provenance }) => provenance.by)
  expect(byAuthor.get('mallory')).toHaveLength(SHARE)
  expect(subjects(byAuthor.get('mallory') ?? [])).toBe(SHARE)
  expect(byAuthor.get('ann')).toMatchObject([{ text: TEXT, label: other, state: 'waiting' }])
  expect(byAuthor.size).toBe(2)
  // No more was paid than what both may propose, and what was in flight when it was killed.
  const curated = (stack.understudy?.calls() ?? []).filter(({ stage }) => stage === 'curate')
  expect(curated.length).toBeLessThanOrEqual(SHARE + 1 + 8)

  const letters = (await recordsOf(environment, 'deadLetters')).map((letter) => deadLetter.parse(JSON.parse(letter)))
  expect(letters.map(({ topic, reason }) => `${topic === topics.feedback} ${reason}`).sort()).toEqual([
    'true invalid',
    'true not-json',
    'true unjudgeable',
  ])
  expect(await learnTopic(settings, { all: false, json: true }, io)).toMatchObject({ read: 0, calls: 0 })

  // Approved, it stands beside the next case that is like it; rolled back, it is gone.
  const precedentsOf = async (id: string, text: string) => {
    await post(id, text)
    let precedents: readonly string[] | undefined
    await eventually(async () => {
      precedents = verdictOn(await verdictsOf(environment), id)?.evidence.precedents
      return precedents !== undefined
    }, 20_000)
    return precedents
  }
  const [proposal] = byAuthor.get('ann') ?? []
  await perform(approveProposals, settings, [proposal?.id ?? ''], { by: 'curator', json: true }, io)
  const [change] = await library.history()
  expect(await precedentsOf('next', SIMILAR)).toHaveLength(1)
  expect(await precedentsOf('repost', TEXT)).toEqual([])
  // The verdict that rests on it is found again by the precedent, its proposal and its change; and so it is once it is gone.
  const [precedent] = verdictOn(await verdictsOf(environment), 'next')?.evidence.precedents ?? []
  const touchedBy = async (id: string) => {
    const said: string[] = []
    const terminal = { ...silent, out: (line: unknown) => said.push(String(line)) }
    await perform(tellTouched, settings, [id], { json: true }, { ...io, terminal })
    return said.map((line) => JSON.parse(line).id)
  }
  for (const id of [precedent, proposal?.id, change?.id]) expect(await touchedBy(id ?? '')).toEqual(['safety~next~r1'])
  await perform(rollbackChange, settings, [change?.id ?? ''], {}, io)
  expect(await precedentsOf('later', SIMILAR)).toEqual([])
  expect(await touchedBy(proposal?.id ?? '')).toEqual(['safety~next~r1'])
  expect(await touchedBy(precedent ?? '')).toEqual(['safety~next~r1'])
  await library.close()
})
