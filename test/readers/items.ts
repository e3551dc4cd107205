import { readFile } from 'node:fs/promises'
import type { FileMessage } from '../../src/data-files/file-message.ts'
import { type Format, fileMessages } from '../../src/data-files/formats.ts'
import { goldOf } from '../../src/lab/evaluation/gold.ts'
import type { GoldItem } from '../../src/lab/evaluation/gold-item.ts'
import { sampleOf } from '../../src/lab/evaluation/sample.ts'

// Which items readers are asked about, as docs/readers.md registers them. Nothing here may change once somebody has answered.

const SEED = 'readers 68'
/** What one sitting can read: longer texts, and threads with fewer or more comments, are not drawn. */
const LONGEST_TEXT = 1_200
const COMMENTS = { least: 5, most: 30 }

interface Source {
  readonly file: string
  readonly format: Format
  /** How many items of each label a step has. */
  readonly each: Readonly<Record<string, number>>
  /** A flag of the data set's; items that have it are shown to nobody. */
  readonly without?: string
}

/** By protocol, what a step of 30 items is drawn from. */
const SOURCES = {
  hate: [
    { file: 'hatecheck/cases.jsonl', format: 'hatecheck', each: { hate: 5, 'non-hate': 5 } },
    { file: 'implicit-hate/posts.jsonl', format: 'gavel', each: { hate: 5, 'non-hate': 5 } },
    { file: 'kodoli/comments.jsonl', format: 'kodoli', each: { hate: 5, 'non-hate': 5 } },
  ],
  rumor: [
    {
      file: 'rumoureval2017/threads.jsonl',
      format: 'rumoureval2017',
      each: { rumor: 6, 'non-rumor': 6, unverified: 3 },
    },
    { file: 'covid19-rumor/threads.jsonl', format: 'covid19-rumor', each: { rumor: 6, 'non-rumor': 6, unverified: 3 } },
  ],
  safety: [
    {
      file: 'openai-moderation/samples.jsonl',
      format: 'openai-moderation',
      each: { unsafe: 8, safe: 8 },
      without: 'S3',
    },
    { file: 'airbench/only_text.jsonl', format: 'airbench-text', each: { unsafe: 7, safe: 7 } },
  ],
} as const satisfies Record<string, readonly Source[]>

export const PROTOCOLS = ['hate', 'safety', 'rumor'] as const satisfies readonly (keyof typeof SOURCES)[]

/** The lines of a labelled file with the items of the first so many steps, in Gavel's own format; `split` names each item's step. */
export async function drawnLines(protocol: keyof typeof SOURCES, folder: string, steps: number): Promise<string[]> {
  const lines: string[] = []
  for (const source of SOURCES[protocol]) lines.push(...(await linesOfSource(protocol, source, folder, steps)))
  return lines
}

async function linesOfSource(protocol: string, source: Source, folder: string, steps: number): Promise<string[]> {
  const [file, set] = [`${folder}/${source.file}`, source.file.split('/')[0] ?? source.file]
  const messages: FileMessage[] = []
  const ignored = () => {}
  for await (const message of fileMessages(file, source.format, ignored)) messages.push(message)
  const threads = Map.groupBy(messages, ({ key }) => key)
  const labels = Object.keys(source.each)
  const gold = await goldOf(file, source.format, { name: protocol, labels }, ignored, { unverified: 'unverified' })
  const flagged = await linesWith(file, source.without)
  const short = gold.filter(({ id, line }) => !flagged.has(line) && isShort(threads.get(id) ?? []))
  const chosen = Object.entries(source.each).flatMap(([label, each]) => {
    const ofLabel = short.filter((item) => item.label === label)
    const sample = sampleOf(ofLabel, { name: set, labels: [label] }, { seed: `${SEED} ${set}`, size: each * steps })
    return sample.map((item, at) => ({ item, step: Math.floor(at / each) + 1 }))
  })
  return chosen.flatMap(({ item, step }) => linesOfItem(item, threads.get(item.id) ?? [], { set, step }))
}

async function linesWith(file: string, flag: string | undefined): Promise<ReadonlySet<number>> {
  if (flag === undefined) return new Set()
  const lines = (await readFile(file, 'utf8')).split('\n')
  return new Set(lines.flatMap((line, at) => (line !== '' && JSON.parse(line)[flag] === 1 ? [at + 1] : [])))
}

function isShort(messages: readonly FileMessage[]): boolean {
  const [post, ...comments] = messages
  if (post === undefined || String(post.value.text).length > LONGEST_TEXT) return false
  return comments.length === 0 || (comments.length >= COMMENTS.least && comments.length <= COMMENTS.most)
}

function linesOfItem(
  { id, unit, label }: GoldItem,
  messages: readonly FileMessage[],
  { set, step }: { readonly set: string; readonly step: number },
): string[] {
  // Units of two sets are never the same.
  const told = { label, unit: unit === id ? id : `${set} ${unit}`, split: `step-${step}`, slices: { set } }
  return messages.map(({ type, value }) =>
    JSON.stringify({ type, ...value, ...(value.id === id && type === 'post' ? told : {}) }),
  )
}
