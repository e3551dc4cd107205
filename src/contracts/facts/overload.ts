/** The steps in which less is asked while more is due than can be judged, as settings name them. */
const STEPS = ['single', 'sample', 'hold'] as const
type OverloadStep = (typeof STEPS)[number]

/** From how many due threads each step is in force; null: never. */
export type OverloadSteps = Readonly<Record<OverloadStep, { readonly atDue: number | null }>> & {
  /** Threads that have a verdict and are due by their age alone count as so much younger, in ms. */
  readonly hold: { readonly putBack: number }
}

/** No step, however much is due. */
export const NEVER_OVERLOADED: OverloadSteps = {
  single: { atDue: null },
  sample: { atDue: null },
  hold: { atDue: null, putBack: 0 },
}

/** With the first two steps from so many due threads on, which earlier versions had as one, and without the third. */
export function inOneStep<Steps extends OverloadSteps>(steps: Steps, atDue: number | null): Steps {
  const { single, sample, hold } = steps
  return { ...steps, single: { ...single, atDue }, sample: { ...sample, atDue }, hold: { ...hold, atDue: null } }
}

/** Which step is in force: 0 for none, 1 for `single`, and so on. Each spares what those before it spare. */
export function stepAt(due: number, steps: OverloadSteps): number {
  return 1 + STEPS.findLastIndex((step) => due > (steps[step].atDue ?? Number.POSITIVE_INFINITY))
}

/** Whether a step is in force beside a later one. */
export function spares(step: number, what: OverloadStep): boolean {
  return step > STEPS.indexOf(what)
}

/** The step that a case was opened in; earlier versions had one, which spared what the first two do. */
export function stepOf({
  overloaded,
  step,
}: {
  readonly overloaded: boolean
  readonly step?: number | undefined
}): number {
  return step ?? (overloaded ? 2 : 0)
}
