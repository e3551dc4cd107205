import type { Settings } from './schema.ts'

/** The topics by their contents, with the settings' prefix. */
export function topicsOf(settings: Settings) {
  const named = (name: string) => `${settings.kafka.topicPrefix}${name}`
  return {
    posts: named('posts'),
    comments: named('comments'),
    counterspeech: named('counterspeech'),
    feedback: named('feedback'),
    verdicts: named('verdicts'),
    transcripts: named('transcripts'),
    deadLetters: named('dead-letters'),
  }
}
export type Topics = ReturnType<typeof topicsOf>

/** The topics that the service reads messages from. */
export function inputsOf({ posts, comments, counterspeech }: Topics): string[] {
  return [posts, comments, counterspeech]
}
