/** One of two sides of a debate. */
interface ReadSide {
  /** What stands in brackets behind the role of its turns, or, where nothing does, the role. */
  readonly speaker: string
  /** What it stands for, for people. */
  readonly title: string
}

/** How people read a protocol's verdicts and debates: what its words and numbers mean, and what the stages of its transcripts are. */
export interface ReadingGuide {
  /** By label, what it means, in a sentence; the labels of people as well. */
  readonly labels?: Readonly<Record<string, string>>
  /** By rule that its judge may name, what it means, in a sentence. */
  readonly rules?: Readonly<Record<string, string>>
  /** What a verdict's scores say of its label, in sentences. */
  readonly tells?: (scores: Readonly<Record<string, number>>, label: string | null) => readonly string[]
  /** Two sides that argue in these stages; `opening` is the one before they have heard each other. */
  readonly debate?: {
    readonly sides: readonly [ReadSide, ReadSide]
    readonly stages: readonly string[]
    readonly opening?: string
    /** Each side was shown the comments that are evidence for it. */
    readonly showsComments?: true
    /** By side the score that counts the comments on it, also those that nobody was shown. */
    readonly counts?: readonly [string, string]
  }
  /** The stage that decides. */
  readonly judge?: string
  /** The stage in which several voices speak, each for itself. */
  readonly voices?: string
  /** The stage in which comments are scored, from -1 to 1. */
  readonly comments?: string
  /** Labels of what nobody should have to read unasked: its words are hidden in lists. */
  readonly disturbing?: readonly string[]
}
