import { createHash } from 'node:crypto'
import { entryOf } from '../domain/entry-of.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { Preset } from './preset.ts'

/** A parsed prompt file: messages by role, with named placeholders for values. */
export interface Prompt {
  /**
   * Fills every placeholder; throws if a value is missing. Values are inserted unchanged: fence untrusted text first.
   */
  render(values?: Readonly<Record<string, string>>): ChatMessage[]
}

/** A protocol's prompts by file name without its ending, and the hash of them all. */
export interface Prompts {
  readonly hash: string
  get(name: string): Prompt
}

const ROLE_LINE = /^\[(system|user|assistant)\][ \t]*$/m
/** The ending of a file that replaces another under the preset `paper`. */
const PAPER = '.paper'
const PLACE = /\{\{([a-zA-Z]+)\}\}/g

/**
 * Reads prompt files and checks their placeholders against those that the protocol fills. Throws one error that names
 * every fault: a missing file, a placeholder that the protocol does not fill, or one that is missing from the text.
 *
 * Under the preset `paper` a file `NAME.paper.md` replaces `NAME.md`: the same question in the paper's points, with the
 * same placeholders. It is checked under every preset.
 *
 * A file is text under lines `[system]`, `[user]` or `[assistant]`; `{{name}}` is a placeholder. A comment block `<!--
 * … -->` at its beginning is left out.
 */
export function readPrompts(
  files: ReadonlyMap<string, string>,
  places: Readonly<Record<string, readonly string[]>>,
  preset: Preset = 'none',
): Prompts {
  const faults: string[] = []
  const prompts = new Map<string, Prompt>()
  for (const [name, wanted] of Object.entries(places)) {
    if (!files.has(name)) faults.push(`${name}: the file is missing`)
    for (const file of [name, `${name}${PAPER}`]) {
      const text = files.get(file)
      if (text === undefined) continue
      const prompt = readPrompt(file, text, wanted, faults)
      if (file === name || preset === 'paper') prompts.set(name, prompt)
    }
  }
  for (const file of files.keys())
    if (file.endsWith(PAPER) && !Object.hasOwn(places, file.slice(0, -PAPER.length)))
      faults.push(`${file}: there is no prompt that it could stand in for`)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const hash = createHash('sha256')
  for (const [name, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`${name}\0${text}\0`)
  return {
    hash: hash.digest('hex').slice(0, 16),
    get(name) {
      const prompt = prompts.get(name)
      if (prompt === undefined) throw new Error(`no prompt ${name}`)
      return prompt
    },
  }
}

function readPrompt(name: string, text: string, wanted: readonly string[], faults: string[]): Prompt {
  const messages = sections(text)
  if (messages.length === 0) faults.push(`${name}: no line [system] or [user]`)
  const found = new Set(messages.flatMap(({ content }) => [...content.matchAll(PLACE)].map((match) => match[1] ?? '')))
  for (const place of found) if (!wanted.includes(place)) faults.push(`${name}: nothing fills {{${place}}}`)
  for (const place of wanted) if (!found.has(place)) faults.push(`${name}: {{${place}}} is missing`)
  return { render: (values = {}) => messages.map((message) => fill(message, values)) }
}

/** Joins consecutive messages of one role, for endpoints that want the roles to alternate. */
export function inTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const turns: ChatMessage[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role !== message.role) turns.push(message)
    else turns.splice(-1, 1, { ...last, content: `${last.content}\n\n${message.content}` })
  }
  return turns
}

function sections(file: string): ChatMessage[] {
  const [, ...parts] = file.replace(/^\s*<!--[\s\S]*?-->/, '').split(ROLE_LINE)
  const messages: ChatMessage[] = []
  for (let i = 0; i + 1 < parts.length; i += 2)
    messages.push({ role: parts[i] as ChatMessage['role'], content: (parts[i + 1] ?? '').trim() })
  return messages
}

function fill({ role, content }: ChatMessage, values: Readonly<Record<string, string>>): ChatMessage {
  const filled = content.replace(PLACE, (_, place: string) => {
    const value = entryOf(values, place)
    if (value === undefined) throw new Error(`no value for {{${place}}}`)
    return value
  })
  return { role, content: filled }
}
