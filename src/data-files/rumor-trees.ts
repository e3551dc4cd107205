import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { BadLine } from './file-message.ts'
import { type FileReading, numberedLines } from './text-lines.ts'

/** One conversation of Twitter-COVID19 or Weibo-COVID19 (Lin et al. 2022): a post and the replies below it. */
export interface ConversationTree {
  /** The post's line in the file, from 1. */
  readonly line: number
  readonly id: string
  readonly claim: string
  readonly comments: readonly TreeComment[]
}

interface TreeComment {
  readonly line: number
  /** Its number within the tree. */
  readonly index: number
  /** Which comment it replies to, by that one's index; null if it replies to the post. */
  readonly parent: number | null
  /** ms after the post. */
  readonly delay: number
  readonly text: string
}

type Bad = (line: BadLine) => void

/** One line of a data file. */
interface TreeLine {
  readonly line: number
  readonly root: string
  /** Null for the post itself. */
  readonly parent: number | null
  readonly index: number
  /** ms after the post; NaN where it is no number. */
  readonly delay: number
  readonly text: string
}

/**
 * The conversations of a data file, in its order: a line a post or reply, with tab-separated root id, index of the parent
 * (`None` for the root), own index, delay after the root, and text. Lines that fit no conversation are reported to `bad` and left
 * out, and what was mended. Throws an `OperatorError` if the file can't be read.
 */
export async function readTrees(
  file: string,
  format: string,
  bad: Bad,
  reading: FileReading = {},
): Promise<ConversationTree[]> {
  const lines: TreeLine[] = []
  for await (const { line, text } of numberedLines(file, reading, bad)) {
    const read = treeLine(line, text)
    if (read === null) bad({ line, why: `is no post of ${format}` })
    else if (read.text.trim() === '') bad({ line, why: 'is empty' })
    else lines.push(read)
  }
  return [...Map.groupBy(lines, ({ root }) => root).values()].flatMap((posts) => treeOf(posts, bad) ?? [])
}

function treeLine(line: number, text: string): TreeLine | null {
  const [root = '', parent = '', index = '', delay = '', ...words] = text.replace(/\r$/, '').split('\t')
  if (root === '' || words.length === 0 || !INDEX.test(index) || !(parent === 'None' || INDEX.test(parent))) return null
  return {
    line,
    root,
    index: Number(index),
    delay: delayOf(delay),
    parent: parent === 'None' ? null : Number(parent),
    text: words.join('\t'),
  }
}

const INDEX = /^\d{1,9}$/

/** The authors do not say in which unit they give it; minutes, as in the trees of Twitter15 and Twitter16. */
const DELAY_UNIT = 60_000
const LONGEST_DELAY = 100 * 366 * 24 * 3_600_000

function delayOf(text: string): number {
  const delay = text.trim() === '' ? Number.NaN : Math.round(Number(text) * DELAY_UNIT)
  return Math.abs(delay) <= LONGEST_DELAY ? delay : Number.NaN
}

function treeOf(posts: readonly TreeLine[], bad: Bad): ConversationTree | null {
  const root = posts.find(({ parent }) => parent === null)
  if (root === undefined) {
    for (const { line, root: id } of posts) bad({ line, why: `belongs to ${id}, which has no post` })
    return null
  }
  const known = new Set([root.index])
  const comments = posts.filter(({ line, index, parent }) => {
    if (line === root.line) return false
    if (parent !== null && !known.has(index)) return known.add(index)
    bad({
      line,
      why: parent === null ? 'is a second post of its conversation' : `repeats post ${index} of its conversation`,
    })
    return false
  })
  let before = 0
  return {
    line: root.line,
    id: root.root,
    claim: root.text,
    comments: comments.map(({ line, index, parent, delay, text }) => {
      if (Number.isNaN(delay))
        bad({ line, why: 'has no readable delay: it takes that of the one before it', read: true })
      else before = delay
      const isKnown = parent !== null && parent !== index && known.has(parent)
      if (!isKnown) bad({ line, why: `replies to ${parent}, which is not there: it replies to the post`, read: true })
      return { line, index, parent: isKnown && parent !== root.index ? parent : null, delay: before, text }
    }),
  }
}

/** As the authors' own code reads them. */
const LABELS = new Map<string, 'rumor' | 'non-rumor'>([
  ['1', 'rumor'],
  ['false', 'rumor'],
  ['0', 'non-rumor'],
  ['non-rumor', 'non-rumor'],
  ['news', 'non-rumor'],
])

/** Labels of conversations by their id, from the file that lies beside the data file. */
export interface TreeLabels {
  readonly file: string
  readonly of: ReadonlyMap<string, 'rumor' | 'non-rumor'>
}

/**
 * The labels that belong to a data file: of `Twitter_data_all.txt` those in `Twitter_label_all.txt`, a line an id and its label
 * with a tab between. Throws an `OperatorError` if there is no such file, at a line that is no label, and where an id has two.
 */
export async function labelsBeside(file: string, bad: Bad = () => {}): Promise<TreeLabels> {
  const name = basename(file).replace(/data(?!.*data)/, 'label')
  if (name === basename(file))
    throw new OperatorError(
      `${file}: its labels are in a file of the same name, with "label" in place of "data"; this name has no "data".`,
    )
  const labels = join(dirname(file), name)
  const of = new Map<string, 'rumor' | 'non-rumor'>()
  for await (const { line, text } of numberedLines(labels, {}, bad)) {
    const [id = '', word = ''] = text.trim().split('\t')
    const label = LABELS.get(word.toLowerCase())
    if (id === '' || label === undefined)
      throw new OperatorError(`${labels}:${line} is no id with a label; labels are ${[...LABELS.keys()].join(', ')}.`)
    const before = of.get(id)
    if (before !== undefined && before !== label)
      throw new OperatorError(
        `${labels}:${line} labels ${id} ${label}, and a line before it ${before}: an id has one label.`,
      )
    of.set(id, label)
  }
  return { file: labels, of }
}
