import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { traceIdOf } from '../../src/contracts/facts/trace.ts'

/** The log goes to standard error, past every stream that a test could put in its way: so it runs in a process of its own. */
const SCRIPT = `
import { logListener } from ${JSON.stringify(join(PROJECT, 'src/operations/log.ts'))}
let clock = 0
const log = logListener('debug', () => clock, { gavel: 'g', host: 'h', version: '1', settings: 'abc' })
const trouble = (where, error) => log('error', { where, error })
const thrown = (work) => { try { work() } catch (error) { return error } }
trouble('json', thrown(() => JSON.parse('SECRET words')))
trouble('json in lines', thrown(() => JSON.parse('{"a": SEC\\nRET words')))
trouble('json in another', new Error('the batch failed: ' + thrown(() => JSON.parse('SECRET'))))
trouble('undefined json', new SyntaxError('"SECRET" is not valid JSON'))
trouble('lines', new Error('first\\nSECRET'))
trouble('url', new Error('no answer at redis://user:SECRET@host:1/0 and rediss://:SECRET@other'))
trouble('properties', Object.assign(new Error('m', { cause: new Error('SECRET') }), { command: { args: ['SECRET'] }, error: { message: 'SECRET' } }))
trouble('no error', { message: 'SECRET' })
trouble('a text', 'SECRET')
trouble('long', Object.assign(new Error('x'.repeat(9_000)), { code: 'y'.repeat(9_000) }))
log('case:fenced', { why: 'another has it', caseId: 'rumor~\\u001b]0;title\\u0007\\u009b31m\\u202e\\u2028\\u007f~r1' })
log('publication:held', { what: 'verdict', held: true, why: 'away', cases: 0, caseIds: [] })
log('publication:held', { what: 'verdict', held: false, why: '', cases: 0, caseIds: [] })
log('service:exposed', { host: '0.0.0.0', advice: 'set http.token' })
log('verdict:published', { verdict: { id: 'i'.repeat(9_000), rationale: 'SECRET', label: 'rumor' }, latencySeconds: 1, overheadSeconds: 1 })
log('error', { where: 'with ids', error: new Error('m'), caseId: 'rumor~p~r1', key: '1.2', callId: 'c' + 'c'.repeat(9_000) })
log('error', { where: 'with many ids', error: new Error('n'), cases: 9, caseIds: ['rumor~p~r1', 'c'.repeat(9_000)] })
trouble('kafkajs Connection', new Error('Response ListOffsets(key: 2): This server is not the leader for that topic-partition'))
trouble('kafkajs Runner', new Error('The coordinator is not aware of this member, re-joining the group'))
trouble('kafkajs Cluster', new Error('Response OffsetFetch(key: 9): This is not the correct coordinator for this group'))
trouble('kafkajs Admin', new Error('Response OffsetFetch(key: 9): The coordinator is loading and hence can’t process requests'))
trouble('kafkajs Consumer', new Error('Crash: TypeError: x'))
for (let n = 0; n < 9; n++) trouble('again', new Error('the same'))
for (let n = 0; n < 9; n++) trouble('worker locks' + n, new Error('could not renew lock for job j' + n))
trouble('worker locks', new Error('Missing lock for job j. moveToFinished'))
const dead = (offset) => log('message:dead', { topic: 'posts', partition: 0, offset: String(offset), reason: 'not-json', detail: '' })
for (let n = 0; n < 1_000; n++) dead(n)
clock = 5_000
dead(1_000)
`

const TRACED = `
import { logListener } from ${JSON.stringify(join(PROJECT, 'src/operations/log.ts'))}
const log = logListener('debug', Date.now, { gavel: 'g', host: 'h' }, { traced: true })
log('case:fenced', { why: 'another has it', caseId: 'rumor~p~r1' })
log('error', { where: 'a case', error: new Error('m'), caseId: 'rumor~p~r1' })
log('verdict:published', { verdict: { id: 'rumor~p~r1' }, latencySeconds: 1, overheadSeconds: 1 })
log('service:stopped', {})
`

const HASHED = `
import { logListener } from ${JSON.stringify(join(PROJECT, 'src/operations/log.ts'))}
const identity = { gavel: 'g', host: 'h', version: '1.2.3', roles: ['judge', 'publish'] }
for (const subjects of ['plain', 'hashed', 'off']) {
  const log = logListener('debug', Date.now, identity, { subjects })
  log('case:fenced', { why: 'another has it', caseId: 'hate/comment@acme~Post-1~Comment-2~r3' })
  log('error', { where: 'worker cases', error: new Error('Job rumor~Post-1~r3 is lost'), cases: 1, caseIds: ['rumor~Post-1~r3'] })
  log('verdict:published', { verdict: { id: 'rumor~Post-1~r1' }, latencySeconds: 1, overheadSeconds: 1 })
  log('error', { where: 'opening', error: new Error('m'), thread: { tenant: 'acme', kind: 'comment', postId: 'Post-1~Comment-2' } })
}
`

let out: string
let lines: Record<string, unknown>[]
beforeAll(async () => {
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    cwd: PROJECT,
  })
  out = stderr
  lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
})
const at = (where: string) => lines.find((line) => line.where === where)

describe('the log', () => {
  it('names the trace of a case where traces are sent, and only there', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', TRACED], {
      cwd: PROJECT,
    })
    const traces = stderr
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { trace_id?: string }).trace_id)
    const traceId = traceIdOf('g', 'rumor~p~r1')
    expect(traces).toEqual([traceId, traceId, traceId, undefined])
    expect(lines.filter((line) => 'trace_id' in line)).toEqual([])
  })

  it('names tenant, protocol and subject of a case as fields, and the subject as the settings have it', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', HASHED], {
      cwd: PROJECT,
    })
    const all = stderr.trimEnd().split('\n')
    const said = all.map((line) => JSON.parse(line) as Record<string, unknown>)
    const [plain, hashed, off] = [said.slice(0, 4), said.slice(4, 8), said.slice(8)]
    const known = { tenant: 'acme', protocol: 'hate', level: 'info', version: '1.2.3', role: 'judge,publish' }
    expect(plain[0]).toMatchObject({ ...known, subject: 'Comment-2', post: 'Post-1' })
    expect(plain[2]).toMatchObject({ tenant: 'default', protocol: 'rumor', subject: 'Post-1', id: 'rumor~Post-1~r1' })
    expect(all.slice(4).join('\n')).not.toMatch(/Post-1|Comment-2/)
    expect(hashed[0]).toMatchObject({ ...known, subject: expect.stringMatching(/^#[0-9a-f]{16}$/) })
    expect(hashed[2]).toMatchObject({ subject: hashed[0]?.post, id: `rumor~${String(hashed[0]?.post)}~r1` })
    expect(hashed[1]).toMatchObject({ message: `Job rumor~${String(hashed[0]?.post)}~r3 is lost` })
    const ofThread = { where: 'opening', tenant: 'acme', kind: 'comment' }
    expect(plain[3]).toMatchObject({ ...ofThread, subject: 'Comment-2', post: 'Post-1' })
    expect(hashed[3]).toMatchObject({ ...ofThread, subject: hashed[0]?.subject, post: hashed[0]?.post })
    expect(off[3]).toMatchObject(ofThread)
    expect(off[0]).toMatchObject(known)
    expect(off[0]).not.toHaveProperty('subject')
  })

  it('logs an error’s name, code and first line, without a parser’s quotes', () => {
    expect(out).not.toContain('SEC')
    expect(at('json')).toMatchObject({ error: 'SyntaxError', message: 'what was read is no JSON' })
    expect(at('json in another')).toMatchObject({ message: 'the batch failed: SyntaxError: what was read is no JSON' })
    expect(at('lines')).toMatchObject({ error: 'Error', message: 'first' })
    expect(at('url')).toMatchObject({ message: 'no answer at redis://…@host:1/0 and rediss://…@other' })
    expect(at('properties')).toMatchObject({ message: 'm' })
    expect(at('a text')).toMatchObject({ error: 'string', message: '' })
  })

  it('logs the case, ask and call of an error if they are known', () => {
    expect(at('with ids')).toMatchObject({
      message: 'm',
      caseId: 'rumor~p~r1',
      key: '1.2',
      callId: expect.stringMatching(/^c+$/),
    })
    expect(at('lines')).not.toHaveProperty('caseId')
    expect(at('with many ids')).toMatchObject({ cases: 9, caseIds: ['rumor~p~r1', 'c'.repeat(128)] })
  })

  it('grows with nobody’s text', () => {
    for (const line of out.split('\n')) expect(line.length).toBeLessThan(1_000)
  })

  it('logs ids as they are, and lets none drive a terminal', () => {
    expect(out).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(lines.find(({ event }) => event === 'case:fenced')).toMatchObject({
      caseId: 'rumor~\u001b]0;title\u0007\u009b31m\u202e\u2028\u007f~r1',
    })
  })

  it('calls held publication an error, and its end none', () => {
    const held = lines.filter(({ event }) => event === 'publication:held')
    expect(held.map((line) => [line.held, line.level])).toEqual([
      [true, 'error'],
      [false, 'info'],
    ])
  })

  it('warns of an open port in one line', () => {
    const warned = lines.filter(({ event }) => event === 'service:exposed')
    expect(warned).toEqual([expect.objectContaining({ level: 'warn', host: '0.0.0.0', advice: 'set http.token' })])
  })

  it('calls no error what Kafka’s client meets while topics and groups are made, and tries again by itself', () => {
    expect(at('kafkajs Connection')).toMatchObject({ level: 'info', event: 'trouble:met' })
    for (const where of ['kafkajs Runner', 'kafkajs Cluster', 'kafkajs Admin'])
      expect(at(where)).toMatchObject({ level: 'info' })
    expect(at('kafkajs Consumer')).toMatchObject({ level: 'error' })
  })

  it('logs the same error once', () => {
    expect(lines.filter(({ where }) => where === 'again')).toHaveLength(1)
  })

  it('logs lapsed locks, which come in groups, as one line with their meaning, and not as an error', () => {
    const lapsed = lines.filter(({ where }) => String(where).startsWith('worker locks'))
    expect(lapsed).toEqual([
      expect.objectContaining({ level: 'warn', advice: expect.stringContaining('docs/runbooks/GavelLocksLapse.md') }),
    ])
  })

  it('says in each line which process wrote it, and all that is known of it in the first alone', () => {
    for (const line of lines) expect(line.process).toMatch(/^g@h:\d+$/)
    expect(lines[0]?.identity).toEqual({ gavel: 'g', host: 'h', version: '1', settings: 'abc' })
    expect(lines.slice(1).every((line) => line.identity === undefined)).toBe(true)
  })

  it('logs at most fifty unreadable messages in five seconds, and then the number of the others', () => {
    const dead = lines.filter(({ event }) => event === 'message:dead')
    expect(dead).toHaveLength(51)
    expect(dead.map(({ offset }) => Number(offset))).toEqual([...Array(50).keys(), 1_000])
    expect(dead.map(({ alsoTimes }) => alsoTimes)).toEqual([...Array(50).fill(undefined), 950])
  })
})

describe('a log of errors alone', () => {
  const script = `
import { logListener } from ${JSON.stringify(join(PROJECT, 'src/operations/log.ts'))}
let clock = 0
const log = logListener('error', () => clock)
log('store:lost', { advice: 'Recover.' })
clock = 10_000
log('store:recovered', {})
for (; clock < 300_000; clock += 10_000) log('intake:resumed', {})
`
  it('does not go on about a fault whose end it does not tell', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('store:lost')])
  })
})
