import type { AppealOutcome } from '../facts/appeal-messages.ts'
import type { ThreadRef } from '../facts/thread.ts'
import type { Verdict } from '../facts/verdict.ts'

/** The topics that the record is made of. */
export const RECORDED_TOPICS = [
  'posts',
  'comments',
  'counterspeech',
  'verdicts',
  'transcripts',
  'proposals',
  'decisions',
  'decisionOutcomes',
  'reviews',
  'casework',
  'feedback',
  'appeals',
  'appealOutcomes',
  'actions',
] as const
export type RecordedTopic = (typeof RECORDED_TOPICS)[number]

/** A verdict, as it is on its topic. */
export interface RulingEntry {
  readonly what: 'ruling'
  readonly subject: ThreadRef
  readonly id: string
  readonly protocol: string
  readonly number: number
  readonly label: string | null
  readonly decidedBy: string
  readonly degraded: boolean
  /** It was a near thing, by its protocol's rule: debaters who never agreed, perspectives that split three to two. */
  readonly contested: boolean
  /** How sure it is of its label, from 0 to 1; null where it does not say. */
  readonly confidence: number | null
  /** Comments that its thread had accepted. */
  readonly accepted: number
  /** Chance alone had it debated: with which chance, and whether its debate changed the label; null of all others. */
  readonly control: { readonly chance: number; readonly differs: boolean } | null
  /** The id of the ruling or proposal whose words it repeats; null but for a withdrawn human verdict's place. */
  readonly restores: string | null
  /** The clauses that it cites, each with its policy's name before it. */
  readonly clauses?: readonly string[]
  /** Of a person's: the PARTITION@OFFSET of the decision that it came of. */
  readonly decision?: string | undefined
  /** The words by which it can be found, beside its columns. */
  readonly marks: readonly RulingMark[]
  /** ms since 1970 */
  readonly openedAt: number
  readonly decidedAt: number
  readonly json: string
}

export interface RulingMark {
  /**
   * `lane`: the first lane that settled it; `unseen`: a person's, to whom an image could not be shown as it was judged; `elsewhere`: a
   * comment under another post that it was shown, by its key, and that post, by `commentKey` of no comment.
   */
  readonly mark: 'model' | 'prompts' | 'fault' | 'unseen' | 'decider' | 'lane' | 'story' | 'elsewhere' | 'opposed'
  readonly value: string
}

/** Who wrote a subject, in which language, as its message states it, and how it begins, at most `ROW_WORDS` characters. */
export interface SubjectPreview {
  readonly author: string | null
  readonly lang: string | null
  readonly begins: string
  /** Equal for subjects in the same words, with the same pictures; null where it has no words. */
  readonly same: string | null
  /** How many pictures it has. */
  readonly pictures: number
}
export const ROW_WORDS = 400

/** Most of what was said of one subject that is read at once, the newest: anybody who may decide can say as much as they like. */
export const MOST_WORDS = 500

/** Most verdicts of one subject that are read at once, those that stand and the newest: whoever decides makes one each time. */
export const MOST_VERDICTS = 200

/** That somebody wrote a comment that is shown with a subject, or, where `comment` is null, the subject itself. */
export interface WrittenPart {
  readonly author: string
  readonly comment: string | null
}

/** The evidence of a verdict. */
export interface TranscriptEntry {
  readonly what: 'transcript'
  readonly subject: ThreadRef
  readonly verdictId: string
  /** Ids of the comments in it; null if it was cut, and may hold any of its post's. */
  readonly comments: readonly string[] | null
  /** The words of the subject and its comments; null if it has no snapshot of them, as that of a retraction. */
  readonly words: string | null
  /** How a list shows the subject; null as `words`. */
  readonly shown: SubjectPreview | null
  /** Who wrote what of it, by the names that readers see; nothing where it was cut. */
  readonly written: readonly WrittenPart[]
  /** When the first question of it was asked, ms since 1970; null if none was. */
  readonly askedAt: number | null
  /** The broker's time, ms since 1970. */
  readonly at: number
  readonly json: string
}

/**
 * Notes on a verdict: people's decisions and their outcomes; machines' proposals beneath a human verdict; who asks
 * for a second look; feedback; to whom a subject was assigned, whose label is that person, and whose protocol is empty; what was done
 * about a subject, whose label says what; and that this is over, whose label is the action's id; the words of
 * appeals, whose protocol is empty where they name none.
 */
export const SAID = [
  'decision',
  'outcome',
  'proposal',
  'review',
  'feedback',
  'assignment',
  'appeal',
  'pair',
  'action',
  'withdrawal',
] as const
export interface NoteEntry {
  readonly what: 'said'
  readonly said: (typeof SAID)[number]
  readonly subject: ThreadRef
  /** Of feedback: it names the kind of its subject itself. */
  readonly isKindNamed?: boolean
  readonly id: string
  readonly protocol: string
  readonly label: string | null
  readonly by: string
  /** The broker's time; of a proposal when its case opened, of an outcome and a request for review as they say; ms since 1970. */
  readonly at: number
  readonly json: string
  /** Of an action: the verdict that it rests on, or where it names none, a time at which that stood, ms since 1970. */
  readonly rests?: string | number
}

/** Somebody objects to a ruling. Its words are a note of their own. */
export interface AppealEntry {
  readonly what: 'appeal'
  readonly tenant: string
  readonly id: string
  readonly subject: ThreadRef
  /** Empty where it names none. */
  readonly protocol: string
  /** The verdict that it names, or the note of the action. */
  readonly against: string | null
  readonly side: 'author' | 'notifier'
  /** Null: to the label. */
  readonly objectsTo?: 'measure' | null
  /** Who appeals, by a hash of their contact. */
  readonly party: string
  /** 0 in a record that is made anew: its topic may no longer have the verdict, and it waits nonetheless. */
  readonly number?: 0
  /** The broker's time, ms since 1970. */
  readonly at: number
  readonly json: string
}

/** An appeal ended without a ruling on it, or what became of it was told. */
export interface AppealEndEntry {
  readonly what: 'appeal-end'
  readonly tenant: string
  readonly id: string
  readonly outcome: string
  readonly at: number
  readonly told: boolean
  /** Of one that was told: the verdict that answered it, its label, and the code of the reason. */
  readonly verdict?: string | null | undefined
  readonly answer?: string | null | undefined
  readonly code?: string | null | undefined
}

/** A subject was deleted, at this time by the broker: all that was opened or said until then is erased. */
export interface DeletionEntry {
  readonly what: 'deletion'
  readonly subject: ThreadRef
  readonly at: number
}

/** A comment was deleted: what holds its words is erased, whenever it arrives. */
export interface CommentDeletionEntry {
  readonly what: 'comment-deletion'
  readonly post: ThreadRef
  readonly comment: string
  /** The comment as a subject of its own, should it have been judged. */
  readonly itself: ThreadRef
  readonly at: number
}

/** A reply quotes this post: it is erased with it. */
export interface QuoteEntry {
  readonly what: 'quote'
  readonly post: ThreadRef
  readonly reply: ThreadRef
  readonly at: number
}

/** A message of another version, or of none: it is kept as it is, and counted. */
export interface UnreadEntry {
  readonly what: 'unread'
  readonly subjectId: string
  readonly at: number
  readonly raw: Uint8Array
}

export type Entry =
  | RulingEntry
  | TranscriptEntry
  | NoteEntry
  | AppealEntry
  | AppealEndEntry
  | DeletionEntry
  | CommentDeletionEntry
  | QuoteEntry
  | UnreadEntry

/** The content of the messages of one range of a partition, in order. */
export interface RecordBatch {
  readonly topic: RecordedTopic
  readonly partition: number
  /** The offset that was asked for; null where it is not known, and is taken to be the next. */
  readonly from: number | null
  /** The offset behind the range. */
  readonly next: number
  readonly entries: readonly { readonly offset: number; readonly entry: Entry }[]
  /** Offsets before `from` are gone from the topic for good: the record notes that it lacks them. */
  readonly pastHole?: true
}

/**
 * `applied`: rows and position are durable, together. `behind`: the record had all of it. `gap`: it begins behind the record's
 * position, and nothing of it was taken.
 */
export type ApplyOutcome = 'applied' | 'behind' | 'gap'

/** Which verdicts; all that is set must fit. */
export interface RecordFilter {
  /** Those of these tenants. */
  readonly tenants?: readonly string[] | undefined
  readonly protocol?: string
  /** null: those without a label. */
  readonly label?: string | null
  readonly degraded?: true
  /** Decided at or after this time, ms since 1970. */
  readonly since?: number
  /** Decided before this time, ms since 1970. */
  readonly until?: number
  /** The last of its subject and protocol. */
  readonly standing?: true
  readonly contested?: true
  /** Its comments dispute what its post says. */
  readonly opposed?: true
  readonly author?: string
  /** The person who decided it. */
  readonly decider?: string
  /** The id of its post or reply, or of several. */
  readonly subject?: string | readonly string[]
  readonly lang?: string
  /** A model that it rests on. */
  readonly model?: string
  /** The hash of the prompts that it was judged under. */
  readonly prompts?: string
  readonly fault?: string
  /** The id of the story that it names. */
  readonly story?: string
  /** Older than the row of this cursor. */
  readonly before?: string
}

export interface RecordedVerdict {
  readonly verdict: Verdict
  /** Its message, as the record has it: as it was sent, but for what was erased since. */
  readonly sent: string
  /** The last of its subject and protocol. */
  readonly standing: boolean
  /** It was a near thing, by its protocol's rule. */
  readonly contested: boolean
  /** Another message has the same id and other content. */
  readonly conflicting: boolean
  /** Its words are erased, with a comment that it rested on. */
  readonly erased: boolean
  /** A machine's, drawn for people to audit, whatever its label. */
  readonly sampled: boolean
}

/** A verdict as a list shows it, beside the words that it is about. */
export interface RecordedRow extends RecordedVerdict {
  readonly subject: ThreadRef
  readonly author: string | null
  readonly lang: string | null
  /** How its subject begins, at most `ROW_WORDS` characters; null where its words have not come, or are erased. */
  readonly words: string | null
  /** How many pictures its subject has, as far as its words have come. */
  readonly pictures: number
  /** The page after it begins behind this (`RecordFilter.before`). */
  readonly cursor: string
}

/** Most deleted subjects that are named at once: no page shows more rows. */
export const MOST_ERASED = 200

/** The name of the record's file, as it was drawn, and how far it was read. */
export const PLACE_IN_RECORD = /^[0-9a-f]{1,32}\/\d{1,15}$/

/** The rows that came into the record since a place in it. */
export interface Arrivals {
  /** Standing verdicts, first come first, each once the words that it is about are there; again where they were erased. */
  readonly rows: readonly RecordedRow[]
  /** Subjects that were deleted; null if they are more than `MOST_ERASED`: a page that shows rows reads them anew. */
  readonly erased: readonly ThreadRef[] | null
  /** Where to go on, as {@link PLACE_IN_RECORD} has it. */
  readonly at: string
  /** How many more have come, counted up to 10,000. */
  readonly left: number
}

export interface RecordedWord {
  readonly said: NoteEntry['said']
  readonly id: string
  readonly protocol: string
  readonly label: string | null
  readonly by: string
  readonly at: number
  /** The message, as it was sent. */
  readonly message: unknown
}

/** All that the record has of one subject. */
export interface SubjectRecord {
  readonly subject: ThreadRef
  /** The language that its message names. */
  readonly lang: string | null
  /** When it was deleted, ms since 1970; earlier notes on it are erased. */
  readonly deletedAt: number | null
  /** Oldest first. */
  readonly verdicts: readonly RecordedVerdict[]
  readonly said: readonly RecordedWord[]
}

export interface RecordSearch {
  /** Newest first. */
  readonly found: readonly RecordedRow[]
  /** There may be more: the search had looked at its most, or gone on for its longest. */
  readonly stoppedEarly: boolean
  /** There may be more: the record still has texts that were indexed by other rules. They are indexed anew while it is written. */
  readonly reindexing: boolean
}

/** Verdicts of one stretch of time. */
export interface HistogramBin {
  /** When it begins, ms since 1970: a multiple of the width. */
  readonly at: number
  readonly verdicts: number
  /** Posts and replies that these are of. */
  readonly subjects: number
  readonly contested: number
  readonly labels: readonly { readonly label: string | null; readonly verdicts: number }[]
}

export interface RecordHistogram {
  /** Oldest first; a stretch without a verdict is left out. */
  readonly bins: readonly HistogramBin[]
  /** Posts and replies of all of them, each once. */
  readonly subjects: number
  /** Older verdicts may fit as well, and are not counted. */
  readonly isCut: boolean
}

export interface RecordSize {
  readonly bytes: number
  readonly rows: { readonly [What in RecordedRows]: number }
  /** When the oldest verdict in it was decided, ms since 1970; null if there is none. */
  readonly oldest: number | null
  /** Ranges of topics that were gone before they were read. */
  readonly holes: number
  /** The most bytes are reached: older transcripts make room for new verdicts. */
  readonly full: boolean
  /** The tenant that holds most, in bytes by its rows; null while fewer than two hold anything. */
  readonly largest: { readonly tenant: string; readonly bytes: number } | null
  /** It holds more than its share: where there is no room its own makes room first. */
  readonly overShare: boolean
  /** Since when what was deleted waits to be gone from the files as well, ms since 1970; null if nothing waits. */
  readonly erasingSince: number | null
}
export const RECORDED_ROWS = ['verdicts', 'transcripts', 'said', 'unread'] as const
export type RecordedRows = (typeof RECORDED_ROWS)[number]

export interface WrittenPage {
  readonly subjects: readonly ThreadRef[]
  readonly next: string | null
  readonly isComplete: boolean
}

/** How many appeals wait for a person's answer. */
export interface OpenAppeals {
  readonly open: number
  readonly overdue: number
  readonly oldest: number | null
  /** Of those that are open: the record lacks the verdict. */
  readonly unjudged: number
  /** Appeals with an outcome by a person whose own message is gone: their words are lacking. */
  readonly wordless: number
}

/** An outcome that is to be told; `isNew`: for the first time. */
export interface UntoldAppeal {
  readonly outcome: AppealOutcome
  readonly isNew: boolean
}

/** A verdict that no longer bears out what was done, or by which a person answered that it is too much, and the note of that action. */
export interface Reversal {
  readonly verdict: string
  readonly action: string
  readonly asks: 'reversal' | 'lessen' | 'lift'
}

export type AppealsAsked =
  | { readonly id: string }
  /** `after`: those behind this one, at most `most`. */
  | { readonly since: number; readonly until: number; readonly after: RecordedAppeal | null; readonly most: number }

/** An appeal, and what became of it, as the record has both. */
export interface RecordedAppeal {
  readonly id: string
  readonly tenant: string
  /** Empty where that is not known. */
  readonly by: string
  readonly protocol: string
  /** When it came, by the broker, ms since 1970; of one that has no words, when it was told of. */
  readonly at: number
  /** Null where it is not known what it is about. */
  readonly subject: ThreadRef | null
  /** Null while it waits. */
  readonly outcome: AppealOutcome | null
  /** The verdict that answered it was withdrawn. */
  readonly isUndone: boolean
}

/** The reading half of the record. */
export interface RecordReader {
  /** Names this record, and its Kafka group: another, or an emptied one, has another name. */
  name(): Promise<string>
  /** All of one subject, of its verdicts `MOST_VERDICTS`, of what was said of it the newest `MOST_WORDS` and each open appeal; of a post and a reply with this id the post, unless `kind` names one. null if there is nothing. */
  subject(of: { tenant: string; id: string; kind?: ThreadRef['kind'] | undefined }): Promise<SubjectRecord | null>
  /** One verdict, if it is of one of these tenants; null if there is none. */
  verdict(id: string, tenants?: readonly string[]): Promise<RecordedRow | null>
  /** The note with this id (a proposal's is its own), if it is of one of these tenants; null if there is none. */
  word(id: string, tenants?: readonly string[]): Promise<(RecordedWord & { readonly subject: ThreadRef }) | null>
  /** What appeals and actions of this id are about, of these tenants. */
  subjectsNamed(id: string, tenants: readonly string[]): Promise<readonly ThreadRef[]>
  /** One appeal; or those that came in this time, the oldest first, without such as were one too many: these are forgotten. */
  appeals(tenant: string, of: AppealsAsked): Promise<readonly RecordedAppeal[]>
  /** The newest verdicts that fit, newest first. */
  find(filter: RecordFilter, limit: number): Promise<readonly RecordedRow[]>
  /** The newest `most` verdicts that fit, counted by when they were decided, in stretches of `width` ms. */
  histogram(filter: RecordFilter, of: { width: number; most: number }): Promise<RecordHistogram>
  /**
   * At most so many rows since `after`, of all tenants. null, or a place in another file, is now: a first call tells
   * where to begin.
   */
  arrivals(after: string | null, most: number): Promise<Arrivals>
  /**
   * The newest of the standing verdicts that fit, and in whose subject, comments or rationale all of the query's terms
   * stand, by the rules of `src/record/grams.ts`.
   */
  search(query: string, filter: RecordFilter, limit: number): Promise<RecordSearch>
  /** The transcript of a verdict as it was sent; null if there is none, or it was erased. */
  transcript(verdictId: string): Promise<string | null>
  /**
   * Some of what an author of a tenant wrote of which it may hold words, comments of a post by themselves: `next` is where the search goes
   * on, null at its end. Not `isComplete`: it still has transcripts of an earlier version to look through.
   */
  writtenBy(author: { tenant: string; author: string }, after: string | null, most: number): Promise<WrittenPage>
  /** By which chance a subject was drawn for audit of what a protocol says of it; null if it was not. */
  auditChance(of: ThreadRef, protocol: string): Promise<number | null>
  /** Every subject, each as it is when it is read; a deleted one is left out. `decided`: those alone that people decided on. */
  export(only?: 'decided'): AsyncIterable<SubjectRecord>
  /** Every action and withdrawal, in the order in which they were taken, also of subjects that were deleted. */
  actions(): AsyncIterable<RecordedWord>
  /** The notes of a tenant's actions whose statement was given up, so that no receiver got it. */
  givenUp(tenant: string): Promise<readonly string[]>
  size(): Promise<RecordSize>
  close(): Promise<void>
}

/**
 * Verdicts and notes, kept for longer than the topics keep them. It is made from the topics, and can be made anew from them,
 * as far as they reach back. Rows and the position in each partition are written together: a reader that dies loses nothing,
 * and repeats nothing.
 */
export interface RecordStore extends RecordReader {
  /** Takes another name: its group begins at the beginning of each partition, and the record skips what it has. */
  rename(): Promise<string>
  apply(batch: RecordBatch): Promise<ApplyOutcome>
  /** The partition was made anew: reading begins at its beginning, which is noted as a hole. */
  restart(topic: RecordedTopic, partition: number): Promise<void>
  /** The next offset of each partition, by `topic/partition`. */
  positions(): Promise<ReadonlyMap<string, number>>
  /** Whether something of this tenant still stands that stood under a deleted post, or quotes one: each step erases some. */
  hasDependents(tenant: string): Promise<boolean>
  /**
   * Outcomes of appeals that are not on their topic, the oldest first, those of a flood last; each is given out again after a while that
   * doubles up to hours, until it is there. `readUntil`: all that was sent before this time is read; absent: all. None was superseded that
   * came later: what was done about its subject may be unread.
   */
  untoldAppeals(now: number, most: number, readUntil?: number): Promise<readonly UntoldAppeal[]>
  /** How many appeals wait for somebody, and since when the oldest of them, ms since 1970; `overdue`: since this time or an earlier one. */
  openAppeals(dueSince: number): Promise<OpenAppeals>
  /** Actions whose reversal is to be asked for, until that is settled. */
  reversals(most: number): Promise<readonly Reversal[]>
  settleReversal(reversal: Reversal): Promise<void>
  /** The notes of actions whose statement is to be sent by now, until that is settled; of each tenant as many, so that none waits for another's. */
  unstated(now: number, most: number): Promise<readonly string[]>
  /** `again`: when it is tried again, ms since 1970, or that it is given up; null: it is done. */
  settleStatement(action: string, again: number | null): Promise<void>
  /** Keeps for good that these first lanes are closed (`laneMark`), and tells all that are. */
  keepClosed(marks: readonly string[]): Promise<readonly string[]>
  /**
   * One step of what is due without a message: expiry, texts without a transcript, erasures that wait for a file. `readUntil`: all that
   * was sent before this time is read; absent: all.
   */
  tidy(now: number, readUntil?: number): Promise<void>
}

/** The record's file is damaged, and nothing more is read of it. */
export class RecordDamaged extends Error {
  override readonly name = 'RecordDamaged'
}

/** Its database does not answer, or does not let Gavel in; what was not written is tried again. */
export class RecordAway extends Error {
  override readonly name = 'RecordAway'
}

/** There is no room for a batch; it is tried again. */
export class RecordFull extends Error {
  override readonly name = 'RecordFull'
}
