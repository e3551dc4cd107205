import { createHash } from 'node:crypto'
import { basename, dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { Preset } from '../preset.ts'
import { readYaml } from '../yaml-file.ts'
import { type AspectScore, scoreOn } from './answers.ts'

const text = z.string().trim().min(1, 'is empty')

const aspectFile = z.strictObject({
  /** The lowest and the highest score, whole numbers. */
  scale: z
    .tuple([z.int(), z.int()])
    .refine(([lowest, highest]) => lowest < highest, 'must be the lowest score and then a higher one'),
  /** Whether a high score is a good one. */
  better: z.enum(['higher', 'lower'], 'must be higher or lower'),
  /** Whether it counts for the unified score. */
  unified: z.boolean().default(false),
  /** What is scored, as the scorer reads it. */
  criterion: text,
  /** The criterion under the preset `paper`, where a paper words it otherwise. */
  paper: text.optional(),
})

/** What a reply to hate speech is scored on: one of the paper's four (section 3.2), or a team's own. */
export interface Aspect {
  /** Its file's name without the ending. */
  readonly name: string
  readonly lowest: number
  readonly highest: number
  readonly better: 'higher' | 'lower'
  readonly unified: boolean
  readonly criterion: string
  readonly answer: z.ZodType<AspectScore>
}

/** The aspects that are scored, in order, and a hash of their files: they are prompts. */
export interface Aspects {
  readonly hash: string
  readonly list: readonly Aspect[]
}

const PATH = /\.ya?ml$/
const NAME = /^[a-z0-9][a-z0-9-]*$/
/** The name under which a verdict has the score of them all. */
export const UNIFIED = 'unified'

/**
 * Reads the aspects that the setting names: the shipped ones by name, a team's own by the path of its file. Throws one error
 * that names every fault, one per line.
 */
export function readAspects(
  wanted: readonly string[],
  files: (folder: string) => ReadonlyMap<string, string>,
  preset: Preset,
): Aspects {
  const faults: string[] = []
  const list: Aspect[] = []
  const hash = createHash('sha256')
  for (const one of wanted) {
    const folder = PATH.test(one) ? dirname(resolve(one)) : 'aspects'
    const file = PATH.test(one) ? basename(one) : `${one}.yaml`
    const name = file.replace(PATH, '')
    const fault = (why: string) => faults.push(`${PATH.test(one) ? resolve(one) : `config/aspects/${file}`}: ${why}`)
    const source = files(folder).get(file)
    if (!NAME.test(name)) fault('a name has small letters, digits and dashes only')
    else if (name === UNIFIED) fault(`"${UNIFIED}" is the score of all aspects together`)
    else if (list.some((other) => other.name === name)) fault('an aspect of this name is scored already')
    else if (source === undefined) fault('the file is missing, and the setting aspects names it')
    else {
      const aspect = aspectIn(name, source, preset, fault)
      if (aspect !== undefined) list.push(aspect)
      hash.update(`${name}\0${source}\0`)
    }
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return { hash: hash.digest('hex'), list }
}

function aspectIn(name: string, source: string, preset: Preset, fault: (why: string) => void): Aspect | undefined {
  const content = readYaml(source, fault)
  if (content === undefined) return undefined
  const checked = aspectFile.safeParse(content)
  if (!checked.success) {
    for (const { path, message } of checked.error.issues) fault([path.join('.'), message].filter(Boolean).join(': '))
    return undefined
  }
  const { scale, better, unified, criterion, paper } = checked.data
  const [lowest, highest] = scale
  return {
    name,
    lowest,
    highest,
    better,
    unified,
    answer: scoreOn(lowest, highest),
    criterion: preset === 'paper' ? (paper ?? criterion) : criterion,
  }
}

/** The scale of each aspect; that of the unified score is 1 to 5. */
export function scalesOf(
  aspects: readonly Aspect[],
): Readonly<Record<string, readonly [lowest: number, highest: number]>> {
  const own = aspects.map(({ name, lowest, highest }) => [name, [lowest, highest]] as const)
  return Object.fromEntries([...own, ...(aspects.some((aspect) => aspect.unified) ? [[UNIFIED, [1, 5]] as const] : [])])
}

/**
 * Equation 2: the mean over the aspects that count for it, each stretched to a scale of 1 to 5 on which higher is better. For
 * the paper's four this is its formula: aggressiveness is 6 less the score, suitableness is stretched from 1 to 3. Null where one of
 * them has no score, or none counts for it.
 */
export function unified(aspects: readonly Aspect[], scores: ReadonlyMap<string, number>): number | null {
  const counting = aspects.filter((aspect) => aspect.unified)
  const stretched = counting.flatMap(({ name, lowest, highest, better }) => {
    const score = scores.get(name)
    if (score === undefined) return []
    const above = better === 'higher' ? score - lowest : highest - score
    return [(above / (highest - lowest)) * 4 + 1]
  })
  if (counting.length === 0 || stretched.length < counting.length) return null
  return stretched.reduce((sum, one) => sum + one, 0) / stretched.length
}
