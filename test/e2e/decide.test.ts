import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { decisionOutcome, proposal, review, type VerdictProposal } from '../../src/contracts/facts/decision-messages.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { commandHere } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  send,
  settingsOf,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const folder = ownFolder('decide')
let environment: Record<string, string>
let client: Redis
const it = onServers({ latencyMs: 5 })
it.beforeAll(async ({ stack }) => {
  client = new Redis(stack.settings.REDIS_URL ?? '')
  environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s' })
})
afterAll(async () => {
  client?.disconnect()
})

const gavel = (...args: string[]) => commandHere(args, environment)

const decide = (id: string, ...args: string[]) =>
  gavel('decide', id, '--protocol', 'rumor', '--by', 'ann', '--why', 'Confirmed by the city, ticket 88.', ...args)

let files = 0
async function sendLines(lines: readonly object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

const post = (id: string, text = `The dam above ${id} has burst, they say.`, more: object = {}) => ({
  type: 'post',
  id,
  text,
  createdAt: '2025-03-01T10:00:00Z',
  ...more,
})
const comment = (id: string, at: string) => ({
  type: 'comment',
  id: `${id}-${at}`,
  postId: id,
  text: `It is true, I saw it at ${at}.`,
  createdAt: `2025-03-01T${at}:00Z`,
})

const of = async (id: string) => (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === id)
async function proposalsOf(id: string): Promise<VerdictProposal[]> {
  const all = (await recordsOf(environment, 'proposals')).map((record) => proposal.parse(JSON.parse(record)))
  return all.filter(({ subjectId }) => subjectId === id)
}
const reviewsOf = async (id: string) =>
  (await recordsOf(environment, 'reviews'))
    .map((record) => review.parse(JSON.parse(record)))
    .filter(({ subjectId }) => subjectId === id)
const outcomesOf = async (id: string) =>
  (await recordsOf(environment, 'decisionOutcomes'))
    .map((record) => decisionOutcome.parse(JSON.parse(record)))
    .filter(({ subjectId }) => subjectId === id)

it('a person has the last word, through late comments, a kill and an edit, until it is withdrawn or the subject deleted', {
  timeout: 300_000,
}, async ({ start }) => {
  let service = await start(environment)
  await sendLines([post('p'), comment('p', '10:01'), post('q'), comment('q', '10:01')])
  await allFinal(environment, 2, 60_000)
  const machine = (await of('p')).at(-1)
  const said = machine?.label === 'rumor' ? 'non-rumor' : 'rumor'
  const last = machine?.revision ?? 0
  const human = `rumor~p~r${last + 1}`

  // Overruled, published like any other.
  const first = await decide('p', '--label', said)
  expect(first).toMatchObject({ code: 0, out: `${human} stands.\n` })
  await eventually(async () => (await of('p')).at(-1)?.decidedBy === 'human', 10_000)
  expect((await of('p')).at(-1)).toMatchObject({
    id: human,
    label: said,
    final: true,
    supersedes: machine?.id,
    rationale: 'Confirmed by the city, ticket 88.',
    decision: { by: 'ann', against: machine?.id },
  })
  expect((await transcriptsOf(environment)).find(({ verdictId }) => verdictId === human)).toMatchObject({ turns: [] })
  const headers: unknown[] = []
  const whole = { follow: false, signal: new AbortController().signal }
  await readTopic(clientOf(environment), topicsOf(settingsOf(environment)).verdicts, whole, ({ message }) => {
    headers.push(String(message.headers?.['gavel-decided-by']))
  })
  expect(headers.filter((by) => by === 'human')).toHaveLength(1)

  // Of two people the second is told what is new.
  const second = await decide('p', '--label', 'rumor', '--against', String(last))
  expect(second).toMatchObject({ code: 1, said: expect.stringContaining(`the last one is ${last + 1}`) })
  expect(await decide('nobody', '--label', 'rumor')).toMatchObject({
    code: 1,
    said: expect.stringContaining('no such'),
  })
  expect(await decide('p', '--label', 'hoax')).toMatchObject({ code: 2 })

  // What machines say from then on is a proposal, also after a kill; an edit asks for a second look.
  await service.kill('SIGKILL')
  await sendLines([comment('p', '10:02'), post('p', 'The dam has burst, they say. (edited)')])
  service = await start(environment)
  await eventually(
    async () => (await proposalsOf('p')).length > 0,
    60_000,
    () => service.log.slice(-20).join('\n'),
  )
  const [proposed] = await proposalsOf('p')
  expect(proposed).toMatchObject({ beneath: human, differs: proposed?.label !== said })
  expect(proposed?.id).toMatch(/^rumor~p~p\d+$/)
  expect((await transcriptsOf(environment)).map(({ verdictId }) => verdictId)).toContain(proposed?.id)
  expect((await of('p')).at(-1)?.id).toBe(human)
  await eventually(async () => (await reviewsOf('p')).length >= 2, 10_000)
  const asked = (await reviewsOf('p')).map(({ why, verdict }) => `${why} ${verdict}`)
  expect(asked).toEqual(expect.arrayContaining([`refused ${human}`, `edited ${human}`]))
  if (proposed?.differs === true) expect(asked).toContain(`differs ${human}`)

  const shown = (await gavel('show', 'p')).out
  expect(shown).toContain(`${human} says ${said}, which ann decided`)
  expect(shown).toContain(`by ann, over ${machine?.id}`)
  expect(shown).toMatch(/rumor~p~p\d+ says .*, beneath rumor~p~r/)
  expect(shown).toContain(`look again at ${human}: edited`)

  // Withdrawn: the machines’ last ruling is published again.
  const withdrawn = await decide('p', '--withdraw')
  expect(withdrawn).toMatchObject({ code: 0, out: expect.stringContaining('last ruling') })
  await eventually(async () => (await of('p')).at(-1)?.restored !== undefined, 10_000)
  const ruling = (await proposalsOf('p')).at(-1)
  expect((await of('p')).at(-1)).toMatchObject({
    label: ruling?.label,
    decidedBy: ruling?.decidedBy,
    restored: { from: ruling?.id, by: 'ann' },
    usage: { calls: 0, costUsd: 0 },
  })

  // Redis is emptied, and with it what stands: a recovery knows it from the topics.
  expect(await decide('q', '--label', 'rumor')).toMatchObject({ code: 0 })
  await eventually(async () => (await outcomesOf('q')).length === 1, 10_000)
  await eventually(async () => (await of('q')).at(-1)?.decidedBy === 'human', 10_000)
  const before = await of('q')
  await service.kill('SIGKILL')
  await client.flushall()
  expect(await gavel('recover')).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 human verdict made current again'),
  })
  service = await start(environment)
  await sendLines([comment('q', '10:03')])
  await eventually(
    async () => (await proposalsOf('q')).length > 0,
    60_000,
    () => service.log.slice(-20).join('\n'),
  )
  expect((await proposalsOf('q')).every(({ beneath }) => beneath === before.at(-1)?.id)).toBe(true)
  expect(await of('q'), 'no machine’s after it').toEqual(before)
  expect((await of('p')).at(-1)?.restored, 'what was withdrawn stays so').toBeDefined()

  // Only a deletion ends a subject.
  await sendLines([{ type: 'post', id: 'q', createdAt: '2025-03-01T10:09:00Z', deleted: true }])
  await eventually(async () => (await of('q')).at(-1)?.decidedBy === 'deleted', 20_000)
  expect(await decide('q', '--label', 'rumor')).toMatchObject({ code: 1, said: expect.stringContaining('deleted') })
  expect((await outcomesOf('q')).map(({ outcome }) => outcome)).toEqual(['stands', 'deleted'])
  expect((await outcomesOf('p')).map(({ outcome }) => outcome)).toEqual(['stands', 'withdrawn'])
  const ids = (await of('p')).map(({ revision }) => revision)
  expect(ids, 'rising').toEqual([...ids].sort((a, b) => a - b))
  const letters = (await recordsOf(environment, 'deadLetters')).map((one) => deadLetter.parse(JSON.parse(one)))
  expect(letters).toEqual([])

  // Of a protocol that judges by a policy a decision cites it, with the post’s words; an unknown clause is told those that there are.
  await service.kill('SIGKILL')
  environment = { ...environment, GAVEL_PROTOCOLS_SAFETY_ENABLED: 'true' }
  service = await start(environment)
  const cite = (clause: string) =>
    gavel('decide', 'p', '--protocol', 'safety', '--label', 'unsafe', '--by', 'ann', '--why', 'x', '--clause', clause)
  expect(await cite('S99')).toMatchObject({ code: 1, said: expect.stringMatching(/"S99".*has S1, S2/) })
  expect(await cite('S2=the DAM has burst')).toMatchObject({ code: 0 })
  await eventually(async () => (await of('p')).some(({ clauses }) => clauses !== undefined), 10_000)
  expect((await gavel('show', 'p')).out).toMatch(/clauses: S2 “The dam has burst”\n\s*policy: Safety/)
})
