import { parseDocument } from 'yaml'
import { z } from 'zod'

// Reads the lines of a policy: front matter, clauses, and everything else. Beside Gavel's own form it knows those in which policies
// are published (docs/policies.md names them): ids in headings, in lines in bold and at the beginning of list items.

const word = z.union([z.string(), z.number()]).transform(String).pipe(z.string().trim().min(1).max(200))

const front = z.strictObject({
  name: word.optional(),
  version: word.optional(),
  language: word.optional(),
  protocols: z.array(word).optional(),
  tenant: word.optional(),
  date: word.optional(),
  owner: word.optional(),
})

/** A clause of a policy: what it forbids or, with `allows`, what it lets pass. */
export interface Clause {
  /** ASCII, as verdicts cite it: `H2`, `H2.a`. */
  readonly id: string
  readonly title: string
  readonly allows: boolean
  /** Its line in the file, from 1. */
  readonly line: number
  /** What it says beside its lists. */
  readonly says: readonly string[]
  readonly covers: readonly string[]
  readonly excludes: readonly string[]
  readonly examples: readonly string[]
}

type Fault = (line: number, why: string) => void

interface PolicyText {
  readonly front: z.infer<typeof front>
  readonly title: string | undefined
  readonly general: readonly string[]
  readonly clauses: readonly Clause[]
  readonly leftOut: readonly { readonly line: number; readonly what: string }[]
  /** Lines that look like the beginning of a clause, and are none. */
  readonly notClauses: readonly { readonly line: number; readonly what: string }[]
}

/** An id: letters of any script, so that those that only look like ASCII are found and refused. */
const ID = String.raw`\p{L}[\p{L}\p{N}]{0,40}?\.?\p{N}{1,6}(?:\.[\p{L}\p{N}]{1,20}){0,4}`
const ID_FIRST = new RegExp(String.raw`^#?(${ID})(?:[.:]|\s[-–—])?(?:\s+(.*))?$`, 'u')
/** `Threats (H1 - directed)`, and an id in capitals: `(DRUGS) Drugs`. */
const ID_IN_BRACKETS = new RegExp(String.raw`^(?:(.+?)\s+)?\((${ID}|\p{Lu}{2,20})(?:\s*[-–—:]\s*(.*?))?\)\s*(.*)$`, 'u')
const PART = /^(\p{L}[\p{L}\p{N}]{0,40}?\.?\p{N}{1,6}(?:\.[\p{L}\p{N}]{1,20}){1,4})(?=[\s:.–—-])[:.]?\s*[-–—]?\s*(.*)$/u

const ALLOWS = /\b(?:allow(?:ed|s)?|permit(?:ted|s)?|valid content|exceptions?|out of scope)\b/i
const FORBIDS = /\b(?:disallowed|not (?:allowed|permitted)|forbidden|prohibited|invalid)\b/i
const LISTS: readonly (readonly ['covers' | 'excludes' | 'examples', RegExp])[] = [
  ['excludes', /^(?:does not (?:cover|include)|not covered|excludes?|exclusions?|exceptions?|except)\b/i],
  ['covers', /^(?:covers?|includes?|what (?:it|this) covers|violates|indicators)\b/i],
  ['examples', /^examples?\b/i],
]
/** Such a line whose colon was forgotten. */
const BARE_LIST = /^(?:covers|does not cover|examples?)$/i
/** Sections and lines that are about a model's answer, which has a form of Gavel's. */
const ABOUT_ANSWERS = /^(?:labels? format|output(?: format)?|required output|instructions?|response format)\b/i
const ASKS_FOR_LABEL = /^output(?: format)?\s*:/i

interface DraftClause extends Clause {
  readonly says: string[]
  readonly covers: string[]
  readonly excludes: string[]
  readonly examples: string[]
}

interface ClauseHead {
  readonly id: string
  readonly title: string
}

interface Heading {
  readonly level: number
  readonly text: string
  readonly allows: boolean | null
  readonly dropped: boolean
}

/** The parts of a policy, in the order of the file. */
export function policyText(source: string, fault: Fault): PolicyText {
  const lines = withoutComments(source.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')).split('\n')
  const { given, from } = frontMatter(lines, fault)
  return { front: given, ...new PolicyReader().read(lines, from) }
}

/** Comments left out, their line ends kept, so that lines keep their numbers. */
function withoutComments(source: string): string {
  return source.replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, ''))
}

function frontMatter(lines: readonly string[], fault: Fault): { given: z.infer<typeof front>; from: number } {
  if (lines[0]?.trim() !== '---') return { given: {}, from: 0 }
  const end = lines.findIndex((line, at) => at > 0 && line.trim() === '---')
  if (end < 0) {
    fault(1, 'the front matter has no end: a line ---')
    return { given: {}, from: lines.length }
  }
  const document = parseDocument(lines.slice(1, end).join('\n'), { schema: 'failsafe' })
  for (const { message, linePos } of document.errors)
    fault((linePos?.[0].line ?? 1) + 1, `the front matter is not YAML: ${inPlainWords(message)}`)
  if (document.errors.length > 0) return { given: {}, from: end + 1 }
  const read = front.safeParse(contentOf(document, fault))
  if (read.success) return { given: read.data, from: end + 1 }
  for (const { path, message } of read.error.issues) {
    const [key = ''] = path
    const at = lines.findIndex((line, nth) => nth < end && line.startsWith(`${String(key)}:`))
    fault(at < 0 ? 1 : at + 1, ['front matter', path.join('.'), message].filter((part) => part !== '').join(': '))
  }
  return { given: {}, from: end + 1 }
}

/** What a parser says, without its own count of lines. */
function inPlainWords(message: string): string {
  const [first = ''] = message.split('\n', 1)
  return /^Nested mappings/.test(first)
    ? 'a text with a colon in it needs quotation marks around it'
    : first.replace(/ at line \d+, column \d+:?$/, '')
}

function contentOf(document: ReturnType<typeof parseDocument>, fault: Fault): unknown {
  try {
    return document.toJS() ?? {}
  } catch (error) {
    fault(1, `the front matter is not YAML: ${error instanceof Error ? error.message : String(error)}`)
    return {}
  }
}

/** Takes a policy's lines one by one. */
class PolicyReader {
  readonly #general: string[] = []
  readonly #clauses: DraftClause[] = []
  readonly #leftOut: { line: number; what: string }[] = []
  readonly #notClauses: { line: number; what: string }[] = []
  #title: string | undefined
  #headings: Heading[] = []
  /** The clause that lines belong to, and the list of it. */
  #clause: DraftClause | null = null
  #clauseLevel = 0
  #list: 'covers' | 'excludes' | 'examples' | null = null
  /** The list of the item that the line before is of. */
  #points: string[] | null = null
  #isCode = false

  read(lines: readonly string[], from: number): Omit<PolicyText, 'front'> {
    for (const [at, line] of lines.entries()) if (at >= from) this.#take(line, at + 1)
    return {
      title: this.#title,
      general: this.#general,
      clauses: this.#clauses,
      leftOut: this.#leftOut,
      notClauses: this.#notClauses,
    }
  }

  #take(raw: string, line: number): void {
    if (/^\s*(?:```|~~~)/.test(raw)) {
      this.#isCode = !this.#isCode
      return
    }
    const words = plain(raw)
    const open = this.#points
    this.#points = null
    if (words === '' || /^[-*_\s|:]+$/.test(words)) return
    const level = this.#isCode ? 0 : levelOf(raw)
    if (level > 0) this.#open(words, level, line)
    else if (ASKS_FOR_LABEL.test(words) || this.#headings.some(({ dropped }) => dropped)) this.#leave(words, line)
    else this.#add(raw, words, { line, open })
  }

  /** A heading, or a line in bold that stands for one. */
  #open(words: string, level: number, line: number): void {
    this.#headings = this.#headings.filter((one) => one.level < level)
    const list = LISTS.find(([, heading]) => heading.test(words))
    const head = clauseHead(words)
    // "Exceptions" beneath a clause is a list of it; elsewhere it is a section. All lines in bold are of one level.
    const isBeneath = level > this.#clauseLevel || level === BOLD
    if (head === null && list !== undefined && this.#clause !== null && isBeneath) {
      this.#list = list[0]
      return
    }
    const dropped = ABOUT_ANSWERS.test(words)
    // Among clauses a heading without an id was meant for one.
    const isAmong = this.#clauses.length > 0 && this.#headings.some(({ allows }) => allows !== null)
    if (head === null && !dropped && isAmong) this.#notClauses.push({ line, what: words.slice(0, 80) })
    this.#headings.push({ level, text: words, allows: allowsIn(words, head), dropped })
    if (head !== null) {
      this.#begin(head, line)
      this.#clauseLevel = level
    } else {
      this.#clause = null
      this.#list = null
      if (dropped) this.#leave(words, line)
      else if (level === 1 && this.#title === undefined && this.#clauses.length === 0) this.#title = words
    }
  }

  #begin({ id, title }: ClauseHead, line: number, allows = this.#allows()): DraftClause {
    const begun = { id, title, allows, line, says: [], covers: [], excludes: [], examples: [] }
    this.#clause = begun
    this.#list = null
    this.#clauses.push(begun)
    return begun
  }

  /** By the innermost heading that says it. */
  #allows(): boolean {
    return this.#headings.findLast(({ allows }) => allows !== null)?.allows ?? false
  }

  #leave(what: string, line: number): void {
    this.#leftOut.push({ line, what: what.slice(0, 80) })
    // In published packs the label that a clause asks for says on which side it stands.
    const label = /^output\b\W*(\w+)/i.exec(what)?.[1]?.toLowerCase()
    const clause = this.#clause
    if (clause === null || label === undefined || !['valid', 'safe', 'allowed'].includes(label)) return
    for (const [at, one] of this.#clauses.entries())
      if (one === clause || one.id.startsWith(`${rootOf(clause.id)}.`) || one.id === rootOf(clause.id))
        this.#clauses[at] = { ...one, allows: true }
  }

  /** `open`: the list of the item that the line before is of. */
  #add(raw: string, words: string, { line, open }: { line: number; open: string[] | null }): void {
    const isItem = ITEM.test(raw)
    const part = isItem ? PART.exec(words) : null
    const [, id = '', rest = ''] = part ?? []
    if (this.#clause !== null && id !== '' && rootOf(id) === rootOf(this.#clause.id)) {
      const [, title = '', says = rest] = /^([^:"“–—]{1,80}?)\s*[:–—]\s*(.*)$/.exec(rest) ?? []
      const begun = this.#begin({ id, title }, line, this.#clause.allows)
      if (says !== '') begun.says.push(says)
      return
    }
    const clause = this.#clause
    if (!isItem && this.#clauses.length > 0 && BEGINS_WITH_ID.test(words))
      this.#notClauses.push({ line, what: words.slice(0, 80) })
    if (clause === null) {
      const heading = this.#headings.at(-1)?.text
      const isTitle = heading === this.#title
      this.#general.push(heading === undefined || isTitle ? words : `${heading}: ${words}`)
      return
    }
    const list = isItem
      ? undefined
      : LISTS.find(([, head]) => head.test(words) && (words.endsWith(':') || BARE_LIST.test(words)))
    if (list !== undefined) {
      this.#list = list[0]
      return
    }
    if (!isItem && open !== null) {
      // An item that goes on, as where lines are wrapped.
      open.splice(-1, 1, `${open.at(-1)} ${words}`)
      this.#points = open
      return
    }
    if (!isItem) {
      this.#list = null
      clause.says.push(words)
      return
    }
    const points = clause[this.#list ?? 'covers']
    this.#points = points
    const last = points.at(-1)
    if (/^\s{2,}/.test(raw) && last !== undefined)
      points.splice(-1, 1, `${last}${last.endsWith(':') ? ' ' : '; '}${words}`)
    else points.push(words)
  }
}

/** `H6 Insults`, by itself in a line. */
const BEGINS_WITH_ID = /^\p{Lu}{1,4}\d{1,3}(?:\.\w{1,4})?[.:]?\s[^.]{1,60}$/u
const ITEM = /^\s*(?:[-*+]|\d{1,3}[.)])\s+/

/**
 * Whether a heading says that what it heads is allowed, or forbidden; null where it says neither. A clause's title is about what it
 * forbids ("calls to deny what is permitted to others"), and says so only where it begins with that alone ("Allowed: …").
 */
function allowsIn(words: string, head: ClauseHead | null): boolean | null {
  const said = head === null ? words : (/^(?:not )?\S+(?: content)?(?=\s*(?:[:–—(]|$))/i.exec(head.title)?.[0] ?? '')
  return FORBIDS.test(said) ? false : ALLOWS.test(said) ? true : null
}

/** How deep a heading is; a line all in bold is beneath all headings. 0: no heading. */
function levelOf(raw: string): number {
  const marks = /^ {0,3}(#{1,6})\s+\S/.exec(raw)?.[1]
  if (marks !== undefined) return marks.length
  return /^\*\*[^*]+\*\*:?\s*$/.test(raw) ? BOLD : 0
}
const BOLD = 7

function clauseHead(words: string): ClauseHead | null {
  const first = ID_FIRST.exec(words)
  if (first !== null) return { id: first[1] ?? '', title: first[2] ?? '' }
  const inside = ID_IN_BRACKETS.exec(words)
  if (inside === null) return null
  const [, before = '', id = '', more = '', after = ''] = inside
  return { id, title: [before, more, after].filter((part) => part !== '').join(': ') }
}

/** The clause that a part belongs to: `H2` of `H2.a.i`. */
function rootOf(id: string): string {
  return id.split('.', 1)[0] ?? id
}

/** A line without its marks of Markdown. */
function plain(raw: string): string {
  return raw
    .replace(/^(?:\s*#{1,6}\s+|\s*>\s?)/, '')
    .replace(ITEM, '')
    .replace(/\*\*|__|`/g, '')
    .replace(/\\(?=[!-/:-@[-`{-~])/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
