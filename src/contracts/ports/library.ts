import { createHash } from 'node:crypto'
import type { Lookup } from '../facts/ask.ts'
import type { SearchResult, ShownItem } from '../facts/library.ts'
import { normalized } from '../facts/normalized.ts'
import type { SubjectKind } from '../facts/thread.ts'

/** The subject that some content belongs to. */
export interface SubjectRef {
  readonly tenant: string
  readonly id: string
  /** A post and a reply may have the same id. */
  readonly kind: SubjectKind
}

/** An item to be put on a shelf; its id is derived from its text, so that the same text twice is one item. */
export interface Item {
  readonly text: string
  readonly label: string
  readonly metadata: Readonly<Record<string, string>>
  /** The subject whose content this is, so that it is erased with the subject; null for imported examples. */
  readonly subject: SubjectRef | null
  /** The text of the case that it was learnt from, if different: a lookup for that text doesn't find this item. */
  readonly caseText?: string
  /** Which item of which data set it is, if it was imported; stored only as a hash. */
  readonly sourceId?: string
}

/** The text to search for, and the items to leave out in addition to the subject's own. */
export interface Search extends Lookup {
  /** The item of a data set that the case is. That item is not found, whatever its text. */
  readonly sourceId?: string
  /**
   * Whether near-duplicates of the text are left out. For evaluations; elsewhere a repost of known harm is the best
   * precedent there is.
   */
  readonly holdOutNearDuplicates?: boolean
}

export interface Shelf {
  readonly name: string
  /** The tenant whose part of the shelf it is; null for what an operator imported for no tenant in particular. */
  readonly tenant: string | null
  readonly items: number
  /** The embedder of its vectors, and their length. */
  readonly embedder: string
  readonly dimension: number
  /** Set if its files can't be read any more: what to do. Its number of items is then unknown, and 0 here. */
  readonly damaged?: string
}

/** The effect of a change on a shelf. */
export interface Change {
  /** The id by which it can be rolled back. */
  readonly id: string
  readonly added: number
  /** How many items were there already, with the same text and label. */
  readonly unchanged: number
  /** How many items replaced one with the same text and another label. */
  readonly relabelled: number
}

/** A change as the history lists it. */
export interface LoggedChange extends Change {
  readonly shelf: string
  /** The tenant whose part of the shelf it changed; null for the common part. */
  readonly tenant: string | null
  /** A `drop` erases the shelf's history too; neither it nor a `take-back` of one item can be rolled back. */
  readonly kind: 'add' | 'approve' | 'drop' | 'take-back'
  /** The item that a `take-back` removed. */
  readonly item?: string | undefined
  readonly by: string
  /** ms since 1970. */
  readonly at: number
  /** When it was rolled back, ms since 1970; null if it was not. */
  readonly rolledBackAt: number | null
  /** The fault of its record, in words, if that can't be read any more. Then only its id is known. */
  readonly damaged?: string
}

/** Where a proposal came from. */
export interface ProposalProvenance {
  readonly tenant: string
  readonly subjectId: string
  readonly kind: SubjectKind
  readonly protocol: string
  readonly verdictId: string
  /** The person who gave the feedback. */
  readonly by: string
  /** ISO 8601. */
  readonly at: string
}

/** A precedent proposed from a person's feedback. */
export interface NewProposal {
  readonly shelf: string
  readonly text: string
  readonly label: string
  readonly metadata: Readonly<Record<string, string>>
  /** The text of the case, if different from `text`; stored only as a hash. */
  readonly caseText?: string
  readonly provenance: ProposalProvenance
}

/** A precedent in quarantine: lookups don't find it before it is approved. */
export interface Proposal extends Omit<NewProposal, 'caseText'> {
  readonly id: string
  readonly state: 'waiting' | 'approved' | 'rejected'
  /** The change that put it on its shelf; null unless approved. */
  readonly change: string | null
}

/** An item as verdicts name it under `evidence.precedents`. */
export interface Precedent {
  readonly id: string
  /** The tenant whose verdicts may cite it; null: all tenants'. */
  readonly tenant: string | null
}

/** An item and where it is. */
export interface ShelvedItem extends Precedent {
  readonly shelf: string
  readonly text: string
  readonly label: string
  /** The change that put it there. */
  readonly change: string
  /** Ids of the proposals that it came from, and the people who gave the feedback; empty if it was imported. */
  readonly proposals: readonly string[]
  readonly by: readonly string[]
}

/** The thing that an id names. */
export interface TracedItems {
  readonly precedents: readonly Precedent[]
  readonly standing: readonly ShelvedItem[]
  readonly proposals: readonly Proposal[]
}

/** Selects among the places where an item is; `everywhere` selects all. */
export interface Whereabouts {
  readonly shelf?: string | undefined
  readonly tenant?: string | undefined
  readonly everywhere?: boolean | undefined
}

/** The person who proposes, and for which shelf. */
export interface Proposer {
  readonly shelf: string
  readonly tenant: string
  readonly by: string
}

/** One of the limits on an author's proposals. */
export interface Room {
  /** Equal for all proposers that are counted together. */
  readonly of: string
  /** How many more it allows; none if below 1. */
  readonly left: number
  /** Why no more are allowed, in words. */
  readonly why: string
}

/** The changes of proposals. */
export interface ProposalChanges {
  readonly proposed: readonly Proposal[]
  /** How many existed already, in whatever state. */
  readonly unchanged: number
  /** Rejected, and why: their author or tenant has reached a limit, or their subject was deleted. */
  readonly refused: readonly { readonly proposal: NewProposal; readonly why: string }[]
}

/** The result of a search; `shown` are its items that are some subject's content. */
export type SubjectSearchResult = SearchResult & { readonly shown?: readonly ShownItem[] }

/** The erased items of subjects. */
export interface ErasedItems {
  /** How many proposals and shown items. */
  readonly erased: number
  /** The owners of whose content anything was there, also in the history alone. */
  readonly owned: ReadonlySet<string>
  /** The fault of each shelf and change that can't be read any more, and may still hold content of any of them. */
  readonly damaged: readonly Error[]
}

/** The role of a text for an embedder that distinguishes them: a query, or a document. */
export type TextPart = 'query' | 'document'

/** Turns texts into vectors of one length. */
export interface Embedder {
  /** Identifies the embedder: vectors of two embedders are never compared. */
  readonly name: string
  /** Length of its vectors; null until the first answer shows it. */
  readonly dimension: number | null
  /** Why its vectors are weak for this text, in words; null if they are not. */
  weakFor(text: string, lang?: string): string | null
  /**
   * One vector per text, and the tokens that were paid for. Throws `RetryLaterError` if trying again may help,
   * `PermanentError` if not.
   */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
    part?: TextPart,
  ): Promise<{ vectors: readonly Float32Array[]; tokens: number }>
  /** Begins to load what the first text needs, if it must be loaded; the caller does not wait for it. */
  prepare(): void
  close(): Promise<void>
}

/**
 * Shelves of labelled texts, searched by cosine similarity. What is learnt from a tenant's case, or imported for a
 * tenant, is shown to that tenant only. What is imported for no tenant in particular is shown to all if the shelf is
 * declared shared, else to the tenant `default`. If a tenant would be shown one text twice, its own label counts. Made
 * for many readers and few writers, in any number of processes on the same folder: readers see a change within seconds,
 * writers wait for each other.
 */
export interface Library {
  /** The embedder of its vectors. */
  readonly embedder: string
  /** As its embedder has it. */
  readonly weakFor: Embedder['weakFor']
  /**
   * The `k` nearest items of each shelf, without those that came from `subject` or from the same item of a data set,
   * have the same text, or were learnt from a case with the same text; `excluded` counts what was left out. Two texts
   * are the same if they differ only in case, width, white space, invisible characters or image marks, or because one
   * was cut. Content of deleted subjects is not found either. Never throws for a shelf that is missing, empty or of another embedder: `problem` names it.
   */
  find(
    wanted: Search,
    subject: SubjectRef,
    signal: AbortSignal,
  ): Promise<SubjectSearchResult & { readonly tokens: number }>
  /**
   * Begins to load what the first search of these shelves needs, if one of them exists; resolves when it has begun. Never
   * throws: a search does.
   */
  prepare(shelves: readonly string[]): Promise<void>
  /**
   * Puts items on a shelf, which is created if missing. With `change`, the id of an earlier call's change, it extends
   * that change: an import in batches is one change. Items go to their subject's tenant, those without a subject to
   * `tenant`. Throws an `OperatorError` if the shelf is of another embedder, or the items belong to several tenants.
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
   * Takes back one change: what it added is removed, what it replaced returns, what it approved is pending again. What
   * later changes replaced stays. Throws an `OperatorError` if there is no such change or it can't be taken back.
   */
  rollback(changeId: string): Promise<void>
  /**
   * Finds where the items are that the id names: a precedent (as verdicts name it), a proposal or a change. Throws an
   * `OperatorError` if it can be neither.
   */
  trace(id: string): Promise<TracedItems>
  /**
   * Takes one item off its shelf, by its own id or its proposal's: what it had replaced returns, its proposals are
   * rejected. Throws an `OperatorError` if it is nowhere, or at several places and `where` does not select one.
   */
  takeBack(id: string, by: string, where: Whereabouts): Promise<readonly ShelvedItem[]>
  /** Newest first. */
  history(shelf?: string): Promise<LoggedChange[]>
  /**
   * Erases a shelf and its history permanently, or one tenant's part of it; what was approved for it is pending again.
   * Throws an `OperatorError` if there is none.
   */
  drop(shelf: string, by: string, tenant?: string): Promise<void>
  /** Reads each of them through, and names those that are damaged. */
  shelves(): Promise<Shelf[]>
  /**
   * Puts proposals in quarantine. An author of a tenant may have only a set number on one shelf, pending and approved
   * together; and an author or a tenant may propose only a set number within a set time, whatever happened to them.
   */
  propose(proposals: readonly NewProposal[]): Promise<ProposalChanges>
  /** How many more this author may propose, by each limit: checked before a model is paid for a proposal. */
  room(proposer: Proposer): Promise<readonly Room[]>
  /** Whether the subject was deleted lately: nothing of it is proposed, nor asked about. */
  wasDeleted(subject: SubjectRef): Promise<boolean>
  /** Oldest first. */
  proposals(state?: Proposal['state']): Promise<Proposal[]>
  /** Puts proposals on their shelves, one change per shelf and tenant. Throws an `OperatorError` that names unknown ids. */
  approve(ids: readonly string[], by: string, signal: AbortSignal): Promise<LoggedChange[]>
  /** Throws an `OperatorError` that names ids that are unknown, or already approved: roll back the change of those. */
  reject(ids: readonly string[], by: string): Promise<void>
  /** Whether it holds, or has held, any shelf or proposal; false also where its folder is missing. */
  holdsAnything(): Promise<boolean>
  /**
   * Erases every item, logged version and proposal with these subjects' content, from the disk too. Subjects are named by
   * their owner hash (`ownerOf`). Locks nothing, and changes no shelf, if none of them owns anything. A shelf
   * or change whose files are damaged holds up no other. Repeatable; with `again` it was done before, for this library or
   * another copy of it, so long ago that nothing of theirs is under way any more.
   */
  forget(owners: readonly string[], again?: 'again'): Promise<ErasedItems>
  close(): Promise<void>
}

/** The id of a text's content: equal for texts that differ only in case, spaces or Unicode form. */
export function contentId(text: string): string {
  const normal = normalized(text, 'NFKC').toLowerCase().replace(/\s+/gu, ' ').trim()
  return createHash('sha256').update(normal).digest('hex').slice(0, 32)
}
