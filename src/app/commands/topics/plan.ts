import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { topicPlans } from '../../../operations/make-topics.ts'
import { configOf, type TopicPlan } from '../../../stream/client.ts'
import { readingClient } from '../reading-client.ts'

const TOOLS = ['kafka', 'rpk'] as const
type Tool = (typeof TOOLS)[number]

interface PlanOptions {
  readonly for?: Tool
  readonly principal: string
}

/** A topic as the settings want it, and how many partitions it has; null where it is not there. */
interface PlannedTopic extends TopicPlan {
  readonly there: number | null
}

/** `gavel topics plan`: the topics that Gavel needs, and which are there; or the commands that make them with another tool. */
export const command: Command<PlanOptions, readonly PlannedTopic[] | readonly string[]> = {
  options: [
    new Option('--for <tool>', 'print commands for this tool instead; asks no Kafka').choices(TOOLS),
    new Option('--principal <name>', 'with --for: who is given the rights').default('User:gavel'),
  ],
  json: true,
  help: 'See docs/connections.md.\n\nExamples:\n  $ gavel topics plan\n  $ gavel topics plan --for rpk > topics.sh',
  async run({ options, settings: read, terminal }) {
    const settings = read()
    if (options.for !== undefined) return commandsFor(options.for, settings, options.principal)
    const admin = (await readingClient(settings, terminal)).admin({ retry: { retries: 2 } })
    await admin.connect()
    try {
      const present = new Set(await admin.listTopics())
      const plans = topicPlans(settings)
      const there = plans.map(({ name }) => name).filter((name) => present.has(name))
      const { topics } = there.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: there })
      const partitions = new Map(topics.map((topic) => [topic.name, topic.partitions.length]))
      return plans.map((plan) => ({ ...plan, there: partitions.get(plan.name) ?? null }))
    } finally {
      await admin.disconnect()
    }
  },
  print(planned, { json, terminal }) {
    for (const one of planned) terminal.out(typeof one === 'string' ? one : json ? JSON.stringify(one) : inWords(one))
  },
}

function inWords({ name, partitions, retentionMs, there }: PlannedTopic): string {
  const kept = retentionMs === -1 ? 'kept for good' : `kept for ${Math.round(retentionMs / 3_600_000)} h`
  const state = there === null ? 'ABSENT' : there === partitions ? 'there' : `there, with ${there} partitions`
  return `${printable(name, 250).padEnd(32)}  ${partitions} partitions, ${kept}  ${state}`
}

/** What makes the topics, and gives one user the rights on them that all roles need together, as lines of a shell script. */
function commandsFor(tool: Tool, settings: Settings, principal: string): string[] {
  const { brokers, replication, topicPrefix, group } = settings.kafka
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
  const [sources, sinks] = [settings.sources, settings.sinks].map((all) => [...new Set(all.map(({ topic }) => topic))])
  return [
    ...made,
    ...(topicPrefix === '' ? topicPlans(settings).map(({ name }) => [name, '']) : [[topicPrefix, ` ${prefixed}`]]).map(
      ([name, pattern]) => give(['Read', 'Write', 'Describe', 'DescribeConfigs'], `--topic ${name}${pattern}`),
    ),
    give(['Read', 'Describe'], `--group ${quoted(group)} ${prefixed}`),
    give(['Read', 'Describe', 'Delete'], `--group gavel-read- ${prefixed}`),
    ...(sources ?? []).map((topic) => give(['Read', 'Describe'], `--topic ${topic}`)),
    ...(sinks ?? []).map((topic) => give(['Write', 'Describe'], `--topic ${topic}`)),
  ]
}

function quoted(text: string): string {
  return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
