// A process of many askers of one question: `node memo-asker.ts OPTIONS` (JSON). It says `ready`, asks all at once when a
// line comes in, comes again as a queue would, and says how it ended in one line of JSON.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { redisMemo } from '../../src/store/memo/redis.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { GATEWAY, memoryParts, noImages } from '../support/parts.ts'
import { requestOf } from './model.ts'
import { thread } from './samples.ts'

export interface AskerOptions {
  readonly redisUrl: string
  readonly prefix: string
  readonly modelUrl: string
  readonly askers: number
  readonly leaseMs: number
  readonly patienceMs: number
}

export interface AskerEnd {
  readonly answers: Record<string, number>
  readonly calls: number
  readonly memoHits: number
  readonly cameAgain: number
  readonly seconds: number
}

const options = JSON.parse(process.argv[2] ?? '{}') as AskerOptions
const client = connect(options.redisUrl, () => {}, 'retrying')
const model = openAiServer({ baseUrl: options.modelUrl, apiKey: 'none', answerFormat: 'json_schema' })
const view = z.object({ reasoning: z.string(), answer: z.enum(['Real', 'Fake']) })
const { messages, temperature, maxTokens } = requestOf()
const ask: Ask = { stage: 'opinion', role: 'debater', messages, answer: view, temperature, maxTokens }
let calls = 0
const counted: Model = {
  complete() {
    calls++
    return model.complete(requestOf({ callId: randomUUID(), timeoutMs: 30_000 }))
  },
}
const asking = gateway({
  ...memoryParts(Date.now),
  model: counted,
  loadImage: noImages,
  clock: Date.now,
  memo: redisMemo(client, (name) => `{${options.prefix}}:${name}`),
  settings: {
    ...GATEWAY,
    roles: { default: ['gpt-x'] },
    slots: options.askers,
    callTimeout: 30_000,
    secret: 'a secret of the test',
    memo: { enabled: true, keep: 60_000, lease: options.leaseMs, patience: options.patienceMs, maxBytes: 65_536 },
  },
  report: (name, event) => void (name === 'error' && writeSync(2, `${name} ${JSON.stringify(event)}\n`)),
})

let cameAgain = 0
let memoHits = 0
const answers: Record<string, number> = {}

/** One asker, whose post is a copy of all the others' posts. */
async function asker(number: number): Promise<void> {
  for (;;) {
    try {
      const context = askContext({
        ask,
        protocol: 'rumor',
        subject: thread(`${process.pid}-${number}`),
        caseId: `${number}`,
        askId: `${number}`,
        attempt: 1,
        last: false,
        remember: true,
        calls: [],
        signal: new AbortController().signal,
        deadline: Date.now() + 60_000,
      })
      const { answer, usage } = await asking.ask(context)
      const text = JSON.stringify(answer)
      answers[text] = (answers[text] ?? 0) + 1
      memoHits += usage.memoHits
      return
    } catch (error) {
      if (!(error instanceof RetryLaterError) || error.costsAttempt) throw error
      cameAgain++
      await sleep(error.delayMs)
    }
  }
}

await client.ping()
writeSync(1, 'ready\n')
await once(process.stdin, 'data')
const began = performance.now()
await Promise.all(Array.from({ length: options.askers }, (_, index) => asker(index)))
const seconds = (performance.now() - began) / 1_000
writeSync(1, `${JSON.stringify({ answers, calls, memoHits, cameAgain, seconds } satisfies AskerEnd)}\n`)
client.disconnect()
process.exit(0)
