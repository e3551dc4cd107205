import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { CitingForm } from '../clauses.ts'
import { readYaml } from '../yaml-file.ts'
import { ABSTAIN, stanceAnswer } from './answers.ts'

export const SIDES = ['non-hate', 'hate'] as const
export type HateSide = (typeof SIDES)[number]

const text = z.string().trim().min(1, 'is empty')

const label = z.strictObject({
  /** As the perspective answers it. */
  name: text.refine(
    (name) => name.toLowerCase() !== ABSTAIN.toLowerCase(),
    `"${ABSTAIN}" is no label but the way to have none`,
  ),
  means: z.enum(SIDES, 'must be hate or non-hate'),
  /** How the data set spells it, so that the examples on the shelf can be shown under `name`. */
  shelf: z.array(text).default([]),
  criteria: z.array(text).min(1, 'has no point'),
  /** In place of `criteria` under preset paper. */
  paper: z.array(text).min(1, 'has no point').optional(),
})

const perspectiveFile = z
  .strictObject({
    title: text,
    /** Language of the examples (BCP 47), if they have one. */
    lang: text.optional(),
    /** Shelf of the library that holds the labelled examples; without one it is asked by its criteria alone. */
    shelf: text.optional(),
    /** What words of the criteria mean: said before the labels, since either may come first. */
    terms: text.optional(),
    /** Which label wins where points of several fit: said after the labels. */
    tie: text.optional(),
    /** How it reads a policy: in place of its terms, criteria and tie where one is in force. */
    reading: text.optional(),
    labels: z.array(label),
  })
  .superRefine(({ labels }, context) => {
    const fault = (message: string) => context.addIssue({ code: 'custom', path: ['labels'], message })
    for (const side of SIDES)
      if (!labels.some(({ means }) => means === side)) fault(`a label is missing: none of them means ${side}`)
    for (const name of repeated(labels.flatMap((one) => [...new Set(spellings(one))])))
      fault(`"${name}" stands for two labels`)
  })

/** An independent perspective of the paper: criteria, and a shelf of similar contexts. */
export interface Perspective extends Readonly<z.infer<typeof perspectiveFile>> {
  /** Its file's name without the ending. */
  readonly name: string
  readonly answer: ReturnType<typeof stanceAnswer>
  /** The same with its labels in the reverse order. */
  readonly turnedAnswer: ReturnType<typeof stanceAnswer>
  /** The side that one of its labels means; undefined for an abstention. */
  side(label: string): HateSide | undefined
  /** The perspective's own name for a label of the shelf; undefined if none matches. */
  ownLabel(onShelf: string): string | undefined
}

/** The perspectives that are asked, in order, and a hash of their files: they are prompts. */
export interface Perspectives {
  readonly hash: string
  readonly list: readonly Perspective[]
  /** By shelf the labels that the perspectives with this shelf know, asked or not. */
  readonly shelfLabels: Readonly<Record<string, readonly string[]>>
}

const FILE = /^(.+)\.ya?ml$/
const NAME = /^[a-z0-9][a-z0-9-]*$/

/**
 * Reads the perspective files and picks those of `wanted`, in that order. Throws one error that names every fault, one per line; files that are not wanted are checked too.
 */
export function readPerspectives(
  files: ReadonlyMap<string, string>,
  wanted: readonly string[],
  byPolicy = false,
): Perspectives {
  const faults: string[] = []
  const read = new Map<string, { perspective: Perspective; source: string }>()
  const titles = new Map<string, string>()
  const named = new Map<string, string>()
  for (const [file, source] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const name = FILE.exec(file)?.[1]
    if (name === undefined) continue
    const fault = (why: string) => faults.push(`${file}: ${why}`)
    if (!NAME.test(name)) fault('a name has small letters, digits and dashes only')
    const namesake = named.get(name)
    if (namesake !== undefined) fault(`has the name of ${namesake}`)
    named.set(name, file)
    const content = readYaml(source, fault)
    if (content === undefined) continue
    const checked = perspectiveFile.safeParse(content)
    if (!checked.success) {
      for (const { path, message } of checked.error.issues)
        fault([path.join('.'), message].filter((part) => part !== '').join(': '))
      continue
    }
    const title = folded(checked.data.title)
    const other = titles.get(title)
    if (other !== undefined) fault(`has the title of ${other}`)
    titles.set(title, file)
    read.set(name, { perspective: perspectiveOf(name, checked.data), source })
  }

  for (const name of byPolicy ? wanted : [])
    if (read.get(name)?.perspective.reading === undefined && read.has(name))
      faults.push(`${name}.yaml: has no reading of a policy, and the setting policies names one`)
  for (const name of wanted)
    if (!named.has(name)) faults.push(`${name}.yaml: the file is missing, and the setting perspectives names it`)
  if (faults.length > 0) throw new Error(faults.map((line) => `config/perspectives/${line}`).join('\n'))

  const picked = wanted.flatMap((name) => read.get(name) ?? [])
  const hash = createHash('sha256')
  for (const { perspective, source } of picked) hash.update(`${perspective.name}\0${source}\0`)
  const all = [...read.values()].map(({ perspective }) => perspective)
  return { hash: hash.digest('hex'), list: picked.map(({ perspective }) => perspective), shelfLabels: labelsOf(all) }
}

/** The perspective as it judges by a policy, which its questions show: by its reading, and with the clauses that it cites. */
export function underPolicy(perspective: Perspective, citing: CitingForm | undefined): Perspective {
  const { terms: _, tie: __, reading = '', ...rest } = perspective
  const labels = rest.labels.map((one) => ({ ...one, criteria: BY_POLICY[one.means] }))
  const names = labels.map(({ name }) => name)
  return {
    ...rest,
    terms: reading,
    labels,
    answer: stanceAnswer(names, citing),
    turnedAnswer: stanceAnswer(names.toReversed(), citing),
  }
}

const BY_POLICY: Readonly<Record<HateSide, string[]>> = {
  hate: ['Read so, a clause of the policy that forbids fits the text.'],
  'non-hate': [
    'Read so, no such clause fits it, or what fits is what the clause does not cover, or what another one allows.',
  ],
}

/** The side that each name of a label stands for; of a name that perspectives use for different sides, none. */
export function meaningsOf(perspectives: readonly Perspective[]): Readonly<Record<string, string>> {
  const byName = Map.groupBy(
    perspectives.flatMap(({ labels }) => labels),
    ({ name }) => folded(name),
  )
  return Object.fromEntries(
    [...byName].flatMap(([name, labels]) => {
      const [side, ...others] = new Set(labels.map(({ means }) => means))
      return side === undefined || others.length > 0 || side === name ? [] : [[name, side]]
    }),
  )
}

function labelsOf(perspectives: readonly Perspective[]): Readonly<Record<string, readonly string[]>> {
  const byShelf = Map.groupBy(perspectives, ({ shelf }) => shelf)
  return Object.fromEntries(
    [...byShelf].flatMap(([shelf, those]) =>
      shelf === undefined ? [] : [[shelf, [...new Set(those.flatMap(({ labels }) => labels.flatMap(spellings)))]]],
    ),
  )
}

function perspectiveOf(name: string, file: z.infer<typeof perspectiveFile>): Perspective {
  const sides = new Map(file.labels.map((one) => [one.name, one.means]))
  const own = new Map(file.labels.flatMap((one) => spellings(one).map((spelling) => [spelling, one.name])))
  return {
    ...file,
    name,
    answer: stanceAnswer(file.labels.map((one) => one.name)),
    turnedAnswer: stanceAnswer(file.labels.map((one) => one.name).reverse()),
    side: (given) => sides.get(given),
    ownLabel: (onShelf) => own.get(folded(onShelf)),
  }
}

/** Every way in which a shelf may spell a label. */
function spellings({ name, shelf }: z.infer<typeof label>): string[] {
  return [name, ...shelf].map(folded)
}

function folded(word: string): string {
  return word.trim().toLowerCase()
}

function repeated(words: readonly string[]): string[] {
  return [...new Set(words.filter((word, at) => words.indexOf(word) !== at))]
}
