import type { Admin } from 'kafkajs'

/** Those of these topics that this user may not see, by the brokers' word: a list of all topics leaves them out, as it does absent ones. */
export async function hiddenTopics(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  topics: readonly string[],
): Promise<string[]> {
  const isHidden = await Promise.all(
    topics.map((topic) =>
      admin.fetchTopicMetadata({ topics: [topic] }).then(
        () => false,
        (error: unknown) => typeOf(error) === 'TOPIC_AUTHORIZATION_FAILED',
      ),
    ),
  )
  return topics.filter((_, nth) => isHidden[nth])
}

function typeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  return 'type' in error ? error.type : typeOf(error.cause)
}
