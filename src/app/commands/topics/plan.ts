import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { positiveWhole } from '../../../cli/options.ts'
import { counted, printable, type Terminal } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { topicPlans } from '../../../operations/make-topics.ts'
import { checkBrokers, configOf, kafkaClient, type TopicPlan } from '../../../stream/client.ts'
import { hiddenTopics } from '../../../stream/hidden-topics.ts'
import { readingClient } from '../reading-client.ts'

const TOOLS = ['kafka', 'rpk'] as const
type Tool = (typeof TOOLS)[number]

interface PlanOptions {
  readonly for?: Tool
  readonly principal: string
  readonly replication?: number
}

/** A topic that the settings name, and how many partitions and copies it has. */
interface PlannedTopic {
  readonly name: string
  /** As Gavel makes it; null of a topic of yours, which it does not make. */
  readonly plan: Omit<TopicPlan, 'name'> | null
  /** The setting that names it: `sources` or `sinks`; null of Gavel's own. */
  readonly setting: 'sources' | 'sinks' | null
  readonly there: { readonly partitions: number; readonly replication: number } | null
  /** This user may not see it. */
  readonly forbidden: boolean
}

/** The topics, and where they would be made. */
interface Plan {
  readonly topics: readonly PlannedTopic[]
  readonly brokers: number
}

/** Copies of a topic on a cluster that has brokers for them. */
const COPIES = 3

/** `gavel topics plan`: the topics that Gavel needs, and which are there; or the commands that make them with another tool. */
export const command: Command<PlanOptions, Plan | readonly string[]> = {
  options: [
    new Option('--for <tool>', 'print commands for this tool instead; asks Kafka for no more than its brokers').choices(
      TOOLS,
    ),
    new Option(
      '--replication <n>',
      'with --for: copies of each topic (default: kafka.replication; where that is 1, three, or one on each broker)',
    ).argParser(positiveWhole),
    new Option('--principal <name>', 'with --for: who is given the rights').default('User:gavel'),
  ],
  json: true,
  help: 'See docs/connections.md.\n\nExamples:\n  $ gavel topics plan\n  $ gavel topics plan --for rpk > topics.sh',
  async run({ options, settings: read, terminal }) {
    const settings = read()
    const { for: tool, replication, principal } = options
    if (tool === undefined) return planOf(settings)
    return commandsFor(tool, settings, { principal, replication: replication ?? (await copiesOn(settings, terminal)) })
  },
  print(planned, { json, settings: read, terminal }) {
    if (!('topics' in planned)) {
      for (const line of planned) terminal.out(line)
      return
    }
    const { topics, brokers } = planned
    const { replication } = read().kafka
    for (const one of topics) terminal.out(json ? JSON.stringify(flat(one, replication)) : inWords(one, replication))
    const copies = Math.min(COPIES, brokers)
    if (copies > replication)
      terminal.say(
        `Kafka has ${counted(brokers, 'broker')}, and topics are made with ${copiesIn(replication)}: set kafka.replication to ${copies}.`,
      )
  },
}

/** The topics of the settings, Gavel's own first, each as it is. */
async function planOf(settings: Settings): Promise<Plan> {
  await checkBrokers(settings.kafka)
  // Silent: of each topic that is absent, which is no fault here, kafkajs says so.
  const admin = kafkaClient(settings.kafka, settings.kafka.clientId, () => {}).admin({ retry: { retries: 2 } })
  await admin.connect()
  try {
    const [names, cluster] = await Promise.all([admin.listTopics(), admin.describeCluster()])
    const own = (setting: 'sources' | 'sinks') =>
      ownTopics(settings, setting).map((name) => ({ name, setting, plan: null }))
    const wanted = [
      ...topicPlans(settings).map(({ name, ...plan }) => ({ name, setting: null, plan })),
      ...own('sources'),
      ...own('sinks'),
    ]
    const present = new Set(names)
    const shown = wanted.map(({ name }) => name).filter((name) => present.has(name))
    const absent = wanted.map(({ name }) => name).filter((name) => !present.has(name))
    const { topics } = shown.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: shown })
    const forbidden = new Set(await hiddenTopics(admin, absent))
    const there = new Map(
      topics.map(({ name, partitions }) => [
        name,
        { partitions: partitions.length, replication: partitions[0]?.replicas.length ?? 0 },
      ]),
    )
    return {
      topics: wanted.map((one) => ({
        ...one,
        there: there.get(one.name) ?? null,
        forbidden: forbidden.has(one.name),
      })),
      brokers: cluster.brokers.length,
    }
  } finally {
    await admin.disconnect()
  }
}

function ownTopics(settings: Settings, setting: 'sources' | 'sinks'): string[] {
  return [...new Set(settings[setting].map(({ topic }) => topic))]
}

/** How many copies topics are made with by another tool. A Kafka that can't be asked leaves it at what the settings say. */
async function copiesOn(settings: Settings, terminal: Terminal): Promise<number> {
  const { replication } = settings.kafka
  if (replication > 1) return replication
  try {
    const admin = (await readingClient(settings, terminal)).admin({ retry: { retries: 2 } })
    await admin.connect()
    try {
      return Math.min(COPIES, (await admin.describeCluster()).brokers.length)
    } finally {
      await admin.disconnect()
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    terminal.say(
      `How many brokers there are is not known: topics get ${copiesIn(replication)} (kafka.replication). Give --replication ${COPIES} where there are ${COPIES}.`,
    )
    return replication
  }
}

/** A line of JSON: a topic of yours has no plan. */
function flat({ plan, there, ...one }: PlannedTopic, replication: number) {
  return {
    ...one,
    ...(plan === null ? {} : { ...plan, replication }),
    there: there?.partitions ?? null,
    copies: there?.replication ?? null,
  }
}

function inWords({ name, plan, setting, there, forbidden }: PlannedTopic, replication: number): string {
  const state = there === null ? (forbidden ? 'FORBIDDEN: this user may not see it' : 'ABSENT') : 'there'
  const has = there === null ? '' : `, with ${partitionsIn(there.partitions)} and ${copiesIn(there.replication)}`
  if (plan === null) return `${printable(name, 250).padEnd(32)}  yours (${setting})  ${state}${has}`
  const { partitions, retentionMs } = plan
  const kept = retentionMs === -1 ? 'kept for good' : `kept for ${Math.round(retentionMs / 3_600_000)} h`
  const asPlanned = there?.partitions === partitions && there.replication === replication
  return `${printable(name, 250).padEnd(32)}  ${partitionsIn(partitions)}, ${copiesIn(replication)}, ${kept}  ${state}${asPlanned ? '' : has}`
}

const partitionsIn = (number: number) => counted(number, 'partition')
const copiesIn = (number: number) => (number === 1 ? '1 copy' : `${number} copies`)

/** What makes the topics, and gives one user the rights on them that all roles need together, as lines of a shell script. */
function commandsFor(
  tool: Tool,
  settings: Settings,
  { principal, replication }: { readonly principal: string; readonly replication: number },
): string[] {
  const { brokers, topicPrefix, group } = settings.kafka
  const [servers, user] = [brokers.join(',') || 'BROKERS', quoted(principal)]
  const made = topicPlans(settings).map((plan) => {
    const configs = configOf(plan).map(({ name, value }) => `${tool === 'kafka' ? '--config' : '-c'} ${name}=${value}`)
    return tool === 'kafka'
      ? `kafka-topics.sh --bootstrap-server ${servers} --create --if-not-exists --topic ${plan.name} --partitions ${plan.partitions} --replication-factor ${replication} ${configs.join(' ')}`
      : `rpk topic create ${plan.name} -X brokers=${servers} -p ${plan.partitions} -r ${replication} ${configs.join(' ')}`
  })
  const give = (operations: readonly string[], on: string) =>
    tool === 'kafka'
      ? `kafka-acls.sh --bootstrap-server ${servers} --add --allow-principal ${user} ${operations.map((one) => `--operation ${one}`).join(' ')} ${on}`
      : `rpk security acl create -X brokers=${servers} --allow-principal ${user} --operation ${operations.join(',').toLowerCase()} ${on}`
  const prefixed = '--resource-pattern-type prefixed'
  return [
    ...made,
    ...(topicPrefix === '' ? topicPlans(settings).map(({ name }) => [name, '']) : [[topicPrefix, ` ${prefixed}`]]).map(
      ([name, pattern]) => give(['Read', 'Write', 'Describe', 'DescribeConfigs'], `--topic ${name}${pattern}`),
    ),
    give(['Read', 'Describe'], `--group ${quoted(group)} ${prefixed}`),
    give(['Read', 'Describe', 'Delete'], `--group gavel-read- ${prefixed}`),
    ...ownTopics(settings, 'sources').map((topic) => give(['Read', 'Describe'], `--topic ${topic}`)),
    ...ownTopics(settings, 'sinks').map((topic) => give(['Write', 'Describe'], `--topic ${topic}`)),
  ]
}

function quoted(text: string): string {
  return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
