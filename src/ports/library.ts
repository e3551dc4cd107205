import { createHash } from 'node:crypto'
import type { Lookup } from '../domain/ask.ts'
import type { Found } from '../domain/library.ts'

/** Whose content something is. */
export interface SubjectRef {
  readonly tenant: string
  readonly id: string
}

/** One item on its way to a shelf; its id is made of its text, so that the same text twice is one item. */
export interface Item {
  readonly text: string
  readonly label: string
  readonly metadata: Readonly<Record<string, string>>
  /** The subject whose content this is, so that it goes when the subject is deleted; null for imported examples. */
  readonly subject: SubjectRef | null
  /** The text of the case that it was learnt from, if that is another: whoever looks for that text doesn't find this. */
  readonly caseText?: string
  /** Which item of which data set it is, if it was imported; kept as a hash alone. */
  readonly sourceId?: string
}

/** What is looked for, and what shall not be found besides what is the subject's own. */
export interface Search extends Lookup {
  /** Of the case: which item of which data set it is. That item is not found, whatever its text is. */
  readonly sourceId?: string
  /**
   * Whether near-duplicates of the text are passed over. For evaluations; elsewhere a repost of known harm is the best
   * precedent there is.
   */
  readonly holdOutNearDuplicates?: boolean
}

export interface Shelf {
  readonly name: string
  /** Whose part of the shelf it is; null where an operator loaded it for no tenant in particular. */
  readonly tenant: string | null
  readonly items: number
  /** Who made its vectors, and how long they are. */
  readonly embedder: string
  readonly dimension: number
}

/** What a change did to a shelf. */
export interface Change {
  /** Under which it can be rolled back. */
  readonly id: string
  readonly added: number
  /** The same text and label stood there already. */
  readonly unchanged: number
  /** The same text stood there under another label, which was replaced. */
  readonly relabelled: number
}

/** A change as the history tells it. */
export interface LoggedChange extends Change {
  readonly shelf: string
  /** Whose part of the shelf it changed; null where that is no tenant's in particular. */
  readonly tenant: string | null
  /** A `drop` takes the shelf's history with it; neither it nor a `take-back` of one item can be rolled back. */
  readonly kind: 'add' | 'approve' | 'drop' | 'take-back'
  /** The item that a `take-back` took off. */
  readonly item?: string | undefined
  readonly by: string
  /** ms since 1970. */
  readonly at: number
  /** When it was rolled back, in ms since 1970; null while it stands. */
  readonly rolledBackAt: number | null
}

/** Where a proposal came from. */
export interface Provenance {
  readonly tenant: string
  readonly subjectId: string
  readonly protocol: string
  readonly verdictId: string
  /** Whose feedback it was. */
  readonly by: string
  /** ISO 8601. */
  readonly at: string
}

/** A precedent that somebody's feedback proposes. */
export interface NewProposal {
  readonly shelf: string
  readonly text: string
  readonly label: string
  readonly metadata: Readonly<Record<string, string>>
  /** The text of the case, if `text` is another; kept as a hash alone. */
  readonly caseText?: string
  readonly provenance: Provenance
}

/** A precedent in quarantine: nobody finds it before it is approved. */
export interface Proposal extends Omit<NewProposal, 'caseText'> {
  readonly id: string
  readonly state: 'waiting' | 'approved' | 'rejected'
  /** The change that put it on its shelf; null unless approved. */
  readonly change: string | null
}

/** An item as verdicts name it under `evidence.precedents`. */
export interface Precedent {
  readonly id: string
  /** Whose verdicts may rest on it; null for everybody's. */
  readonly tenant: string | null
}

/** An item where it stands. */
export interface ShelvedItem extends Precedent {
  readonly shelf: string
  readonly text: string
  readonly label: string
  /** The change that put it there. */
  readonly change: string
  /** Ids of the proposals that it came from, and whose feedback they were; none where it was imported. */
  readonly proposals: readonly string[]
  readonly by: readonly string[]
}

/** What an id names. */
export interface Traced {
  readonly precedents: readonly Precedent[]
  readonly standing: readonly ShelvedItem[]
  readonly proposals: readonly Proposal[]
}

/** Which of the places at which an item stands is meant; all, with `everywhere`. */
export interface Whereabouts {
  readonly shelf?: string
  readonly tenant?: string
  readonly everywhere?: boolean
}

/** Who proposes something, and for what. */
export interface Proposer {
  readonly shelf: string
  readonly tenant: string
  readonly by: string
}

/** One of the bounds of an author's proposals. */
export interface Room {
  /** The same for all whose proposals it counts together. */
  readonly of: string
  /** How many more it allows; none below 1. */
  readonly left: number
  /** Why no more, in words. */
  readonly why: string
}

/** What became of proposals. */
export interface Proposing {
  readonly proposed: readonly Proposal[]
  /** Stood there already, in whatever state. */
  readonly unchanged: number
  /** Left out, and why: their author or tenant has proposed as much as one may, or their subject was deleted. */
  readonly refused: readonly { readonly proposal: NewProposal; readonly why: string }[]
}

/** Turns texts into vectors of one length. */
export interface Embedder {
  /** Told apart by this: vectors of two embedders are never compared. */
  readonly name: string
  /** Length of its vectors; null until the first answer tells it. */
  readonly dimension: number | null
  /** Why its vectors are weak for this text, in words; null where they are not. */
  weakFor(text: string, lang?: string): string | null
  /**
   * One vector a text, and the tokens that were paid for. Throws `RetryLaterError` where trying again may help,
   * `PermanentError` where it can't.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<{ vectors: readonly Float32Array[]; tokens: number }>
  close(): Promise<void>
}

/**
 * Shelves of labelled texts, searched by cosine similarity. What is learnt of a tenant's case, and what is loaded for a tenant,
 * is shown to that tenant alone; what is loaded for none in particular, to all where the shelf is declared shared, else to
 * the tenant `default`. Where a tenant is shown one text twice, its own label counts. Made for many readers and few writers, in any number of
 * processes on the same folder: readers see a change within seconds, writers wait for each other.
 */
export interface Library {
  /** Who makes its vectors. */
  readonly embedder: string
  /**
   * The `k` nearest items of each shelf, but those that came from `subject` or from the same item of a data set, hold the
   * same text or were learnt from a case of the same text; `excluded` counts what was passed over. Texts are the same that
   * differ only in case, width, white space, what nobody sees, marks of images, or in that one of them was cut. Never throws
   * for a shelf that is missing, empty or another embedder's: `problem` names it.
   */
  find(wanted: Search, subject: SubjectRef, signal: AbortSignal): Promise<Found & { readonly tokens: number }>
  /**
   * Puts items on a shelf, which is made if it is missing. With `change`, the id of an earlier call's change, it goes on
   * with that one: an import in batches is one change. Items go to their subject's tenant, those without to `tenant`. Throws
   * an `OperatorError` if the shelf was made by another embedder, or the items are of several tenants.
   */
  add(
    shelf: string,
    items: readonly Item[],
    by: string,
    signal: AbortSignal,
    change?: string,
    tenant?: string | null,
  ): Promise<Change>
  /**
   * Takes back one change: what it added goes, what it replaced returns, what it approved waits again. What later changes
   * replaced stays. Throws an `OperatorError` if there is no such change or it can't be taken back.
   */
  rollback(changeId: string): Promise<void>
  /**
   * What the id of a precedent (as verdicts name it), of a proposal or of a change names, and where it stands. Throws an
   * `OperatorError` if it can be neither.
   */
  trace(id: string): Promise<Traced>
  /**
   * Takes one item off its shelf, by its own id or its proposal's: what it had replaced returns, its proposals are rejected.
   * Throws an `OperatorError` if it stands nowhere, or at more places than one and nobody said which.
   */
  takeBack(id: string, by: string, where: Whereabouts): Promise<readonly ShelvedItem[]>
  /** The newest first. */
  history(shelf?: string): Promise<LoggedChange[]>
  /**
   * Erases a shelf and its history for good, or one tenant's part of it; what was approved for it waits again. Throws an
   * `OperatorError` if there is none.
   */
  drop(shelf: string, by: string, tenant?: string): Promise<void>
  shelves(): Promise<Shelf[]>
  /**
   * Puts proposals in quarantine. No author of a tenant has more than a set number on one shelf, waiting and approved together;
   * and neither an author nor a tenant proposes more than a set number within a set time, whatever became of them.
   */
  propose(proposals: readonly NewProposal[]): Promise<Proposing>
  /** How many more this author may propose, by each bound: to be asked before a model is paid for a proposal. */
  room(proposer: Proposer): Promise<readonly Room[]>
  /** The oldest first. */
  proposals(state?: Proposal['state']): Promise<Proposal[]>
  /** Puts proposals on their shelves, one change a shelf and tenant. Throws an `OperatorError` naming ids that are not known. */
  approve(ids: readonly string[], by: string, signal: AbortSignal): Promise<LoggedChange[]>
  /** Throws an `OperatorError` naming ids that are not known, or approved: those are rolled back by their change. */
  reject(ids: readonly string[], by: string): Promise<void>
  /** Erases every item, logged version and proposal that holds this subject's content, from the disk too. Returns how many. */
  forget(subject: SubjectRef): Promise<number>
  close(): Promise<void>
}

/** The id of a text's content: the same for texts that differ in case, spaces or Unicode form alone. */
export function contentId(text: string): string {
  const normal = text.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim()
  return createHash('sha256').update(normal).digest('hex').slice(0, 32)
}
