import { isSchema } from '../json-schema.ts'
import { type ChatRequest, tokens } from '../question.ts'
import type { Dialect } from './dialect.ts'

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
 * The prompt cache of a dialect. `automatic` knows the beginning of each prompt up to the end of any of its messages, and
 * writes cost nothing. `breakpoints` knows it up to a breakpoint alone: those that a message has, and the end of the prompt
 * unless `prompt_cache_options` asks for explicit ones only.
 */
export function promptCache(kind: Dialect['cache']): PromptCache {
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

/** The prompt up to the end of each of its messages. */
function prefixesOf(request: ChatRequest): { text: string; size: number; isBreakpoint: boolean }[] {
  const { prompt_cache_options: options } = request as { readonly prompt_cache_options?: unknown }
  const isImplicit = !(isSchema(options) && options.mode === 'explicit')
  const { messages } = request
  let text = ''
  let characters = 0
  return messages.map(({ role, content }, at) => {
    text += `${role}\n${JSON.stringify(content)}\n`
    characters += charactersOf(content)
    const isLast = at === messages.length - 1
    return { text, size: tokens(characters), isBreakpoint: (isImplicit && isLast) || isMarked(content) }
  })
}

function charactersOf(content: ChatRequest['messages'][number]['content']): number {
  if (typeof content === 'string') return content.length
  return content?.reduce((sum, part) => sum + (part.text?.length ?? 0), 0) ?? 0
}

function isMarked(content: ChatRequest['messages'][number]['content']): boolean {
  return Array.isArray(content) && content.some((part) => 'prompt_cache_breakpoint' in part)
}
