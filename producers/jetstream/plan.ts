import { keyOf } from '../../src/contracts/facts/messages.ts'
import type { WithdrawnAccount } from '../../src/contracts/facts/relay-address.ts'
import type { NotedEvents, TakenRecord } from '../../src/contracts/ports/jetstream.ts'
import type { JetstreamOutcome } from '../../src/contracts/ports/report.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import { POSTS, type RecordChange, type RelayEvent, timeOfRev } from './frame.ts'
import { type PostContent, readPost } from './post-record.ts'

/** Which posts are taken, and what of them. */
export interface TakingRules {
  readonly tenant: string
  /** Languages; empty: all. */
  readonly langs: readonly string[]
  /** Whether a post is drawn, by its address: the same at each edit. Its replies go with it. */
  readonly isDrawn: (address: string) => boolean
  readonly replies: boolean
  readonly cdn: string
  /** States of an account in which what it wrote is erased. */
  readonly erase: readonly WithdrawnAccount[]
  readonly topics: { readonly post: string; readonly comment: string }
}

/** What events come to: records for the topics in their order, and what is to be remembered once they are there. */
interface PlannedEvents extends NotedEvents {
  readonly records: readonly OutgoingMessage[]
  readonly outcomes: ReadonlyMap<JetstreamOutcome, number>
}

/** What has to be known before these events are planned: the addresses of records and accounts. */
export function namedIn(events: readonly RelayEvent[]): string[] {
  const names = new Set<string>()
  for (const event of events) {
    if (event.kind === 'account' && !event.active) names.add(event.did)
    if (event.kind !== 'commit' || event.collection !== POSTS) continue
    names.add(addressOf(event))
    const root = readPost(event.record, event.did, '')?.reply?.root
    if (root !== undefined) names.add(root)
  }
  return [...names]
}

/** Plans what is sent for events, by what is known of the records that they name. Sends nothing, so that it can be planned again. */
export function planEvents(
  events: readonly RelayEvent[],
  known: ReadonlyMap<string, TakenRecord>,
  rules: TakingRules,
): PlannedEvents {
  const taken = new Map<string, TakenRecord>()
  const records: OutgoingMessage[] = []
  const gone = new Set<string>()
  const outcomes = new Map<JetstreamOutcome, number>()
  const find = (address: string) => taken.get(address) ?? known.get(address) ?? null
  for (const event of events) {
    const outcome = outcomeOf(event)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  return { records, gone, taken, outcomes }

  function outcomeOf(event: RelayEvent): JetstreamOutcome {
    if (event.kind === 'invalid') return 'invalid'
    if (event.kind === 'account') {
      const withdrawn = !event.active && rules.erase.some((state) => state === event.status)
      if (!withdrawn || find(event.did) === null) return 'passed'
      gone.add(event.did)
      return 'erasure'
    }
    return event.kind === 'commit' && event.collection === POSTS ? changed(event) : 'passed'
  }

  function changed(event: RecordChange): JetstreamOutcome {
    const address = addressOf(event)
    if (Buffer.byteLength(address) > MOST_ADDRESS_BYTES) return 'invalid'
    const before = find(address)
    if (before !== null && (before.isDeleted || event.rev <= before.rev)) return 'duplicate'
    if (event.operation === 'delete') return before === null ? 'passed' : deleted(event, address, before)
    const post = readPost(event.record, event.did, rules.cdn)
    if (post === null) return 'invalid'
    if (before !== null) return sent(event, address, post, { ...before, rev: event.rev }, 'edit')
    const createdAt = createdOf(event)
    if (post.reply === null) {
      if (!isWanted(address, post, rules)) return 'passed'
      return sent(event, address, post, { rev: event.rev, createdAt, root: null, isDeleted: false }, 'post')
    }
    const under = rules.replies ? find(post.reply.root) : null
    if (under === null || under.isDeleted) return 'passed'
    // Whoever calls a reply the root means its thread.
    const root = under.root ?? post.reply.root
    return sent(event, address, post, { rev: event.rev, createdAt, root, isDeleted: false }, 'comment')
  }

  function sent(
    { did }: RecordChange,
    id: string,
    post: PostContent,
    note: TakenRecord,
    outcome: JetstreamOutcome,
  ): JetstreamOutcome {
    const { root } = note
    const base = { id, tenant: rules.tenant, author: did, createdAt: new Date(note.createdAt).toISOString() }
    // Of an edit that leaves nothing the words before it would stand on.
    const left = outcome === 'edit' ? NO_WORDS : ''
    if (root === null) {
      const lang = langOf(post, rules.langs)
      const { media } = post
      const text = post.text === '' && media.length === 0 ? left : post.text
      if (text === '' && media.length === 0) return 'passed'
      write('post', {
        ...base,
        ...(text === '' ? {} : { text }),
        ...(lang ? { lang } : {}),
        ...(media.length > 0 ? { media } : {}),
      })
    } else {
      const text = post.text || altTexts(post) || left
      if (text === '') return 'passed'
      const parent = post.reply?.parent ?? root
      write('comment', { ...base, postId: root, text, ...(parent === root ? {} : { parentId: parent }) })
    }
    taken.set(id, note)
    taken.set(did, { ...note, root: null })
    return outcome
  }

  function deleted(event: RecordChange, id: string, before: TakenRecord): JetstreamOutcome {
    const { root } = before
    const base = { id, tenant: rules.tenant, createdAt: new Date(createdOf(event)).toISOString(), deleted: true }
    if (root === null) write('post', base)
    else write('comment', { ...base, postId: root })
    taken.set(id, { ...before, rev: event.rev, isDeleted: true })
    return 'deletion'
  }

  function write(type: 'post' | 'comment', message: Readonly<Record<string, unknown>>): void {
    records.push({ topic: rules.topics[type], key: keyOf(type, message), value: JSON.stringify(message) })
  }
}

/** Longest address that fits the id of a message. */
const MOST_ADDRESS_BYTES = 512
/** A repository whose revisions are further behind than this, in ms, is not believed: what it writes would be final at once. */
const MOST_BEHIND_MS = 3_600_000

/**
 * When a record was written, ms since 1970: as its revision says, which is the same at every relay, unlike the time at which one saw it.
 * Not what the record says itself, which its author chose.
 */
function createdOf({ rev, time }: RecordChange): number {
  const seen = Math.floor(time / 1_000)
  return Math.min(seen, Math.max(seen - MOST_BEHIND_MS, timeOfRev(rev)))
}

function addressOf({ did, collection, rkey }: RecordChange): string {
  return `at://${did}/${collection}/${rkey}`
}

/** Whether a post is one of those that are taken. */
function isWanted(address: string, post: PostContent, { langs, isDrawn }: TakingRules): boolean {
  return (langs.length === 0 || langOf(post, langs) !== undefined) && isDrawn(address)
}

/** The first of its languages that is wanted. */
function langOf({ langs }: PostContent, wanted: readonly string[]): string | undefined {
  if (wanted.length === 0) return langs[0]
  const all = langs.length === 0 ? ['und'] : langs
  return all.find((lang) => wanted.some((one) => `${lang}-`.toLowerCase().startsWith(`${one}-`.toLowerCase())))
}

const NO_WORDS = '[no words]'

function altTexts({ media }: PostContent): string {
  const alts = media.flatMap((one) => (one.kind === 'image' ? [one] : one.frames)).flatMap(({ alt }) => alt ?? [])
  return alts.map((alt) => `[image: ${alt}]`).join(' ')
}
