import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import {
  type Clip,
  type Comment,
  type Counterspeech,
  type Decision,
  type Feedback,
  GavelProblem,
  gavelClient,
  type Image,
  type Judging,
  type Post,
} from '../../src/client/client.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type {
  CommentMessage,
  CounterspeechMessage,
  FeedbackMessage,
  PostMessage,
} from '../../src/contracts/facts/messages.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'
import { ownFolder } from '../support/own-folder.ts'

let embedded: Awaited<ReturnType<typeof startEmbedded>>
let url: string
beforeAll(async () => {
  const settings = loadSettings({ GAVEL_DOOR_PORT: '0', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
  embedded = await startEmbedded(settings, { model: understudyModel(), report: () => {} })
  url = `http://127.0.0.1:${embedded.doorPort}/`
}, 60_000)
afterAll(() => embedded?.close())

const SOON = { timeout: 30_000, interval: 50 }
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()

/** Names that any of a union has. */
type Names<Union> = Union extends unknown ? keyof Union : never
type Same<One, Other> = [One, Other] extends [Other, One] ? true : false
/** What the schemas of messages have beside what a client says: the key's tenant, and what reading finds. */
type Sent<Message> = Exclude<keyof Message, 'tenant' | 'odd'>

test('its types name the fields of the schemas by which the door reads, and no others', () => {
  const same: readonly true[] = [
    true satisfies Same<Names<Post>, Sent<PostMessage> | 'type'>,
    true satisfies Same<Names<Comment>, Sent<CommentMessage> | 'type'>,
    true satisfies Same<Names<Counterspeech>, Sent<CounterspeechMessage> | 'type'>,
    true satisfies Same<Names<Feedback>, Exclude<Sent<FeedbackMessage>, 'createdAt'> | 'type'>,
    true satisfies Same<Names<Image | Clip>, Names<NonNullable<PostMessage['media']>[number]>>,
    true satisfies Same<Names<Decision>, Exclude<Sent<DecisionMessage>, 'createdAt' | 'by'>>,
  ]
  expect(same).not.toContain(false)
})

test('judges, waits to the end, fetches with the debate, and erases', async () => {
  const gavel = gavelClient({ url })
  const body: Judging = { post: { text: 'They should all be sent home.' }, protocols: ['hate'], wait: 0 }
  const begun = await gavel.judge(body)
  expect([begun.done, begun.missing]).toEqual([false, ['hate']])
  const judged = await gavel.judgeToEnd(body)
  expect(judged.verdicts.map(({ protocol, final }) => [protocol, final])).toEqual([['hate', true]])
  const again = await gavel.judgement(judged.id, { transcript: true })
  expect(again.transcripts?.[0]?.verdictId).toBe(judged.verdicts[0]?.id)
  await gavel.erase(judged.id)
  await expect(gavel.judgement(judged.id)).rejects.toMatchObject({ status: 410, type: '/problems/erased' })
})

test('sends messages, tells what stands of them, and decides', async () => {
  const gavel = gavelClient({ url })
  const post: Post = { type: 'post', id: 'p/1', text: 'They should all be sent home.', createdAt: ago(60) }
  const comment: Comment = { type: 'comment', id: 'c1', postId: 'p/1', text: 'No.', createdAt: ago(50) }
  expect(await gavel.send([post, comment])).toMatchObject({
    accepted: 2,
    refused: 0,
    items: [{ id: 'p/1' }, { id: 'c1' }],
  })
  const standing = async () => (await gavel.subject('p/1', { standing: true })).standing ?? []
  await expect.poll(async () => (await standing()).some(({ protocol }) => protocol === 'hate'), SOON).toBe(true)
  const hate = (await standing()).find(({ protocol }) => protocol === 'hate')
  const why = 'Read beside its thread'
  const decision: Decision = { subjectId: 'p/1', protocol: 'hate', label: 'hate', against: hate?.revision ?? 0, why }
  const decided = await gavel.decide({ ...decision, force: true })
  expect(decided.outcome).toBe('stands')
  await expect
    .poll(async () => (await standing()).find(({ protocol }) => protocol === 'hate')?.decidedBy, SOON)
    .toBe('human')
  expect(await gavel.send({ type: 'post', id: 'p/1', createdAt: ago(60), deleted: true })).toMatchObject({
    accepted: 1,
  })
})

test('rejects with what the door says is wrong', async () => {
  const gavel = gavelClient({ url })
  const refused = gavel.judge({ post: { text: 'A text.' }, protocols: ['none'] })
  await expect(refused).rejects.toBeInstanceOf(GavelProblem)
  await expect(refused).rejects.toMatchObject({
    status: 422,
    type: '/problems/protocol',
    instance: /^req_/,
    retryAfter: null,
  })
  await expect(gavelClient({ url, key: 'gavel_unknown' }).subject('p1')).rejects.toMatchObject({ status: 401 })
  const sent = gavel.send([{ type: 'post', id: '', text: 'A text.', createdAt: 'never' }])
  await expect(sent).rejects.toMatchObject({ status: 422, items: [{ index: 0, status: 'refused' }] })
})

/** A fetch that gives these answers, one after the other. */
function scripted(...answers: (readonly [status: number, body: string, headers?: Record<string, string>])[]) {
  const asked: { url: string; init: RequestInit }[] = []
  const answer = (async (to: string, init: RequestInit) => {
    asked.push({ url: to, init })
    const [status, body, headers = {}] = answers[Math.min(asked.length, answers.length) - 1] ?? [500, '']
    return new Response(status === 204 ? null : body, { status, headers })
  }) as typeof fetch
  return { asked, fetch: answer }
}

test('asks again what the door could not take, as long as it says, and no more often than it may', async () => {
  const busy = [429, '{"type": "/problems/rate"}', { 'retry-after': '0' }] as const
  const away = [503, 'Bad gateway of a proxy', { 'retry-after': '0' }] as const
  const healing = scripted(busy, away, [200, '{"accepted": 1}'])
  expect(await gavelClient({ url, fetch: healing.fetch }).send([])).toEqual({ accepted: 1 })
  const lasting = scripted(busy)
  const once = gavelClient({ url, fetch: lasting.fetch, retries: 1 })
  await expect(once.send([])).rejects.toMatchObject({ status: 429, type: '/problems/rate', retryAfter: 0 })
  expect(lasting.asked).toHaveLength(2)
  const failing = scripted([500, '<html>'])
  await expect(gavelClient({ url, fetch: failing.fetch }).send([])).rejects.toMatchObject({
    status: 500,
    type: 'about:blank',
  })
  expect(failing.asked).toHaveLength(1)
})

test('a request that is aborted ends, also while it waits to ask again', async () => {
  const busy = scripted([429, '{}', { 'retry-after': '3600' }])
  const stopping = new AbortController()
  const sent = gavelClient({ url, fetch: busy.fetch }).send([], { signal: stopping.signal })
  setTimeout(() => stopping.abort(new Error('enough')), 20)
  await expect(sent).rejects.toThrow('enough')
})

test('escapes ids, follows no redirect, and sends its key in the header alone', async () => {
  const { asked, fetch } = scripted([200, '{}'])
  const gavel = gavelClient({ url: 'https://gavel.example/', key: 'gavel_secret', fetch })
  await gavel.subject('a/b?c#d', { kind: 'reply', transcript: true })
  expect(asked[0]?.url).toBe('https://gavel.example/v1/subjects/a%2Fb%3Fc%23d?kind=reply&transcript=true')
  await gavel.subject('c', { post: 'p&1' })
  expect(asked[1]?.url).toBe('https://gavel.example/v1/subjects/c?post=p%261')
  expect(asked[0]?.init).toMatchObject({ redirect: 'error', headers: { authorization: 'Bearer gavel_secret' } })
})

test('the example of docs/door.md runs as it stands there', async () => {
  const [, code = ''] = /```ts\n([\s\S]+?)```/.exec(readFileSync(join(PROJECT, 'docs', 'door.md'), 'utf8')) ?? []
  const file = join(ownFolder('client'), 'example.ts')
  const here = code
    .replace("'gavel-debate/client'", JSON.stringify(join(PROJECT, 'src', 'client', 'client.ts')))
    .replace('http://127.0.0.1:8420', url)
  expect(here).not.toContain('8420')
  writeFileSync(file, here)
  const { stdout } = await promisify(execFile)(process.execPath, [file])
  expect(stdout).toMatch(/^hate non-hate [\s\S]+\n422 No such protocol: .+hate/)
})
