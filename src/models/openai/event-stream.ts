import { setImmediate as others } from 'node:timers/promises'
import { z } from 'zod'
import { firstOf } from '../../contracts/facts/first-of.ts'

/** Some gateways stream whatever they are asked for: server-sent events, whose chunks make up one response. */
export function isEventStream(text: string): boolean {
  return /^\s{0,20}(?:data|event|id|retry)?:/.test(text)
}

const text = z.string().nullish().catch(null)
const call = z.object({ function: z.object({ name: text, arguments: text }).nullish().catch(null) })
/** Choices, and calls of one, that are looked at. */
const MOST_OF_AN_EVENT = 8
const chunk = z.looseObject({
  choices: firstOf(
    MOST_OF_AN_EVENT,
    z.looseObject({
      index: z.int().catch(0),
      delta: z
        .looseObject({
          content: text,
          refusal: text,
          reasoning_content: text,
          reasoning: text,
          tool_calls: firstOf(MOST_OF_AN_EVENT, call).nullish().catch(null),
        })
        .nullish()
        .catch(null),
      finish_reason: text,
    }),
  ).catch([]),
})

/** Most events of a response. */
const MAX_EVENTS = 100_000
/** Events that are read before other work has its turn, and characters of them: some ten milliseconds. */
const AT_ONCE = { events: 500, characters: 2 ** 16 }
/** Most fields beside the choices, in all events: a response has some ten. */
const MAX_NAMES = 100
const TEXTS = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const

/**
 * The response that a stream's events make up, or the error that one of them is; undefined if one can't be read, or there is
 * none. `parsed` reads the data of one event. Linear in the stream's length, and in steps between which other work goes on.
 */
export async function completionOf(stream: string, parsed: (data: string) => unknown): Promise<unknown> {
  const events = stream.split('\n', MAX_EVENTS + 1)
  if (events.length > MAX_EVENTS) return undefined
  const said = new Map<(typeof TEXTS)[number], string[]>()
  const written: string[] = []
  const around = new Map<string, unknown>()
  let any = false
  let finish: string | null = null
  let ended = false
  let [taken, characters] = [0, 0]
  for (const line of events) {
    characters += line.length
    if (++taken > AT_ONCE.events || characters > AT_ONCE.characters) {
      await others()
      ;[taken, characters] = [0, 0]
    }
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
    any = true
    for (const [name, value] of Object.entries(rest)) if (value !== null) around.set(name, value)
    if (around.size > MAX_NAMES) return undefined
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
  if (!any || (finish === null && !ended)) return undefined
  const texts = Object.fromEntries([...said].map(([name, chunks]) => [name, chunks.join('')]))
  const calls = written.length === 0 ? {} : { tool_calls: [{ function: { arguments: written.join('') } }] }
  return {
    ...Object.fromEntries(around),
    choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', ...texts, ...calls } }],
  }
}
