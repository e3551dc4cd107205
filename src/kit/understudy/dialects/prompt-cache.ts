import { isSchema } from '../json-schema.ts'
import { type ChatRequest, tokens } from '../question.ts'
import type { ServerDialect } from './dialect.ts'

/** Tokens of a prompt that were read from a cache, and that were written to it. */
type CacheUse = { readonly cached: number; readonly written: number }

/** What a server remembers of the prompts that it was sent. */
export type PromptCache = {
  /** The use that a prompt makes of it; from then on the prompt's beginning is known. */
  read(request: ChatRequest): CacheUse
}

/** Shorter beginnings are not kept. */
const LEAST = 1024
/** What is read without breakpoints is counted in steps of so many tokens. */
const STEP = 128
/** Most beginnings that are kept, the newest. */
const MOST_KEPT = 10_000

/**
 * The prompt cache of a dialect. `automatic` knows the beginning of each prompt up to the end of any part of its messages, and
 * writes cost nothing. `breakpoints` knows it up to a breakpoint alone: those that a part has, and the end of the prompt
 * unless `prompt_cache_options` asks for explicit ones only.
 */
export function promptCache(kind: ServerDialect['cache']): PromptCache {
  const known = new Set<string>()
  return {
    read(request) {
      if (kind === null) return { cached: 0, written: 0 }
      const ends = prefixesOf(request)
      const marked = kind === 'automatic' ? ends : ends.filter(({ isBreakpoint }) => isBreakpoint)
      const long = marked.filter(({ size }) => size >= LEAST)
      const cached = Math.max(0, ...long.filter(({ text }) => known.has(text)).map(({ size }) => size))
      const reach = Math.max(cached, ...long.map(({ size }) => size))
      for (const { text } of long) known.add(text)
      for (const text of known) {
        if (known.size <= MOST_KEPT) break
        known.delete(text)
      }
      return kind === 'automatic'
        ? { cached: Math.floor(cached / STEP) * STEP, written: 0 }
        : { cached, written: reach - cached }
    },
  }
}

/** The prompt up to the end of each part of its messages. */
function prefixesOf(request: ChatRequest): { text: string; size: number; isBreakpoint: boolean }[] {
  const { prompt_cache_options: options } = request as { readonly prompt_cache_options?: unknown }
  const isImplicit = !(isSchema(options) && options.mode === 'explicit')
  let text = ''
  let characters = 0
  const ends = request.messages.flatMap(({ role, content }) => {
    text += `${role}\n`
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    return parts.map((part) => {
      const { prompt_cache_breakpoint: mark, cache_control: control, ...shown } = part as Marked
      text += `${JSON.stringify(shown)}\n`
      characters += shown.text?.length ?? 0
      return { text, size: tokens(characters), isBreakpoint: mark !== undefined || control !== undefined }
    })
  })
  return ends.map((end, at) => (isImplicit && at === ends.length - 1 ? { ...end, isBreakpoint: true } : end))
}

/** A part that may end what is worth keeping, as OpenAI or Anthropic has it said. */
type Marked = { readonly text?: string; readonly prompt_cache_breakpoint?: unknown; readonly cache_control?: unknown }
