import type { z } from 'zod'
import type { Calibration } from '../contracts/facts/calibration.ts'
import type { Curation } from '../contracts/facts/curation.ts'
import type { Fence } from '../contracts/facts/fence.ts'
import type { ReadingGuide } from '../contracts/facts/reading.ts'
import type { SamplingRank } from '../contracts/facts/sampling-rank.ts'
import type { Transcript, Verdict } from '../contracts/facts/verdict.ts'
import type { VerdictConfidence } from '../contracts/facts/verdict-fields.ts'
import type { Protocol } from '../judging/engine/script.ts'
import type { Preset } from './preset.ts'

/** What a protocol is built from. */
export interface ProtocolParts {
  readonly settings: unknown
  /** The files of `config/prompts/NAME/`, by name without `.md`. */
  readonly prompts: ReadonlyMap<string, string>
  /** Already the one for its preset. */
  readonly fence: Fence
  /** The ranks by which a protocol samples and breaks ties. */
  readonly samplingRank: SamplingRank
  /** The files of another folder under `config/`, or of one of the user's own by its absolute path, by name with their ending. */
  readonly files: (folder: string) => ReadonlyMap<string, string>
}

/**
 * The models of a paper's own runs. If others are set, since models retire, `gavel judge` and `gavel doctor` name both.
 */
export interface PaperModels {
  readonly roles: Readonly<Record<string, string>>
  /** For the shelves, if the paper names one. */
  readonly embedder?: string
}

/** What a calibration of steps is made of. `calibrationPrompts` are the files of `config/prompts/calibration/`. */
export interface CalibrationParts extends Omit<ProtocolParts, 'samplingRank'> {
  readonly calibrationPrompts: ReadonlyMap<string, string>
}

/** The basis in a verdict for how sure it is. */
export type ConfidenceBasis = Pick<Verdict, 'label' | 'scores' | 'decidedBy' | 'models'>

/** What was answered in a turn of a case. */
export type AnsweredTurn = Pick<Transcript['turns'][number], 'stage' | 'role' | 'answer'>

/** How many questions of a role hold the policy, for one verdict: without a debate, and with the longest. */
export interface PolicyQuestions {
  readonly role: string
  readonly least: number
  readonly most: number
}

/** How a protocol is made from its settings and its files. */
export interface ProtocolKind {
  readonly name: string
  /** Its switches, without `enabled`. */
  readonly settings: z.ZodObject
  /** A text alone can have its labels, so that a first lane can settle some (docs/lane.md). */
  readonly mayHaveLane?: boolean
  /** Folders under `config/` that it reads beside its prompts; the setting of each lists names of files in it. */
  readonly folders?: readonly string[]
  readonly paperModels?: PaperModels
  /** Parts of the debate removed, each a row of an evaluation: its name, and switches over the protocol's settings. */
  readonly ablations?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Each switch that `preset: thrifty` turns on, alone: a row of an evaluation. */
  readonly savings?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** What a default is chosen from by `gavel eval --rows gates`: ways to decide, the cheapest first; and rows to stand beside them. */
  readonly gates?: {
    readonly ways: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    readonly beside: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  /** Names of the settings that `preset: paper` sets. */
  readonly setByPaper?: readonly string[]
  /**
   * Throws one error that names every fault in its files, one per line, as `FILE: fault`; FILE is a prompt's name, a path from
   * `config/`, or an absolute one.
   */
  make(parts: ProtocolParts): Protocol
  /** How sure a verdict is of its label, from 0 to 1; null where it does not say. Left out by a protocol without labels. */
  confidence?(verdict: ConfidenceBasis): number | null
  /** What that rests on. */
  readonly confidenceFrom?: NonNullable<VerdictConfidence['how']>
  /** Whether a verdict was a near thing, for people to look at; left out where its votes say so, or nothing does. */
  contested?(verdict: ConfidenceBasis): boolean
  /** Equal for texts in the same words; left out by a protocol that has no reading of that. */
  sameWordsKey?(text: string): string
  /** Equal for posts that copy one another; null for a text of few words. Left out likewise. */
  storyWords?(text: string): string | null
  /** The label for a subject with which something is wrong, and the one for a subject without; left out where there are none. */
  readonly labels?: { readonly harmful: string; readonly harmless: string }
  /** How people read its debates; left out: turn after turn. */
  readonly reading?: ReadingGuide
  /** Whom it asks, by the names that `models.roles` may give models to; left out: any. */
  readonly roles?: readonly string[]
  /** By role, its questions that hold the policy in force; left out by a protocol that judges by none. */
  policyQuestions?(settings: unknown): readonly PolicyQuestions[]
  /** How many of its voters chose each side, where it has any. */
  votes?(verdict: ConfidenceBasis): readonly number[]
  /** The answer of each of its voices in a case's turns, where it has several: perspectives their labels, aspects their scores. */
  voices?(turns: readonly AnsweredTurn[]): Readonly<Record<string, string>>
  /**
   * How its cases are learnt from; absent if the protocol does not learn. `prompts` are the files of
   * `config/prompts/curator/`, by name without `.md`.
   */
  curation?(parts: Pick<ProtocolParts, 'fence' | 'prompts'> & { readonly preset: Preset }): Curation
  /**
   * How the evaluation steps of one of its aspects are found; left out by a protocol that does not score by steps. Throws where
   * there is no such aspect, and as `make` does.
   */
  calibration?(aspect: string, parts: CalibrationParts): Calibration
}
