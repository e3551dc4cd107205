import { OperatorError } from '../domain/errors.ts'
import type { GroupProgress } from '../ports/topic.ts'
import { inputsOf } from './input-topics.ts'
import { hasPublished } from './own-topics.ts'
import type { Run } from './run.ts'

/** What counts as accepted because somebody said so; `isUnknown`: nobody did, and a dry run goes on without. */
export interface ChosenProgress {
  readonly progress: GroupProgress
  readonly isUnknown: boolean
}

/**
 * What counts as accepted by a group that has no offsets: Kafka forgets them after a time, with their topic, and a new
 * group has none. Null where the group's own offsets tell, and where nothing was ever published. Throws an
 * `OperatorError` if somebody has to choose, or if what was chosen can't be noted.
 */
export async function chosenProgress(run: Run): Promise<ChosenProgress | null> {
  const { upTo, dryRun, group } = run
  const { committed, alone } = await run.progress()
  if ([...committed.values()].some(({ size }) => size > 0)) {
    if (upTo === null) return null
    throw new OperatorError(
      `The group ${group} has offsets, which show what was accepted: leave out ${upTo === 'nothing' ? '--new-beginning' : '--up-to'}.`,
    )
  }
  const nothing = { committed: new Map(), alone }
  if (upTo === null) {
    if (!(await hasPublished(run))) return null
    if (!dryRun) throw new OperatorError(whatToChoose(group))
    return { progress: nothing, isUnknown: true }
  }
  if (upTo === 'nothing') return { progress: nothing, isUnknown: false }
  if (!dryRun && !alone)
    throw new OperatorError(
      `The group ${group} has members, and Kafka accepts offsets for it only while it has none. Restart the services with the role intake (they stay out of the group until Redis is recovered); then run this again.`,
    )
  const accepted = await Promise.all(
    inputsOf(run).map(async (topic) => {
      const all = await run.history.rangesOf(topic, upTo === 'end' ? null : upTo)
      return [topic, new Map([...all].map(([at, { from, to }]) => [at, upTo === 'end' ? to : from]))] as const
    }),
  )
  return { progress: { committed: new Map(accepted), alone }, isUnknown: false }
}

function whatToChoose(group: string): string {
  return [
    `The group ${group} has no offsets, so it is not known which messages were accepted before. Say it:`,
    '  --up-to end        all that the topics hold now: what has its verdict is not judged again',
    '  --up-to TIME       what was sent before this time (ISO 8601); what came later is read by the services',
    '  --new-beginning    nothing: the services read everything again, and judge it under the numbers after the last ones',
    '"gavel recover --dry-run" shows what would be judged, and the price.',
  ].join('\n')
}
