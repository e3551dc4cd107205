import { z } from 'zod'
import { samplesOf, sumOf } from '../metrics/samples.ts'
import { type PublishedCounts, publishedOn } from './pace.ts'

/** One process's own figures from its `/metrics`; null if it does not answer. */
export interface ShownReplica {
  readonly url: string
  readonly says: {
    /** Model slots: in use, asks that wait for one, and all. */
    readonly slots: { readonly busy: number; readonly waiting: number; readonly all: number }
    /** US dollars since it started. */
    readonly costUsd: number
    /** By model: calls that it may have in flight, and its breaker (0 closed, 1 half-open, 2 open). */
    readonly models: readonly { readonly model: string; readonly limit: number; readonly breaker: number }[]
    /** Since it started. */
    readonly published: PublishedCounts
    /** What is wrong, in a few words each, and the page of `docs/runbooks` on it. */
    readonly wrong: readonly { readonly what: string; readonly runbook: string }[]
  } | null
}

/** An alert that Prometheus reports as firing. */
export interface FiringAlert {
  readonly name: string
  readonly severity: string
  readonly summary: string
}

/** Longest wait for a page, in ms. */
const PAGE_MS = 1_500
/** A consumer that has been away for less is joining its group. */
const CONSUMER_SECONDS = 30
const MOST_FIRING = 20

/** The figures of one process from its `/metrics`. */
export async function replicaAt(url: string, token: string): Promise<ShownReplica> {
  try {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(new URL('/metrics', url), { headers, signal: AbortSignal.timeout(PAGE_MS) })
    if (!response.ok) return { url, says: null }
    const page = await response.text()
    const slots = (state: string) => sumOf(page, 'gavel_model_slots', { state }) ?? 0
    const breakers = new Map(
      samplesOf(page, 'gavel_breaker_state').map(({ labels, value }) => [labels.model ?? '', value]),
    )
    const models = samplesOf(page, 'gavel_model_adaptive_limit').map(({ labels: { model = '' }, value }) => ({
      model,
      limit: value,
      breaker: breakers.get(model) ?? 0,
    }))
    return {
      url,
      says: {
        slots: { busy: slots('busy'), waiting: slots('waiting'), all: slots('all') },
        costUsd: sumOf(page, 'gavel_llm_cost_usd_total') ?? 0,
        models,
        published: publishedOn(page),
        wrong: wrongOn(page),
      },
    }
  } catch {
    return { url, says: null }
  }
}

/** What a process finds wrong by itself, whether or not a Prometheus watches it. */
function wrongOn(page: string): { what: string; runbook: string }[] {
  const where = (metric: string, is: (value: number) => boolean) =>
    samplesOf(page, metric).flatMap(({ labels, value }) => (is(value) ? [{ labels, value }] : []))
  const one = (value: number) => value === 1
  return [
    ...where('gavel_state_lost', one).map(() => trouble('Redis lost data: gavel recover', 'GavelStateLost')),
    ...where('gavel_redis_fault', one).map(({ labels }) => trouble(`Redis: ${labels.reason}`, 'GavelRedisFault')),
    ...where('gavel_role_away', (value) => value === 2).map(({ labels }) =>
      trouble(`no model for ${labels.role} (${labels.reason})`, 'GavelNoModel'),
    ),
    ...where('gavel_intake_paused_by', one).map(({ labels }) =>
      trouble(`intake paused (${labels.reason})`, 'GavelIntakePaused'),
    ),
    ...where('gavel_publication_closed', one).map(({ labels }) =>
      trouble(`Kafka refuses what is published: ${labels.setting} (${labels.what})`, 'GavelPublicationClosed'),
    ),
    ...where('gavel_publication_held', one).map(({ labels }) =>
      trouble(`Kafka takes no ${labels.what}`, 'GavelPublicationHeld'),
    ),
    ...where('gavel_consumer_down_seconds', (value) => value > CONSUMER_SECONDS).map(({ value }) =>
      trouble(`no Kafka consumer for ${Math.round(value)} s`, 'GavelConsumerDown'),
    ),
  ]
}

function trouble(what: string, runbook: string) {
  return { what, runbook }
}

const words = z.string().catch('')
const alerts = z.object({
  data: z.object({
    alerts: z.array(
      z.object({
        state: z.string(),
        labels: z.object({ alertname: words, severity: words }),
        annotations: z.object({ summary: words }).catch({ summary: '' }),
      }),
    ),
  }),
})

/** What fires by a Prometheus; null if it does not answer. */
export async function firingAt(url: string): Promise<readonly FiringAlert[] | null> {
  try {
    const response = await fetch(new URL('/api/v1/alerts', url), { signal: AbortSignal.timeout(PAGE_MS) })
    const read = alerts.safeParse(await response.json())
    if (!response.ok || !read.success) return null
    return read.data.data.alerts
      .filter(({ state }) => state === 'firing')
      .slice(0, MOST_FIRING)
      .map(({ labels, annotations: { summary } }) => ({ name: labels.alertname, severity: labels.severity, summary }))
  } catch {
    return null
  }
}
