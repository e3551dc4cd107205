import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Answers, HookedVerdict } from '../../ports/answers.ts'
import type { Report } from '../../ports/report.ts'
import { answerWaiters } from '../answer-waiters.ts'
import { type Keys, memberOf, refOf } from './keys.ts'
import { script } from './script.ts'

const putAnswer = script('answers/put', {
  keys: ['answers', 'hooked'],
  args: ['member', 'protocol', 'verdict', 'transcript'],
})

/**
 * Answers in Redis: a hash for each request, which expires. `subscribe` opens a connection of its own, once somebody waits for
 * announcements; without it none are heard.
 */
export function redisAnswers(
  client: Redis,
  keys: Keys,
  { subscribe, report }: { subscribe?: () => Redis; report: Report },
): Answers {
  const channel = keys.under('answers')
  const waiters = answerWaiters()
  let subscriber: Redis | undefined
  const listen = async () => {
    if (subscriber !== undefined || subscribe === undefined) return
    subscriber = subscribe()
    subscriber.on('message', (_, request: string) => waiters.wake(request))
    await announced(() => subscriber?.subscribe(channel))
  }

  /** Announcements save waiting: where they are refused, whoever waits looks each second. */
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
      const given = { answers: keys.answers(member), hooked: keys.hooked, member, protocol, verdict, transcript }
      if ((await putAnswer(client, given)) === 1) await announced(() => client.publish(channel, request))
    },
    async read(tenant, request) {
      const fields = await client.hgetall(keys.answers(memberOf({ tenant, postId: request, kind: 'asked' })))
      const { opened, until, protocols, subject, erased } = fields
      if (opened === undefined) return null
      const of = (prefix: string) =>
        new Map(
          Object.entries(fields).flatMap(([field, json]) =>
            field.startsWith(prefix) ? [[field.slice(prefix.length), json] as const] : [],
          ),
        )
      return {
        subjectId: subject === undefined ? '' : refOf(subject).postId,
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
    async takeHooked(limit) {
      const waitingOnes = await client.zrange(keys.hooked, '0', String(limit - 1))
      const hooked = await Promise.all(
        waitingOnes.map(async (one): Promise<HookedVerdict[]> => {
          const [protocol = '', member = ''] = one.split(/ (.*)/s)
          const verdict = await client.hget(keys.answers(member), `verdict:${protocol}`)
          const { tenant, postId: request } = refOf(member)
          if (verdict !== null) return [{ tenant, request, protocol, verdict }]
          // The answer was erased, or is forgotten.
          await client.zrem(keys.hooked, one)
          return []
        }),
      )
      return hooked.flat()
    },
    async hooked(some) {
      const them = some.map(
        ({ tenant, request, protocol }) => `${protocol} ${memberOf({ tenant, postId: request, kind: 'asked' })}`,
      )
      if (them.length > 0) await client.zrem(keys.hooked, ...them)
    },
    async close() {
      waiters.wakeAll()
      subscriber?.disconnect()
    },
  }
}
