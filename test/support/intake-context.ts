import { backgroundErasures } from '../../consumers/background-erasures.ts'
import { comments } from '../../consumers/comments.ts'
import type { IntakeContext, IntakeInput, TopicHandler } from '../../consumers/intake.ts'
import { commentPace } from '../../consumers/judged-comments.ts'
import { posts } from '../../consumers/posts.ts'
import { router } from '../../src/judging/engine/routes.ts'
import type { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, MINUTE, RULES, retractionOf, T0 } from '../contracts/samples.ts'
import { protocolNamed } from './parts.ts'

/** What handlers work with over these stores, an hour after the samples' first post: every post goes to `rumor`. */
export function intakeContext(
  { threads, outbox }: Pick<ReturnType<typeof memoryStores>, 'threads' | 'outbox'>,
  change: Partial<IntakeContext> = {},
): IntakeContext {
  return {
    threads,
    outbox,
    rules: RULES,
    routes: router([protocolNamed('rumor')], {}, () => 0),
    checkpoints: { counts: [], ages: [], finalAge: HOUR },
    limits: { maxMessageBytes: 1 << 20, maxAhead: 5 * MINUTE },
    maxReplies: 100,
    commentPace: commentPace(() => T0 + HOUR),
    mostHeld: () => null,
    storyOf: () => null,
    erase: (ref) => threads.deletePost(ref, retractionOf(ref)),
    eraseAsked: (ref) => threads.dropAsked(ref),
    erasures: backgroundErasures(async () => {}),
    descriptions: () => [],
    clock: () => T0 + HOUR,
    report: () => {},
    ...change,
  }
}

/** Posts and comments of topics with these names. */
export function inputOver(context: IntakeContext): IntakeInput {
  return {
    handlers: new Map<string, TopicHandler>([
      ['posts', posts],
      ['comments', comments],
    ]),
    context,
  }
}
