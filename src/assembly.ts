import type { Settings } from '../config/schema.ts'
import { deadLetterOf } from '../consumers/read-message.ts'
import type { ThreadRef } from './domain/thread.ts'
import { verdictId } from './domain/verdict.ts'
import { farewell, type JudgeSettings, versionsOf } from './engine/judge.ts'
import type { OpenerSettings } from './engine/open.ts'
import type { Protocol } from './engine/script.ts'
import type { GatewaySettings } from './gateway/gateway.ts'
import type { Report } from './ports/report.ts'
import type { Origin, ThreadRules } from './ports/threads.ts'

// What the parts are given, out of the settings: the same for the service and for judging a file.

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

export function gatewaySettings({ models }: Settings): GatewaySettings {
  return { slots: models.slots, callTimeoutMs: models.callTimeout, roles: models.roles, prices: models.prices }
}

export function judgeSettings({ cases }: Settings): JudgeSettings {
  return { maxTakeovers: cases.maxTakeovers, handBackMs: cases.handBack, transcriptBytes: cases.transcriptBytes }
}

export function threadRules({ checkpoints, threads }: Settings): ThreadRules {
  return {
    window: checkpoints.finalAge,
    counts: checkpoints.counts,
    cap: threads.maxComments,
    textChars: threads.maxTextChars,
    reopen: checkpoints.reopen,
    orphanWait: threads.orphanWait,
  }
}

export function openerSettings(settings: Settings, partitions: () => number): OpenerSettings {
  return {
    checkpoints: settings.checkpoints,
    threadCap: settings.threads.maxComments,
    clock: settings.clock,
    maxOpen: settings.cases.maxOpen,
    caseDeadlineMs: settings.cases.deadline,
    partitions,
  }
}

/** The dead letter of a comment whose post never came. */
export function orphanLetter(report: Report, clock: () => number) {
  return ({ topic, partition, offset, raw }: Origin) => {
    const detail = 'no post came for this comment'
    report('message:dead', { topic, partition, offset, reason: 'orphan-expired', detail })
    const value = Buffer.from(raw, 'base64')
    const from = { topic, partition, offset, key: null, headers: {}, value }
    return deadLetterOf(from, { reason: 'orphan-expired', detail }, clock())
  }
}

/** The last revision of a deleted post, by protocol. */
export function farewellOf(protocols: readonly Protocol[], clock: () => number) {
  return (ref: ThreadRef, name: string, revision: number) => {
    const protocol = protocols.find((one) => one.name === name)
    const id = (number: number) =>
      verdictId({ protocol: name, tenant: ref.tenant, subjectId: ref.postId, revision: number })
    const now = clock()
    const { verdict, transcript } = farewell({
      id: id(revision),
      protocol: name,
      tenant: ref.tenant,
      subjectId: ref.postId,
      revision,
      final: true,
      supersedes: id(revision - 1),
      versions: protocol === undefined ? { script: 0, prompts: '', settings: '' } : versionsOf(protocol),
      createdAt: now,
      receivedAt: now,
      openedAt: now,
    })
    return { caseId: verdict.id, verdict: JSON.stringify(verdict), transcript }
  }
}
