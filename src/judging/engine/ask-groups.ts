import type { TakenCase } from '../../contracts/ports/cases.ts'
import type { AskGroup } from '../../contracts/ports/stage-queues.ts'
import type { KeyedAsk, ReplayState } from './replay.ts'

/**
 * Most asks of a round at a stage that share a job. A round that has more, as of a giant thread, gets a job for each ask:
 * so it waits its turn ask by ask, and holds up no case with few.
 */
const MOST_IN_A_GROUP = 8

/**
 * The open asks of a case's round, in the groups that share a job. A group is named by the whole round, so that a case
 * which is advanced twice to the same round has the same groups, although fewer of their asks are open.
 */
export function groupsOf(
  { record, run }: Pick<TakenCase, 'record' | 'run'>,
  { asked, open }: Extract<ReplayState, { at: 'round' }>,
): AskGroup[] {
  const round = open[0]?.round
  const inRound = asked.filter((one) => one.round === round)
  return [...Map.groupBy(open, ({ ask }) => ask.stage)].flatMap(([stage, asks]) => {
    const of = { protocol: record.protocol, stage, caseId: record.id, run, share: record.share ?? record.id }
    const whole = inRound.filter(({ ask }) => ask.stage === stage).length <= MOST_IN_A_GROUP
    if (whole) return [{ ...of, name: String(round), keys: asks.map(keyOf) }]
    return asks.map(({ key }) => ({ ...of, name: key, keys: [key] }))
  })
}

function keyOf({ key }: KeyedAsk): string {
  return key
}
