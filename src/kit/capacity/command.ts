import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import type { Command } from '../../cli/command.ts'
import { durationMs, notNegative, positive } from '../../cli/options.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { shareOfComments } from '../../judging/engine/routes.ts'
import { COSTS, type Load, type Sizes, sizesFor } from './model.ts'

interface Options {
  readonly postsPerSecond: number
  readonly commentsPerPost: number
  readonly repliesPerSecond: number
  /** ms */
  readonly latency: number
}

/** `gavel capacity`: how many replicas a stream takes, and how large Redis and Kafka are, under the settings. */
export const command: Command<Options, Sizes> = {
  options: [
    new Option('--posts-per-second <n>', 'posts a second at peak').argParser(positive).makeOptionMandatory(),
    new Option('--comments-per-post <n>', 'comments of each post').argParser(notNegative).default(0),
    new Option('--replies-per-second <n>', 'counterspeech messages a second').argParser(notNegative).default(0),
    new Option('--latency <duration>', 'the duration of one model call, such as 800ms or 4s')
      .argParser(durationMs)
      .makeOptionMandatory(),
  ],
  json: true,
  help: 'It uses your settings and measured figures; docs/capacity.md gives its errors.\n\nExample:\n  $ gavel capacity --posts-per-second 5 --comments-per-post 20 --latency 2s',
  async run({ options, settings, terminal }) {
    const load = loadUnder(settings(), options)
    if (load.protocols.length === 0) throw new OperatorError('Every protocol is switched off: nothing would be judged.')
    for (const { name } of load.protocols)
      if (entryOf(COSTS, name) === undefined)
        terminal.say(`${name} is not measured: it counts as one free call of 1,000 tokens (docs/capacity.md).`)
    return sizesFor(load)
  },
  print(sizes, { options, settings, json, terminal }) {
    if (json) return terminal.out(JSON.stringify(sizes))
    for (const line of linesOf(sizes, loadUnder(settings(), options))) terminal.out(line)
    const { total, fresh } = settings().budgets
    if (total.usd === null && total.tokens === null && fresh !== null && sizes.usdPerDay > fresh)
      terminal.out(
        `A new service stops at $${fresh} a day (budgets.fresh): set budgets.total.usd to what a day may cost.`,
      )
  },
}

/**
 * Of the settings' routes only those are looked into that lead comments to a protocol by themselves: each protocol that is on judges
 * all of its other subjects.
 */
function loadUnder(settings: Settings, { latency, ...given }: Options): Load {
  const { protocols, routes, checkpoints, models, kafka, memo } = settings
  const on = makeProtocols(protocols, fences('capacity', 1_000), samplingRanks('capacity'))
  return {
    ...given,
    latency: latency / 1000,
    protocols: on.map((one) => ({
      name: one.name,
      subject: one.subject,
      ofComments: shareOfComments(one, entryOf(routes, one.name)),
    })),
    checkpoints: { counts: checkpoints.counts, ages: checkpoints.ages.length },
    slots: models.slots,
    partitions: kafka.partitions,
    memoKeep: memo.enabled ? memo.keep / 1000 : 0,
    retention: kafka.retention / 1000,
    replication: kafka.replication,
  }
}

function linesOf(sizes: Sizes, load: Load): string[] {
  const { protocols, slots, partitions } = load
  const { replicas, redis, judgeBound, partitionsWanted } = sizes
  const few = (value: number) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en'))
  return [
    `judged: ${few(sizes.verdictsPerSecond)} verdicts a second by ${protocols.map(({ name }) => name).join(', ')}; the slowest protocol takes at least ${few(sizes.leastSeconds)} s`,
    `model: ${few(sizes.callsPerSecond)} calls a second, ${few(sizes.tokensPerMinute)} tokens a minute, $${few(sizes.usdPerDay)} a day`,
    ...commentsIn(sizes, load),
    `judge: ${replicas.judge} replicas of ${slots} slots (${judgeBound})`,
    `intake: ${replicas.intake} replicas${partitionsWanted === null ? '' : `, and ${partitionsWanted} if kafka.partitions were more than ${partitions}`}`,
    `publish: ${replicas.publish} replicas`,
    `Redis: ${redis.cores.toFixed(2)} of a core, and up to ${few(redis.memoGiB)} GiB for the memo beside threads and open cases`,
    `Kafka: up to ${few(sizes.kafkaGiB)} GiB of transcripts with their copies, before compression`,
    'Measure before you trust it (docs/capacity.md).',
  ]
}

/** What comments that are judged by themselves add; nothing where none are. */
function commentsIn({ verdictsPerSecond, usdPerDay }: Sizes, load: Load): string[] {
  const by = load.protocols.filter(({ ofComments }) => ofComments > 0)
  if (by.length === 0) return []
  const without = sizesFor({ ...load, protocols: load.protocols.map((one) => ({ ...one, ofComments: 0 })) })
  const verdicts = verdictsPerSecond - without.verdictsPerSecond
  return [
    `comments by themselves: ${verdicts.toFixed(1)} of these verdicts a second, by ${by.map(({ name }) => name).join(', ')}; they make the day ${(usdPerDay / without.usdPerDay).toFixed(1)} times as dear`,
  ]
}
