import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import type { Model, ModelReply, ModelRequest } from '../../../src/contracts/ports/model.ts'
import { digestOf, openRecording } from '../../../src/data-files/recordings.ts'

const root = mkdtempSync(join(tmpdir(), 'gavel-recordings-'))
afterAll(() => rmSync(root, { recursive: true }))
let folder: string
let nth = 0
beforeEach(() => {
  folder = join(root, String(nth++))
})
const fileOf = (name: 'answers' | 'calls') => join(folder, `${name}.jsonl`)
const linesOf = (name: 'answers' | 'calls') =>
  readFileSync(fileOf(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

function requestOf(content: string, other: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'some-model',
    messages: [{ role: 'user', content }],
    temperature: 0.2,
    maxTokens: 100,
    answer: { name: 'opinion', schema: { type: 'object', properties: { label: { type: 'string' } } } },
    callId: 'call',
    timeoutMs: 1_000,
    signal: new AbortController().signal,
    ...other,
  }
}

/** Answers with the number of the call, and keeps what it was shown. */
function counting() {
  const shown: string[] = []
  const model: Model = {
    async complete({ messages }) {
      shown.push(messages[0]?.content ?? '')
      const usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 }
      return { text: `answer ${shown.length}`, finish: 'stop', model: 'some-model-1', ...usage }
    },
  }
  return { shown, model }
}

describe('a recording', () => {
  it('asks each question once, over processes too, and gives the same answers without a model', async () => {
    const { shown, model } = counting()
    const first = await openRecording(folder)
    const said = await first.model(model).complete(requestOf('one'))
    expect(await first.model(model).complete(requestOf('one'))).toEqual(said)
    await first.close()

    const second = await openRecording(folder)
    expect(second.answers()).toBe(1)
    expect(await second.model(model).complete(requestOf('one'))).toEqual(said)
    await second.model(model).complete(requestOf('two'))
    await second.close()
    expect(shown).toEqual(['one', 'two'])

    const replay = await openRecording(folder, { readOnly: true })
    expect(await replay.model(null).complete(requestOf('one'))).toEqual(said)
    await replay.close()
  })

  it('gives all of an answer again: what was thought, filtered, kept, served and not reported costs and says the same', async () => {
    const given: ModelReply = {
      text: 'yes',
      thoughts: 'hm',
      remarks: ['tier'],
      finish: 'stop',
      filtered: [{ category: 'hate' }],

      model: 'm-1',
      promptTokens: 9,
      cachedTokens: 2,
      cacheWriteTokens: 3,
      completionTokens: 5,
      thinkingTokens: 4,
      tier: 'flex',
      unreported: true,
      probabilities: { score: [[4, 0.7]] },
    }
    const first = await openRecording(folder)
    await first.model({ complete: async () => given }).complete(requestOf('one'))
    await first.close()
    const { tookMs: _, ...again } = await (await openRecording(folder, { readOnly: true }))
      .model(null)
      .complete(requestOf('one'))
    expect(again).toEqual(given)
  })

  it('tells questions apart by all that the model is sent, and draws of one question by their name', async () => {
    const { shown, model } = counting()
    const recording = await openRecording(folder)
    const recorded = recording.model(model)
    const image = { role: 'user' as const, content: 'one', images: ['data:image/png;base64,AAAA'] }
    const others: Partial<ModelRequest>[] = [
      {},
      { model: 'another-model' },
      { temperature: 0 },
      { maxTokens: 99 },
      { messages: [{ role: 'system', content: 'one' }] },
      { messages: [image] },
      { messages: [{ ...image, images: ['data:image/png;base64,BBBB'] }] },
      { answer: { name: 'debate', schema: {} } },
    ]
    for (const other of others) await recorded.complete(requestOf('one', other))
    await recording.model(model, 'repeat 2').complete(requestOf('one'))
    expect(shown).toHaveLength(others.length + 1)
    // What changes from run to run and not what the model is sent.
    await recorded.complete(requestOf('one', { callId: 'another', timeoutMs: 5 }))
    expect(shown).toHaveLength(others.length + 1)
    await recording.close()
    expect(JSON.stringify(linesOf('answers'))).not.toContain('base64')
  })

  it('asks once where two ask at the same time, and gives a failure to both without recording an answer', async () => {
    const { shown, model } = counting()
    const recording = await openRecording(folder)
    const recorded = recording.model(model)
    const [one, other] = await Promise.all([recorded.complete(requestOf('one')), recorded.complete(requestOf('one'))])
    expect([shown.length, one === other]).toEqual([1, true])
    const busy = recording.model({ complete: async () => Promise.reject(new RetryLaterError('rate-limited', 'busy')) })
    const both = await Promise.allSettled([busy.complete(requestOf('two')), busy.complete(requestOf('two'))])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(linesOf('calls').map(({ failed }) => failed)).toEqual([undefined, undefined, 'rate-limited'])
    await recorded.complete(requestOf('two'))
    await recording.close()
    expect(linesOf('answers')).toHaveLength(2)
    expect((await openRecording(folder, { readOnly: true })).lost).toEqual([])
  })

  it('knows the calls that a stop cut off, and none that a budget kept back', async () => {
    const stopped = await openRecording(folder)
    const ending = (code: 'aborted' | 'budget') => ({
      complete: async () => Promise.reject(new PermanentError(code, 'x')),
    })
    await stopped
      .model(ending('aborted'))
      .complete(requestOf('one'))
      .catch(() => null)
    await stopped
      .model(ending('budget'))
      .complete(requestOf('two'))
      .catch(() => null)
    await stopped.close()
    const next = await openRecording(folder)
    expect(next.lost).toMatchObject([{ digest: digestOf(questionOf('one')) }])
    await next.close()
  })

  it('knows the calls that a kill lost, takes out a line that it cut off, and goes on', async () => {
    const { model } = counting()
    const killed = await openRecording(folder)
    await killed.model(model).complete(requestOf('one'))
    // The process ends here, with a call under way and a line half written.
    void killed.model({ complete: () => new Promise(() => undefined) }).complete(requestOf('two'))
    await expect.poll(() => linesOf('calls').length).toBe(2)
    appendFileSync(fileOf('answers'), '{"digest":"half a l')

    const readOnly = await openRecording(folder, { readOnly: true })
    expect([readOnly.answers(), readOnly.lost.length]).toEqual([1, 1])
    expect(readFileSync(fileOf('answers'), 'utf8')).toContain('half a l')

    const next = await openRecording(folder)
    expect(next.lost).toMatchObject([{ digest: digestOf(questionOf('two')) }])
    await next.model(model).complete(requestOf('two'))
    await Promise.all([next.close(), killed.close()])
    expect(linesOf('answers')).toHaveLength(2)
    // Once it has an answer nobody is told again of what it may have cost.
    expect((await openRecording(folder, { readOnly: true })).lost).toEqual([])
  })

  it('names the question to which it has no answer', async () => {
    const replay = await openRecording(folder, { readOnly: true })
    const digest = digestOf(questionOf('one'))
    await expect(replay.model(null).complete(requestOf('one'))).rejects.toThrow(`no answer to question ${digest}`)
    expect([...replay.missing.keys()]).toEqual([digest])
  })

  it('reads what other tools write: no digest, no usage; and says what is wrong with a line, and where', async () => {
    await (await openRecording(folder)).close()
    const line = { question: questionOf('one'), reply: { text: 'yes', model: 'elsewhere' } }
    writeFileSync(fileOf('answers'), `${JSON.stringify(line)}\n\n`)
    const replay = await openRecording(folder, { readOnly: true })
    expect(await replay.model(null).complete(requestOf('one'))).toEqual({
      text: 'yes',
      finish: 'stop',
      model: 'elsewhere',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
    })
    appendFileSync(fileOf('answers'), `${JSON.stringify({ ...line, digest: 'another' })}\n`)
    await expect(openRecording(folder)).rejects.toThrow(
      `${fileOf('answers')}:3: the digest is not that of the question`,
    )
    writeFileSync(fileOf('answers'), 'not json\n')
    await expect(openRecording(folder)).rejects.toThrow(`${fileOf('answers')}:1 is no line of a recording`)
    writeFileSync(fileOf('answers'), `${JSON.stringify({ ...line, reply: { model: 'elsewhere' } })}\n`)
    await expect(openRecording(folder)).rejects.toThrow(/:1 is no line of a recording \(reply\.text/)
  })

  it('belongs to one process at a time, and to nobody after a kill', async () => {
    const recording = await openRecording(folder)
    const inUse = join(folder, 'in-use')
    expect(readFileSync(inUse, 'utf8')).toBe(`${hostname()} ${process.pid}`)
    await recording.close()
    expect(existsSync(inUse)).toBe(false)
    // This one's parent is alive; nobody has the second's id.
    writeFileSync(inUse, `${hostname()} ${process.ppid}`)
    await expect(openRecording(folder)).rejects.toThrow(
      `${folder} is in use by process ${process.ppid} on ${hostname()}. If that has ended, delete ${inUse}.`,
    )
    await (await openRecording(folder, { readOnly: true })).close()
    writeFileSync(inUse, `${hostname()} 4194999`)
    writeFileSync(fileOf('answers'), 'not json\n')
    await expect(openRecording(folder)).rejects.toThrow('is no line of a recording')
    expect(existsSync(inUse)).toBe(false)
    writeFileSync(inUse, 'another-host 1')
    await expect(openRecording(folder)).rejects.toThrow('is in use by process 1 on another-host')
  })

  it('says in one line where its folder can’t be made', async () => {
    writeFileSync(folder, '')
    await expect(openRecording(folder)).rejects.toThrow(`${folder} cannot be written to: a file is in its place`)
  })

  it('keeps all of a thousand answers that come at once', async () => {
    const { model } = counting()
    const recording = await openRecording(folder)
    await Promise.all(Array.from({ length: 1_000 }, (_, at) => recording.model(model).complete(requestOf(`${at}`))))
    await recording.close()
    expect(new Set(linesOf('answers').map(({ digest }) => digest)).size).toBe(1_000)
  })
})

function questionOf(content: string) {
  const { model, messages, temperature, maxTokens, answer } = requestOf(content)
  return { model, messages: messages.map(({ role }) => ({ role, content })), temperature, maxTokens, answer, draw: '' }
}
