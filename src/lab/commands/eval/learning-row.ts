import type { Settings } from '../../../../config/schema.ts'
import { gatewayOf, memoryGatewayStores } from '../../../app/composition/gateway.ts'
import { makeCurations } from '../../../app/composition/make-protocols.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import type { Item, Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { askingCurator, CaseFailed } from '../../../shelves/curator/ask-curator.ts'
import type { VerdictArgument } from '../../../shelves/curator/feedback.ts'
import { embedderOf } from '../../../shelves/embedders/make.ts'
import { memoryLibrary } from '../../../shelves/memory.ts'
import type { RowPlan } from '../../evaluation/rows.ts'

/** A judged case whose true label is known. */
export interface JudgedCase {
  readonly id: string
  readonly argument: VerdictArgument
  readonly verdict: string | null
  readonly truth: string
}

/** The shelf of a row that learns: empty at first, and filled with the lessons of each batch after it was judged. */
interface LearningRow {
  readonly library: Library
  /** Asks the curator about every case, and shelves its lessons. Resolves to the number of cases of which it made nothing. */
  learn(cases: readonly JudgedCase[], io: { signal: AbortSignal; progress: (line: string) => void }): Promise<number>
  close(): Promise<void>
}

/** The same on every machine, so that a recording is good everywhere. */
const SECRET = 'gavel evaluation'
const DEADLINE_MS = 30 * 86_400_000

/** The learning of a row, by the curator that it names. Throws an `OperatorError` where the protocol does not learn. */
function learningRow(
  settings: Settings,
  { kind, row, shelf, model }: { kind: ProtocolKind; row: RowPlan; shelf: string; model: Model },
): LearningRow {
  const switches = row.how.by === 'protocol' ? row.how.switches : {}
  // The curator is asked as the row is: under `paper` in the paper's words.
  const own = { enabled: true, ...entryOf(settings.protocols, kind.name), ...switches }
  const protocols = { ...settings.protocols, [kind.name]: own }
  const curation = makeCurations(protocols, fences(SECRET, settings.fences)).get(kind.name)
  if (curation === undefined) throw new OperatorError(`${kind.name} does not learn from its cases.`)
  const { curator } = row.models ?? {}
  const roles = { ...settings.models.roles, ...(curator === undefined ? {} : { curator: [curator] }) }
  const asked = { ...settings, memo: { ...settings.memo, enabled: false }, models: { ...settings.models, roles } }
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const stores = memoryGatewayStores(asked, Date.now)
  const asking = askingCurator({
    gateway: gatewayOf(asked, { stores, secret: SECRET, clock: Date.now, report: () => {}, model }),
    clock: Date.now,
    settings: { deadlineMs: DEADLINE_MS, retries: { attempts, backoffMs: backoff } },
  })
  const library = memoryLibrary(embedderOf(settings))
  return {
    // Each batch closes what it was given.
    library: { ...library, embedder: library.embedder, close: async () => {} },
    async learn(cases, io) {
      const lessons = await Promise.all(
        cases.map(async ({ id, argument, verdict, truth }): Promise<Item | null> => {
          const words = curation.words(argument.subject, argument.turns)
          if (words.trim() === '') return null
          try {
            const closed = { subject: words, turns: argument.turns, verdict, truth }
            const { keyCues, summary } = await asking.lessonOf(curation, closed, io)
            return { text: words, label: truth, metadata: { keyCues, summary }, subject: null, sourceId: id }
          } catch (error) {
            if (error instanceof CaseFailed) return null
            throw error
          }
        }),
      )
      const items = lessons.filter((lesson) => lesson !== null)
      if (items.length > 0) await library.add(shelf, items, 'curator', io.signal)
      return cases.length - items.length
    },
    close: () => library.close(),
  }
}

/** The rows of an evaluation that learn, each with its own shelf. */
export function learningRows(
  settings: Settings,
  how: { kind: ProtocolKind; shelf: string; model: Model },
): { of(row: RowPlan): LearningRow; close(): Promise<void> } {
  const rows = new Map<string, LearningRow>()
  return {
    of(row) {
      const known = rows.get(row.name) ?? learningRow(settings, { ...how, row })
      rows.set(row.name, known)
      return known
    },
    async close() {
      for (const one of rows.values()) await one.close()
    },
  }
}
