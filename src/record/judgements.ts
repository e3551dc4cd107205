import type { Verdict } from '../contracts/facts/verdict.ts'
import type { SubjectRecord } from '../contracts/ports/record.ts'
import type { Judgement } from '../contracts/ports/review.ts'
import { OPINION, opinionCode } from './opinion-code.ts'

/** People's current verdicts on one subject; none that rests on images which could not be shown. */
export function judgementsOf({ subject, lang, verdicts, said }: SubjectRecord): Judgement[] {
  return verdicts.flatMap(({ verdict: human, standing }) => {
    const { label, protocol, revision, decision } = human
    if (!standing || human.decidedBy !== 'human' || label === null || decision === undefined) return []
    if (decision.unseen === true) return []
    const beneath = verdicts
      .filter(({ verdict: one }) => one.protocol === protocol && one.revision < revision && isMachines(one))
      .sort((a, b) => b.verdict.revision - a.verdict.revision)[0]
    const opinions = new Map<string, string>()
    for (const one of said) {
      const message = one.message as {
        against?: unknown
        opinion?: unknown
        golden?: unknown
        unseen?: unknown
        sawLabel?: unknown
      }
      const isOfThis =
        one.said === 'decision' &&
        opinionCode(message) === OPINION &&
        message.against === revision &&
        one.protocol === protocol
      if (isOfThis && one.label !== null && one.by !== decision.by) opinions.set(one.by, one.label)
    }
    return [
      {
        subject,
        protocol,
        lang,
        label,
        by: decision.by,
        machine: beneath === undefined ? null : machineOf(beneath.verdict),
        audited: beneath?.sampled ?? false,
        opinions: [...opinions].map(([by, own]) => ({ by, label: own })),
      },
    ]
  })
}

function isMachines({ decidedBy }: Verdict): boolean {
  return decidedBy !== 'human' && decidedBy !== 'deleted'
}

function machineOf({ label, models, versions }: Verdict): Judgement['machine'] {
  return label === null ? null : { label, models: [...new Set(Object.values(models))], prompts: versions.prompts }
}
