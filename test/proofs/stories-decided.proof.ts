import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { decisionOutcome } from '../../src/contracts/facts/decision-messages.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { reviewQueueOf } from '../../src/record/record-store.ts'
import { readAll } from '../chaos/reader.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  type Service,
  send,
  settingsOf,
  startService,
  tell,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

/** Posts of one story that are decided together; GAVEL_PROOF_MEMBERS=40 is a look. */
const MEMBERS = Number(process.env.GAVEL_PROOF_MEMBERS ?? 500)
/** Stories whose second verdict contradicts the first, and how soon that is seen, in ms. */
const [STORIES, SOON_MS] = [10, 1_000]
const ROLES = ['intake', 'judge', 'publish', 'record'] as const
const TEXT = 'The dam above Calvera has burst and the old town is under water'

const folder = ownFolder('stories-decided')
const fleet = new Map<string, Service>()
let stack: Servers
let environment: Record<string, string>
let console: { readonly process: ChildProcess; readonly own: string; readonly cookie: string } | null = null
let kills = 0

beforeAll(async () => {
  stack = await startServers({ latencyMs: 5 })
  const own = { GAVEL_RECORD_PATH: join(folder, 'record.sqlite'), GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s' }
  environment = environmentOn(stack, {
    ...own,
    GAVEL_REVIEW_AUDIT_SHARE: '0',
    GAVEL_CONSOLE_PORT: '0',
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
  })
  await makeTopics(clientOf(environment), settingsOf(environment))
  for (const role of ROLES) fleet.set(role, await startService(environment, role))
}, 900_000)
afterAll(async () => {
  tell(`${kills} processes were killed`)
  console?.process.kill('SIGKILL')
  for (const service of fleet.values()) await service.kill('SIGKILL')
  await stack?.close()
})

/** `gavel console` as a process of its own, and somebody who has signed in. */
async function openConsole() {
  const main = join(PROJECT, 'src', 'main.ts')
  const child = spawn(process.execPath, [main, 'console', '--as', 'anna'], {
    env: bareEnvironment(environment),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const address = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('/sign-in/link?t=')) resolve(line.trim())
    })
  })
  const entered = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  const cookie = entered.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  return { process: child, own: new URL(address).origin, cookie }
}

async function killed(role: (typeof ROLES)[number]): Promise<void> {
  await fleet.get(role)?.kill('SIGKILL')
  kills++
  fleet.set(role, await startService(environment, role))
}

const page = async (path: string) => {
  console ??= await openConsole()
  return (await fetch(`${console.own}${path}`, { headers: { cookie: console.cookie } })).text()
}

const distinct = <One>(all: readonly One[]) => [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]

let files = 0
async function sendLines(lines: readonly object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const post = (id: string, text: string, says: string) => [
  { type: 'post', id, text, createdAt: '2025-03-01T10:00:00Z' },
  ...['eve', 'ben', 'ann'].map((author, nth) => ({
    type: 'comment',
    id: `${id}-${author}`,
    postId: id,
    author,
    text: `${says} I am ${author}.`,
    createdAt: `2025-03-01T10:0${nth + 1}:00Z`,
  })),
]

async function read<One>(topic: 'verdicts' | 'decisionOutcomes', schema: { parse(json: unknown): One }) {
  const name = topicsOf(settingsOf(environment))[topic]
  const records = (await readAll(clientOf(environment), [name])).get(name) ?? []
  return records.map(({ value }) => schema.parse(JSON.parse(value)))
}

it(`${STORIES} contradictions are in review and on the page within a second of the second verdict`, {
  timeout: 600_000,
}, async () => {
  const seen = new Map<string, { readonly verdict: Verdict; readonly at: number }>()
  const consumer = clientOf(environment).consumer({ groupId: `watch-${process.pid}` })
  await consumer.connect()
  await consumer.subscribe({ topic: topicsOf(settingsOf(environment)).verdicts, fromBeginning: true })
  await consumer.run({
    async eachMessage({ message }) {
      const one = verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
      if (!seen.has(one.id)) seen.set(one.id, { verdict: one, at: Number(message.timestamp) })
    },
  })
  const lastOf = (id: string) => [...seen.values()].filter((one) => one.verdict.subjectId === id).at(-1)
  const queue = await reviewQueueOf(settingsOf(environment))
  // Somebody has the console open before, so that its start is not measured.
  expect(await page('/stories')).toContain('</html>')
  const [inReview, onPage]: [number[], number[]] = [[], []]
  try {
    for (let nth = 0; nth < STORIES; nth++) {
      const text = `${TEXT}, says report number ${nth}`
      await sendLines(post(`t${nth}`, text, 'It is true, I saw it myself.'))
      await eventually(async () => lastOf(`t${nth}`)?.verdict.label === 'non-rumor', 60_000)
      await sendLines(post(`f${nth}`, text, 'This is fake, it was debunked.'))
      await eventually(async () => lastOf(`f${nth}`)?.verdict.label === 'rumor', 60_000)
      const second = lastOf(`f${nth}`)
      const since = second?.at ?? 0
      const waits = async () => {
        const { items } = await queue.list({ reason: 'story-differs' }, 50, Date.now())
        return items.some((item) => item.verdict === second?.verdict.id)
      }
      const shows = async () =>
        (await page(`/stories/story?id=${second?.verdict.story?.id}&tenant=default`)).includes(
          'contradict one another since',
        )
      for (const [is, times] of [
        [waits, inReview],
        [shows, onPage],
      ] as const) {
        await eventually(is, 30_000)
        times.push(Date.now() - since)
      }
    }
  } finally {
    await queue.close()
    await consumer.disconnect()
  }
  tell(`ms from the second verdict: in review ${inReview.join(' ')}; on the page ${onPage.join(' ')}`)
  expect(Math.max(...inReview)).toBeLessThan(SOON_MS)
  expect(Math.max(...onPage)).toBeLessThan(SOON_MS)
})

it(`one decision for ${MEMBERS} members through kill -9 of the console and of every role is carried out once each`, {
  timeout: 1_800_000,
}, async () => {
  const ids = Array.from({ length: MEMBERS }, (_, nth) => `m${nth}`)
  await sendLines(ids.flatMap((id) => post(id, TEXT, 'This is fake, it was debunked.').slice(0, 3)))
  const members = async () => (await read('verdicts', verdict)).filter(({ subjectId }) => subjectId.startsWith('m'))
  let judged: Verdict[] = []
  await eventually(
    async () => {
      judged = await members()
      return new Set(judged.filter(({ final }) => final).map(({ subjectId }) => subjectId)).size === MEMBERS
    },
    900_000,
    () => `${new Set(judged.map(({ subjectId }) => subjectId)).size} are judged`,
  )
  const story = judged.at(-1)?.story?.id ?? ''
  const path = `/stories/story?id=${story}&tenant=default`
  const humans = async () => (await members()).filter(({ decidedBy }) => decidedBy === 'human')
  const press = async (): Promise<number> => {
    const { document } = parseHTML(await page(path))
    const form = new URLSearchParams({
      id: story,
      tenant: 'default',
      label: 'non-rumor',
      why: 'Confirmed by the city.',
      all: 'rumor',
    })
    for (const name of ['token', 'once'])
      form.set(name, document.querySelector(`form.decide input[name=${name}]`)?.getAttribute('value') ?? '')
    for (const one of document.querySelectorAll('input[name=copy][checked]'))
      form.append('copy', one.getAttribute('value') ?? '')
    const headers = { cookie: console?.cookie ?? '', 'sec-fetch-site': 'same-origin' }
    return (await fetch(`${console?.own}/stories/decide`, { method: 'POST', body: form, headers, redirect: 'manual' }))
      .status
  }
  const faults: (() => Promise<void>)[] = [
    async () => {
      console?.process.kill('SIGKILL')
      console = null
      kills++
    },
    ...ROLES.map((role) => () => killed(role)),
  ]
  const striking = async () => {
    for (const [nth, fault] of faults.entries()) {
      await eventually(async () => (await humans()).length > (nth * MEMBERS) / 8, 300_000)
      await fault()
    }
  }
  const struck = striking()
  const answers: string[] = []
  for (let done = 0; done < MEMBERS; ) {
    answers.push(String(await press().catch(() => 0)))
    await sleep(5_000)
    done = new Set((await humans()).map(({ subjectId }) => subjectId)).size
    tell(`${done} of ${MEMBERS} are decided; answers ${answers.join(' ')}`)
  }
  await struck
  // A topic has each message at least once: one that was written again is the same, a second verdict or outcome is not.
  const all = distinct(await humans())
  const outcomes = distinct(await read('decisionOutcomes', decisionOutcome)).filter(({ subjectId }) =>
    subjectId.startsWith('m'),
  )
  expect(all.map(({ subjectId }) => subjectId).toSorted()).toEqual(ids.toSorted())
  expect(new Set(all.map(({ label }) => label))).toEqual(new Set(['non-rumor']))
  expect(outcomes.map(({ subjectId, outcome }) => `${subjectId} ${outcome}`).toSorted()).toEqual(
    ids.map((id) => `${id} stands`).toSorted(),
  )
  expect(kills).toBeGreaterThanOrEqual(5)
})
