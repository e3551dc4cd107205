import { createHash } from 'node:crypto'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
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
/** The endings of files that replace another: under the preset `paper`, and there by the published code. */
const INSTEAD = { paper: '.paper', code: '.code' } as const
const PLACE = /\{\{([a-zA-Z]+)\}\}/g
/** The beginning or the end of a section; on a line of its own it takes the line with it. */
const TAG = /^[ \t]*\{\{([#^/])([a-zA-Z]+)\}\}[ \t]*(?:\n|$)|\{\{([#^/])([a-zA-Z]+)\}\}/gm
/** What was meant for one, and would be sent to the model as it stands. */
const LIKE_A_TAG = /\{\{[#/^]?[ \t]*[\w.-]{1,60}[ \t]*\}\}/g
/** Marks a place that a file need not have. */
const OPTIONAL = '?'

/**
 * Reads prompt files and checks their placeholders against those that the protocol fills. Throws one error that names
 * every fault: a missing file, a placeholder that the protocol does not fill, or one that is missing from the text.
 *
 * Under the preset `paper` a file `NAME.paper.md` replaces `NAME.md`: the same question in the paper's points, with the
 * same placeholders; `byCode`, a file `NAME.code.md` replaces both: in the points of the published code. They are checked
 * under every preset.
 *
 * A file is text under lines `[system]`, `[user]` or `[assistant]`; `{{name}}` is a placeholder. A comment block `<!--
 * … -->` at its beginning is left out. What stands between `{{#name}}` and `{{/name}}` is a section: it is shown where
 * the place has a value that is not empty; between `{{^name}}` and `{{/name}}`, where it has none. Sections may stand in
 * sections. A place that ends with `?` in `places` may be missing from a file, and from the values.
 */
export function readPrompts(
  files: ReadonlyMap<string, string>,
  places: Readonly<Record<string, readonly string[]>>,
  preset: Preset = 'none',
  byCode = false,
): Prompts {
  const faults: string[] = []
  const prompts = new Map<string, Prompt>()
  for (const [name, wanted] of Object.entries(places)) {
    if (!files.has(name)) faults.push(`${name}: the file is missing`)
    for (const [ending, isUsed] of [
      ['', true],
      [INSTEAD.paper, preset === 'paper'],
      [INSTEAD.code, byCode],
    ] as const) {
      const text = files.get(`${name}${ending}`)
      if (text === undefined) continue
      const prompt = readPrompt(`${name}${ending}`, text, wanted, faults)
      if (isUsed) prompts.set(name, prompt)
    }
  }
  for (const file of files.keys())
    for (const ending of Object.values(INSTEAD))
      if (file.endsWith(ending) && !Object.hasOwn(places, file.slice(0, -ending.length)))
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
  const messages = messagesIn(text)
  if (messages.length === 0) faults.push(`${name}: no line [system] or [user]`)
  const found = new Set(messages.flatMap(({ content }) => [...content.matchAll(PLACE)].map((match) => match[1] ?? '')))
  const known = new Set(wanted.map((place) => place.replace(OPTIONAL, '')))
  for (const { content } of messages)
    for (const [tag] of content.replace(PLACE, '').replace(TAG, '').matchAll(LIKE_A_TAG))
      faults.push(`${name}: ${tag} is no placeholder: letters alone, without spaces`)
  for (const place of found) if (!known.has(place)) faults.push(`${name}: nothing fills {{${place}}}`)
  for (const place of wanted)
    if (!place.endsWith(OPTIONAL) && !found.has(place)) faults.push(`${name}: {{${place}}} is missing`)
  const parsed = messages.map(({ role, content }) => ({
    role,
    parts: sectionsIn(content, (tag, why) => {
      if (why !== null) faults.push(`${name}: ${tag} ${why}`)
      else if (!known.has(tag)) faults.push(`${name}: nothing fills {{#${tag}}}`)
    }),
  }))
  const empty = Object.fromEntries([...known].filter((place) => !wanted.includes(place)).map((place) => [place, '']))
  return {
    render: (given = {}) => {
      const values = { ...empty, ...given }
      return parsed.map(({ role, parts }) => ({ role, content: fill(shown(parts, values).trim(), values) }))
    },
  }
}

/** A message as text, and sections that are shown only where their place has a value, or only where it has none. */
type PromptPart = string | { readonly place: string; readonly when: 'filled' | 'empty'; readonly parts: PromptPart[] }

/** `tell` is given the place of each section, and what is wrong with a tag that has no counterpart. */
function sectionsIn(content: string, tell: (tag: string, why: string | null) => void): PromptPart[] {
  const whole: PromptPart[] = []
  const open: { place: string; parts: PromptPart[] }[] = []
  const into = () => open.at(-1)?.parts ?? whole
  let at = 0
  for (const match of content.matchAll(TAG)) {
    into().push(content.slice(at, match.index))
    at = match.index + match[0].length
    const [kind, place] = [match[1] ?? match[3] ?? '', match[2] ?? match[4] ?? '']
    if (kind === '/') {
      if (open.at(-1)?.place === place) open.pop()
      else tell(`{{/${place}}}`, 'ends no section that is open')
      continue
    }
    tell(place, null)
    const section = { place, when: kind === '#' ? ('filled' as const) : ('empty' as const), parts: [] }
    into().push(section)
    open.push(section)
  }
  into().push(content.slice(at))
  for (const { place } of open) tell(`{{#${place}}}`, 'has no end')
  return whole
}

/** The text with its sections decided; placeholders are still in it, so that no value can open a section. */
function shown(parts: readonly PromptPart[], values: Readonly<Record<string, string>>): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part
      const filled = (entryOf(values, part.place) ?? '') !== ''
      return filled === (part.when === 'filled') ? shown(part.parts, values) : ''
    })
    .join('')
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

function messagesIn(file: string): ChatMessage[] {
  const [, ...parts] = file.replace(/^\s*<!--[\s\S]*?-->/, '').split(ROLE_LINE)
  const messages: ChatMessage[] = []
  for (let i = 0; i + 1 < parts.length; i += 2)
    messages.push({ role: parts[i] as ChatMessage['role'], content: (parts[i + 1] ?? '').trim() })
  return messages
}

function fill(content: string, values: Readonly<Record<string, string>>): string {
  return content.replace(PLACE, (_, place: string) => {
    const value = entryOf(values, place)
    if (value === undefined) throw new Error(`no value for {{${place}}}`)
    return value
  })
}
