import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import type { ModelCall } from '../../src/contracts/facts/case.ts'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { LoadImage } from '../../src/contracts/ports/images.ts'
import type { ModelReply, ModelRequest } from '../../src/contracts/ports/model.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import { askContext, type GivenAsk } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import type { GatewaySettings } from '../../src/models/parts.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'

const answer = z.object({ reasoning: z.string(), answer: z.enum(['Fake', 'Real']) })
export const ask: Ask = {
  stage: 'opinion',
  role: 'debater',
  label: 'support',
  messages: [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Q' },
  ],
  answer,
  temperature: 0.2,
  maxTokens: 700,
}
export const FAKE = { reasoning: 'r', answer: 'Fake' }
export const settings: GatewaySettings = { ...GATEWAY, roles: { default: ['small', 'large'] } }

export const reply = (over: Partial<ModelReply> = {}): ModelReply => ({
  text: JSON.stringify(FAKE),
  finish: 'stop',
  model: 'small-2026',
  promptTokens: 100,
  cachedTokens: 40,
  completionTokens: 10,
  ...over,
})
export const unreadable = reply({ text: 'I would say Fake.' })

/** A gateway over a model that gives these replies in order, each taking `ms`; a reply that is an error is thrown. */
export function setUp(
  replies: readonly (ModelReply | Error)[],
  over: Partial<GatewaySettings> = {},
  ms = 10,
  loadImage: LoadImage = async (url) => `data:image/png;base64,${url.length}`,
  budgets: Partial<BudgetSettings> = {},
) {
  const requests: ModelRequest[] = []
  const ended: Events['call:ended'][] = []
  const told: object[] = []
  const calls: ModelCall[] = []
  let now = 0
  const made = gateway({
    model: {
      async complete(request) {
        requests.push(request)
        now += ms
        const next = replies[requests.length - 1]
        if (next === undefined) throw new Error('no reply left')
        if (next instanceof Error) throw next
        return next
      },
    },
    loadImage,
    ...memoryParts(() => now, budgets),
    settings: { ...settings, ...over },
    clock: () => now,
    report: (name, event) => {
      if (name === 'call:ended') ended.push(event as Events['call:ended'])
      else told.push({ name, ...event })
    },
  })
  const put = (asked: Ask = ask, asking: Partial<GivenAsk> = {}) =>
    made.ask(
      askContext({
        ask: asked,
        protocol: 'rumor',
        subject: { tenant: 'default', postId: 'p', kind: 'post' },
        caseId: 'rumor~p~r1',
        askId: 'rumor~p~r1/0/0.0',
        remember: false,
        attempt: 1,
        last: false,
        signal: new AbortController().signal,
        deadline: 1_000_000,
        calls,
        ...asking,
      }),
    )
  const pass = (ms: number) => {
    now += ms
  }
  return { put, requests, ended, calls, told, pass, gateway: made }
}
