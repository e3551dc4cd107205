import { existsSync } from 'node:fs'
import type { Admin } from 'kafkajs'
import type { Settings } from '../../../config/schema.ts'
import { inputsOf, keptForGood, topicsOf } from '../../../config/topics.ts'
import { tryBroker, tryTopics } from '../../../producers/broker-trial.ts'
import { REQUEST_BYTES } from '../../../producers/kafka-writer.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { offsetFindings, topicFindings } from '../../stream/checks.ts'
import { checkBrokers, type KafkaClient, kafkaClient } from '../../stream/client.ts'
import { hiddenTopics } from '../../stream/hidden-topics.ts'
import { authorisedOperations } from '../../stream/own-requests.ts'
import { trialOf } from '../composition/gate.ts'
import { sourceReading } from '../composition/sources.ts'
import { broken, withTimeout } from './doctor-findings.ts'

/** Whether Kafka answers, and takes and keeps what Gavel writes. */
export async function kafkaFindings(settings: Settings): Promise<Finding[]> {
  const { brokers, clientId, sasl, tls } = settings.kafka
  if (brokers.length === 0)
    return [
      {
        what: 'Kafka',
        state: 'broken',
        detail: 'is not set',
        todo: 'Set KAFKA_BROKERS, or start local servers with "gavel stack".',
      },
    ]
  let admin: Admin | undefined
  try {
    await checkBrokers(settings.kafka)
    const kafka = kafkaClient(settings.kafka, clientId, () => {})
    admin = kafka.admin({ retry: { retries: 1 } })
    await withTimeout(admin.connect())
    const cluster = await withTimeout(admin.describeCluster())
    const present = new Set(await withTimeout(admin.listTopics()))
    const topics = topicsOf(settings)
    const there = Object.values(topics).filter((topic) => present.has(topic))
    const sources = sourceReading(settings)?.topics ?? []
    const sinks = sinksIn(settings)
    const others = [...sources, ...sinks]
    const unseen = [...Object.values(topics), ...others].filter((topic) => !present.has(topic))
    const hidden = await withTimeout(hiddenTopics(admin, unseen))
    const gone = unseen.filter((topic) => !hidden.includes(topic))
    const absent = gone.filter((topic) => !others.includes(topic))
    const limits = { brokers: cluster.brokers.length, keepTombstoneMs: settings.threads.keepTombstone }
    return [
      { what: 'Kafka', state: 'ok', detail: `${cluster.brokers.length} brokers` },
      ...(sasl.mechanism === 'plain' && !tls.enabled
        ? [
            {
              what: 'Kafka',
              state: 'warning',
              detail: 'receives the password unencrypted',
              todo: 'Set kafka.tls.enabled to true and use a TLS port, or set kafka.sasl.mechanism to scram-sha-512.',
            } as const,
          ]
        : []),
      absent.length === 0
        ? { what: 'topics', state: 'ok', detail: 'all exist' }
        : {
            what: 'topics',
            state: 'warning',
            detail: `absent: ${absent.join(', ')}`,
            todo: '"gavel run" creates them at startup if permitted, "gavel topics create" before.',
          },
      ...unseenTopics(hidden, {
        sources: gone.filter((topic) => sources.includes(topic)),
        sinks: gone.filter((topic) => sinks.includes(topic)),
      }),
      ...(await withTimeout(
        rightsFindings(kafka, settings, [...there, ...sinks.filter((topic) => present.has(topic))]),
      )),
      ...(await withTimeout(publicationFindings(kafka, settings, there))),
      ...(await withTimeout(
        topicFindings(
          admin,
          {
            all: there,
            verdicts: topics.verdicts,
            keptForGood: keptForGood(topics),
            audit: { name: topics.audit, keepMs: settings.console.auditKeep },
          },
          limits,
        ),
      )),
      ...(await withTimeout(
        offsetFindings(admin, { ...limits, brokers: cluster.brokers.map(({ nodeId }) => nodeId) }),
      )),
    ]
  } catch (error) {
    return [broken('Kafka', error, 'Check KAFKA_BROKERS, and that the brokers are running.')]
  } finally {
    await admin?.disconnect().catch(() => undefined)
  }
}

/** The topics of others that get verdicts. */
function sinksIn({ sinks }: Settings): string[] {
  return [...new Set(sinks.map(({ topic }) => topic))]
}

/** Topics that this user may not see, and topics of others that are not there, by the setting that names them. */
function unseenTopics(hidden: readonly string[], absent: Readonly<Record<string, readonly string[]>>): Finding[] {
  const [what, state] = ['topics', 'broken'] as const
  return [
    ...(hidden.length === 0
      ? []
      : [
          {
            what,
            state,
            detail: `forbidden: the user may not see ${hidden.join(', ')}`,
            todo: 'Give kafka.sasl.username (or the client certificate) the right Describe on them: "gavel topics plan --for kafka" prints it.',
          },
        ]),
    ...Object.entries(absent)
      .filter(([, topics]) => topics.length > 0)
      .map(([setting, topics]) => ({
        what,
        state,
        detail: `absent: ${topics.join(', ')} (${setting})`,
        todo: `Create them, or mend their names in ${setting}: Gavel makes only its own topics.`,
      })),
  ]
}

/** Whether a broker takes what Gavel publishes: by a record of nobody's, by the topics' limits, and by the user's rights. */
async function publicationFindings(
  kafka: KafkaClient,
  settings: Settings,
  there: readonly string[],
): Promise<Finding[]> {
  const topics = topicsOf(settings)
  const what = 'publication'
  const { compression } = settings.kafka
  const trial = trialOf(settings, topics.verdicts)
  const written = outputsOf(settings).filter((topic) => there.includes(topic))
  const { refusal } = await tryTopics(kafka, written, trial)
  if (refusal !== null) return [{ what, state: 'broken', detail: refusal.message }]
  const { untried, unread, takesLargest } = await tryBroker(kafka, trial, { largest: true })
  if (untried !== null)
    return [
      {
        what,
        state: 'warning',
        detail: `could not be tried: ${untried}`,
        todo: `See that the topic ${trial.scratch} is there, with the settings of ${topics.verdicts} and brokers for its copies, and that the user has the rights Read, Write and Describe on it: gavel writes records of nobody's to it.`,
      },
    ]
  const tried = `a record by kafka.compression ${compression} and acks=all`
  return [
    unread === null
      ? { what, state: 'ok', detail: `${tried} was written to ${trial.scratch} and read back` }
      : {
          what,
          state: 'warning',
          detail: `${tried} was written to ${trial.scratch}, and not read back: ${unread}`,
          todo: `Give the user the right Read on ${trial.scratch}. If it has that, the broker changes records: set kafka.compression to gzip.`,
        },
    ...(takesLargest === false
      ? [
          {
            what,
            state: 'warning',
            detail: `records of ${REQUEST_BYTES} bytes are refused: longer transcripts are shortened, and longer verdicts become dead letters`,
            todo: "Set the topics' max.message.bytes (the broker's message.max.bytes) to 1048588, Kafka's default, or more.",
          } as const,
        ]
      : []),
  ]
}

/** Whether the user may read and write where Gavel does, by the broker's own word. */
async function rightsFindings(kafka: KafkaClient, settings: Settings, there: readonly string[]): Promise<Finding[]> {
  const topics = topicsOf(settings)
  const what = 'rights on topics'
  const rights = await authorisedOperations(kafka, there)
  if (rights === null) {
    const detail = 'the broker does not tell which operations are authorised'
    return [{ what, state: 'ok', detail: `${detail}; only the trial of publication shows them` }]
  }
  const lacks = (operation: 'read' | 'write', names: readonly string[]) => {
    const barred = names.filter((topic) => rights.get(topic)?.has(operation) === false)
    return barred.length === 0 ? [] : [`may not ${operation} ${barred.join(', ')}`]
  }
  const lacking = [
    ...lacks('read', [...inputsOf(topics), topics.decisions, topics.actions]),
    ...lacks('write', [...outputsOf(settings), ...sinksIn(settings)]),
  ]
  if (lacking.length === 0) return [{ what, state: 'ok', detail: 'the user may read and write where Gavel does' }]
  return [
    {
      what,
      state: 'broken',
      detail: `the user ${lacking.join(', and ')}`,
      todo: 'Give kafka.sasl.username (or the client certificate) the rights Read or Write, and Describe, on them: docs/connections.md.',
    },
  ]
}

/** The topics that processes of these settings write to: the door's only where it has keys, the console's where people may sign in. */
function outputsOf(settings: Settings): string[] {
  const topics = topicsOf(settings)
  const {
    verdicts,
    transcripts,
    proposals,
    reviews,
    decisionOutcomes,
    appealOutcomes,
    deadLetters,
    feedback,
    decisions,
    actions,
    audit,
    casework,
    appeals,
  } = topics
  const { door, console: pages } = settings
  const hasDoor = door.openOnLoopback || existsSync(door.keys)
  const hasConsole = pages.people.length > 0
  return [
    ...[verdicts, transcripts, proposals, reviews, decisionOutcomes, appealOutcomes, deadLetters],
    ...(hasDoor ? [...inputsOf(topics), feedback, actions, appeals] : []),
    ...(hasDoor || hasConsole ? [decisions] : []),
    ...(hasConsole ? [audit, casework] : []),
  ]
}
