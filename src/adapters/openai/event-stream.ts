import { z } from 'zod'

/** Some gateways stream whatever they are asked for: server-sent events, whose chunks make up one response. */
export function isEventStream(text: string): boolean {
  return /^\s{0,20}(?:data|event|id|retry)?:/.test(text)
}

const text = z.string().nullish().catch(null)
const call = z.object({ function: z.object({ name: text, arguments: text }).nullish().catch(null) })
const chunk = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        index: z.int().catch(0),
        delta: z
          .looseObject({
            content: text,
            refusal: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z.array(call).nullish().catch(null),
          })
          .nullish()
          .catch(null),
        finish_reason: text,
      }),
    )
    .catch([]),
})

/** Most events of a response. */
const MAX_EVENTS = 100_000
const TEXTS = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const

/**
 * The response that a stream's events make up, or the error that one of them is; undefined if one can't be read, or there is
 * none. `parsed` reads the data of one event.
 */
export function completionOf(stream: string, parsed: (data: string) => unknown): unknown {
  const events = stream.split('\n', MAX_EVENTS + 1)
  if (events.length > MAX_EVENTS) return undefined
  const said = new Map<(typeof TEXTS)[number], string[]>()
  const written: string[] = []
  let around: Record<string, unknown> | undefined
  let finish: string | null = null
  let ended = false
  for (const line of events) {
    const data = /^data: ?(.*)$/.exec(line.trimEnd())?.[1]
    if (data === '[DONE]') ended = true
    if (data === undefined || data === '' || data === '[DONE]') continue
    const json = parsed(data)
    if (typeof json !== 'object' || json === null) return undefined
    if ('error' in json && json.error) return json
    const read = chunk.safeParse(json)
    if (!read.success) return undefined
    const { choices, ...rest } = read.data
    // Usage stands in the last event, the name in all.
    around = { ...around, ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) }
    const choice = choices.find(({ index }) => index === 0)
    for (const name of TEXTS) {
      const piece = choice?.delta?.[name]
      if (typeof piece !== 'string') continue
      const chunks = said.get(name)
      if (chunks === undefined) said.set(name, [piece])
      else chunks.push(piece)
    }
    for (const { function: part } of choice?.delta?.tool_calls ?? []) written.push(part?.arguments ?? '')
    finish = choice?.finish_reason ?? finish
  }
  // What broke off is no answer.
  if (around === undefined || (finish === null && !ended)) return undefined
  const texts = Object.fromEntries([...said].map(([name, chunks]) => [name, chunks.join('')]))
  const calls = written.length === 0 ? {} : { tool_calls: [{ function: { arguments: written.join('') } }] }
  return {
    ...around,
    choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', ...texts, ...calls } }],
  }
}
