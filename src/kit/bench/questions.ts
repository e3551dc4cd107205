import { loadSettings } from '../../../config/load.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import type { Ask } from '../../contracts/facts/ask.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { sentence } from './load.ts'

/** Comments in a batch. */
export const COMMENTS = 20
/** Posts that `opinions` asks about in turn, under a new number each time. */
const DIFFERENT = 100

/** The questions of a debate's first round, each about another post. */
export function opinions(environment: Readonly<Record<string, string | undefined>>): Generator<Ask> {
  const all = firstRounds({ ...environment, GAVEL_PROTOCOLS_RUMOR_STANCE: 'false' }, ({ stage }) => stage === 'opinion')
  return numbered(first(all, DIFFERENT))
}

/** Endlessly many questions from a few, distinguished by a number: thousands of whole ones would keep the garbage collector busy. */
function* numbered(asks: readonly Ask[]): Generator<Ask> {
  for (let count = 0; ; count++) {
    const ask = asks[count % asks.length]
    if (ask === undefined) throw new OperatorError('There is nothing to ask.')
    const [firstMessage, ...others] = ask.messages
    yield {
      ...ask,
      messages: [{ role: 'system', content: `Question ${count}.` }, ...(firstMessage ? [firstMessage] : []), ...others],
    }
  }
}

/** The scoring of twenty comments, other ones in each ask. */
export function batches(environment: Readonly<Record<string, string | undefined>>): Generator<Ask> {
  return firstRounds(environment, ({ batch }) => batch !== undefined)
}

/** The `wanted` asks of rumor debates' first rounds, without end. Throws an OperatorError if a first round has none. */
function* firstRounds(
  environment: Readonly<Record<string, string | undefined>>,
  wanted: (ask: Ask) => boolean,
): Generator<Ask> {
  const { protocols, fences: fencing } = loadSettings({
    ...environment,
    GAVEL_PROTOCOLS_RUMOR_PRESET: 'none',
    GAVEL_PROTOCOLS_RUMOR_PROMPT_KIND: 'objective',
    GAVEL_PROTOCOLS_RUMOR_BATCH_SIZE: String(COMMENTS),
  })
  const rumor = makeProtocols(protocols, fences('bench', fencing), samplingRanks('bench')).find(
    ({ name }) => name === 'rumor',
  )
  if (rumor === undefined)
    throw new OperatorError('The settings switch off the rumor protocol, whose questions are asked here.')
  for (let thread = 0; ; thread++) {
    const own = (id: string) => ({
      id,
      text: `${sentence(thread * 31 + Number(id), 20)} ${thread}/${id}`,
      author: `a${id}`,
      createdAt: 0,
    })
    const comments = Array.from({ length: COMMENTS }, (_, at) => own(String(at + 1)))
    const step = rumor.script({ post: own('0'), comments, leftOut: 0 }, null).next()
    const asks = step.done ? [] : step.value.filter(wanted)
    if (asks.length === 0) throw new OperatorError('The rumor protocol does not begin with the questions asked here.')
    yield* asks
  }
}

/** The first `count` of the values; fewer if there are no more. */
export function first<Value>(values: Iterable<Value>, count: number): Value[] {
  const some: Value[] = []
  for (const value of values) {
    if (some.length >= count) break
    some.push(value)
  }
  return some
}
