import kafkajs, { type Admin } from 'kafkajs'

// kafkajs takes whichever answer comes last for the newest list of topics. Where there are several brokers an older answer may be the
// last, which does not name every topic that is asked about: kafkajs then says without an error that the topic has no partitions. So
// topics are asked about one after another, and one without partitions is asked about again.

/** What a group has committed in each partition of a topic, −1 for nothing; rejects with a retriable error while kafkajs knows none. */
export async function committedIn(
  admin: Admin,
  group: string,
  topic: string,
): Promise<readonly { readonly partition: number; readonly offset: string }[]> {
  const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
  if (found === undefined || found.partitions.length === 0)
    throw new kafkajs.KafkaJSError(`no partition of ${topic} is known yet`, { retriable: true })
  return found.partitions
}

/** What `ask` says of each topic, one after another. */
export async function ofEach<Said>(
  topics: readonly string[],
  ask: (topic: string) => Promise<Said>,
): Promise<Map<string, Said>> {
  const all = new Map<string, Said>()
  for (const topic of topics) all.set(topic, await ask(topic))
  return all
}
