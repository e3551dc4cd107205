import { PermanentError } from '../../src/contracts/facts/errors.ts'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { Clock } from '../../src/contracts/ports/clock.ts'
import type { LoadImage } from '../../src/contracts/ports/images.ts'
import type { Library } from '../../src/contracts/ports/library.ts'
import type { Advance, StagedAsk } from '../../src/contracts/ports/stage-queues.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import type { GatewayParts, GatewaySettings } from '../../src/models/parts.ts'
import { memoryBudgets } from '../../src/store/budget/memory.ts'
import { memoryLimits } from '../../src/store/limit/memory.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'

// Parts for tests of something else.

/** A protocol of threads that concludes without a question. */
export function protocolNamed(name: string, change: Partial<Protocol> = {}): Protocol {
  return {
    name,
    version: 1,
    stages: ['word', 'end'],
    subject: 'thread',
    accepts: () => true,
    mostCalls: () => 0,
    paper: { calls: 0, depth: 0, of: 'no paper' },
    labels: ['good'],
    promptsHash: 'p',
    settingsHash: 's',
    // biome-ignore lint/correctness/useYield: it asks nothing
    *script() {
      return {
        ruling: {
          label: 'good',
          scores: {},
          rationale: '',
          decidedBy: 'judge',
          rounds: 0,
          evidence: { support: [], oppose: [], precedents: [] },
          degraded: [],
        },
      }
    },
    ...change,
  }
}

export const noLibrary: Pick<Library, 'find' | 'embedder'> = {
  embedder: 'none',
  find: async ({ shelves }) => ({
    shelves: shelves.map((shelf) => ({ shelf, neighbours: [], problem: 'there is no library' })),
    weak: null,
    tokens: 0,
  }),
}

export const noImages: LoadImage = async () => {
  throw new PermanentError('image', 'there are no images here')
}

/** A gateway's stores in memory. */
export const memoryParts = (
  clock: Clock,
  budgets: Partial<BudgetSettings> = {},
): Pick<GatewayParts, 'memo' | 'limits' | 'budgets'> => ({
  memo: memoryMemo(clock),
  limits: memoryLimits(clock),
  budgets: memoryBudgets({ ...NO_BUDGETS, ...budgets }, clock),
})

const NO_LIMIT = { tokens: null, usd: null }
const NO_BUDGETS: BudgetSettings = {
  verdict: NO_LIMIT,
  tenant: { ...NO_LIMIT, per: 3_600_000 },
  tenants: {},
  total: { ...NO_LIMIT, per: 86_400_000 },
  share: 1,
  keepVerdictMs: 60_000,
}

/** A gateway without limits that remembers nothing. */
export const GATEWAY: GatewaySettings = {
  slots: 8,
  callTimeout: 1_000,
  tiers: {},
  flexTimeout: 5_000,
  minTimeout: null,
  roles: { default: ['m'] },
  onFiltered: 'stop',
  defersInOutage: false,
  endpointOf: () => 'default',
  withoutScalesOf: () => [],
  thinkingOf: () => ({ tokens: 0, effort: null }),
  thinkingTokens: 16_384,
  keepThoughts: false,
  prices: {},
  limits: { models: {}, tenants: {} },
  latencyTolerance: null,
  classes: { waiting: 0.25, rest: 0.5 },
  whenSpent: 'hold',
  imageTokens: 1_000,
  breaker: {
    window: 50,
    minCalls: 20,
    failureShare: 0.5,
    coolDown: 5_000,
    maxCoolDown: 60_000,
    probes: 2,
    successes: 3,
  },
  memo: { enabled: false, keep: 60_000, lease: 5_000, patience: 2_000, maxBytes: 10_000 },
  images: { keepFor: 60_000, keepBytes: 1_000_000, fetches: 8, maxBytes: 1_000 },
  secret: 'secret',
}

/** The asks that an advance returned, one by one. */
export function asksIn(advance: Advance): StagedAsk[] {
  if (advance.next !== 'asks') return []
  return advance.groups.flatMap(({ keys, name: _, ...of }) => keys.map((key) => ({ ...of, key })))
}
