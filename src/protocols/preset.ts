import { z } from 'zod'
import type { Ask } from '../contracts/facts/ask.ts'
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
