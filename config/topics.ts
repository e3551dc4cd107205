import { RECORDED_TOPICS, type RecordedTopic } from '../src/contracts/ports/record.ts'

/** The topics by their contents, with the settings' prefix. */
export function topicsOf(settings: { readonly kafka: { readonly topicPrefix: string } }) {
  const named = (name: string) => `${settings.kafka.topicPrefix}${name}`
  return {
    posts: named('posts'),
    comments: named('comments'),
    counterspeech: named('counterspeech'),
    feedback: named('feedback'),
    decisions: named('decisions'),
    reach: named('reach'),
    actions: named('actions'),
    appeals: named('appeals'),
    decisionOutcomes: named('decision-outcomes'),
    appealOutcomes: named('appeal-outcomes'),
    verdicts: named('verdicts'),
    transcripts: named('transcripts'),
    shadowVerdicts: named('shadow-verdicts'),
    proposals: named('proposals'),
    reviews: named('reviews'),
    casework: named('casework'),
    audit: named('audit'),
    deadLetters: named('dead-letters'),
  }
}
export type Topics = ReturnType<typeof topicsOf>

/**
 * Topics whose records are kept without limit, whatever `kafka.retention` is: what people decided, what became of it, and what was
 * done about it. A recovery reads the first two whole.
 */
export function keptForGood({ decisions, decisionOutcomes, actions }: Topics): string[] {
  return [decisions, decisionOutcomes, actions]
}

/** How long a topic is kept, in ms, beside those of {@link keptForGood}. */
export function keptFor(
  topics: Topics,
  {
    kafka: { retention },
    console: { auditKeep },
    appeals: { keep },
  }: {
    readonly kafka: { readonly retention: number }
    readonly console: { readonly auditKeep: number }
    readonly appeals: { readonly keep: number }
  },
): (topic: string) => number {
  const own = new Map([
    [topics.audit, auditKeep],
    [topics.appeals, keep],
    [topics.appealOutcomes, keep],
  ])
  return (topic) => own.get(topic) ?? retention
}

/** The topic that takes the records with which a broker is tried. */
export function scratchTopicOf({ kafka: { topicPrefix } }: Parameters<typeof topicsOf>[0]): string {
  return `${topicPrefix}scratch`
}

/**
 * The consumer groups beside `kafka.group`, which reads what is judged: one's offsets say nothing of another's. The record has a
 * group for each store, by the store's name.
 */
export function groupsOf({ kafka: { group } }: { readonly kafka: { readonly group: string } }) {
  return {
    decisions: `${group}-decisions`,
    reach: `${group}-reach`,
    actions: `${group}-actions`,
    traces: `${group}-traces`,
    sources: `${group}-sources`,
    shadow: (variant: string) => `${group}-shadow-${variant}`,
    record: (name: string) => `${group}-record-${name}`,
  }
}

/** The topics of messages that are judged. */
export function inputsOf({ posts, comments, counterspeech }: Topics): string[] {
  return [posts, comments, counterspeech]
}

/** The topics by the kinds of messages that the door takes. */
export function topicsByMessage(topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech' | 'feedback'>) {
  const { posts: post, comments: comment, counterspeech, feedback } = topics
  return { post, comment, counterspeech, feedback }
}

/** The recorded topics, by their names in Kafka. */
export function recordedTopics(topics: Topics): ReadonlyMap<string, RecordedTopic> {
  return new Map(RECORDED_TOPICS.map((topic) => [topics[topic], topic]))
}
