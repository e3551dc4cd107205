import type { FileMessage } from '../../data-files/file-message.ts'

/** Words that a comment is made of, so that texts differ in length and content. */
const WORDS =
  'police confirm nobody was hurt at the bridge but my neighbour says smoke is still rising over the old market and the trams have stopped'.split(
    ' ',
  )

/** `count` posts under a name of their own, each followed by its comments; `createdAt` rises by a millisecond a message. */
export function* threads(name: string, count: number, comments: number, from: () => number): Generator<FileMessage> {
  for (let post = 0; post < count; post++) {
    const id = `${name}-${post}`
    yield message('post', id, from(), {
      id,
      text: `Report ${post}: ${sentence(post, 18)}`,
      author: `author-${post % 97}`,
    })
    for (let comment = 0; comment < comments; comment++)
      yield message('comment', id, from(), {
        id: `${id}-${comment}`,
        postId: id,
        text: sentence(post * 31 + comment, 8 + ((post + comment) % 20)),
        author: `author-${(post + comment) % 1009}`,
      })
  }
}

/** `count` pieces of counterspeech under a name of their own, no two with the same words: what is known costs no call. */
export function* replies(name: string, count: number, from: () => number): Generator<FileMessage> {
  for (let reply = 0; reply < count; reply++) {
    const id = `${name}-${reply}`
    const hateSpeech = `People like you should go: ${sentence(reply, 12)}`
    yield message('counterspeech', id, from(), {
      id,
      hateSpeech,
      text: `Please don't say so, number ${reply}. ${sentence(reply + 1, 14)}`,
    })
  }
}

/** A clock of the load's own that moves on by a millisecond at each look. */
export function past(): () => number {
  let now = Date.UTC(2026, 0, 1)
  return () => now++
}

/** So many words, the same for the same seed. */
export function sentence(seed: number, words: number): string {
  return Array.from({ length: words }, (_, at) => WORDS[(seed * 7 + at * (1 + (seed % 5))) % WORDS.length]).join(' ')
}

function message(
  type: FileMessage['type'],
  key: string,
  createdAt: number,
  value: Record<string, unknown>,
): FileMessage {
  return { type, key, line: 0, createdAt, value: { ...value, createdAt: new Date(createdAt).toISOString() } }
}
