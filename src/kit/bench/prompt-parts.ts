import { createHash } from 'node:crypto'
import { estimateTokens } from '../../contracts/facts/token-estimate.ts'
import type { ModelRequest } from '../../contracts/ports/model.ts'
import { FORM_NAME } from '../../models/openai/request-body.ts'

/** What a model was asked. */
export type RecordedPrompt = Pick<ModelRequest, 'model' | 'messages' | 'answer'>

/** Shares of all characters of prompts. */
export interface PromptShares {
  /** What a cache of blocks of 16 tokens would have, as in vLLM, if it forgot nothing. */
  readonly inBlocks: number
  /** What OpenAI's would have: from 1,024 tokens on, in steps of 128, after the answer's schema and its name. */
  readonly fromThousand: number
  /** Texts of strangers and of models, in their blocks. */
  readonly texts: number
  /** The lines around those blocks. */
  readonly fences: number
  /** The question's last line, which holds the answer's schema. */
  readonly form: number
  /** Messages of the system; what is left are the questions' own words. */
  readonly system: number
}

/** Sizes of caches, in tokens. */
const BLOCK = { ours: 16, theirs: 128, least: 1_024 }
const FENCE = /^<<(end:)?[^>]*>>$/
const FORM = /^Answer format \([^)]*\): \{/

/** By characters, in the order in which they were asked; each is found by all that come after it. */
export function promptShares(asked: readonly RecordedPrompt[]): PromptShares {
  const [ours, theirs] = [new Set<string>(), new Set<string>()]
  const charactersIn = charactersOf(asked)
  const sum = { all: 0, inBlocks: 0, fromThousand: 0, texts: 0, fences: 0, form: 0, system: 0 }
  for (const { model, messages, answer } of asked) {
    const words = messages.map(({ role, content }) => `${role}\n${content}`).join('\n')
    sum.all += messages.reduce((total, { content }) => total + content.length, 0)
    sum.inBlocks += known(ours, model, words, charactersIn(BLOCK.ours))
    const schema = `${FORM_NAME}${JSON.stringify(answer.schema)}`
    const found = known(theirs, model, `${schema}${words}`, charactersIn(BLOCK.theirs))
    // Of the schema nothing is paid as a prompt's words.
    if (found >= charactersIn(BLOCK.least)) sum.fromThousand += Math.max(0, found - schema.length)
    for (const { role, content } of messages) {
      if (role === 'system') sum.system += content.length
      else if (role === 'user') for (const [part, length] of partsOf(content)) sum[part] += length
    }
  }
  const share = (of: number) => (sum.all === 0 ? 0 : Math.min(1, of / sum.all))
  const { inBlocks, fromThousand, texts, fences, form, system } = sum
  return {
    inBlocks: share(inBlocks),
    fromThousand: share(fromThousand),
    texts: share(texts),
    fences: share(fences),
    form: share(form),
    system: share(system),
  }
}

/** The characters of so many tokens, on average over the prompts. */
function charactersOf(asked: readonly RecordedPrompt[]): (tokens: number) => number {
  const contents = asked.flatMap(({ messages }) => messages.map(({ content }) => content))
  const tokens = contents.reduce((sum, content) => sum + estimateTokens(content), 0)
  const characters = contents.reduce((sum, content) => sum + content.length, 0)
  return (of) => Math.max(1, Math.round((of * characters) / Math.max(1, tokens)))
}

/** How many characters of the text, in whole blocks from its beginning, were in an earlier one; all of its blocks are known from now on. */
function known(blocks: Set<string>, model: string, text: string, size: number): number {
  let [key, found, isFound] = [model, 0, true]
  for (let at = 0; at + size <= text.length; at += size) {
    key = createHash('sha256')
      .update(key)
      .update(text.slice(at, at + size))
      .digest('base64')
    isFound &&= blocks.has(key)
    if (isFound) found += size
    blocks.add(key)
  }
  return found
}

function* partsOf(content: string): Generator<['texts' | 'fences' | 'form', number]> {
  let isInside = false
  for (const line of content.split('\n')) {
    const length = line.length + 1
    if (FENCE.test(line)) {
      isInside = !line.startsWith('<<end:')
      yield ['fences', length]
    } else if (isInside) yield ['texts', length]
    else if (FORM.test(line)) yield ['form', length]
  }
}
