import type { DecisionDesk } from '../contracts/ports/decisions.ts'
import { type CaseFile, caseFile } from './case-file.ts'
import type { PostViewParts } from './post-view.ts'

/** Marks decisions on what could not be shown as it was judged, whichever page they come from. */
export function markingUnseen(
  decisionDesk: DecisionDesk,
  { record, kinds, pictures }: Pick<PostViewParts, 'record' | 'kinds' | 'pictures'>,
): DecisionDesk {
  async function fileOf({ tenant, subjectId: id, kind, protocol, against }: Decided): Promise<CaseFile | null> {
    const subjectRecord = await record.subject({ tenant, id, kind })
    const seen = subjectRecord?.verdicts.find(
      ({ verdict }) => verdict.protocol === protocol && verdict.revision === against,
    )
    return seen === undefined ? null : caseFile(seen.verdict.id, { record, kinds, session: {} })
  }
  return {
    async decide(message, signal) {
      const file = message.withdraw === true ? null : await fileOf(message)
      const isUnseen = file !== null && (await pictures.hasUnseen(file))
      return decisionDesk.decide(isUnseen ? { ...message, unseen: true } : message, signal)
    },
  }
}

type Decided = Parameters<DecisionDesk['decide']>[0]
