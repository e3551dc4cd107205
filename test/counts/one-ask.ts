import { z } from 'zod'
import { judge } from '../../src/judging/engine/judge.ts'
import { type Conclusion, round, type Script } from '../../src/judging/engine/script.ts'
import { gateway } from '../../src/models/gateway.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { ARRIVAL, postOf, RULES, recordOf, thread } from '../contracts/samples.ts'
import { asksIn, GATEWAY, memoryParts, noImages, noLibrary, protocolNamed } from '../support/parts.ts'
import { WRITES } from '../support/verdicts.ts'

const PLENTY = 1_000_000
const limit = { default: { callsPerMinute: PLENTY, tokensPerMinute: PLENTY, inFlight: PLENTY } }
const budget = { tokens: PLENTY, usd: PLENTY }

/** A script that asks one question. */
export function* oneWord(): Script {
  yield* round([
    {
      stage: 'word',
      role: 'speaker',
      temperature: 0,
      maxTokens: 10,
      messages: [{ role: 'user', content: 'Say yes.' }],
      answer: z.object({ word: z.string() }),
    },
  ])
  const evidence = { support: [], oppose: [], precedents: [] }
  const ruling: Conclusion['ruling'] = {
    label: 'good',
    scores: {},
    rationale: '',
    decidedBy: 'judge',
    rounds: 1,
    evidence,
    degraded: [],
  }
  return { ruling }
}

/** Answers one ask over the memory stores, with memo, budgets and limits on. `begin` is called just before. */
export async function askOnce(baseUrl: string, begin: () => Promise<void>): Promise<void> {
  const stores = memoryStores(Date.now)
  const ref = thread('P')
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  const now = Date.now()
  const record = recordOf(state, 'talk', { openedAt: now, deadline: now + 60_000 })
  const opened = { cases: [{ record, seen: state.version }], waiting: [], dormant: [], nextDue: null, final: false }
  const [caseId = ''] = await stores.threads.open(state, opened)
  const report = () => {}
  const work = judge({
    protocols: new Map([['talk', protocolNamed('talk', { script: oneWord })]]),
    cases: stores.cases,
    gateway: gateway({
      model: openAiServer({ baseUrl, apiKey: 'none', answerFormat: 'json_object' }),
      loadImage: noImages,
      ...memoryParts(Date.now, {
        verdict: budget,
        tenant: { ...budget, per: 3_600_000 },
        total: { ...budget, per: 3_600_000 },
      }),
      settings: {
        ...GATEWAY,
        memo: { ...GATEWAY.memo, enabled: true },
        limits: { models: limit, tenants: limit },
        prices: { m: { prompt: 1, cached: 1, completion: 1 } },
      },
      clock: Date.now,
      report,
    }),
    library: noLibrary,
    clock: Date.now,
    report,
    settings: { maxTakeovers: 20, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
  })
  const [staged] = asksIn(await work.advance(caseId))
  if (staged === undefined) throw new Error('no ask')
  const { signal } = new AbortController()
  await begin()
  const end = await work.answer({ ...staged, number: 1, last: false, waitSeconds: 0, heldMs: 0, signal })
  if (end.end !== 'done') throw new Error(`the ask ended with ${JSON.stringify(end)}`)
}
