import { z } from 'zod'
import { type CalibrationMap, calibrated } from './calibration-map.ts'
import { shortHash } from './short-hash.ts'

/** The highest risk, and the highest chance to break it, that a lane may promise. */
export const MOST_PROMISED = 0.5

const probability = z.number().min(0).max(1)
/** Nothing is promised by 0, nothing can be shown of 1, and most that is wrong is no promise. */
const promised = z.number().gt(0).max(MOST_PROMISED)

const map: z.ZodType<CalibrationMap> = z.discriminatedUnion('method', [
  z.object({ method: z.literal('isotonic'), steps: z.array(z.object({ from: probability, right: probability })) }),
  z.object({ method: z.literal('platt'), slope: z.number(), offset: z.number() }),
])

const threshold = z.object({
  label: z.string(),
  lang: z.string(),
  from: probability,
  map,
  items: z.int().min(0),
  errors: z.int().min(0),
  atMost: probability,
})

const laneFile = z.object({
  schema: z.literal(1),
  protocol: z.string(),
  /** Whose posts alone it settles; absent: those of all tenants that are judged by its policy. */
  tenant: z.string().optional(),
  decider: z.object({
    /** As the server names what answered. */
    model: z.string().nullable(),
    /** As settings name it; absent: by what the server says. */
    asked: z.string().optional(),
    wire: z.string().nullable(),
    answers: z.string(),
    prompts: z.string().nullable(),
  }),
  policy: z.object({ name: z.string(), version: z.string(), hash: z.string() }).nullable(),
  data: z.object({ sha256: z.string(), items: z.int() }),
  promise: z.object({ risk: promised, delta: promised, coverage: probability, among: z.int() }),
  settles: probability,
  thresholds: z.array(threshold).min(1),
})
/** What `gavel lane fit` writes: thresholds of a decider, what they promise, and what they hold for. */
export type LaneFile = z.infer<typeof laneFile>

/** Thresholds in use, and the hash by which verdicts name their file. */
export interface Lane extends LaneFile {
  readonly hash: string
  /**
   * What its closing is kept by: the decider, how it was asked, and the labels. Another promise, seed or tenant on the same labels
   * has the same basis, and opens nothing that people have closed.
   */
  readonly basis: string
}

/** The lane of a file's text. Throws an error that names the first fault. */
export function readLane(text: string): Lane {
  const read = laneFile.safeParse(JSON.parse(text))
  const issue = read.error?.issues[0]
  if (issue !== undefined) throw new Error(`${issue.path.join('.')}: ${issue.message}`)
  const lane = laneFile.parse(read.data)
  return { ...lane, hash: shortHash(lane), basis: basisOf(lane) }
}

export function basisOf({ protocol, decider, data }: Pick<LaneFile, 'protocol' | 'decider' | 'data'>): string {
  return shortHash([protocol, decider.model, decider.wire, decider.prompts, data.sha256])
}

/** The label that a decider holds to be likeliest, and how likely that is; of equal ones the first: tests find out how often that is right. */
export function surest(probabilities: ReadonlyMap<string, number>): {
  readonly label: string
  readonly confidence: number
} {
  let best = { label: '', confidence: -1 }
  for (const [label, confidence] of probabilities) if (confidence > best.confidence) best = { label, confidence }
  return best
}

/**
 * The label that the lane settles by these probabilities, and how sure that is by its calibration; null where it settles none. The share
 * of few items may be 1, and of n that are all right nobody can expect more than (n + 1)/(n + 2) of the next to be (Laplace 1774).
 */
export function settledBy(
  { thresholds }: Pick<Lane, 'thresholds'>,
  probabilities: ReadonlyMap<string, number>,
  lang: string,
): { readonly label: string; readonly confidence: number } | null {
  const said = surest(probabilities)
  const own = thresholds.find((one) => one.label === said.label && one.lang === lang)
  if (own === undefined) return null
  const confidence = calibrated(own.map, said.confidence)
  if (confidence < own.from) return null
  return { label: said.label, confidence: Math.min(confidence, (own.items + 1) / (own.items + 2)) }
}
