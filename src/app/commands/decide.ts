import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { decisionsProducer } from '../../../producers/decision-producer.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Command } from '../../cli/command.ts'
import { positiveWhole, protocolName } from '../../cli/options.ts'
import { printable, type Terminal } from '../../cli/terminal.ts'
import { decisionMessage, MAX_WHY_CHARS, MEASURES } from '../../contracts/facts/decision-messages.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { TENANT_RULE, tenantName } from '../../contracts/facts/messages.ts'
import { STREAMED_KINDS, type SubjectKind, type ThreadRef } from '../../contracts/facts/thread.ts'
import { verdict as verdictSchema } from '../../contracts/facts/verdict.ts'
import { commentKey, recordKeyOf } from '../../contracts/facts/verdict-id.ts'
import type { DecisionReceipt } from '../../contracts/ports/decisions.ts'
import { scopeOfSubject } from '../../judging/engine/decision-verdict.ts'
import { labelsForPeople, type Protocol } from '../../judging/engine/script.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { readOwn } from '../../recovery/inspection/read.ts'
import { knownSecretOf } from '../../store/redis/shared-key.ts'
import { topicHistory } from '../../stream/bounded-reader.ts'
import { partitionForKey } from '../../stream/own-partition.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { commandRedis } from '../composition/redis.ts'
import { readingClient } from './reading-client.ts'

export interface DecideOptions {
  readonly protocol: string
  readonly label?: string
  readonly withdraw?: true
  readonly by: string
  readonly why: string
  readonly tenant: string
  readonly kind?: SubjectKind
  readonly post?: string
  readonly against?: number
  readonly force?: true
  readonly opinion?: true
  /** Of an opinion on a golden item: true makes one. */
  readonly golden?: true | 'answer'
  readonly clause?: readonly string[]
  readonly appeal?: readonly string[]
  readonly code?: string
  readonly measure?: (typeof MEASURES)[number]
  readonly most: number
}

export interface DecideReport extends DecisionReceipt {
  readonly against: number
}

/** Clauses that a decision cites. Two parameters, without a default: it gathers its values. */
export function clauseOption(): Option {
  return new Option(
    '--clause <id>',
    'a clause of the policy that the label rests on; ID=WORDS quotes the post, too; repeatable',
  ).argParser((one: string, before: readonly string[] | undefined) => [...(before ?? []), one])
}

/** Appeals that a decision answers, and the code of its reason. */
export function appealOptions(): Option[] {
  return [
    new Option('--appeal <id>', 'an appeal that the label answers, with --code; repeatable').argParser(
      (one: string, before: readonly string[] | undefined) => [...(before ?? []), one],
    ),
    new Option('--code <code>', 'the code of the reason (config/review-reasons.yaml)'),
    new Option(
      '--measure <what>',
      'beside --appeal: what is to become of the action that it is against, where the label stays (default: keep)',
    ).choices(MEASURES),
  ]
}

/** How long is waited for what comes of a decision, in ms. */
const WAIT_MS = 15_000

/** `gavel decide`: a person's verdict on one subject in place of the machines', or its withdrawal. */
export const command: Command<DecideOptions, DecideReport> = {
  options: [
    new Option('--protocol <name>', 'the protocol whose verdict is replaced')
      .argParser(protocolName)
      .makeOptionMandatory(),
    new Option('--label <label>', 'the verdict').conflicts('withdraw'),
    new Option('--withdraw', 'withdraw the human verdict: the machines’ last ruling is published again'),
    new Option('--by <name>', 'who decides').makeOptionMandatory(),
    new Option(
      '--why <words>',
      `the reason, in at most ${MAX_WHY_CHARS} characters; it outlives a deletion, so quote nothing`,
    ).makeOptionMandatory(),
    new Option('--tenant <name>', 'the tenant of the subject').default('default'),
    new Option('--kind <kind>', 'a post or a reply (default: what the protocol judges)').choices(STREAMED_KINDS),
    new Option('--post <id>', 'of a comment that was judged by itself: its post').conflicts('kind'),
    new Option('--against <revision>', 'the revision that you saw (default: the latest)').argParser(Number),
    new Option('--force', 'decide even if there is a newer revision, or the subject is unknown'),
    new Option('--opinion', 'give a second opinion on a human verdict, without changing that verdict').conflicts([
      'withdraw',
      'force',
    ]),
    new Option(
      '--golden',
      'as a lead: the label of the human verdict is the key of a golden item, by which others are checked',
    ).conflicts(['withdraw', 'force']),
    clauseOption().conflicts('withdraw'),
    ...appealOptions(),
    new Option(
      '--most <records>',
      'if the subject is no longer in Redis: search this many of the newest verdicts for it',
    )
      .argParser(positiveWhole)
      .default(200_000),
  ],
  json: true,
  help: 'The verdict is current until it is withdrawn or its subject is deleted. This needs a running service (role intake). See docs/decisions.md.\n\nExamples:\n  $ gavel decide 3lbw2k4 --protocol rumor --label non-rumor --by ann --why "Confirmed by the city, ticket 88"\n  $ gavel decide 3lbw2k4 --protocol rumor --withdraw --by ben --why "Wrong post"',
  async run({ args: [id = ''], options, settings: read, terminal, signal, misused }) {
    const { protocol: name, label, withdraw = false, tenant, why, by, force = false } = options
    const { golden, opinion = golden !== undefined } = options
    if (!tenantName.safeParse(tenant).success) misused(`--tenant: ${TENANT_RULE}.`)
    if ((label === undefined) === !withdraw) misused('One of --label and --withdraw is needed.')
    if (options.against !== undefined && !(Number.isInteger(options.against) && options.against >= 0))
      misused('--against is the number of a revision, or 0.')
    if (options.appeal !== undefined && (options.code === undefined || opinion))
      misused('--appeal needs --code, and is no opinion.')
    if (options.measure !== undefined && options.appeal === undefined) misused('--measure goes with --appeal.')
    const settings = read()
    const redis = await commandRedis(settings)
    try {
      const secret = await knownSecretOf(redis.client, redis.keys, settings.fences.key)
      const protocol = protocolsOf(settings, secret).protocols.find((one) => one.name === name)
      if (protocol === undefined) throw new OperatorError(`The protocol ${printable(name, 60)} is off here.`)
      const labels = labelsForPeople(protocol)
      if (label !== undefined && !labels.includes(label)) misused(`--label: ${name} has ${labels.join(', ')}.`)
      const { post: postId } = options
      const kind = options.kind ?? (protocol.subject === 'reply' ? 'reply' : 'post')
      const ref: ThreadRef =
        postId === undefined
          ? { tenant, postId: id, kind }
          : { tenant, postId: commentKey(postId, id), kind: 'comment' }
      const kafka = await readingClient(settings, terminal)
      await makeTopics(kafka, settings)
      const there = await lastOf(settings, { redis, kafka, ref, protocol, most: options.most, terminal, signal })
      const against = options.against ?? there.last
      const decision = {
        subjectId: id,
        tenant,
        protocol: name,
        against,
        by,
        why,
        at: new Date(redis.time.now()).toISOString(),
        ...(withdraw ? { withdraw: true } : { label }),
        ...(options.kind === undefined ? {} : { kind }),
        ...(postId === undefined ? {} : { subjectKind: 'comment', postId }),
        ...(force || there.forgotten ? { force: true } : {}),
        ...(opinion ? { opinion } : {}),
        ...(golden === undefined ? {} : { golden: golden === true ? 'key' : golden }),
        ...(options.appeal === undefined ? {} : { appeals: options.appeal }),
        ...(options.code === undefined ? {} : { code: options.code }),
        ...(options.measure === undefined ? {} : { measure: options.measure }),
        ...(options.clause === undefined ? {} : { clauses: options.clause.map(clauseIn) }),
      }
      const checked = decisionMessage.safeParse(decision)
      if (!checked.success)
        return misused(checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
      if (there.forgotten && !force) terminal.say('Redis has forgotten this subject: the verdicts topic was used.')
      const writer = await kafkaWriter(kafka, settings.kafka.compression)
      try {
        const { told } = redis.decisions
        const deciding = decisionsProducer({ writer, topic: topicsOf(settings).decisions, told, waitMs: WAIT_MS })
        return { against, ...(await deciding.decide(checked.data, signal)) }
      } finally {
        await writer.close()
      }
    } finally {
      await redis.close()
    }
  },
  print({ of, against, decided }, { json, terminal, options }) {
    if (json) terminal.out(JSON.stringify({ of, against, ...(decided ?? { outcome: 'unheard' }) }))
    else if (decided?.outcome === 'stands') terminal.out(`${printable(decided.verdict ?? '', 200)} stands.`)
    else if (decided?.outcome === 'noted') terminal.out('Noted; the verdict is unchanged.')
    else if (decided?.outcome === 'withdrawn')
      terminal.out(
        decided.verdict === null
          ? 'Withdrawn; the subject is judged anew.'
          : `Withdrawn; ${printable(decided.verdict, 200)} has the machines' last ruling.`,
      )
    const failure = failureOf(decided, of, against, options.withdraw === true)
    if (failure !== null) throw new OperatorError(failure)
  },
}

/** A clause as it is written: `ID`, or `ID=WORDS`. */
function clauseIn(written: string) {
  const [id = '', ...words] = written.split('=')
  return words.length === 0 ? { id } : { id, quote: words.join('=') }
}

/** Why nothing stands now that did not before; null if it does. */
function failureOf(decided: DecisionReceipt['decided'], of: string, against: number, withdraw: boolean): string | null {
  if (decided === null)
    return `Nothing was heard of the decision ${of} within ${WAIT_MS / 1000} s. It is on its topic, and is carried out as soon as a service with the role intake reads it.`
  if (['stands', 'withdrawn', 'noted'].includes(decided.outcome)) return null
  if (decided.outcome === 'late')
    return withdraw
      ? `Not withdrawn: no human verdict of that revision is current; the last revision is ${decided.last}. Look at it with "gavel show".`
      : `Not decided: against revision ${against}, and the last one is ${decided.last}. Look at it with "gavel show", and decide again, or with --force.`
  if (decided.outcome === 'refused') return `Refused: ${decided.why}.`
  if (decided.outcome === 'deleted') return 'Refused: the subject was deleted.'
  if (decided.outcome === 'unknown') return 'Refused: nothing is known of such a subject.'
  return `Nothing was changed: ${decided.outcome}.`
}

/** The number of the last published verdict, in Redis or, where that has forgotten the subject, on the topic. */
async function lastOf(
  settings: Settings,
  deps: {
    redis: Awaited<ReturnType<typeof commandRedis>>
    kafka: Awaited<ReturnType<typeof readingClient>>
    ref: ThreadRef
    protocol: Protocol
    most: number
    terminal: Terminal
    signal: AbortSignal
  },
): Promise<{ last: number; forgotten: boolean }> {
  const { redis, kafka, ref, protocol, most, terminal, signal } = deps
  const status = await redis.threads.statusOf(ref)
  if (status === 'deleted') throw new OperatorError('The subject was deleted: nothing is decided of it any more.')
  const known = await redis.decisions.published(ref, protocol.name)
  if (known > 0 || status !== null) return { last: known, forgotten: false }
  let last: number | null = null
  const scope = scopeOfSubject({ ref, protocol: protocol.name }, protocol)
  const reading = {
    history: topicHistory(kafka, { signal, say: terminal.say }),
    partitionOf: partitionForKey,
    progress: () => {},
  }
  const bound = { since: null, most, everywhere: false }
  await readOwn(reading, topicsOf(settings).verdicts, recordKeyOf(ref), bound, (records) => {
    for (const { key, value } of records) {
      if (key !== recordKeyOf(ref) || value === null) continue
      const read = verdictSchema.safeParse(jsonOf({ value }))
      if (!read.success || read.data.id !== `${scope}${read.data.revision}`) continue
      last = read.data.decidedBy === 'deleted' ? null : Math.max(last ?? 0, read.data.revision)
    }
  })
  if (last === null)
    throw new OperatorError(
      `There is no such subject: neither Redis nor the verdicts topic knows ${printable(ref.postId, 200)} by ${protocol.name}.`,
    )
  return { last, forgotten: true }
}
