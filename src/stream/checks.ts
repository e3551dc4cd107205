import type { Admin } from 'kafkajs'
import kafkajs from 'kafkajs'
import type { Finding } from '../contracts/facts/finding.ts'

/** What a topic's settings promise to keep. */
interface TopicSettings {
  readonly name: string
  /** Copies of its least copied partition. */
  readonly copies: number
  /** Undefined: hidden from this user. */
  readonly config: ReadonlyMap<string, string> | undefined
}

/** The topics that Gavel reads or writes, by what is kept in them. */
export interface CheckedTopics {
  readonly all: readonly string[]
  readonly verdicts: string
  /** Those of what people decided. */
  readonly keptForGood: readonly string[]
  /** That of who saw and did what, and how long it is to be kept, in ms. */
  readonly audit: { readonly name: string; readonly keepMs: number }
}

/**
 * Whether the topics keep what Kafka has acknowledged through the loss of a broker, verdicts for as long as their numbers are
 * known, who saw and did what for as long as is promised, and what people decided for good. Topics that don't exist are left out; what can't be read is a warning.
 */
export async function topicFindings(
  admin: Admin,
  topics: CheckedTopics,
  options: { readonly brokers: number; readonly keepTombstoneMs: number },
): Promise<Finding[]> {
  const there = await settingsOf(admin, topics.all)
  const where = (wrong: (one: TopicSettings) => boolean) => there.filter(wrong).map(({ name }) => name)
  const single = where(({ copies }) => copies === 1)
  const thin = where(({ copies, config }) => copies > 1 && Number(config?.get('min.insync.replicas') ?? 2) < 2)
  const starved = where(({ copies, config }) => Number(config?.get('min.insync.replicas') ?? 1) > copies)
  const unclean = where(({ config }) => config?.get('unclean.leader.election.enable') === 'true')
  const hidden = where(({ config }) => config === undefined)
  const lossy = where(
    ({ name, config }) =>
      topics.keptForGood.includes(name) &&
      (Number(config?.get('retention.ms') ?? -1) !== -1 ||
        Number(config?.get('retention.bytes') ?? -1) !== -1 ||
        config?.get('cleanup.policy')?.includes('compact') === true),
  )
  const audit = there.find(({ name }) => name === topics.audit.name)?.config
  const auditMs = Number(audit?.get('retention.ms') ?? -1)
  const dropsAudit =
    (auditMs >= 0 && auditMs < topics.audit.keepMs) ||
    Number(audit?.get('retention.bytes') ?? -1) !== -1 ||
    audit?.get('cleanup.policy')?.includes('compact') === true
  const verdicts = there.find(({ name }) => name === topics.verdicts)
  const retention = Number(verdicts?.config?.get('retention.ms') ?? -1)
  const found: (Finding | null)[] = [
    options.brokers === 1 || single.length === 0
      ? null
      : warning(`${single.join(', ')}: only one copy, which is lost with its broker`, 'Give them three replicas.'),
    thin.length === 0
      ? null
      : warning(
          `${thin.join(', ')}: a record is acknowledged when only one copy has it, and is lost with that broker`,
          'Set min.insync.replicas to 2.',
        ),
    starved.length === 0
      ? null
      : warning(
          `${starved.join(', ')}: min.insync.replicas is more than its copies: many brokers then take no record`,
          'Set min.insync.replicas to less, or give them more replicas.',
        ),
    unclean.length === 0
      ? null
      : warning(
          `${unclean.join(', ')}: a copy that lags may become the leader, and drop acknowledged records`,
          'Set unclean.leader.election.enable to false.',
        ),
    retention < 0 || retention >= options.keepTombstoneMs
      ? null
      : warning(
          `${topics.verdicts}: keeps verdicts for a shorter time than threads.keepTombstone: a recovery may not know all numbers`,
          'Set its retention.ms to threads.keepTombstone or more.',
        ),
    verdicts?.config?.get('cleanup.policy')?.includes('compact')
      ? warning(
          `${topics.verdicts}: is compacted by subject, which drops earlier revisions and other protocols' verdicts`,
          'Set its cleanup.policy to delete.',
        )
      : null,
    lossy.length === 0
      ? null
      : warning(
          `${lossy.join(', ')}: drops old records, so a recovery would not know all decisions`,
          'Set its retention.ms and retention.bytes to -1 and its cleanup.policy to delete.',
        ),
    dropsAudit
      ? warning(
          `${topics.audit.name}: drops records earlier than console.auditKeep: the audit log is shorter than set`,
          'Set its retention.ms to console.auditKeep or more, retention.bytes to -1 and its cleanup.policy to delete.',
        )
      : null,
    hidden.length === 0
      ? null
      : warning(
          'their settings can’t be read: the user lacks the right, or the brokers don’t show them',
          'Give each three replicas, min.insync.replicas 2 and no unclean leader election.',
        ),
  ]
  return found.filter((one) => one !== null)
}

function warning(detail: string, todo: string): Finding {
  return { what: 'topics', state: 'warning', detail, todo }
}

const MINUTE_MS = 60_000

/** Whether the brokers keep a group's offsets, which say what was accepted, for as long as the numbers of revisions are known. */
export async function offsetFindings(
  admin: Admin,
  options: { readonly brokers: readonly number[]; readonly keepTombstoneMs: number },
): Promise<Finding[]> {
  const what = 'group offsets'
  const todo = 'Set offsets.retention.minutes of every broker to threads.keepTombstone or more.'
  const resources = options.brokers.map((id) => ({
    type: kafkajs.ConfigResourceTypes.BROKER,
    name: String(id),
    configNames: ['offsets.retention.minutes'],
  }))
  const minutes = await admin.describeConfigs({ resources, includeSynonyms: false }).then(
    (described) => described.resources.map(({ configEntries: [entry] }) => Number(entry?.configValue ?? Number.NaN)),
    () => [Number.NaN],
  )
  if (minutes.some(Number.isNaN)) {
    const detail =
      'for how long a group’s are kept can’t be read: the user lacks the right, or the brokers don’t show it'
    return [{ what, state: 'warning', detail, todo }]
  }
  const shortest = Math.min(...minutes)
  if (shortest * MINUTE_MS >= options.keepTombstoneMs)
    return [{ what, state: 'ok', detail: `kept for ${shortest} minutes after a group’s last member has left` }]
  const detail = `kept for ${shortest} minutes after a group’s last member has left, less than threads.keepTombstone. After a longer stop nobody knows what was accepted`
  return [{ what, state: 'warning', detail, todo }]
}

async function settingsOf(admin: Admin, names: readonly string[]): Promise<TopicSettings[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names] })
  const type = kafkajs.ConfigResourceTypes.TOPIC
  const configNames = [
    'min.insync.replicas',
    'unclean.leader.election.enable',
    'retention.ms',
    'retention.bytes',
    'cleanup.policy',
  ]
  const configs = await admin
    .describeConfigs({ resources: names.map((name) => ({ type, name, configNames })), includeSynonyms: false })
    .then(
      ({ resources }) =>
        new Map(
          resources.map(({ resourceName, configEntries }) => [
            resourceName,
            new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
          ]),
        ),
      () => null,
    )
  return topics.map(({ name, partitions }) => ({
    name,
    copies: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    config: configs?.get(name),
  }))
}
