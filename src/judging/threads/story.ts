import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { VerdictStory } from '../../contracts/facts/verdict-fields.ts'
import { reachedBy } from './head-start.ts'
import type { Thread } from './thread.ts'

// The twin of src/store/redis/include/story.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** What a story takes of each thread of it, in bytes. */
export const STORY_BYTES = 300

/** Threads of a story of which others of it may be shown comments: those that a draw picks, whoever writes how many. */
export const MOST_TWINS = 16

/** A verdict as stories hear of it: a `proposal` is beneath a person's, and counts for nothing. */
interface StoryVerdict {
  readonly by: 'machine' | 'person' | 'withdrawal' | 'proposal'
  readonly label: string | null
  readonly verdictId: string
  /** Labels that contradict one another. */
  readonly opposed: readonly string[]
}

/** What is known of the posts that say the same. */
interface Story {
  members: number
  reach: number
  /** By protocol and label, how many have it. */
  readonly labels: Map<string, Map<string, number>>
  /** By protocol what a person decided last, of whose subject. */
  readonly current: Map<string, { readonly label: string; readonly verdictId: string; readonly of: string }>
  /** By protocol the subject of which people were asked to look at it. */
  readonly asked: Map<string, string>
}

/** Stories in memory. */
export interface Stories {
  /** A thread changed: counts follow. */
  follow(before: Thread | null, after: Thread | null): void
  /** Notes a verdict; returns what it says of its story, null if it has none, and why people are asked to look at it. */
  tell(thread: Thread, protocol: string, verdict: StoryVerdict): StoryReply
}

interface StoryReply {
  readonly story: VerdictStory | null
  readonly review?: { readonly why: 'story-differs' | 'story-decided'; readonly label?: string }
}

const nameIn = ({ kind, tenant, postId }: ThreadRef) => `${kind}:${tenant}:${postId}`

export function stories(): Stories {
  const all = new Map<string, Story>()
  const keyOf = ({ ref: { tenant }, story }: Thread) => `${tenant}:${story}`

  function add(thread: Thread, sign: 1 | -1): void {
    const key = keyOf(thread)
    const known: Story = all.get(key) ?? {
      members: 0,
      reach: 0,
      labels: new Map(),
      current: new Map(),
      asked: new Map(),
    }
    known.members += sign
    known.reach += sign * reachedBy(thread.reachAhead)
    for (const [protocol, label] of thread.told) {
      const labels = known.labels.get(protocol) ?? new Map<string, number>()
      known.labels.set(protocol, labels.set(label, (labels.get(label) ?? 0) + sign))
    }
    all.set(key, known)
  }

  return {
    follow(before, after) {
      if (after?.story != null) add(after, 1)
      if (before?.story != null) add(before, -1)
      if (before?.story != null && all.get(keyOf(before))?.members === 0) all.delete(keyOf(before))
      if (before?.story == null || before.story === after?.story) return
      const [left, own] = [all.get(keyOf(before)), nameIn(before.ref)]
      for (const [protocol, { of }] of left?.current ?? []) if (of === own) left?.current.delete(protocol)
      for (const [protocol, of] of left?.asked ?? []) if (of === own) left?.asked.delete(protocol)
    },
    tell(thread, protocol, verdict) {
      const known = thread.story === null ? undefined : all.get(keyOf(thread))
      if (known === undefined || thread.story === null) return { story: null }
      return told(known, thread.story, { protocol, of: nameIn(thread.ref), verdict })
    },
  }
}

function told(
  known: Story,
  id: string,
  { protocol, of, verdict }: { protocol: string; of: string; verdict: StoryVerdict },
): StoryReply {
  const { by, label, verdictId, opposed } = verdict
  if (by === 'person' && label !== null) known.current.set(protocol, { label, verdictId, of })
  else if (by === 'withdrawal' && known.current.get(protocol)?.of === of) known.current.delete(protocol)
  const labels = [...(known.labels.get(protocol) ?? [])].filter(([, count]) => count > 0).sort()
  const current = known.current.get(protocol)
  const story: VerdictStory = {
    id,
    members: known.members,
    reach: known.reach,
    labels: Object.fromEntries(labels),
    ...(current === undefined ? {} : { current: { label: current.label, verdictId: current.verdictId } }),
  }
  if (by !== 'machine') return { story }
  if (current !== undefined)
    return current.label === label ? { story } : { story, review: { why: 'story-decided', label: current.label } }
  if (label === null) return { story }
  const differs = labels.filter(([name]) => opposed.includes(name)).length > 1
  if (!differs) known.asked.delete(protocol)
  if (!differs || known.asked.has(protocol)) return { story }
  known.asked.set(protocol, of)
  return { story, review: { why: 'story-differs' } }
}

/** The thread's last verdict has this label; null where it has none. */
export function withToldLabel(thread: Thread, protocol: string, label: string | null): Thread {
  if (thread.story === null || (thread.told.get(protocol) ?? null) === label) return thread
  const told = new Map(thread.told)
  if (label === null) told.delete(protocol)
  else told.set(protocol, label)
  return { ...thread, told }
}

/** The place of the story in a verdict, JSON, until the store knows what it says there. */
const PLACE = '{"schema":2,"story":null,'

/** A verdict, JSON, with what it says of its story in its place; null: nothing. */
export function withStory(json: string, story: VerdictStory | null): string {
  if (!json.startsWith(PLACE)) return json
  const said = story === null ? '' : `"story":${JSON.stringify(story)},`
  return `{"schema":2,${said}${json.slice(PLACE.length)}`
}
