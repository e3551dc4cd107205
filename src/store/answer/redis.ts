import type { Redis } from 'ioredis'
import { z } from 'zod'
import { namedIn } from '../../contracts/facts/verdict-id.ts'
import type { Answers } from '../../contracts/ports/answers.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type Keys, memberOf, refOf } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'
import { answerWaiters } from './waiters.ts'

const putAnswer = script('answer/put', {
  keys: ['answers', 'thread'],
  args: ['protocol', 'verdict', 'transcript', 'channel', 'request', 'member'],
})
const readAnswer = script('answer/read', { keys: ['answers'], args: [] })

/**
 * Answers in Redis: a hash for each request, which expires. `subscribe` opens a connection of its own, once somebody waits for
 * announcements; without it none are heard.
 */
export function redisAnswers(
  client: Redis,
  keys: Keys,
  { subscribe, report }: { subscribe?: (() => Redis) | undefined; report: Report },
): Answers {
  const [channel, dropped] = [keys.under('answers'), keys.under('answers:dropped')]
  const waiters = answerWaiters()
  let subscriber: Redis | undefined
  const listen = async () => {
    if (subscriber !== undefined || subscribe === undefined) return
    subscriber = subscribe()
    subscriber.on('message', (of: string, request: string) =>
      of === dropped ? waiters.drop(request) : waiters.wake(request),
    )
    await announced(() => subscriber?.subscribe(channel, dropped))
  }

  /** Announcements save waiting: where they are refused, waiting clients poll each second. */
  const announced = async (step: () => Promise<unknown> | undefined) => {
    try {
      await step()
    } catch (error) {
      report('error', { where: 'answers', error })
    }
  }

  return {
    async put({ tenant, request, protocol, verdict, transcript }) {
      const member = memberOf({ tenant, postId: request, kind: 'asked' })
      const at = { answers: keys.answers(member), thread: keys.thread(member) }
      const given = { ...at, protocol, verdict, transcript, channel, request, member }
      const [, hooked, told] = z.tuple([z.number(), z.number(), z.number()]).parse(await putAnswer(client, given))
      if (told === 0) report('error', { where: 'answers', error: new Error(`Redis refuses PUBLISH to ${channel}`) })
      return hooked === 1
    },
    async read(tenant, request, { transcripts = true } = {}) {
      const at = keys.answers(memberOf({ tenant, postId: request, kind: 'asked' }))
      const fields: Readonly<Record<string, string>> = transcripts
        ? await client.hgetall(at)
        : Object.fromEntries(pairs(z.array(z.string()).parse(await readAnswer(client, { answers: at }))))
      const { opened, until, protocols, subject, erased } = fields
      if (opened === undefined) return null
      const of = (prefix: string) =>
        new Map(
          Object.entries(fields).flatMap(([field, json]) =>
            field.startsWith(prefix) ? [[field.slice(prefix.length), json] as const] : [],
          ),
        )
      return {
        subjectId: subject === undefined ? '' : namedIn(refOf(subject)).subjectId,
        protocols: z.array(z.string()).parse(JSON.parse(protocols ?? '[]')),
        opened: Number(opened),
        until: Number(until),
        verdicts: of('verdict:'),
        transcripts: of('transcript:'),
        erased: erased !== undefined,
      }
    },
    async changed(request, signal) {
      void listen()
      await waiters.wait(request, signal)
    },
    async tellDropped(request) {
      await announced(() => client.publish(dropped, request))
    },
    onDropped(request, listener) {
      void listen()
      return waiters.onDropped(request, listener)
    },
    async close() {
      waiters.wakeAll()
      subscriber?.disconnect()
    },
  }
}
