import { z } from 'zod'
import { setAside } from '../../contracts/facts/kept-image.ts'
import { verdictScope } from '../../contracts/facts/verdict-id.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { answerBytes, KEEP_REQUESTS_MS, requestBytes, trailBytes } from '../../judging/threads/asked.ts'
import { ASKED_AHEAD } from '../../judging/threads/head-start.ts'
import { storedComment } from '../../judging/threads/thread-bytes.ts'
import { askedAbout } from '../memo/redis.ts'
import { fieldsOf } from '../recovery/redis-judge-again.ts'
import { memberOf, PUBLISHERS, refOf, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import { hookContent } from '../webhook/redis.ts'
import type { ThreadContext } from './redis-context.ts'
import { notSuspended } from './redis-intake.ts'

const putAsked = script('thread/put-asked', {
  keys: ['thread', 'comments', 'images', 'answers', 'subject', 'requests', 'due', 'incarnation'],
  args: [
    'member',
    'now',
    'keep',
    'bytes',
    'answerBytes',
    'trailBytes',
    'asked[]',
    'most',
    'keepAsked',
    'rests[]',
    'fields[].name',
    'fields[].value',
    'aside[].hash',
    'aside[].url',
    'said[].id',
    'said[].json',
    'answer[].name',
    'answer[].value',
    'incarnationId',
    'watermark',
    'serverRun',
  ],
})
const dropAsked = script('thread/drop-asked', {
  keys: [
    'thread',
    'comments',
    'images',
    'revisions',
    'answers',
    'hookContent',
    'requests',
    'due',
    'open',
    'unworked',
    'outbox',
    'erased',
    'casePrefix',
    'journalPrefix',
    'lostPrefix',
  ],
  args: ['member', 'group', 'scope'],
})

/** What was asked apart from the stream. */
export function threadAsked({
  client,
  keys,
  settings,
  token,
}: ThreadContext): Pick<ThreadStore, 'putAsked' | 'dropAsked' | 'askedAbout' | 'unlinkAsked'> {
  return {
    async putAsked({ thread: given, subject, protocols, webhook, until, most }, now) {
      const { post, images: aside } = setAside(given.post)
      const thread = { ...given, post }
      const member = memberOf(thread.ref)
      const askedUnder = memberOf(subject)
      const hook = webhook ? { hook: 1 } : {}
      const answer = { subject: askedUnder, protocols: JSON.stringify(protocols), opened: now, until, ...hook }
      const said = [...thread.comments].flatMap(([id, comment]) =>
        comment === null ? [] : [{ id, json: storedComment(comment).json }],
      )
      const { thread: hash, comments, images } = threadKeys(keys, member)
      const put = await putAsked(client, {
        thread: hash,
        comments,
        images,
        aside,
        answers: keys.answers(member),
        subject: keys.thread(askedUnder),
        requests: keys.requests(askedUnder),
        due: keys.due,
        incarnation: keys.incarnation,
        member,
        now,
        bytes: requestBytes(given, protocols),
        answerBytes: answerBytes(given),
        trailBytes: trailBytes(given),
        asked: protocols,
        most,
        keep: Math.max(1, until - now),
        keepAsked: settings.keepAskedMs ?? KEEP_REQUESTS_MS,
        rests: [keys.thread(''), keys.answers(''), askedAbout(keys.under, ''), hookContent(keys, '')],
        fields: Object.entries({ ...fieldsOf(thread), reachAhead: ASKED_AHEAD, ...hook }).map(([name, value]) => ({
          name,
          value,
        })),
        said,
        answer: Object.entries(answer).map(([name, value]) => ({ name, value })),
        ...token(),
      })
      return z.enum(['asked', 'deleted', 'over-share']).parse(notSuspended(put))
    },
    async dropAsked(ref) {
      const member = memberOf(ref)
      const { thread, comments, images, revisions } = threadKeys(keys, member)
      const answers = keys.answers(member)
      const requests = keys.requests((await client.hget(answers, 'subject')) ?? '')
      const dropped = await dropAsked(client, {
        thread,
        comments,
        images,
        revisions,
        answers,
        requests,
        hookContent: hookContent(keys, member),
        due: keys.due,
        open: keys.open,
        unworked: keys.unworked,
        outbox: keys.outbox,
        erased: keys.erased,
        casePrefix: keys.case(''),
        journalPrefix: keys.journal(''),
        lostPrefix: keys.lost(''),
        member,
        group: PUBLISHERS,
        scope: verdictScope({ protocol: '', tenant: ref.tenant, subjectId: ref.postId, asked: true }),
      })
      return dropped === 1
    },
    askedAbout: async (subject, limit) =>
      (await client.srandmember(keys.requests(memberOf(subject)), limit)).map(refOf),
    async unlinkAsked(subject, requests) {
      if (requests.length > 0) await client.srem(keys.requests(memberOf(subject)), ...requests.map(memberOf))
    },
  }
}
