import { subjectOf } from '../contracts/facts/decision-messages.ts'
import type { DecisionDesk } from '../contracts/ports/decisions.ts'
import { type CaseFile, caseFile } from './case-file.ts'
import { coverOf, coversOf } from './covers.ts'
import { mediaOf } from './pictures.ts'
import type { PostViewParts } from './post-view.ts'

/**
 * Marks decisions on what was not shown as it was judged, whichever page they come from: pictures that could not be, and pictures and
 * words that stayed covered.
 */
export function markingUnseen(
  decisionDesk: DecisionDesk,
  { record, kinds, pictures, people, seenPosts }: Omit<PostViewParts, 'clock' | 'breakAfter'>,
): DecisionDesk {
  async function fileOf({ protocol, against, ...said }: Decided): Promise<CaseFile | null> {
    const named = subjectOf(said, 'post')
    if (named === null) return null
    // Whose replies a protocol judges the record knows: only what was said of the kind counts here.
    const kind = named.kind === 'post' ? said.kind : named.kind
    const subjectRecord = await record.subject({ tenant: named.tenant, id: named.postId, kind })
    const seen = subjectRecord?.verdicts.find(
      ({ verdict }) => verdict.protocol === protocol && verdict.revision === against,
    )
    return seen === undefined ? null : caseFile(seen.verdict.id, { record, kinds, session: {} })
  }
  const isCovered = async (file: CaseFile, { by, sawLabel }: Decided): Promise<boolean> => {
    const { subject } = file.row
    if (mediaOf(file).some((_, nth) => !seenPosts.has(by, subject, nth))) return true
    if (file.thread === null || seenPosts.has(by, subject, 'words')) return false
    const choice = await coversOf(people, by)
    return coverOf(file, { kinds, choice, isBlind: sawLabel === false }) !== null
  }
  return {
    async decide(message, signal) {
      const file = message.withdraw === true ? null : await fileOf(message)
      const isUnseen = file !== null && ((await isCovered(file, message)) || (await pictures.hasUnseen(file)))
      return decisionDesk.decide(isUnseen ? { ...message, unseen: true } : message, signal)
    },
  }
}

type Decided = Parameters<DecisionDesk['decide']>[0]
