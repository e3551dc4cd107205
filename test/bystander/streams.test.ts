import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { memoryService } from '../../src/app/commands/judging/memory-service.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { answer } from '../../src/kit/understudy/answer.ts'
import { memoryTopics } from '../../src/store/memory-topics.ts'
import { type Arriving, STREAMS } from './streams.ts'

const TOPICS = { posts: 'posts', comments: 'comments', counterspeech: 'counterspeech' }
/** Fetches at a time by one account (images.fetches). */
const OF_AUTHOR = 2
/** Between two steps only so much is judged: a case is still open when the next message comes. */
const PASSES = 2

/** What came of a stream, and what it took. */
async function judged(protocol: string, steps: readonly Arriving[]) {
  const settings = loadSettings({ GAVEL_PROTOCOLS_SAFETY_RETRIEVAL: 'false' })
  const taken = { calls: 0, fetches: 0, fetching: 0, mostFetching: 0 }
  const model: Model = {
    async complete({ messages, answer: { name, schema } }) {
      taken.calls++
      const read = messages.map(({ role, content }) => ({ role, content }))
      const format = { type: 'json_schema', json_schema: { name, schema: schema as Record<string, unknown> } }
      const { content } = answer({ messages: read, response_format: format })
      const tokens = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 }
      return { text: content, finish: 'stop', model: 'm', ...tokens }
    },
  }
  const topics = memoryTopics()
  const verdicts = new Map<string, Verdict>()
  const service = await memoryService(
    { ...settings, checkpoints: { ...settings.checkpoints, counts: [], ages: [] } },
    {
      protocol,
      secret: 'key',
      topics: TOPICS,
      reader: topics.reader,
      report: () => {},
      model,
      retry: { attempts: 2, backoffMs: 1 },
      async loadImage(url) {
        if (url.startsWith('data:')) return url
        taken.fetches++
        taken.fetching++
        taken.mostFetching = Math.max(taken.mostFetching, taken.fetching)
        await new Promise((resolve) => setTimeout(resolve, 1))
        taken.fetching--
        throw new RetryLaterError('image', 'no image came')
      },
      streamClock: { idleAfter: 0, atEnd: 'finish' },
    },
  )
  if (service === null) throw new Error(`no ${protocol}`)
  const { taking, opener, threads, cases, outbox } = service
  const pass = async () => {
    await taking.noteEnds()
    await opener.openDue()
    const entries = await outbox.next('one', 100, 5)
    for (const entry of entries)
      if (entry.kind === 'verdict') {
        const one = JSON.parse(entry.verdict) as Verdict
        verdicts.set(one.subjectId, one)
      }
    await outbox.done(entries)
    return entries.length
  }
  try {
    for (const { topic, values } of steps) {
      const records = values.map((value) => ({ key: 'p', value: Buffer.from(JSON.stringify(value)) }))
      await topics.send(topic, records)
      for (let nth = 0; nth < PASSES; nth++) await pass()
    }
    const left = async () => (await cases.countOpen()) + (await threads.countDue(Number.POSITIVE_INFINITY))
    while ((await pass()) + (await left()) + (await outbox.size()) > 0);
  } finally {
    await service.close()
  }
  return { ...taken, verdicts: [...verdicts.values()] }
}

describe.each(STREAMS)('$name', ({ protocol, make, most }) => {
  test('cost in proportion to their number, and all are judged', async () => {
    const counts = []
    for (const messages of [10, 20]) {
      const { calls, verdicts, mostFetching } = await judged(protocol, make(messages))
      expect(verdicts).not.toEqual([])
      expect(calls).toBeLessThanOrEqual(most(messages))
      expect(verdicts.every(({ final }) => final)).toBe(true)
      expect(mostFetching).toBeLessThanOrEqual(OF_AUTHOR)
      counts.push(calls)
    }
    const [once = 0, twice = 0] = counts
    expect(twice).toBeLessThanOrEqual(2 * once + 20)
  })
})
