import { InvalidArgumentError, Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import type { Command } from '../../cli/command.ts'
import { durationMs, notNegative, positive, positiveWhole, share } from '../../cli/options.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { shareOfComments, shareOfSubjects } from '../../judging/engine/routes.ts'
import { COSTS, type JudgingWay, type Load, OF_A_CORE, type Sizes, sizesFor } from './model.ts'
import { type AffordableShare, affordable } from './within-budget.ts'

interface Options {
  readonly postsPerSecond: number
  readonly commentsPerPost: number
  readonly repliesPerSecond: number
  /** ms */
  readonly latency: number
  readonly repeats: number
  /** Shares of subjects by protocol, in the place of what routes say. */
  readonly share?: Readonly<Record<string, number>>
  readonly gavels: number
  readonly usd?: number
  /** ms */
  readonly within?: number
}

/** What the command finds. */
interface Capacity {
  readonly sizes: Sizes
  readonly load: Load
  /** What a budget pays for; null where none was given. */
  readonly affordable: AffordableShare | null
}

/** `gavel capacity`: how many replicas a stream takes, and how large Redis and Kafka are, under the settings. */
export const command: Command<Options, Capacity> = {
  options: [
    new Option('--posts-per-second <n>', 'posts a second at peak').argParser(positive).makeOptionMandatory(),
    new Option('--comments-per-post <n>', 'comments of each post').argParser(notNegative).default(0),
    new Option('--replies-per-second <n>', 'counterspeech messages a second').argParser(notNegative).default(0),
    new Option('--latency <duration>', 'the duration of one model call, such as 800ms or 4s')
      .argParser(durationMs)
      .makeOptionMandatory(),
    new Option('--repeats <share>', 'share of posts and replies whose words the memo knows, 0 to 1')
      .argParser(share)
      .default(0),
    new Option(
      '--share <protocol=share>',
      'share of its subjects that a protocol judges, where routes alone do not tell',
    ).argParser((text: string, before: Record<string, number> | undefined) => ({ ...before, ...shareOf(text) })),
    new Option('--gavels <n>', 'Gavels that divide the stream, each with its own Redis')
      .argParser(positiveWhole)
      .default(1),
    new Option('--usd <n>', 'what a day may cost: how much of the stream that judges, and by which routes').argParser(
      positive,
    ),
    new Option('--within <duration>', 'with --usd: protocols that cannot answer so soon are left out').argParser(
      durationMs,
    ),
  ],
  json: true,
  help: 'It uses your settings and measured figures; docs/capacity.md gives its errors. The exit code is 1 if one Redis cannot carry the stream, or budgets.total does not pay for it.\n\nExamples:\n  $ gavel capacity --posts-per-second 5 --comments-per-post 20 --latency 2s\n  $ gavel capacity --posts-per-second 20 --latency 2s --usd 2000 --within 90s',
  async run({ options, settings, terminal, misused }) {
    if (options.within !== undefined && options.usd === undefined) misused('--within goes with --usd')
    const load = loadUnder(settings(), options)
    const unknown = Object.keys(options.share ?? {}).find((name) => load.protocols.every((one) => one.name !== name))
    if (unknown !== undefined) misused(`--share: ${unknown} is no protocol that is on`)
    if (load.protocols.length === 0) throw new OperatorError('Every protocol is switched off: nothing would be judged.')
    for (const { name } of load.protocols)
      if (entryOf(COSTS, name) === undefined)
        terminal.say(`${name} is not measured: it counts as one free call of 1,000 tokens (docs/capacity.md).`)
    const { usd, within } = options
    const bounds =
      usd === undefined
        ? null
        : { usdPerDay: usd * (1 / options.gavels), withinSeconds: (within ?? Number.NaN) / 1000 || null }
    const found = bounds === null ? null : affordable(load, settings().routes, bounds)
    return { sizes: sizesFor(found?.load ?? load), load: found?.load ?? load, affordable: found }
  },
  print({ sizes, load, affordable: found }, { options: { gavels, usd }, settings, json, terminal }) {
    const { share: afforded, tooSlow, routes } = found ?? {}
    if (json)
      terminal.out(JSON.stringify({ ...sizes, ...(found && { affordable: { share: afforded, tooSlow, routes } }) }))
    else {
      if (found !== null) for (const line of budgetLines(found, usd ?? 0)) terminal.out(line)
      if (gavels > 1) terminal.out(`each of ${gavels} Gavels, with a Redis, a group and topics of its own:`)
      for (const line of linesOf(sizes, load)) terminal.out(line)
    }
    const faults = overBudget(sizes, settings())
    if (sizes.gavels > 1)
      faults.unshift(
        `One Redis can't carry this: it works on one core, of which ${OF_A_CORE} may be busy, and this takes ${sizes.redis.cores.toFixed(1)}. Divide the stream by key among ${gavels * sizes.gavels} Gavels, each with its own Redis, group and topics (docs/scale.md), and plan one of them with --gavels ${gavels * sizes.gavels}.`,
      )
    if (faults.length > 0) throw new OperatorError(faults.join('\n'))
    if (json) return
    const { total, tenant, fresh } = settings().budgets
    const ofTenant = dayOf(tenant).usd
    if (ofTenant !== null && sizes.usdPerDay > ofTenant)
      terminal.out(
        `A tenant may spend $${few(ofTenant)} a day (budgets.tenant): with fewer than ${Math.ceil(sizes.usdPerDay / ofTenant)} tenants of one size, some of this is not judged in time.`,
      )
    if (total.usd === null && total.tokens === null && fresh !== null && sizes.usdPerDay > fresh)
      terminal.out(
        `A new service stops at $${fresh} a day (budgets.fresh): set budgets.total.usd to what a day may cost.`,
      )
  },
}

/** What a budget allows a day; null: all. */
function dayOf({ usd, tokens, per }: { usd: number | null; tokens: number | null; per: number }) {
  const times = DAY_MS / per
  return { usd: usd === null ? null : usd * times, tokens: tokens === null ? null : tokens * times }
}

/** What of the plan a day of the total budget does not pay for. */
function overBudget({ usdPerDay, tokensPerMinute }: Sizes, { budgets }: Settings): string[] {
  const { usd, tokens } = dayOf(budgets.total)
  const becomes = budgets.whenSpent === 'hold' ? 'waits until it renews' : 'is judged without a model'
  const advice = `What is beyond it ${becomes}: raise it, or judge less (--usd says by which routes).`
  const perDay = tokensPerMinute * 1_440
  return [
    ...(usd !== null && usdPerDay > usd
      ? [`budgets.total.usd allows $${few(usd)} a day, and this takes $${few(usdPerDay)}. ${advice}`]
      : []),
    ...(tokens !== null && perDay > tokens
      ? [`budgets.total.tokens allows ${few(tokens)} tokens a day, and this takes ${few(perDay)}. ${advice}`]
      : []),
  ]
}

const DAY_MS = 86_400_000
const few = (value: number) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en'))

function shareOf(text: string): Record<string, number> {
  const [name = '', given = ''] = text.split('=')
  if (name === '' || given === '') throw new InvalidArgumentError('must be such as hate=0.3')
  return { [name]: share(given) }
}

/**
 * The load of one of so many Gavels. Of the settings' routes their samples count, and how many comments they ask for; of tenants,
 * languages and images nobody here knows how many there are: those conditions count as if all fitted, unless `--share` says it.
 */
function loadUnder(settings: Settings, { latency, gavels, share: shares = {}, ...given }: Options): Load {
  const { protocols, routes, checkpoints, models, kafka, memo } = settings
  const on = makeProtocols(protocols, fences('capacity', 1_000), samplingRanks('capacity'))
  return {
    postsPerSecond: given.postsPerSecond / gavels,
    commentsPerPost: given.commentsPerPost,
    repliesPerSecond: given.repliesPerSecond / gavels,
    repeats: memo.enabled ? given.repeats : 0,
    latency: latency / 1000,
    protocols: on.map((one) => ({
      name: one.name,
      subject: one.subject,
      ofComments: shareOfComments(one, entryOf(routes, one.name)),
      share: entryOf(shares, one.name) ?? shareOfSubjects(entryOf(routes, one.name), given.commentsPerPost),
      way: wayOf(one.name, Object(entryOf(protocols, one.name))),
    })),
    checkpoints: { counts: checkpoints.counts, ages: checkpoints.ages.length },
    slots: models.slots,
    partitions: kafka.partitions,
    memoKeep: memo.enabled ? memo.keep / 1000 : 0,
    retention: kafka.retention / 1000,
    replication: kafka.replication,
  }
}

/** How a protocol judges by its settings. Debates of what is contested count as if each were held: the dearest that it may come to. */
function wayOf(
  name: string,
  { preset, debateWhen }: { readonly preset?: unknown; readonly debateWhen?: unknown },
): JudgingWay {
  if (preset === 'paper' || preset === 'thrifty') return preset
  // Rumor was measured so.
  const mayDebate = debateWhen === 'always' || (debateWhen === 'contested' && name !== 'rumor')
  return mayDebate ? 'debate always' : 'default'
}

function budgetLines({ share: afforded, tooSlow, routes }: AffordableShare, usd: number): string[] {
  const slow = tooSlow.length === 0 ? '' : `; ${tooSlow.join(', ')} can't answer so soon`
  return [
    `$${usd} a day judge ${(100 * afforded).toFixed(1)} % of what your settings judge${slow}, by these routes:`,
    `  routes: ${JSON.stringify(routes)}`,
  ]
}

function linesOf(sizes: Sizes, load: Load): string[] {
  const { protocols, slots, partitions } = load
  const { replicas, redis, judgeBound, partitionsWanted } = sizes
  return [
    `judged: ${few(sizes.verdictsPerSecond)} verdicts a second by ${protocols.map(({ name }) => name).join(', ')}; the slowest protocol takes at least ${few(sizes.leastSeconds)} s`,
    `model: ${few(sizes.callsPerSecond)} calls a second, ${few(sizes.tokensPerMinute)} tokens a minute, $${few(sizes.usdPerDay)} a day`,
    ...commentsIn(sizes, load),
    `judge: ${replicas.judge} replicas of ${slots} slots (${judgeBound})`,
    `intake: ${replicas.intake} replicas${partitionsWanted === null ? '' : `, and ${partitionsWanted} if kafka.partitions were more than ${partitions}`}`,
    `publish: ${replicas.publish} replicas, which write ${few(sizes.publishMiBPerSecond)} MiB a second to Kafka with its copies`,
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
