import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Settings } from '../../config/schema.ts'
import { topicsOf } from '../../config/topics.ts'
import { commandRedis, redisGatewayStores } from '../../src/app/composition/redis.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { type AppealOutcome, appealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import { type Review, review } from '../../src/contracts/facts/decision-messages.ts'
import { transcript } from '../../src/contracts/facts/verdict.ts'
import type { RecordedWord, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { actionBreaches } from '../chaos/actions.ts'
import { appealBreaches } from '../chaos/appeals.ts'
import { readAll } from '../chaos/reader.ts'
import { performWords } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  settingsOf,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { mapWithLabels, plantedDatabase } from '../support/planted-statements.ts'

const ROLES = ['intake', 'judge', 'publish', 'record', 'door', 'console'] as const
type Role = (typeof ROLES)[number]
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** A receiver that notes each notice by its id: it may come more than once, and always says the same. */
async function plantedReceiver() {
  const bodies = new Map<string, Set<string>>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const id = String(request.headers['webhook-id'])
    bodies.set(id, (bodies.get(id) ?? new Set()).add(body))
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/` // It listens on a port.
  const of = (type: string) =>
    [...bodies.values()].flatMap((all) => [...all].map((one) => JSON.parse(one))).filter((one) => one.type === type)
  return { url, of, close: () => void server.close() }
}

/** What somebody does in the console, behind a proxy that has signed them in. */
function consoleOn(port: number) {
  const host = `http://127.0.0.1:${port}`
  const field = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? ''
  return (person: string) => {
    const headers = { 'x-forwarded-user': person, origin: host }
    const page = async (path: string) => (await fetch(`${host}${path}`, { headers })).text()
    const post = async (path: string, fields: Readonly<Record<string, string>>, signal?: AbortSignal) => {
      const body = new URLSearchParams({ token: field(await page('/health'), 'token'), ...fields })
      return fetch(`${host}${path}`, { method: 'POST', headers, body, redirect: 'manual', signal: signal ?? null })
    }
    /** Takes this verdict, and answers with the form that its page has. */
    const taken = async (verdict: string) => {
      const to = (await post('/review/take', { carried: verdict })).headers.get('location') ?? ''
      const shown = await page(to)
      return Object.fromEntries(['carried', 'once', 'since', 'appeal'].map((name) => [name, field(shown, name)]))
    }
    return { page, post, taken }
  }
}

/**
 * From the verdict to the report with this record: judged, acted on, appealed by author and notifier, heard by the models, answered by
 * somebody else, reversed, stated, reported. `apart`: each role is a process of its own, and each is killed in between; else one
 * process has them all.
 */
export function accountsForAppeals(
  store: string,
  variables: () => Readonly<Record<string, string>>,
  { apart = false } = {},
): void {
  const it = onServers({ latencyMs: 5 })
  it(`judged, acted on, appealed, heard, answered by somebody else, reversed, stated and reported, once each, through kills, with ${store}`, {
    timeout: 300_000,
  }, async ({ stack, start }) => {
    const begun = Date.now()
    const folder = ownFolder(`appeals-${store}`)
    const [receiver, database, port] = [await plantedReceiver(), await plantedDatabase(), await freePort()]
    const hook = { url: receiver.url, tenant: 'default', secrets: [SECRET], allowPrivate: true }
    const people = ['ann', 'ben'].map((name) => ({ who: `person:${name}`, role: 'moderator' }))
    const keys = join(folder, 'keys.json')
    const now = new Date(begun).toISOString()
    const made = newApiKey({ tenant: 'default', scopes: ['send', 'act'], by: 'rules', createdAt: now, expiresAt: null })
    await changeKeys(keys, () => ({ keys: [made.kept], result: null }))
    const environment = environmentOn(stack, {
      ...protocolsOn('hate'),
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_DRAIN: '3s',
      GAVEL_DOOR_KEYS: keys,
      GAVEL_DOOR_PORT: '0',
      GAVEL_CONSOLE_PORT: String(port),
      GAVEL_CONSOLE_SIGN_IN: 'proxy',
      GAVEL_CONSOLE_PROXY_PEERS: '127.0.0.1',
      GAVEL_CONSOLE_PEOPLE: JSON.stringify(people),
      GAVEL_APPEALS_DEBATE: 'by-person',
      GAVEL_BUDGETS_TOTAL_TOKENS: '100000000',
      GAVEL_WEBHOOKS_TO: JSON.stringify({ shop: { ...hook, actions: true, appeals: true } }),
      GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
      GAVEL_REVIEW_BLIND_SHARE: '0',
      GAVEL_REVIEW_AUDIT_SHARE: '0',
      GAVEL_REVIEW_STATEMENTS: mapWithLabels(folder, 'hate', ['non-hate']),
      ...variables(),
    })
    const settings = settingsOf(environment)
    const gavel = async (...words: string[]) => (await performWords(words, settings)).out.join('\n')

    const fleet = new Map<string, Service>()
    const deaths: string[] = []
    const begin = async (roles: string) => void fleet.set(roles, await start(environment, roles))
    /** Kills these roles while `meanwhile` is done, and begins them again. Where one process has all, with the record. */
    const killed = async (roles: readonly Role[], meanwhile: () => Promise<unknown> = async () => {}) => {
      const hit = [...fleet.keys()].filter((own) =>
        apart ? roles.some((role) => role === own) : roles.includes('record'),
      )
      await Promise.all(hit.map((own) => fleet.get(own)?.kill('SIGKILL')))
      deaths.push(...hit)
      await meanwhile()
      await Promise.all(hit.map(begin))
    }
    const log = () => [...fleet.values()].flatMap((one) => one.log.slice(-10)).join('\n')
    const soon = (yes: () => Promise<boolean>, what = '') => eventually(yes, 60_000, () => `${what}\n${log()}`)

    const appeal = (id: string, ...words: string[]) => {
      const said = words.includes('--withdraw') ? [] : ['--text', 'I quoted', '--contact', `case ${id}`]
      return gavel('appeal', id, ...said, ...words)
    }
    const door = async (path: string, body: object) => {
      const own = [...fleet]
        .find(([roles]) => roles.includes('door'))?.[1]
        .log.find((line) => line.includes('"door:opened"'))
      const { doorPort } = JSON.parse(own ?? '{}') as { doorPort: number }
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${made.key}` }
      return fetch(`http://127.0.0.1:${doorPort}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const as = consoleOn(port)
    const waiting = async (person: string) =>
      (await gavel('review', 'list', '--for', person, '--reason', 'appealed')).match(/hate~\S+/g)?.sort() ?? []
    const answer = (item: string, by: string, label: string, id: string) => {
      const why = ['--why', 'Ticket 88.', '--code', 'context', '--appeal', id]
      return gavel('review', 'decide', item, '--label', label, '--by', by, ...why)
    }
    const outcomes = async () =>
      (await recordsOf(environment, 'appealOutcomes')).map((one) => appealOutcome.parse(JSON.parse(one)))
    const verdict = async (id: string) => (await verdictsOf(environment)).findLast(({ subjectId }) => subjectId === id)
    const other = (label: string | null | undefined) => (label === 'hate' ? 'non-hate' : 'hate')
    const reversals = async () =>
      (await recordsOf(environment, 'reviews'))
        .map((json): Review => review.parse(JSON.parse(json)))
        .filter(({ why }) => why === 'reversal')

    // Judged.
    await makeTopics(clientOf(environment), settings)
    // The console reads what the record has made.
    for (const roles of apart ? [ROLES.slice(0, -1), ROLES.slice(-1)] : [[ROLES.join(',')]])
      await Promise.all(roles.map(begin))
    const file = join(folder, 'posts.jsonl')
    const posts = ['a', 'b', 'c'].map((id) => ({ type: 'post', id, text: `They are all vermin, says ${id}.` }))
    writeFileSync(
      file,
      posts.map((one) => `${JSON.stringify({ ...one, createdAt: '2025-03-01T10:00:00Z' })}\n`).join(''),
    )
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    await killed(['intake', 'judge', 'publish'])
    await allFinal(environment, 3, 60_000)
    const first = new Map(
      await Promise.all(['a', 'b', 'c'].map(async (id) => [id, (await verdict(id))?.label] as const)),
    )

    // Acted on, and each stated to the receiver.
    const removed = { id: 'act-a', subjectId: 'a', verdictId: 'hate~a~r1', what: 'remove', source: 'own-initiative' }
    const sent = { ...removed, automated: true, since: new Date().toISOString() }
    expect((await door('/v1/actions', sent)).status).toBe(202)
    const demoted = ['--verdict', 'hate~b~r1', '--what', 'demote', '--source', 'notice', '--automated', '--by', 'rules']
    await gavel('act', 'b', '--id', 'act-b', ...demoted)
    const ofAuthor = { id: 'of-author', by: 'author', actionId: 'act-a', text: 'I quoted', contact: 'case of-author' }
    expect((await door('/v1/appeals', ofAuthor)).status).toBe(200)
    await appeal('of-notifier', '--by', 'notifier', '--subject', 'b')
    await killed(['door', 'record'], async () => {
      await appeal('of-author', '--by', 'author', '--verdict', 'hate~a~r1')
      await appeal('again', '--by', 'author', '--verdict', 'hate~a~r1')
      await appeal('of-nothing', '--by', 'author', '--verdict', 'hate@acme~a~r1')
      await appeal('taken-back', '--by', 'notifier', '--subject', 'c')
      await appeal('taken-back', '--withdraw')
    })
    expect((await door('/v1/actions', sent)).status).toBe(202)
    expect((await door('/v1/appeals', ofAuthor)).status).toBe(200)
    await soon(async () => (await waiting('ann')).length === 2)
    expect(await waiting('ann')).toEqual(['hate~a~r1', 'hate~b~r1'])

    // The models are heard on it: of the debate that was, the turns and the judge are asked again, and no perspective.
    await soon(
      async () =>
        (
          await as('ann')
            .page('/review')
            .catch(() => '')
        ).includes('hate'),
      'no console',
    )
    const asked = () => (stack.understudy?.calls() ?? []).map(({ stage, question }) => ({ stage, question }))
    const before = asked()
    const [item, spent] = [await as('ann').taken('hate~a~r1'), await tokensSpent(settings)]
    const own = { ...item, label: first.get('a') ?? '', code: 'context', why: 'Ticket 88.' }
    // A double click: the browser breaks the first one off.
    const gone = new AbortController()
    const one = as('ann')
      .post('/review/decide', { ...own, hear: 'yes' }, gone.signal)
      .catch(() => null)
    await soon(async () => asked().length > before.length, 'nobody is heard')
    gone.abort()
    await one
    const heard = await as('ann').post('/review/decide', { ...own, hear: 'yes' })
    const anew = asked().slice(before.length)
    const shown = await heard.text()
    expect([heard.status, shown.includes(`(${anew.length} question`)]).toEqual([200, true])
    const record = await recordReaderOf(settings)
    for (const what of (await record.verdict('hate~a~r1'))?.verdict.degraded ?? []) expect(shown).toContain(what)
    const turns = transcript.parse(JSON.parse((await record.transcript('hate~a~r1')) ?? '')).turns
    await record.close()
    const rests = turns.map(({ stage }) => stage).filter((stage) => stage !== 'perspective')
    expect(turns.length).toBeGreaterThan(rests.length)
    expect(anew.map(({ stage }) => stage)).toEqual(rests)
    expect(anew.filter(({ question }) => before.some((two) => two.question === question))).toEqual([])
    await soon(async () => (await tokensSpent(settings)) > spent, 'it costs nothing')
    // It is no verdict.
    expect((await verdict('a'))?.id).toBe('hate~a~r1')

    // The author's is upheld, and nobody asks them again; the notifier's goes on, by another person.
    await killed(['console'])
    await soon(
      async () =>
        (
          await as('ann')
            .page('/review')
            .catch(() => '')
        ).includes('hate'),
      'no console',
    )
    const again = await as('ann').taken('hate~a~r1')
    const upheld = await as('ann').post('/review/decide', { ...own, ...again })
    expect([upheld.status, asked().length]).toEqual([303, before.length + anew.length])
    await answer('hate~b~r1', 'ann', first.get('b') ?? '', 'none-of-this-name')
    await killed(['intake', 'publish', 'record'])
    await soon(async () => (await waiting('ben')).join() === 'hate~b~r2')
    expect([await waiting('ann'), await waiting('ben')]).toEqual([[], ['hate~b~r2']])
    await answer('hate~b~r2', 'ben', other(first.get('b')), 'of-notifier')
    await killed(['judge', 'publish'])
    const all = async () => new Map((await outcomes()).map((two) => [two.id, two] as const))
    await soon(async () => (await all()).size === 5)
    const became = Object.fromEntries([...(await all())].map(([id, { outcome }]) => [id, outcome]))
    expect(became).toEqual({
      'of-author': 'upheld',
      'of-notifier': 'reversed',
      again: 'repeated',
      'of-nothing': 'unknown',
      'taken-back': 'withdrawn',
    })
    expect((await all()).get('of-notifier')).toMatchObject({ verdict: 'hate~b~r3', label: other(first.get('b')) })
    expect((await verdict('b'))?.label).toBe(other(first.get('b')))

    // What rested on it is to be reversed, and waits until it is.
    await soon(async () => (await reversals()).length > 0)
    await killed(['record', 'door'])
    const reversed = async () => (await gavel('review', 'list', '--reason', 'reversal')).includes('hate~b~r3')
    await soon(reversed)
    await gavel('act', 'b', '--id', 'act-b', '--withdraw', '--by', 'ann')
    await soon(async () => !(await reversed()))
    expect(new Set((await reversals()).map(({ id }) => id))).toEqual(new Set(['hate~b~r3~reversal~act-b']))

    // Told to the receiver: each statement and each outcome once.
    const told = (type: string, name: string) =>
      receiver
        .of(type)
        .map(({ data }) => data[name])
        .sort()
    await soon(async () => told('action.stated', 'action').length >= 2 && told('appeal.ended', 'id').length >= 5)
    expect(told('action.stated', 'action')).toEqual(['act-a', 'act-b'])
    expect(told('appeal.ended', 'id')).toEqual(Object.keys(became).sort())
    expect(told('reversal.asked', 'action')).toEqual(['act-b'])

    // Stated to the database, and reported. The answer to its first call is lost.
    const [ledger, token] = [join(folder, 'sent.txt'), join(folder, 'token')]
    writeFileSync(token, 'secret\n')
    const to = ['--sent', ledger, '--url', database.url, '--token-file', token]
    for (let time = 0; time < 3; time++) await gavel('reasons', 'send', ...to).catch(() => '')
    // The reversed one, too: what was decided has to be submitted.
    expect([...database.taken.values()]).toEqual([1, 1])
    const at = (ms: number) => new Date(ms).toISOString()
    const period = ['--since', at(begun - 60_000), '--until', at(Date.now() + 60_000)]
    const reconciled = await performWords(['report', 'reconcile', ...period, '--sent', ledger], settings)
    expect(reconciled.said.join()).toContain('Report, statements, record and topic agree.')
    const dry = await performWords(['reasons', 'send', '--sent', join(folder, 'none.txt'), '--dry-run'], settings)
    const figures = { tenant: 'default', report: await gavel('report', ...period), statements: dry.out.join('\n') }
    expect(await ledgerBreaches(environment, figures)).toEqual([])

    // At least once each, and never anything else.
    const bodies = (await outcomes()).map((two: AppealOutcome) => JSON.stringify(two))
    expect(new Set(bodies).size).toBe(5)
    if (apart) {
      expect(new Set(deaths)).toEqual(new Set(ROLES))
      tell(
        `${store}: ${deaths.length} processes were killed (${deaths.join(', ')}); 3 posts, 2 actions, 5 appeals with ${new Set(bodies).size} outcomes, heard by ${anew.length} questions (${rests.join(', ')}) of ${before.length} asked before; statements: ${told('action.stated', 'action').length} at the receiver, ${database.taken.size} at the database; report and ledger agree; ${Math.round((Date.now() - begun) / 1_000)} s`,
      )
    }
    receiver.close()
    database.close()
    await Promise.all([...fleet.values()].map((two) => two.kill('SIGTERM')))
  })
}

/** What the budget of everything has spent by now, in tokens. */
async function tokensSpent(settings: Settings): Promise<number> {
  const redis = await commandRedis(settings)
  try {
    const { budgets } = redisGatewayStores(settings, { working: redis.client, keys: redis.keys })
    return (await budgets.total())?.used.tokens ?? 0
  } finally {
    await redis.close()
  }
}

/** What does not hold between the topics, the record, the report and the statements, in words. */
async function ledgerBreaches(environment: Record<string, string>, account: Parameters<typeof actionBreaches>[2]) {
  const settings = settingsOf(environment)
  const names = topicsOf(settings)
  const { appeals, appealOutcomes, actions, verdicts, reviews } = names
  const all = await readAll(clientOf(environment), [appeals, appealOutcomes, actions, verdicts, reviews])
  const on = (name: string) => all.get(name) ?? []
  const record = await recordReaderOf(settings)
  try {
    const [subjects, noted] = [new Map<string, SubjectRecord>(), [] as RecordedWord[]]
    for await (const one of record.export()) subjects.set(JSON.stringify(one.subject), one)
    for await (const one of record.actions()) noted.push(one)
    const acted = { actions: on(actions), verdicts: on(verdicts), reviews: on(reviews) }
    return [
      ...appealBreaches({ appeals: on(appeals), outcomes: on(appealOutcomes) }, { subjects }),
      ...actionBreaches(acted, { actions: noted }, account),
    ]
  } finally {
    await record.close()
  }
}
