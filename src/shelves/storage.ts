import { PermanentError } from '../contracts/facts/errors.ts'
import type { LoggedChange, Proposal } from '../contracts/ports/library.ts'
import { placeOf } from './names.ts'

/** The part of an item that can change while its text stays the same. */
export interface Version {
  readonly label: string
  readonly metadata: Readonly<Record<string, string>>
  /** Hash of the subject whose content it is; empty for imported examples. */
  readonly owner: string
  /** Hash of the case's text that it was learnt from, or of the data set's item that it is; empty if there is none. */
  readonly source: string
  /** The change that made this version. */
  readonly change: string
}

export function versionOf({ label, metadata, owner, source, change }: Version): Version {
  return { label, metadata, owner, source, change }
}

/** An item on a shelf. */
export interface Row extends Version {
  /** Content id of the text. */
  readonly id: string
  readonly text: string
  readonly vector: Float32Array
}

/** What names a row's version. */
export type RowKey = Pick<Row, 'id' | 'change' | 'owner'>

/** A row found near a vector. */
export interface NearRow extends Omit<Row, 'vector'> {
  /** Cosine similarity, -1 to 1. */
  readonly similarity: number
}

export interface ShelfRecord {
  /** The name of its place (`names.ts`). */
  readonly name: string
  /** The table that holds its rows now; a new one after each rewrite. */
  readonly table: string
  readonly embedder: string
  readonly dimension: number
  /** Whether any row has ever been a subject's content. */
  readonly owned: boolean
  /** The record itself can't be read: only its name is known, and nothing of the shelf but that it may be dropped. */
  readonly damaged?: true
}

/** One call's part of a change. `replaced` holds, by content id, what was there before. */
export interface ChangeStep {
  readonly added: number
  readonly unchanged: number
  readonly relabelled: number
  readonly replaced: Readonly<Record<string, Version>>
}

/** A change with what is needed to roll it back. `shelf` is the place's name. */
export interface ChangeRecord extends Omit<LoggedChange, 'tenant' | 'kind' | 'damaged'> {
  /** The removal of a single item is a `drop` with its id. */
  readonly kind: 'add' | 'approve' | 'drop'
  readonly replaced: Readonly<Record<string, Version>>
  /** The record itself can't be read any more: only its id is known, and its shelf if that could be read; else `shelf` is empty. */
  readonly damaged?: true
  /** It ends in a step that a dead writer left half written, which was not done either: it goes when the change is put again. */
  readonly torn?: true
}

/** The part of a change that is known before its first step. */
export type ChangeHead = Pick<ChangeRecord, 'id' | 'shelf' | 'kind' | 'by' | 'at' | 'item'>

/** A proposal with the fields that are never shown. */
export interface ProposalRecord {
  readonly proposal: Proposal
  readonly source: string
  /** ms since 1970, for the order. */
  readonly proposedAt: number
}

/** Who proposed something, and when, in ms since 1970. */
export interface ProposalOrigin {
  readonly tenant: string
  readonly by: string
  readonly proposedAt: number
}

export function proposedOf({ proposal: { provenance }, proposedAt }: ProposalRecord): ProposalOrigin {
  return { tenant: provenance.tenant, by: provenance.by, proposedAt }
}

/** Files of the library were cut off or overwritten: no later try can read them. The message names the remedy. */
export class DamagedFiles extends PermanentError {
  private constructor(what: string, cause: unknown) {
    super('library', what, { cause })
  }

  /** `name`: the shelf's, as its record has it. */
  static ofShelf(name: string, cause: unknown): DamagedFiles {
    const { shelf, tenant } = placeOf(name)
    const part = tenant === null ? '' : ` of the tenant ${tenant}`
    const option = tenant === null ? '' : ` --tenant ${tenant}`
    const todo = `erase it with "gavel library drop ${shelf}${option}" and import it again`
    return new DamagedFiles(`the shelf "${shelf}"${part} is damaged, its files were cut off: ${todo}`, cause)
  }

  static ofChange(id: string, cause: unknown): DamagedFiles {
    const lost = 'that change can’t be rolled back any more, nor what it replaced restored'
    return new DamagedFiles(
      `the record of the change ${id} is damaged: remove the file changes/${id}.jsonl from the library's folder; ${lost}`,
      cause,
    )
  }

  /** `file`: its file's name without the ending. */
  static ofProposal(file: string, cause: unknown): DamagedFiles {
    return new DamagedFiles(
      `a proposal's record is damaged: remove the file proposals/${file}.json from the library's folder; it can be proposed again`,
      cause,
    )
  }
}

/**
 * Where a library keeps its state. Every change is made within `exclusive`. Reads need no lock, and may find that a table
 * has just been replaced: then the shelf's record names the new one.
 */
export interface Storage {
  /** Runs `work` while no other writer of any process does. What a dead writer left unfinished is removed first. */
  exclusive<Result>(work: () => Promise<Result>): Promise<Result>
  /** Whether a writer, dead or at work, has left anything that no record names. It is gone when `exclusive` next resolves. */
  hasLeftovers(): Promise<boolean>

  /** Whether any shelf or proposal was ever put here. */
  holdsAnything(): Promise<boolean>
  /** Rejects with `DamagedFiles` if the record can't be read any more. */
  shelf(name: string): Promise<ShelfRecord | null>
  /** All of them, also those whose record can't be read any more. */
  shelves(): Promise<ShelfRecord[]>
  putShelf(record: ShelfRecord): Promise<void>
  removeShelf(record: ShelfRecord): Promise<void>

  count(record: ShelfRecord): Promise<number>
  /** The same by reading every row. As all that reads rows, it rejects with `DamagedFiles` if some can't be read any more. */
  countRead(record: ShelfRecord): Promise<number>
  /** The rows with these content ids that are on the shelf. */
  rows(record: ShelfRecord, ids: readonly string[]): Promise<Row[]>
  /** Content ids, changes and owners of the rows that a change made or these owners own. */
  rowsBy(record: ShelfRecord, by: { change: string } | { owners: ReadonlySet<string> }): Promise<RowKey[]>
  /** The nearest first. */
  nearest(record: ShelfRecord, vector: Float32Array, limit: number): Promise<NearRow[]>
  /** Adds and replaces rows in one step, and creates the table if missing. `fresh` are known not to be there. */
  putRows(record: ShelfRecord, fresh: readonly Row[], replacing: readonly Row[]): Promise<void>
  /**
   * Writes the shelf to a new table, without the rows whose new version is null, so that nothing of them is left on
   * disk.
   */
  rewrite(record: ShelfRecord, become: ReadonlyMap<string, Version | null>): Promise<void>

  /** Rejects with `DamagedFiles` if its record can't be read any more. */
  change(id: string): Promise<ChangeRecord | null>
  /** The newest first; with a shelf, of those whose record can't be read any more only what is known to be its own. */
  changes(shelf?: string): Promise<ChangeRecord[]>
  /** Adds a step to a change, which is created if missing. */
  addStep(head: ChangeHead, step: ChangeStep): Promise<void>
  putChange(change: ChangeRecord): Promise<void>
  removeChange(id: string): Promise<void>

  /** As `proposals` and `proposed`, it rejects with `DamagedFiles` if a record that it needs can't be read any more. */
  proposal(id: string): Promise<ProposalRecord | null>
  proposals(of?: { shelf: string; by: string }): Promise<ProposalRecord[]>
  /** The author and time of every proposal; these never change. */
  proposed(): Promise<ProposalOrigin[]>
  putProposal(record: ProposalRecord): Promise<void>
  removeProposal(record: ProposalRecord): Promise<void>
  /** How many proposals of their content each of these owners has; those that have none are left out. Reads no record. */
  proposalsOf(owners: ReadonlySet<string>): Promise<ReadonlyMap<string, number>>
  /** Removes these, also those whose record can't be read any more. */
  removeProposalsOf(owners: ReadonlySet<string>): Promise<void>

  /**
   * Notes, by their hashes, that subjects were forgotten, for proposals of their content that are being made at the same
   * time.
   */
  noteForgotten(owners: readonly string[]): Promise<void>
  /** Whether that was noted within the last day. */
  wasForgotten(owner: string): Promise<boolean>

  close(): Promise<void>
}

/**
 * What a change replaced, with the versions that `which` picks replaced by what `instead` returns; null leaves the item
 * out. Returns the same object if none is picked.
 */
export function replacedWithout(
  { replaced }: Pick<ChangeRecord, 'replaced'>,
  which: (version: Version) => boolean,
  instead: (id: string, version: Version) => Version | null,
): ChangeRecord['replaced'] {
  if (!Object.values(replaced).some(which)) return replaced
  return Object.fromEntries(
    Object.entries(replaced).flatMap(([id, version]) => {
      const now = which(version) ? instead(id, version) : version
      return now === null ? [] : [[id, now]]
    }),
  )
}

/** A change as the history shows it. */
export function loggedChangeOf({ replaced: _, torn: __, kind, damaged, ...logged }: ChangeRecord): LoggedChange {
  const told = { ...logged, kind: logged.item === undefined ? kind : ('take-back' as const), ...placeOf(logged.shelf) }
  return damaged === undefined ? told : { ...told, damaged: DamagedFiles.ofChange(logged.id, undefined).message }
}
