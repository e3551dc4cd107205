import type { ThreadRef } from '../facts/thread.ts'
import type { DrawnPicture } from './images.ts'

/** What is covered until somebody uncovers it: what was judged harmful or not decided, every picture too, or nothing. */
export const COVERED = ['harmful', 'all', 'none'] as const
/** What stands in a picture's place while it is covered: a blur of it, the same without colours, or nothing of it. */
export const COVERS = ['blur', 'grey', 'blank'] as const

/** What a person chose to have covered, and how. */
export interface CoverChoice {
  readonly covered: (typeof COVERED)[number]
  readonly cover: (typeof COVERS)[number]
  /** The pointer uncovers, as long as it is there. */
  readonly hover: boolean
}

/** A picture of a subject as people see it. */
export interface KeptPicture extends DrawnPicture {
  /** The SHA-256 of the bytes that it was drawn from, in hexadecimal digits. */
  readonly sha256: string
  /** When they were fetched, ms since 1970. */
  readonly at: number
}

/** How much that may harm a person uncovered. */
export interface Exposure {
  readonly person: string
  readonly label: string
  readonly uncovered: number
  /** Minutes in which they uncovered something of this label. */
  readonly minutes: number
}

/** What somebody noted on a subject, for others who review it. */
export interface PostNote {
  readonly by: string
  readonly at: number
  readonly text: string
}

/** A list of the queue that a person has named: its address has this query. */
export interface SavedView {
  readonly name: string
  readonly query: string
}

/**
 * What people look at, beside the record: pictures and notes of subjects, which are erased with these, what each person wants to have
 * covered, how much they uncovered, and the lists that they named. None of it is made of the topics: a rebuilt record has none.
 */
export interface ReviewPictures {
  /** The picture at an address of a subject's, by whatever names that; null if none is kept. */
  picture(of: ThreadRef, address: string, now: number): Promise<KeptPicture | null>
  /**
   * Keeps it, in place of an earlier one of the same address, until that time; of more than `most` the oldest go. False, and it is not
   * kept, if this verdict on the subject is not in the record any more: the subject may have been erased meanwhile.
   */
  keepPicture(of: {
    readonly verdict: string
    readonly address: string
    readonly picture: KeptPicture
    /** ms since 1970 */
    readonly until: number
    readonly most: number
  }): Promise<boolean>
  /** null: they have not chosen. */
  coversOf(person: string): Promise<CoverChoice | null>
  chooseCovers(person: string, choice: CoverChoice): Promise<void>
  /** Notes that a person uncovered something of this label. */
  noteUncovered(
    person: string,
    of: { readonly tenant: string; readonly label: string; readonly at: number },
  ): Promise<void>
  /** By person and label, since then, on subjects of these tenants; of one person alone, if that is said. */
  exposures(of: {
    readonly since: number
    readonly person?: string | undefined
    readonly tenants?: readonly string[] | undefined
  }): Promise<readonly Exposure[]>
  /** In how many minutes since then a person uncovered something, of whichever label. */
  minutesUncovered(person: string, since: number): Promise<number>
  /** The oldest first. */
  notesOf(of: ThreadRef): Promise<readonly PostNote[]>
  /**
   * Keeps a note on the subject of a verdict. False, and it is not kept, if the subject has `most` already, or if this verdict is not in
   * the record any more.
   */
  addNote(of: PostNote & { readonly verdict: string; readonly most: number }): Promise<boolean>
  /** By name. */
  viewsOf(person: string): Promise<readonly SavedView[]>
  /** In place of an earlier one of the same name; false, and it is not kept, if they have `most` others. */
  saveView(person: string, view: SavedView, most: number): Promise<boolean>
  dropView(person: string, name: string): Promise<void>
  close(): Promise<void>
}
