import { Gauge } from 'prom-client'
import { RECORDED_ROWS } from '../../contracts/ports/record.ts'
import type { MetricGroup } from './group.ts'

/** What the record holds, and what it has still to read. Series are made where a record is kept. */
export const recordMetrics: MetricGroup = (registry) => {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `gavel_record_${name}`, help, labelNames, registers: [registry] })
  const lag = gauge('lag_messages', 'Messages that the record has still to read.', 'topic')
  const rows = gauge('rows', 'Rows of the record.', 'what')
  const bytes = gauge('bytes', 'Bytes of the record on disk.')
  const full = gauge(
    'full',
    '1 while the record is as large as it may be: older transcripts make room for new verdicts.',
  )
  const largest = gauge(
    'largest_tenant_bytes',
    'What the tenant holds in the record that holds most; 0 while fewer than two hold anything.',
  )
  const overShare = gauge(
    'over_share',
    '1 while one tenant holds more than shares.record of it: where there is no room its own makes room first.',
  )
  const oldest = gauge('oldest_timestamp_seconds', 'When the oldest verdict of the record was decided.')
  const erasing = gauge(
    'erasure_oldest_waiting_seconds',
    'For how long the oldest deletion has waited to be gone from the files of the record; 0 if none waits.',
  )
  const holes = gauge('holes', 'Ranges of topics that were gone before the record had read them.')
  const ofReview = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `gavel_review_${name}`, help, labelNames, registers: [registry] })
  const waiting = ofReview('queue', 'Verdicts that people should look at.', 'protocol')
  const since = ofReview('oldest_seconds', 'For how long the oldest of them has waited.', 'protocol')
  const agreement = ofReview(
    'verdicts',
    'Current human verdicts, by whether the machine’s ruling, or a blind second opinion, has the same label.',
    'protocol',
    'beside',
    'agrees',
  )
  return {
    'review:counted': ({ state, now }) => {
      for (const gauge of [waiting, since, agreement]) gauge.reset()
      for (const { protocol, waiting: count, oldest: first } of state.queue) {
        waiting.set({ protocol }, count)
        since.set({ protocol }, Math.max(0, (now - first) / 1000))
      }
      for (const { protocol, beside, agrees, verdicts } of state.agreement)
        agreement.set({ protocol, beside, agrees: String(agrees) }, verdicts)
    },
    'record:counted': ({ size }) => {
      for (const what of RECORDED_ROWS) rows.set({ what }, size.rows[what])
      bytes.set(size.bytes)
      full.set(Number(size.full))
      largest.set(size.largest?.bytes ?? 0)
      overShare.set(Number(size.overShare))
      if (size.oldest !== null) oldest.set(size.oldest / 1000)
      erasing.set(size.erasingSince === null ? 0 : Math.max(0, (Date.now() - size.erasingSince) / 1000))
      holes.set(size.holes)
    },
    'record:lag': ({ topics }) => {
      for (const [topic, messages] of topics) lag.set({ topic }, messages)
    },
  }
}
