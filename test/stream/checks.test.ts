import type { Admin } from 'kafkajs'
import { expect, it } from 'vitest'
import { offsetFindings, topicFindings } from '../../src/stream/checks.ts'

const DAY = 86_400_000
const KEPT = {
  'min.insync.replicas': '2',
  'unclean.leader.election.enable': 'false',
  'retention.ms': String(7 * DAY),
  'cleanup.policy': 'delete',
}

const FOR_GOOD = { ...KEPT, 'retention.ms': '-1', 'retention.bytes': '-1' }

function entriesOf(name: string, config: Record<string, string>) {
  const kept = name === 'decisions' ? FOR_GOOD : name === 'audit' ? { ...KEPT, 'retention.ms': `${400 * DAY}` } : KEPT
  return name === config.topic || (config.topic === undefined && name === 'verdicts') ? { ...kept, ...config } : kept
}

/** A cluster of three brokers, with these settings of a topic: of verdicts, unless another is named. */
async function findings(config: Record<string, string> | null, copies = 3, brokers = 3): Promise<string[]> {
  const admin = {
    fetchTopicMetadata: async ({ topics }: { topics: string[] }) => ({
      topics: topics.map((name) => ({
        name,
        partitions: [{ replicas: Array.from({ length: name === 'verdicts' ? copies : 3 }, (_, at) => at) }],
      })),
    }),
    async describeConfigs({ resources }: { resources: { name: string }[] }) {
      if (config === null) throw new Error('TOPIC_AUTHORIZATION_FAILED')
      return {
        resources: resources.map(({ name }) => ({
          resourceName: name,
          configEntries: Object.entries(entriesOf(name, config)).map(([configName, configValue]) => ({
            configName,
            configValue,
          })),
        })),
      }
    },
  }
  const topics = {
    all: ['posts', 'verdicts', 'decisions', 'audit'],
    verdicts: 'verdicts',
    keptForGood: ['decisions'],
    audit: { name: 'audit', keepMs: 400 * DAY },
  }
  const limits = { brokers, keepTombstoneMs: 7 * DAY }
  const found = await topicFindings(admin as unknown as Admin, topics, limits)
  expect(found.every(({ state, todo }) => state === 'warning' && todo !== undefined)).toBe(true)
  return found.map(({ detail }) => detail)
}

it.each([
  ['keeps all that is promised', {}, 3, []],
  ['has one copy', { 'min.insync.replicas': '1' }, 1, ['only one copy']],
  ['wants more copies than it has', { 'min.insync.replicas': '3' }, 2, ['min.insync.replicas is more than its copies']],
  ['acknowledges by one copy', { 'min.insync.replicas': '1' }, 3, ['when only one copy has it']],
  ['lets a copy lead that lags', { 'unclean.leader.election.enable': 'true' }, 3, ['drop acknowledged records']],
  ['forgets verdicts before their numbers', { 'retention.ms': String(DAY) }, 3, ['may not know all numbers']],
  ['is compacted', { 'cleanup.policy': 'compact,delete' }, 3, ['drops earlier revisions']],
  ['keeps them for ever', { 'retention.ms': '-1' }, 3, []],
])('a topic is named that %s', async (_, config, copies, says) => {
  expect(await findings(config as Record<string, string>, copies)).toEqual(
    says.map((part) => expect.stringMatching(new RegExp(`^verdicts: .*${part}`))),
  )
})

it.each([
  [{}, 0],
  [{ 'retention.ms': '-1' }, 0],
  [{ 'retention.ms': String(399 * DAY) }, 1],
  [{ 'retention.bytes': '1000000' }, 1],
  [{ 'cleanup.policy': 'compact' }, 1],
])('the topic of who saw and did what is named where it drops that too early: %o', async (config, named) => {
  const found = await findings({ topic: 'audit', ...config } as Record<string, string>)
  expect(found).toEqual(Array(named).fill(expect.stringMatching(/^audit: .*console\.auditKeep/)))
})

it.each([
  ['retention.ms', String(365 * DAY)],
  ['retention.bytes', '1000000'],
  ['cleanup.policy', 'compact'],
])('decisions that are not kept for good are named: %s %s', async (name, value) => {
  expect(await findings({ topic: 'decisions', [name]: value })).toEqual([
    expect.stringMatching(/^decisions: .*would not know all decisions/),
  ])
})

it('one copy is no fault of a single broker, and hidden settings are no fault of the topics', async () => {
  expect(await findings({ 'min.insync.replicas': '1' }, 1, 1)).toEqual([])
  expect(await findings(null)).toEqual([expect.stringContaining('read')])
})

it.each([
  ['is long enough', ['10080', '20160'], 'ok', 'kept for 10080 minutes'],
  [
    'is too short on one broker',
    ['20160', '1440'],
    'warning',
    'kept for 1440 minutes .* less than threads.keepTombstone',
  ],
  ['is hidden', null, 'warning', 'can’t be read'],
  ['is not told', ['', '10080'], 'warning', 'can’t be read'],
])('how long the offsets of a group are kept: %s', async (_, minutes, state, says) => {
  const admin = {
    async describeConfigs({ resources }: { resources: { name: string }[] }) {
      if (minutes === null) throw new Error('CLUSTER_AUTHORIZATION_FAILED')
      return {
        resources: resources.map(({ name }, at) => ({
          resourceName: name,
          configEntries:
            minutes[at] === '' ? [] : [{ configName: 'offsets.retention.minutes', configValue: minutes[at] }],
        })),
      }
    },
  }
  const found = await offsetFindings(admin as unknown as Admin, { brokers: [1, 2], keepTombstoneMs: 7 * DAY })
  expect(found).toEqual([expect.objectContaining({ state, detail: expect.stringMatching(says) })])
})
