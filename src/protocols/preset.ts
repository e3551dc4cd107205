import { z } from 'zod'
import type { Ask } from '../contracts/facts/ask.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Fence } from '../contracts/facts/fence.ts'

/**
 * `paper` turns off a protocol's departures from its paper, in its settings and in the wording of its prompts; `thrifty` turns on
 * every switch of it that saves calls or tokens.
 */
export const preset = z.enum(['none', 'paper', 'thrifty'])
export type Preset = z.infer<typeof preset>

/** The preset in a protocol's settings as they were given; `none` where they name no other. */
export function presetIn(settings: unknown): Preset {
  return z.object({ preset }).safeParse(settings).data?.preset ?? 'none'
}

/** The fence of what is sent under a preset. */
export function fenceUnder(of: Preset, fence: Fence): Fence {
  return of === 'paper' ? fence.paper() : fence
}

/** How the form of what is asked under a preset is shown. */
export function formUnder(of: Preset): Pick<Ask, 'wholeForm'> {
  return of === 'paper' ? { wholeForm: true } : {}
}

/**
 * Longest answer under `paper`, in tokens. The papers set no limit, so this is the longest that gpt-3.5-turbo writes,
 * which two of them used.
 */
const PAPER_TOKEN_CAP = 4_096

/** A longer cap from the settings is kept. */
export function atLeastPaperTokenCap(answerTokens: number): number {
  return Math.max(answerTokens, PAPER_TOKEN_CAP)
}

/** A setting of a protocol, and what the presets make of it. */
interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema
  /** Its value under `paper`, by the one that is set. */
  underPaper(set: z.output<Schema>): z.output<Schema>
  readonly isSetByPaper: boolean
  /** The saving's name, and its value under `thrifty`. */
  readonly saving?: readonly [name: string, on: z.output<Schema>]
}

/** A setting that no preset changes: a number that the paper tries, or a switch of its ablations. */
export function asSet<Schema extends z.ZodType>(schema: Schema): Setting<Schema> {
  return { schema, underPaper: (set) => set, isSetByPaper: false }
}

/** A setting that `paper` changes: to this value, or by this function of the value that is set. */
export function departure<Schema extends z.ZodType>(
  schema: Schema,
  paper: z.output<Schema> | ((set: z.output<Schema>) => z.output<Schema>),
): Setting<Schema> {
  const underPaper = typeof paper === 'function' ? (paper as Setting<Schema>['underPaper']) : () => paper
  return { schema, underPaper, isSetByPaper: true }
}

/** A setting that is `off` under `paper` and `on` under `thrifty`; `name` is its row in an evaluation and in docs/cost.md. */
export function saving<Schema extends z.ZodType>(
  schema: Schema,
  { name, off, on }: { readonly name: string; readonly off: z.output<Schema>; readonly on: z.output<Schema> },
): Setting<Schema> {
  return { ...departure(schema, off), saving: [name, on] }
}

/** The settings of a protocol that has presets: their schema, what the presets change, and how settings are read. */
export function defineSettings<Settings extends Readonly<Record<string, Setting>>>(settings: Settings) {
  const all = Object.entries<Setting>(settings)
  const shape = Object.fromEntries(all.map(([key, { schema }]) => [key, schema])) as {
    [Key in keyof Settings]: Settings[Key]['schema']
  }
  const schema = z.strictObject({ preset, ...shape })
  const savings: Readonly<Record<string, Readonly<Record<string, unknown>>>> = Object.fromEntries(
    all.flatMap(([key, { saving: own }]) => (own === undefined ? [] : [[own[0], { [key]: own[1] }]])),
  )
  return {
    schema,
    savings,
    setByPaper: all.flatMap(([key, { isSetByPaper }]) => (isSetByPaper ? [key] : [])),
    /** Settings that were given, as their preset has them. */
    parse(given: unknown): z.output<typeof schema> {
      const set = schema.parse(given)
      const values: Readonly<Record<string, unknown>> = set
      const changed: Readonly<Record<Preset, readonly object[]>> = {
        none: [],
        thrifty: Object.values(savings),
        paper: all.map(([key, { underPaper }]) => ({ [key]: underPaper(entryOf(values, key)) })),
      }
      return Object.assign({ ...set }, ...changed[presetIn(set)])
    },
  }
}
