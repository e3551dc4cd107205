import type { z } from 'zod'
import type { Curation } from '../domain/curation.ts'
import type { Fence } from '../domain/fence.ts'
import type { SamplingRank } from '../domain/sampling-rank.ts'
import type { Protocol } from '../engine/script.ts'

/** What a protocol is built from. */
export interface ProtocolParts {
  readonly settings: unknown
  /** The files of `config/prompts/NAME/`, by name without `.md`. */
  readonly prompts: ReadonlyMap<string, string>
  readonly fence: Fence
  /** The ranks by which a protocol samples and breaks ties. */
  readonly samplingRank: SamplingRank
  /** The files of another folder under `config/`, by name with their ending. */
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

/** How a protocol is made from its settings and its files. */
export interface ProtocolKind {
  readonly name: string
  /** Its switches, without `enabled`. */
  readonly settings: z.ZodObject
  readonly paperModels?: PaperModels
  /**
   * Throws one error that names every fault in its files, one per line, as `FILE: fault`; FILE is a prompt's name, or a
   * path from `config/`.
   */
  make(parts: ProtocolParts): Protocol
  /**
   * How its cases are learnt from; absent if the protocol does not learn. `prompts` are the files of
   * `config/prompts/curator/`, by name without `.md`.
   */
  curation?(parts: Pick<ProtocolParts, 'fence' | 'prompts'>): Curation
}
