import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { ledgerOf } from '../../src/kit/bench/ledger.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, type Service, send, tell, transcriptsOf, verdictsOf } from '../support/pipeline.ts'

const PROCESSES = 3
const POSTS = 60
const COMMENTS = 4
const MESSAGES_A_SECOND = 20
const LATENCY_MS = 300
/** Longer than any call, so that none need be cut off. */
const DRAIN_MS = 5_000
/** For a process to end on a busy machine, on top of what is promised: how fast it is, proofs of outages measure. */
const SLACK_MS = 20_000

const folder = ownFolder('rolling')
const it = onServers({ latencyMs: LATENCY_MS })

const posts = Array.from({ length: POSTS }, (_, n) => `bridge-${n}`)
const commentsOf = (id: string) => Array.from({ length: COMMENTS }, (_, n) => `${id}-c${n}`)

/** Every post is followed by its comments at once; the next one begins before they end. */
function load(): string {
  const file = join(folder, 'load.jsonl')
  const lines = posts.flatMap((id, n) => {
    const at = (second: number) => new Date(Date.UTC(2025, 2, 1, 10, n, second)).toISOString()
    return [
      { type: 'post', id, text: `The bridge ${n} has come down, they say.`, createdAt: at(0) },
      ...commentsOf(id).map((comment, index) => ({
        type: 'comment',
        id: comment,
        postId: id,
        text: index % 2 === 0 ? `It is true, I saw bridge ${n} fall.` : `Fake, the picture of bridge ${n} is old.`,
        createdAt: at(index + 1),
      })),
    ]
  })
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}

it('three processes under load are started anew one after the other: nothing is lost, nothing is said or paid twice', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, { GAVEL_DRAIN: `${DRAIN_MS}ms`, GAVEL_CLOCK_IDLE_AFTER: '1s' })
  const services: Service[] = []
  for (let n = 0; n < PROCESSES; n++) services.push(await start(environment))
  const sent = send(environment, load(), 'gavel', { kind: 'rate', perSecond: MESSAGES_A_SECOND })
  await eventually(async () => (stack.understudy?.calls().length ?? 0) > 0, 20_000)

  for (let n = 0; n < PROCESSES; n++) {
    const old = services[n]
    const began = Date.now()
    await old?.kill('SIGTERM')
    const ms = Date.now() - began
    tell(`process ${n + 1} was gone after ${ms} ms, with exit code ${old?.process.exitCode}`)
    expect(old?.process.exitCode).toBe(0)
    expect(ms).toBeLessThan(DRAIN_MS + SLACK_MS)
    services[n] = await start(environment)
  }
  await sent

  // The last revision of each post is final and has seen each of its comments.
  const lastSeen = async () => {
    const revisions = Map.groupBy(await verdictsOf(environment), ({ subjectId }) => subjectId)
    const transcripts = new Map((await transcriptsOf(environment)).map((one) => [one.verdictId, one]))
    return new Map(
      [...revisions].map(([id, all]) => {
        const last = all.toSorted((a, b) => a.revision - b.revision).at(-1)
        // A verdict can be seen a moment before its transcript.
        const transcript = transcripts.get(last?.id ?? '')
        const comments = transcript === undefined ? [] : snapshot.parse(transcript.subject).comments
        return [id, { final: last?.final, comments: comments.map((comment) => comment.id).sort() }]
      }),
    )
  }
  const whole = new Map(posts.map((id) => [id, { final: true, comments: commentsOf(id) }]))
  let seen: Awaited<ReturnType<typeof lastSeen>> = new Map()
  const isWhole = async () => {
    seen = await lastSeen()
    return [...whole].every(
      ([id, { comments }]) => seen.get(id)?.final && seen.get(id)?.comments.join() === comments.join(),
    )
  }
  await eventually(isWhole, 40_000, () => JSON.stringify([...seen]))
  for (const service of services) await service.kill('SIGTERM')

  expect(await lastSeen()).toEqual(whole)
  const verdicts = await verdictsOf(environment)
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  for (const [id, all] of Map.groupBy(verdicts, ({ subjectId }) => subjectId))
    expect([id, all.map(({ revision }) => revision)]).toEqual([id, all.map((_, index) => index + 1)])
  const transcripts = await transcriptsOf(environment)
  expect(transcripts.map(({ verdictId }) => verdictId).sort()).toEqual(verdicts.map(({ id }) => id).sort())

  const ledger = ledgerOf(stack.understudy?.calls() ?? [], transcripts)
  tell(
    `${verdicts.length} verdicts on ${posts.length} posts; calls logged ${ledger.logged} = journaled ${ledger.journaled} + failed ${ledger.failed} + orphaned ${ledger.orphans.length}`,
  )
  expect(ledger.invented).toEqual([])
  expect(ledger.orphans).toEqual([])
})

it('a hangup in the midst of debates: what is open ends by the settings it began with, what opens has the new ones, and nothing restarts', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const file = join(folder, 'reload.yaml')
  const own = (rounds: number) => writeFileSync(file, `protocols: { rumor: { rounds: ${rounds} } }\n`)
  own(1)
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
  const service = await start(environment, undefined, undefined, ['--config', file])
  const before = stack.understudy?.calls().length ?? 0
  const metric = async (name: string) => {
    const page = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    return page.split('\n').find((line) => line.startsWith(name)) ?? ''
  }
  const built = await metric('gavel_build_info')
  const send10 = async (name: string) => {
    const lines = Array.from({ length: 10 }, (_, n) => {
      const createdAt = new Date(Date.UTC(2025, 3, 1, 10, n)).toISOString()
      return { type: 'post', id: `${name}-${n}`, text: `The tower ${n} has come down, they say.`, createdAt }
    })
    const path = join(folder, `${name}.jsonl`)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await send(environment, path, 'gavel', { kind: 'rate', perSecond: 1_000 })
  }
  const finals = async () => (await verdictsOf(environment)).filter(({ final }) => final)

  await send10('early')
  await eventually(async () => (stack.understudy?.calls().length ?? 0) > before, 30_000)
  expect(await finals()).toEqual([])
  writeFileSync(file, 'protocols: { rumor: { rounds: [\n')
  service.process.kill('SIGHUP')
  await eventually(async () => service.log.some((line) => line.includes('settings:refused')), 10_000)
  expect(await metric('gavel_build_info')).toBe(built)
  expect(await metric('gavel_reload_refused')).toMatch(/ 1$/)

  own(2)
  // Hangups within half a second are one.
  await new Promise((resolve) => setTimeout(resolve, 600))
  service.process.kill('SIGHUP')
  await eventually(async () => service.log.some((line) => line.includes('settings:reloaded')), 10_000)
  expect(service.log.find((line) => line.includes('settings:reloaded'))).toContain('"protocols.rumor.rounds"')
  expect(await metric('gavel_reload_refused')).toMatch(/ 0$/)
  expect(await metric('gavel_build_info')).not.toBe(built)
  await send10('late')
  await eventually(
    async () => (await finals()).length === 20,
    60_000,
    () => service.log.join('\n'),
  )
  await service.kill('SIGTERM')

  const settingsOf = (name: string, all: Awaited<ReturnType<typeof finals>>) =>
    new Set(all.filter(({ subjectId }) => subjectId.startsWith(name)).map(({ versions }) => versions.settings))
  const all = await finals()
  expect(settingsOf('early', all).size).toBe(1)
  expect(settingsOf('late', all).size).toBe(1)
  expect(settingsOf('late', all)).not.toEqual(settingsOf('early', all))
  // A case that restarts throws away what it was answered.
  const ledger = ledgerOf((stack.understudy?.calls() ?? []).slice(before), await transcriptsOf(environment))
  expect(ledger).toMatchObject({ orphans: [] })
})
