import type { AgreementQuery, ComparedGroup, ComparedQuery, ComparedRuling } from '../facts/agreement.ts'
import type { ThreadRef } from '../facts/thread.ts'

/**
 * Why people should look at a verdict. `appealed`: its author, or who reported it, objects; `undecided`: no label; `contested`: a near thing; `single`: one opinion, without a debate, on a
 * thread with many comments; `degraded`: made from less than its protocol wants; `refused`, `disputed`, `differs`, `edited`: by a request for review of this verdict; `story-decided`, `story-differs`: by one for posts in the same words, of which a person decided one otherwise, or which have labels that contradict one another; `reversal`: an action is in force whose verdict is overruled; `measure`: one is that was found too much; `sampled`: drawn for audit;
 * `second-opinion`: a person's verdict, drawn to be judged once more by somebody who does not see it.
 */
export const LOOK_REASONS = [
  'appealed',
  'undecided',
  'contested',
  'single',
  'degraded',
  'refused',
  'disputed',
  'differs',
  'story-decided',
  'story-differs',
  'edited',
  'reversal',
  'measure',
  'sampled',
  'second-opinion',
] as const
export type LookReason = (typeof LOOK_REASONS)[number]

/**
 * Why an item is in the queue. `golden`: a lead holds a person's verdict to be right, and others answer it blindly. Nobody is told: it
 * is shown as a second opinion, and in no list but to who has taken it.
 */
export type QueueReason = LookReason | 'golden'

/**
 * Why something was drawn at random: `audit`, to see how often machines' verdicts are wrong; `control`, how often a debate changes
 * what would have been published without it; `second-opinion`, how often two people disagree.
 */
export const DRAW_PURPOSES = ['audit', 'control', 'second-opinion'] as const
export type DrawPurpose = (typeof DRAW_PURPOSES)[number]

/** How often what was drawn differs from what it is held against: an error rate, if that is taken to be right. */
export interface DrawnRate {
  readonly protocol: string
  readonly purpose: DrawPurpose
  /** Of which of the protocol's draws: all, or those of one label (the one that is checked) or language. */
  readonly part: 'all' | 'label' | 'language'
  readonly value: string
  /** Draws that count. */
  readonly counted: number
  readonly differing: number
  /** The weighted share that differs; null where nothing counts yet. */
  readonly share: number | null
  /** Its 95 % interval: from 0 to 1 where nothing counts. */
  readonly interval: { readonly low: number; readonly high: number }
  /** How many equally likely draws would say as much. */
  readonly effective: number
  /** Drawn, and nobody has looked yet. */
  readonly waiting: number
  /** Looked at before their turn: they count as soon as all that was drawn of their tenant before them is known. */
  readonly ahead: number
  /** The first that holds others of its tenant up; null where nothing waits. */
  readonly next: string | null
}

/** A first lane that the settings name, and what it promises: of each of its groups at most `risk` is wrong, with a chance of 1 − delta. */
export interface LaneInUse {
  readonly protocol: string
  /** Its hash, and what its closing is kept by. */
  readonly lane: string
  readonly basis: string
  readonly tenant: string | null
  readonly risk: number
  readonly delta: number
  /** Labels in languages that it may settle. */
  readonly groups: number
}

/** What people's labels say of what a first lane settled. */
export interface LaneAudit {
  /** Of its verdicts, at random; and how many of these count: those before the first that nobody has looked at. */
  readonly drawn: number
  readonly audited: number
  readonly wrong: number
  /** Drawn, and edited, judged anew or erased before anybody had looked: these count neither as right nor as wrong. */
  readonly lost: number
  /** The weighted share that is wrong, and its 95 % interval. */
  readonly share: DrawnRate['share']
  readonly interval: DrawnRate['interval']
  /** Against the lane's promise: the most of these e-values. */
  readonly evidence: number
  /** What the labels of several tenants show, whichever one of them is left out. */
  readonly evidenceOfAll: number
  /** What each tenant's own show. */
  readonly tenants: readonly { readonly tenant: string; readonly evidence: number }[]
  /** The first that nobody has looked at, and since when it waits, ms since 1970; null where there is none. */
  readonly next: string | null
  readonly nextSince: number | null
}

/** How one person decided in a period. A share of few items is not told, and is null. */
export interface PersonQuality {
  readonly by: string
  /** Decisions that took effect. */
  readonly decisions: number
  /** Second opinions given. */
  readonly opinions: number
  /** Second opinions, given and received, that have the same label as the verdict. */
  readonly blindAgreement: { readonly times: number; readonly of: number } | null
  /** Answers to golden items that have the key's label, of those whose key still stands. */
  readonly golden: { readonly times: number; readonly of: number } | null
  /** The median time that an item was shown before they decided, of those that say. */
  readonly seconds: number | null
  /** Decisions to which somebody else gave another label since, or which somebody else withdrew. */
  readonly overturned: { readonly times: number; readonly of: number } | null
}

/** A time from `since` until before `until`, ms since 1970. */
export interface Period {
  readonly since: number
  readonly until: number
}

/** One verdict that people should look at: the last of its subject and protocol. */
export interface ReviewItem {
  /** The verdict's id, which names the item as well. */
  readonly verdict: string
  readonly subject: ThreadRef
  readonly protocol: string
  readonly revision: number
  /** Its label; null if it has none, and for a second opinion, which is blind. */
  readonly label: string | null
  readonly reasons: readonly LookReason[]
  /** The cost of a mistake, by the rule of docs/review.md. */
  readonly score: number
  /** Since when it waits, ms since 1970. */
  readonly since: number
  /** How its subject begins, and in which language it is. */
  readonly words: string | null
  readonly lang: string | null
  /** How many pictures it has. */
  readonly pictures: number
  readonly reservation: { readonly by: string; readonly until: number } | null
  /** It is about what the person who asks decided themselves: they have it as a lead, since nobody else took it for long. */
  readonly isOwnCase: boolean
}

/** An item of a post, and whether the person who asks may take it. */
export interface PostItem extends ReviewItem {
  readonly may: 'yes' | 'taken' | 'own' | 'assigned'
}

/** A post, or reply, with all that waits of it, whatever brought it into the list: what a mistake would cost most comes first. */
export interface ReviewPost {
  readonly subject: ThreadRef
  readonly words: string | null
  readonly lang: string | null
  /** How many pictures it has. */
  readonly pictures: number
  /** Who is to review it; null: nobody in particular. */
  readonly assignee: string | null
  /** Who gave it to its assignee. */
  readonly assignedBy: string | null
  readonly items: readonly PostItem[]
}

/** Where a page of posts ends: the next one goes on behind it, whatever was decided meanwhile. */
export interface QueuePlace {
  /** By which time costs were reckoned, ms since 1970. */
  readonly at: number
  readonly score: number
  readonly since: number
  readonly verdict: string
}

/** How far posts that wait are counted. */
export const MOST_POSTS_COUNTED = 1_000

export interface PostPage {
  readonly posts: readonly ReviewPost[]
  /** Posts that fit, on all pages; `MOST_POSTS_COUNTED` where they are as many or more. */
  readonly waiting: number
  /** null: this is the last page. */
  readonly next: QueuePlace | null
}

export interface QueueFilter {
  readonly tenants?: readonly string[] | undefined
  /** Items of none of these tenants. */
  readonly exceptTenants?: readonly string[] | undefined
  readonly protocol?: string | undefined
  /** This item alone. */
  readonly verdict?: string | undefined
  /** These alone. */
  readonly verdicts?: readonly string[] | undefined
  /** Items of the same tenant and protocol whose subjects are in the same words as that of this item. */
  readonly copiesOf?: string | undefined
  /** Items that wait for this reason, whichever else they have; golden ones are found by it alone. */
  readonly reason?: QueueReason | undefined
  /** Items of this label; a second opinion, which is blind, is never among them. */
  readonly label?: string | undefined
  readonly lang?: string | undefined
  /** Items whose thread has so many comments or more. */
  readonly reach?: number | undefined
  /** Items that wait since this time or an earlier one, ms since 1970. */
  readonly waitingSince?: number | undefined
  /**
   * Whether or not the person of `for` may take them: items that this person has reserved, that anybody has, or all, reserved or
   * not.
   */
  readonly reserved?: 'own' | 'all' | 'any' | undefined
  /** Items of subjects that are assigned to this person. */
  readonly assigned?: string | undefined
  /** Items that this person may take: none reserved by or assigned to somebody else, and no case of their own (`judgesPeople`). */
  readonly for?: string | undefined
  /** They are a lead over these tenants; without tenants: over all. */
  readonly lead?: { readonly tenants?: readonly string[] | undefined } | undefined
  /** By the cost of a mistake where nothing is said. */
  readonly order?: 'cost' | 'oldest' | undefined
}

/**
 * `reserved`: it is this person's until then, with what they must know of it, and (`golden`) what they must not; `taken`: somebody else's; `assigned`: somebody else is to review it; `own`: it is about
 * what they decided themselves; `many`: they have reserved `MOST_RESERVATIONS` others; `gone`: nothing like this waits.
 */
export type ReviewReservation =
  | { readonly outcome: 'reserved'; readonly item: ReviewItem; readonly golden?: true }
  | { readonly outcome: 'taken'; readonly by: string; readonly until: number }
  | { readonly outcome: 'assigned'; readonly to: string }
  | { readonly outcome: 'own' | 'many' | 'gone' }

/** Most items that one person reserves at once, so that nobody takes all that waits. */
export const MOST_RESERVATIONS = 20

/** How the queue stands, and how people's verdicts compare, by protocol. */
export interface ReviewState {
  readonly queue: readonly { readonly protocol: string; readonly waiting: number; readonly oldest: number }[]
  /** Standing human verdicts by whether the machine's last ruling beneath, or a blind second opinion, has the same label. */
  readonly agreement: readonly {
    readonly protocol: string
    readonly beside: 'machine' | 'person'
    readonly agrees: boolean
    readonly verdicts: number
  }[]
}

/** A person's verdict that stands, beside what others say of the same. */
export interface Judgement {
  readonly subject: ThreadRef
  readonly protocol: string
  readonly lang: string | null
  readonly label: string
  readonly by: string
  /** The machines' last verdict before it; null where there was none, or it had no label. */
  readonly machine: { readonly label: string; readonly models: readonly string[]; readonly prompts: string } | null
  /** That verdict was drawn for audit, and not chosen for being doubtful. */
  readonly audited: boolean
  /** The last blind opinion of each other person on it. */
  readonly opinions: readonly { readonly by: string; readonly label: string }[]
}

/** What has become of a decision: it is current, was withdrawn, or another verdict has replaced it; or it withdrew one, was an opinion, or was not carried out. */
export const DECISION_KINDS = ['stands', 'withdrawn', 'replaced', 'withdrawal', 'opinion', 'refused'] as const
export type DecisionKind = (typeof DECISION_KINDS)[number]

/** What a person decided, withdrew, or gave as an opinion. */
export interface PersonDecision {
  readonly by: string
  readonly at: number
  readonly subject: ThreadRef
  readonly protocol: string
  /** null: they withdrew a verdict. */
  readonly label: string | null
  readonly isOpinion: boolean
  /** The current verdict of this subject and protocol; null where the record has none. */
  readonly verdict: string | null
  /** It was carried out: what came too late was not, nor, yet, what is on its way. Never so of an opinion. */
  readonly isTaken: boolean
  /** That one came of this decision. */
  readonly isCurrent: boolean
  /** The verdict that came of it was withdrawn. */
  readonly isWithdrawn: boolean
  /** The verdict that they decided on; null where the record has none. */
  readonly seen: { readonly verdict: string; readonly label: string | null; readonly isDegraded: boolean } | null
  /** Where it stands among all. */
  readonly place: string
}

/** Which decisions are asked for. */
export interface DecisionQuery {
  /** Who asks: of golden items they see what they said themselves alone. */
  readonly viewer: string
  readonly person?: string | undefined
  /** A person as somebody writes their name: capital letters or not. */
  readonly named?: string | undefined
  readonly protocol?: string | undefined
  /** On the post or reply of this id. */
  readonly subject?: string | undefined
  readonly kind?: DecisionKind | undefined
  /** On verdicts that were made from less than their protocol wants. */
  readonly degraded?: true | undefined
  /** Decisions with another label than the verdict that they were on. */
  readonly overrules?: true | undefined
  /** ms since 1970 */
  readonly since: number
  /** Behind the one of this place. */
  readonly before?: string | undefined
  readonly tenants?: readonly string[] | undefined
}

/** An entry of the ledger of draws. */
export interface DrawEntry {
  readonly item: string
  readonly subject: ThreadRef
  readonly purpose: DrawPurpose
  readonly protocol: string
  readonly verdict: string
  readonly chance: number
  /** When it was drawn, ms since 1970. */
  readonly at: number
  /** What was found out; `left`: nobody is asked any more. */
  readonly found: 'waits' | 'same' | 'differs' | 'left'
  /** Where it stands among all. */
  readonly place: string
}

/** What could have been drawn for a purpose since it first was, beside what was. */
export interface DrawSum {
  readonly purpose: DrawPurpose
  readonly protocol: string
  /** Of which chance chose: subjects with a verdict, or people's verdicts; null where the ledger alone tells, as of controls. */
  readonly eligible: number | null
  readonly drawn: number
  readonly reviewed: number
  /** Of these. */
  readonly differing: number
  readonly waiting: number
  /** Nobody is asked about them any more. */
  readonly left: number
  /** The lowest and the highest chance with which one was drawn. */
  readonly chance: { readonly low: number; readonly high: number }
  /** When the first was drawn, ms since 1970. */
  readonly since: number
}

/** Which draws are asked for. */
export interface DrawQuery {
  readonly tenants?: readonly string[] | undefined
  readonly protocol?: string | undefined
  readonly purpose?: DrawPurpose | undefined
  /** Behind the one of this place. */
  readonly before?: string | undefined
}

/** The review queue. It is made from the record; only reservations are its own, and a rebuilt record has none. */
export interface ReviewQueue {
  /** The dearest first, of equal ones the oldest, behind the first `skip` of them; `waiting` counts all that fit. */
  list(
    filter: QueueFilter,
    most: number,
    now: number,
    skip?: number,
  ): Promise<{ items: readonly ReviewItem[]; waiting: number }>
  /** The same by posts, each in the place of its first item that fits; a page begins behind the place where another ended. */
  posts(filter: QueueFilter, most: number, now: number, after: QueuePlace | null): Promise<PostPage>
  /** Takes an item, or (null) the first that fits, for a while; a reservation of one's own is renewed. */
  reserve(
    item: string | null,
    filter: QueueFilter & { readonly for: string },
    until: number,
    now: number,
  ): Promise<ReviewReservation>
  /** Gives an item back; `anyone`: also one that somebody else has. False if there was nothing to give back. */
  release(item: string, by: string, of: { readonly anyone: boolean }, now: number): Promise<boolean>
  /** What people decided, the newest first. */
  decisions(query: DecisionQuery, most: number): Promise<readonly PersonDecision[]>
  /** Who decided on subjects of this tenant since then, in order. */
  deciders(tenant: string, since: number, most: number): Promise<readonly string[]>
  state(): Promise<ReviewState>
  /** What waits of subjects of these tenants, whoever may take it. */
  totals(tenants?: readonly string[] | undefined): Promise<ReviewState['queue']>
  /** What the ledger of draws shows by now, of subjects of these tenants. */
  drawnRates(tenants?: readonly string[] | undefined): Promise<readonly DrawnRate[]>
  /** What the ledger has of each purpose and protocol, beside what it was drawn from. */
  drawSums(tenants?: readonly string[] | undefined): Promise<readonly DrawSum[]>
  /** The ledger's own entries, the newest first. */
  draws(query: DrawQuery, most: number): Promise<readonly DrawEntry[]>
  /** What people say of what this lane settled, by its hash. */
  laneAudit(lane: string, promise: { readonly risk: number; readonly groups: number }): Promise<LaneAudit>
  /** How people decided on subjects of these tenants, who decided most first. */
  peopleQuality(period: Period, tenants?: readonly string[] | undefined): Promise<readonly PersonQuality[]>
  /** How the machines' verdicts compare with people's words on the same. */
  comparedGroups(query: AgreementQuery): Promise<readonly ComparedGroup[]>
  /** Such verdicts one by one, those first on which people spoke last. */
  compared(query: ComparedQuery, most: number): Promise<readonly ComparedRuling[]>
  close(): Promise<void>
}
