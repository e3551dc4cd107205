import type { Command } from '../../../cli/command.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { inspectCases } from '../../../recovery/inspection/cases.ts'
import { casesParts } from '../show/parts.ts'

interface Retried {
  readonly id: string
  /** Asks that were deferred, and may be tried now; null if the case is not open. */
  readonly asks: number | null
  /** It had no job, and got one. */
  readonly revived: boolean
}

/** `gavel cases retry`: what is deferred may be tried now, and a case without a job gets one. */
export const command: Command<object, readonly Retried[]> = {
  options: [],
  json: true,
  help: 'First fix the limit, budget or breaker that deferred the asks; otherwise it defers them again. Answered asks are not repeated.\n\nExample:\n  $ gavel cases retry rumor~3lbw2k4~r1',
  async run({ args, settings }) {
    const parts = await casesParts(settings())
    try {
      const retried: Retried[] = []
      for (const id of args) {
        const [one] = await inspectCases(parts, [id])
        if (one === undefined || one.state === 'decided') {
          retried.push({ id, asks: null, revived: false })
          continue
        }
        const asks = await parts.desk.hurry(one.groups)
        const stranded = await parts.desk.stranded([{ caseId: id, groups: one.groups }])
        await parts.desk.push(stranded)
        retried.push({ id, asks, revived: stranded.length > 0 })
      }
      return retried
    } finally {
      await parts.close()
    }
  },
  print(all, { json, terminal }) {
    for (const one of all)
      if (json) terminal.out(JSON.stringify(one))
      else terminal.out(`${printable(one.id, 200)}: ${describeRetried(one)}`)
  },
}

function describeRetried({ asks, revived }: Retried): string {
  if (asks === null) return 'not open; "gavel show" with its post’s id shows its outcome'
  if (revived) return 'had no job, and has one now'
  return asks === 0
    ? 'nothing was deferred; a worker has it, or it waits for one'
    : `${counted(asks, 'ask')} may be tried now`
}
