/** When threads are judged, and judged again. All times in ms. */
export interface CheckpointSettings {
  /** At these numbers of comments, ascending. */
  readonly counts: readonly number[]
  /** At these ages of the post, ascending. */
  readonly ages: readonly number[]
  /** The age of the final snapshot. */
  readonly finalAge: number
}

/** What a thread's due time means at `now` (stream time): whether it is the final one, and when the next one is. */
export function dueAt(
  createdAt: number,
  now: number,
  settings: CheckpointSettings,
): { readonly final: boolean; readonly nextDue: number | null } {
  const final = now >= createdAt + settings.finalAge
  if (final) return { final, nextDue: null }
  return { final, nextDue: nextAge(createdAt, now, settings) }
}

/** The first due time of a new post. */
export function firstDue(createdAt: number, settings: CheckpointSettings): number {
  return afterStart(createdAt + Math.min(settings.ages[0] ?? settings.finalAge, settings.finalAge))
}

function nextAge(createdAt: number, now: number, { ages, finalAge }: CheckpointSettings): number {
  const next = ages.find((age) => age < finalAge && createdAt + age > now) ?? finalAge
  return afterStart(createdAt + next)
}

/** Keeps a due time from meaning "at once" (0), also for a post from before 1970. */
function afterStart(time: number): number {
  return Math.max(1, time)
}
