import { describe, expect, it } from 'vitest'
import { type DescribedError, outageLines } from '../../src/operations/log-outages.ts'

const refused: DescribedError = {
  where: 'redis',
  error: 'Error',
  code: 'ECONNREFUSED',
  message: 'connect ECONNREFUSED 127.0.0.1:6379',
}
const silent: DescribedError = { where: 'opener', error: 'NoAnswer', message: 'no answer after 4 tries' }
const bug: DescribedError = { where: 'script', error: 'TypeError', message: 'x is not a function' }
const brokerGone: DescribedError = {
  where: 'kafkajs Connection',
  error: 'Error',
  message: 'Connection error: connect ECONNREFUSED 127.0.0.1:9092: ',
}

function setUp() {
  let now = 0
  const lines = outageLines(() => now)
  return {
    error: (one: DescribedError) => lines.ofError(one),
    storeWatch: () => lines.ofEvent('loop:succeeded', { loop: 'store watch' }),
    consumer: (downSeconds: number) => lines.ofEvent('consumer:watched', { downSeconds }),
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe('an outage of Redis', () => {
  it('is two lines, whatever every part of the process meets meanwhile', () => {
    const { error, storeWatch, pass } = setUp()
    const told = [...(error(refused) ?? [])]
    for (let second = 0; second < 60; second++) {
      for (const where of ['bullmq', 'worker cases', 'worker rumor.judge'] as const)
        told.push(...(error({ ...refused, where }) ?? []))
      told.push(...(error(silent) ?? []), ...(error({ ...bug, where: 'publisher' }) ?? []))
      told.push(...(error({ ...silent, where: 'kafkajs Runner', error: 'Error', message: 'NoAnswer: no' }) ?? []))
      pass(1_000)
    }
    for (let second = 0; second < 10; second++) {
      told.push(...storeWatch())
      told.push(...(error({ ...bug, where: 'worker cases', message: 'Missing lock for job j' }) ?? []))
      pass(1_000)
    }
    expect(told).toEqual([
      {
        level: 'error',
        event: 'redis:away',
        where: 'redis',
        why: 'ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:6379',
        advice: expect.stringContaining('REDIS_URL'),
      },
      // Another line of what follows from it came before its end.
      {
        level: 'warn',
        event: 'redis:answers',
        afterSeconds: 60,
        errorsLeftOut: 60 * 6 + 5,
        since: '1970-01-01T00:00:00.000Z',
        until: '1970-01-01T00:01:00.000Z',
      },
    ])
  })

  it('has not ended while it flickers', () => {
    const { error, storeWatch, pass } = setUp()
    error(refused)
    for (let n = 0; n < 10; n++) {
      pass(4_000)
      expect(storeWatch()).toEqual([])
      expect(error(refused)).toEqual([])
    }
    pass(4_000)
    storeWatch()
    pass(5_000)
    expect(storeWatch()).toMatchObject([{ event: 'redis:answers', afterSeconds: 44 }])
    expect(storeWatch()).toEqual([])
  })

  it('hides nothing that Redis itself says', () => {
    const { error } = setUp()
    error(refused)
    expect(error({ ...silent, error: 'ReplyError', message: 'WRONGPASS invalid username-password pair' })).toBeNull()
    expect(error({ ...silent, error: 'ReplyError', message: 'LOADING Redis is loading the dataset' })).toEqual([])
  })

  it('hides no other error once it answers, and is logged again when it recurs', () => {
    const { error, storeWatch, pass } = setUp()
    expect(error(bug)).toBeNull()
    error(silent)
    expect(error(bug)).toEqual([])
    storeWatch()
    expect(error(bug)).toBeNull()
    pass(5_000)
    expect(storeWatch()).toHaveLength(1)
    expect(error(silent)).toHaveLength(1)
  })
})

it('is said again once a minute while it lasts, and begins with silence, too', () => {
  let now = 0
  const lines = outageLines(() => now)
  expect(lines.silent('redis', 5_000)).toMatchObject([{ event: 'redis:away', why: 'no answer for 5 s' }])
  expect(lines.silent('redis', 5_000)).toEqual([])
  const timeout = "Socket timeout. Expecting data, but didn't receive any in 15000ms."
  for (let n = 0; n < 100; n++)
    expect(lines.ofError({ where: 'worker cases', error: 'Error', message: timeout })).toEqual([])
  const said = []
  for (let second = 0; second < 130; second++) {
    now += 1_000
    said.push(...lines.ofEvent('slots:counted', {}))
  }
  expect(said).toMatchObject([
    { event: 'redis:away', forSeconds: 60, errorsLeftOut: 100, advice: expect.stringContaining('REDIS_URL') },
    { event: 'redis:away', forSeconds: 120 },
  ])
})

describe('an outage of Kafka', () => {
  it('is two lines, and ends when the consumer is back', () => {
    const { error, consumer, pass } = setUp()
    expect(error(brokerGone)).toMatchObject([
      { level: 'error', event: 'kafka:away', advice: expect.stringContaining('KAFKA_BROKERS') },
    ])
    for (let second = 0; second < 30; second++) {
      expect(error({ where: 'publisher', error: 'KafkaJSNonRetriableError', message: 'no' })).toEqual([])
      expect(error(brokerGone)).toEqual([])
      expect(consumer(second)).toEqual([])
      pass(1_000)
    }
    consumer(0)
    pass(10_000)
    expect(consumer(0)).toMatchObject([{ event: 'kafka:answers', afterSeconds: 30 }])
  })

  it('is logged beside one of Redis', () => {
    const { error } = setUp()
    expect(error(refused)).toHaveLength(1)
    expect(error(brokerGone)).toHaveLength(1)
    expect(error({ ...bug, where: 'kafkajs Runner', message: 'The coordinator is not aware of this member' })).toEqual(
      [],
    )
  })
})

describe('an outage of the record', () => {
  const away: DescribedError = {
    where: 'console',
    error: 'RecordAway',
    message: "the record's database does not answer (57P01)",
  }

  it.each(['record lag', 'console pictures'] as const)('ends by the loop %s, which asks it ever again', (loop) => {
    let now = 0
    const lines = outageLines(() => now)
    expect(lines.ofError(away)).toEqual([expect.objectContaining({ event: 'record:away' })])
    const told = [0, 1].flatMap(() => {
      now += 10_000
      return lines.ofEvent('loop:succeeded', { loop })
    })
    expect(told).toEqual([expect.objectContaining({ event: 'record:answers', afterSeconds: 10 })])
    now += 60_000
    expect(lines.ofEvent('intake:resumed', {})).toEqual([])
  })
})
