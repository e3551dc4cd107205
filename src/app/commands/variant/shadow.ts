import { InvalidArgumentError, Option } from 'commander'
import { loadSettings } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import { groupsOf, topicsOf } from '../../../../config/topics.ts'
import { groupReader } from '../../../../consumers/group-reader.ts'
import { kafkaWriter } from '../../../../producers/kafka-writer.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { durationMs, notNegative, positiveWhole, protocolName } from '../../../cli/options.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { variantName } from '../../../contracts/facts/shadow-verdict.ts'
import { isOfVariant } from '../../../contracts/facts/variant-draw.ts'
import type { Report } from '../../../contracts/ports/report.ts'
import { stagesOf } from '../../../judging/engine/script.ts'
import { type ClosableRegistrar, closable } from '../../../operations/closable.ts'
import { makeTopics } from '../../../operations/make-topics.ts'
import { bullQueues } from '../../../store/queue/workers.ts'
import { knownSecretOf } from '../../../store/redis/shared-key.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { protocolsOf } from '../../composition/protocols.ts'
import { commandRedis, redisGatewayStores } from '../../composition/redis.ts'
import { readingClient } from '../reading-client.ts'
import { withModel } from '../with-model.ts'
import { type ShadowCounts, shadowing } from './shadow-follow.ts'
import { judgedIn, shadowOf } from './shadow-judge.ts'
import { shadowVerdictsOf } from './shadow-verdicts.ts'

interface ShadowOptions {
  readonly protocol: string
  readonly settings: string
  readonly share: number
  readonly budget: number
  readonly atOnce: number
  readonly behind: number
}

const HOUR_MS = 3_600_000

/** `gavel variant shadow`: judges what the service has judged once more, under other settings, and publishes no verdict. */
export const command: Command<ShadowOptions, ShadowCounts> = {
  options: [
    new Option('--protocol <name>', 'the protocol whose cases are judged once more')
      .argParser(protocolName)
      .makeOptionMandatory(),
    new Option('--settings <file>', "the variant's settings, laid over the shipped ones").makeOptionMandatory(),
    new Option('--share <percent>', 'the part of subjects that it judges, as 10%')
      .argParser(percent)
      .default(0.1, '10%'),
    new Option('--budget <usd>', 'US dollars a day (UTC); then it waits').argParser(notNegative).makeOptionMandatory(),
    new Option('--at-once <cases>', 'most cases at once').argParser(positiveWhole).default(1),
    new Option('--behind <duration>', 'pass over what was judged longer ago')
      .argParser(durationMs)
      .default(HOUR_MS, '1h'),
  ],
  json: true,
  help: 'It runs until it is stopped. One process runs a variant. It begins nothing while a question or a due thread of the service waits. See docs/policies.md.\n\nExample:\n  $ gavel variant shadow stricter --protocol hate --settings stricter.yaml --share 10% --budget 5',
  async run(invocation) {
    const { args, options, settings: read, environment, misused } = invocation
    const name = variantName.safeParse(args[0])
    if (!name.success) return misused(`A variant's name has ${name.error.issues[0]?.message ?? 'another form'}.`)
    const live = read()
    return withModel(loadSettings(environment, options.settings), invocation, async (settings) => {
      const running = await closable((keep) => shadowRun(keep, name.data, { live, settings }, invocation))
      await invocation.stopped
      await running.close()
      return running.counts()
    })
  },
  print({ sent, passedOver }, { json, terminal }) {
    if (json) terminal.out(JSON.stringify({ sent, passedOver }))
    else terminal.out(`${counted(sent, 'shadow verdict')} sent, ${counted(passedOver, 'case')} passed over.`)
  },
}

function percent(text: string): number {
  const read = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim())
  const share = Number(read?.[1]) / 100
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('must be a percentage above 0, as 10%')
  return share
}

/** How often is looked whether the service needs its models, in ms. */
const LOOK_MS = 1_000

async function shadowRun(
  keep: ClosableRegistrar,
  variant: string,
  { live, settings }: { readonly live: Settings; readonly settings: Settings },
  { options, terminal, signal }: Invocation<ShadowOptions>,
) {
  const { protocol: name, share, budget, atOnce, behind: behindMs } = options
  const say = (why: string) => terminal.say(printable(why, 400))
  const report: Report = (event, of) => {
    if (event === 'error' && 'error' in of && !signal.aborted) say(`${of.where}: ${String(of.error)}`)
  }
  const redis = keep(await commandRedis(live))
  const clock = redis.time.now
  const secret = await knownSecretOf(redis.client, redis.keys, live.fences.key)
  const running = protocolsOf(live, secret)
  const judging = protocolsOf(settings, secret).protocols.find((one) => one.name === name)
  if (judging === undefined) throw new OperatorError(`${options.settings} switches ${name} off.`)
  const { shares: classes, stages, queues: held, cases, kafka: at } = live
  const queues = bullQueues({
    connection: redis.client,
    stages: stagesOf(running.protocols),
    settings: { prefix: redis.keys.queues, cases, classes, stages, queues: held },
    clock,
    report,
  })
  keep({ close: () => queues.close(0) })
  const kafka = await readingClient(live, terminal)
  await makeTopics(kafka, live)
  const writer = keep(await kafkaWriter(kafka, at.compression))
  const topics = topicsOf(live)
  const since = Math.min(clock() - 2 * behindMs, new Date(clock()).setUTCHours(0, 0, 0, 0))
  const history = topicHistory(kafka, { signal, say: terminal.say })
  const before = await shadowVerdictsOf(history, live, { variant, since })
  // Limits of models are the service's, so that they are not exceeded; all else of a case is in memory.
  const { limits } = redisGatewayStores(live, { working: redis.client, keys: redis.keys })
  const following = shadowing({
    variant,
    bounds: { atOnce, budget, behindMs },
    read(value) {
      const judged = judgedIn(value, judging)
      const drawing = { share, rank: running.samplingRank }
      return judged !== null && isOfVariant(variant, name, judged.ref, drawing) ? judged : null
    },
    judge: (one, ended) => shadowOf(variant, one, { settings, secret, stores: { limits }, signal: ended, now: clock }),
    send: (one) =>
      writer.send([{ topic: topics.shadowVerdicts, key: one.subjectId, value: JSON.stringify(one), headers: {} }]),
    isDeleted: async (ref) => (await redis.threads.statusOf(ref)) === 'deleted',
    async isNeeded() {
      const [stages, due] = await Promise.all([queues.backlog(), redis.threads.countDue(clock())])
      return due > 0 || stages.some(({ states }) => states.waiting > 0)
    },
    signal,
    clock,
    failed: say,
    before,
    lookMs: LOOK_MS,
  })
  const reading = { ...at, group: groupsOf(live).shadow(variant), topics: [topics.transcripts] }
  const reader = groupReader({ kafka, settings: reading, clock, report })
  await reader.start(following.handle)
  keep(reader)
  terminal.say(
    `${variant} judges ${Math.round(share * 100)} % of what ${name} has judged, for at most $${budget} a day.`,
  )
  return { counts: following.counts }
}
