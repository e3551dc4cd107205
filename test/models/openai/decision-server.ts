import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

/** A question of OpenAI's decisions, by its reference: an option is 2 to 255 unique values, and nothing else is taken. */
const part = z.union([
  z.strictObject({ type: z.literal('input_text'), text: z.string() }),
  z.strictObject({ type: z.literal('input_image'), image_url: z.string().regex(/^(?:https?|data):/) }),
])
const openAiBody = z.strictObject({
  model: z.string(),
  input: z.union([
    z.string(),
    z.array(z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(part)]) })),
  ]),
  questions: z
    .array(
      z.strictObject({
        type: z.literal('choice'),
        name: z.string().optional(),
        instructions: z.string(),
        choices: z
          .array(z.strictObject({ value: z.string(), description: z.string().optional() }))
          .min(2)
          .max(255)
          .refine((choices) => new Set(choices.map(({ value }) => value)).size === choices.length),
      }),
    )
    .min(1)
    .max(400),
})

/** One of TypeSafe's System One, by its reference; OpenRouter takes the same. */
const systemOneBody = z.strictObject({
  model: z.string(),
  state: z.string(),
  questions: z.record(
    z.string(),
    z.strictObject({
      type: z.literal('choice'),
      instructions: z.string(),
      criteria: z.record(z.string(), z.string().nullable()),
    }),
  ),
})

/** What is answered at a path in place of a right answer: a status and a body, or whatever it does itself. */
export type Instead = readonly [status: number, body: unknown] | ((response: ServerResponse) => void)

interface DecisionServerOptions {
  /** Probabilities of the options, in their order. */
  readonly probabilities?: readonly number[]
  /** By path; looked at anew for each request. */
  readonly instead?: Record<string, Instead | undefined>
}

/** A server with OpenAI's decisions, System One, OpenRouter's form of it, and chat completions with log-probabilities; `seen` are its requests. */
export async function decisionServer({ probabilities = [0.7, 0.3], instead = {} }: DecisionServerOptions = {}) {
  const seen: { readonly path: string; readonly body: Record<string, unknown> }[] = []
  const right: Record<string, (body: unknown) => unknown> = {
    '/api/v1/decisions': (body) => openAiAnswer(openAiBody.parse(body), probabilities),
    '/api/v1/systemone': (body) => systemOneAnswer(systemOneBody.parse(body), probabilities),
    '/api/alpha/decisions': (body) => systemOneAnswer(systemOneBody.parse(body), probabilities),
    '/api/v1/chat/completions': chatAnswer,
  }
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const [path, body] = [request.url ?? '', JSON.parse(Buffer.concat(chunks).toString())]
    seen.push({ path, body })
    const other = instead[path]
    if (typeof other === 'function') return other(response)
    const [status, json] = other ?? [200, right[path]?.(body)]
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof json === 'string' ? json : JSON.stringify(json))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}/api/v1`, // It listens on a port.
    seen,
    /** The last part of each path that was asked, in order. */
    paths: () => seen.map(({ path }) => path.replace(/^\/api\/(?:v1\/)?/, '')),
    async close() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function openAiAnswer({ questions }: z.infer<typeof openAiBody>, probabilities: readonly number[]) {
  return {
    model: 'gpt-6-luna',
    answers: questions.map(({ name, choices }) => {
      const of = choices.map(({ value }, at) => ({ value, probability: probabilities[at] ?? 0 }))
      const [first] = [...of].sort((one, other) => other.probability - one.probability)
      return { type: 'choice', name: name ?? null, choice: first?.value, confidence: 0.5, probabilities: of }
    }),
    usage: {
      input_tokens: 200,
      input_tokens_details: { cached_tokens: 100, cache_write_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 207,
    },
  }
}

function systemOneAnswer({ questions }: z.infer<typeof systemOneBody>, probabilities: readonly number[]) {
  return {
    model: 'jev-1.14.0',
    answers: Object.fromEntries(
      Object.entries(questions).map(([name, { criteria }]) => {
        const of = Object.keys(criteria).map((value, at) => [value, probabilities[at] ?? 0] as const)
        const [first] = [...of].sort((one, other) => other[1] - one[1])
        return [name, { type: 'choice', choice: first?.[0], confidence: 0.4, probabilities: Object.fromEntries(of) }]
      }),
    ),
    usage: { input_tokens: 150, output_tokens: 3 },
  }
}

/** A chat model that would say "hate" with 0.9. */
function chatAnswer() {
  const of = (token: string, probability: number) => ({ token, logprob: Math.log(probability), bytes: null })
  const plain = (token: string) => ({ ...of(token, 1), top_logprobs: [of(token, 1)] })
  const chosen = { ...of('hate', 0.9), top_logprobs: [of('hate', 0.9), of('non', 0.1)] }
  return {
    model: 'chat',
    choices: [
      {
        finish_reason: 'stop',
        message: { role: 'assistant', content: '{"label":"hate"}' },
        logprobs: { content: [plain('{"label'), plain('":"'), chosen, plain('"}')] },
      },
    ],
    usage: { prompt_tokens: 300, completion_tokens: 5, total_tokens: 305 },
  }
}
