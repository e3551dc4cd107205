import { type ApiKey, newApiKey, type Scope } from '../../src/contracts/facts/api-key.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import type { DecisionRate, TenantRate } from '../../src/door/decision-rate.ts'
import { door } from '../../src/door/door.ts'
import type { Dependency } from '../../src/door/in-time.ts'
import { messagesRoute } from '../../src/door/messages.ts'
import type { DoorRoute } from '../../src/door/route.ts'
import { sending } from '../../src/door/sending.ts'

export const NOW = Date.parse('2026-01-02T00:00:00Z')

export interface TestDoorOptions {
  readonly routes?: readonly DoorRoute[]
  /** Beside the usual ones. */
  readonly alsoRoutes?: readonly DoorRoute[]
  readonly openAs?: string
  readonly textFields?: readonly string[]
  readonly origins?: readonly string[]
  readonly rate?: { perSecond: number; burst: number }
  readonly bodyBytes?: number
  readonly bodies?: number
  readonly items?: number
  readonly pressure?: () => string | null
  readonly overDecided?: DecisionRate
  readonly overFed?: TenantRate
  readonly takesComments?: boolean
  isOverDue?: (tenant: string) => boolean
  readonly isOverShare?: (tenant: string) => boolean
  readonly write?: (records: readonly OutgoingMessage[]) => Promise<void>
  readonly timeoutMs?: number
  /** The time by which rates are counted and keys expire. */
  readonly clock?: () => number
  readonly isAway?: (dependency: Dependency) => boolean
}

/** A door in memory, with keys of two tenants, whose Kafka is a list. */
export function testDoor(options: TestDoorOptions = {}) {
  const kept = new Map<string, ApiKey>()
  const keyOf = (tenant: string, scopes: Scope[], more: Partial<ApiKey> = {}) => {
    const { key, kept: made } = newApiKey({
      tenant,
      scopes,
      by: `${tenant}-backend`,
      createdAt: new Date(NOW).toISOString(),
      expiresAt: null,
    })
    kept.set(made.id, { ...made, ...more })
    return key
  }
  const records: OutgoingMessage[] = []
  const events: [keyof Events, unknown][] = []
  const closing = new AbortController()
  const made = door({
    settings: {
      publicUrl: '',
      origins: options.origins ?? [],
      bodyBytes: options.bodyBytes ?? 100_000,
      bodies: options.bodies ?? 16_000_000,
      rate: options.rate ?? { perSecond: 1_000, burst: 10_000 },
    },
    routes: options.routes ?? [
      messagesRoute({
        sending: sending({
          writer: { send: options.write ?? (async (all) => void records.push(...all)) },
          timeoutMs: options.timeoutMs ?? 1_000,
          report: (name, event) => void events.push([name, event]),
        }),
        topics: { post: 'posts', comment: 'comments', counterspeech: 'counterspeech', feedback: 'feedback' },
        decisionsTopic: 'decisions',
        labels: new Map([
          ['rumor', ['rumor', 'non-rumor']],
          ['hate', ['hate', 'non-hate']],
        ]),
        limits: { maxMessageBytes: 20_000, maxAhead: 60_000, textFields: options.textFields ?? [] },
        items: options.items ?? 1_000,
        overDecided: options.overDecided ?? (() => null),
        overFed: options.overFed ?? (() => null),
        pressure: options.pressure ?? (() => null),
        isOverDue: options.isOverDue ?? (() => false),
        takesComments: () => options.takesComments ?? false,
        isOverShare: options.isOverShare ?? (() => false),
        clock: () => NOW,
      }),
      ...(options.alsoRoutes ?? []),
    ],
    keys: () => kept,
    openAs: options.openAs ?? null,
    isAway: options.isAway ?? (() => false),
    closing: closing.signal,
    version: '0.0.0',
    clock: options.clock ?? (() => NOW),
    report: (name, event) => void events.push([name, event]),
  })
  const from = { asker: { network: '127.0.0.1' }, host: 'localhost:8420', isKnownHost: true, countFor: () => true }
  const key = keyOf('acme', ['send', 'judge', 'read'])
  return {
    ...made,
    from,
    key,
    keyOf,
    changeKeys(change: Partial<ApiKey>) {
      for (const [id, one] of kept) kept.set(id, { ...one, ...change })
    },
    /** Their ids, in the order in which they were made. */
    get keyIds() {
      return [...kept.keys()]
    },
    records,
    events,
    closing,
    /** Asks as acme, in JSON; `init` lies over that. */
    async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const request = new Request(`http://localhost:8420${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const response = await made.fetch(request, from)
      const text = await response.text()
      // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer.
      const said: any = text === '' ? null : JSON.parse(text)
      return { status: response.status, headers: response.headers, body: said }
    },
  }
}

export const POST = { type: 'post', id: 'p1', text: 'The bridge is closed.', createdAt: '2026-01-01T10:00:00Z' }
export const COMMENT = { type: 'comment', id: 'c1', postId: 'p1', text: 'No.', createdAt: '2026-01-01T10:05:00Z' }

/** How many turns of the event loop pass until it is done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isDone = true
  return turns
}
