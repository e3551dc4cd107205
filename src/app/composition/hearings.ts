import { hash } from 'node:crypto'
import type { Settings } from '../../../config/schema.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import type { Verdict } from '../../contracts/facts/verdict.ts'
import type { AppealHearings, HeardRuling, UnheardReason } from '../../contracts/ports/hearings.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type CaseReplay, replayCase } from '../../judging/recorded/replay-recorded.ts'
import { modelsOfEndpoints } from '../../models/openai/models-of-endpoints.ts'
import { withAppeals } from '../../protocols/with-appeals.ts'
import { libraryOf } from '../../shelves/lancedb/library.ts'
import { askingAnew } from './ask-anew.ts'
import type { GatewayStores } from './gateway.ts'
import { askedModelCheck, replayNotes } from './judging.ts'
import { everyProtocol } from './protocols.ts'
import { replayable } from './replayable.ts'

/** Longest time that the models have, in ms: a person waits for them. */
const WITHIN_MS = 120_000

/** Hearings over recorded cases: what was asked then and does not show the appeals has the answer that it had. Nothing of it is kept. */
export function appealHearings(
  now: () => Settings,
  parts: {
    readonly record: Pick<RecordReader, 'verdict' | 'transcript'>
    readonly secret: () => Promise<string>
    readonly report: Report
    /** The budgets and limits that its calls count in, and the images that were set aside; absent: those in memory, for one hearing. */
    readonly stores?: () => Promise<GatewayStores>
    /** In place of those that the settings name. */
    readonly model?: Model
  },
): AppealHearings {
  const { record, report } = parts
  const isThere = async (ruled: Verdict) => (await record.transcript(ruled.id)) !== null
  return {
    async hear(ruled, appeals, given) {
      const opened: ReturnType<typeof libraryOf>[] = []
      try {
        return await heard(ruled, appeals, given, opened)
      } catch (error) {
        given.throwIfAborted()
        if (!(await isThere(ruled).catch(() => true))) return 'erased'
        report('error', { where: 'console', error })
        return 'failed'
      } finally {
        for (const library of opened) await library.close()
      }
    },
  }

  /** Rejects where anything fails: nobody's decision waits for that. */
  async function heard(
    ruled: Verdict,
    appeals: Parameters<AppealHearings['hear']>[1],
    given: AbortSignal,
    opened: ReturnType<typeof libraryOf>[],
  ): Promise<HeardRuling | UnheardReason> {
    const [settings, secret] = [now(), await parts.secret()]
    const samplingRank = samplingRanks(secret)
    const protocol = judgeOf(settings, secret, ruled)
    if (protocol?.hears === undefined) return 'no-place'
    const row = await record.verdict(ruled.id)
    if (row === null) return 'gone'
    const threads = protocol.subject === 'thread'
    const { key } = replayNotes(settings, samplingRank)
    const recorded = await replayable(record, { ...row, person: null }, { key, threads })
    if (typeof recorded === 'string') return recorded
    const fence = fences(secret, settings.fences)
    const told = withAppeals(protocol, appeals, protocol.faithful === true ? fence.paper() : fence)
    const signal = AbortSignal.any([given, AbortSignal.timeout(WITHIN_MS)])
    const anew = askingAnew(settings, protocol.name, {
      model: parts.model ?? modelsOfEndpoints(settings),
      stores: await parts.stores?.(),
      library() {
        const library = opened[0] ?? libraryOf(settings, Date.now)
        if (opened.length === 0) opened.push(library)
        return library
      },
      secret,
      report,
      signal,
      dead: () => null,
      mayAsk: async () => {
        if (!(await isThere(ruled))) throw new Error('its words were deleted')
      },
      usd: Number.POSITIVE_INFINITY,
    })
    const isOurs = askedModelCheck(settings, protocol.name, samplingRank)
    const said = hash('sha256', JSON.stringify(appeals), 'base64url')
    const of = { id: `${ruled.id}~appeal~${said.slice(0, 16)}`, subject: row.subject }
    const replay = await replayCase(told, recorded, isOurs, (question) => anew(of, question))
    return (await isThere(ruled)) ? heardIn(replay) : 'erased'
  }
}

/** The protocol as it is now, or its variant that ruled. */
function judgeOf(settings: Settings, secret: string, { protocol: name, variant }: Verdict) {
  const protocol = everyProtocol(settings, secret).find((one) => one.name === name)
  return protocol?.variants?.find((one) => one.variant === variant) ?? protocol
}

function heardIn({ ruling, newQuestions: questions, failed }: CaseReplay): HeardRuling | UnheardReason {
  if (questions === 0) return 'no-place'
  if (failed.length > 0 && ruling.label === null)
    return failed.some((why) => why.startsWith('budget')) ? 'budget' : 'failed'
  const { label, rationale, degraded } = ruling
  return { label, rationale, questions, degraded }
}
