import type { Settings } from '../../../config/schema.ts'
import { decisionsConsumer } from '../../../consumers/decision-consumer.ts'
import { decisionsProducer } from '../../../producers/decision-producer.ts'
import type { Outbox } from '../../contracts/ports/cases.ts'
import type { DecisionDesk, DecisionStore } from '../../contracts/ports/decisions.ts'
import { type DecisionContext, decisionHandler } from '../../judging/engine/decision-handler.ts'
import { type KeyedValue, memoryTopics } from '../../store/memory-topics.ts'

/** How long the door waits for what comes of a decision, in ms. */
const WAIT_MS = 15_000

/** What people decide, carried out in this process. `recorded` takes each decision into the record. */
export async function embeddedDecisions(
  settings: Settings,
  topic: string,
  {
    outbox,
    recorded,
    ...parts
  }: DecisionContext & {
    decisions: Pick<DecisionStore, 'decide' | 'tell' | 'told'>
    outbox: Pick<Outbox, 'putDeadLetters'>
    recorded: (topic: string, message: KeyedValue) => Promise<void>
  },
): Promise<{ decisionDesk: DecisionDesk; take(decision: KeyedValue): Promise<unknown>; close(): Promise<void> }> {
  const { decisions, clock, report } = parts
  const { reader, send } = memoryTopics(clock)
  const consumer = decisionsConsumer({
    decisions,
    outbox,
    limits: settings.intake,
    clock,
    report,
    reader,
    decide: decisionHandler(parts),
    store: { whenRecovered: (start) => start(), untilStored: async (work) => void (await work()) },
  })
  await consumer.start()
  const decisionDesk = decisionsProducer({
    writer: {
      async place({ topic, key, value }) {
        const one = { key: key === null ? null : String(key), value: Buffer.from(value) }
        await recorded(topic, one)
        const [offset = 0] = await send(topic, [one])
        return { partition: 0, offset: String(offset) }
      },
    },
    topic,
    told: decisions.told,
    waitMs: WAIT_MS,
  })
  return { decisionDesk, take: (decision) => send(topic, [decision]), close: () => consumer.close() }
}
