import type { Settings } from '../../../config/schema.ts'
import { readFrame } from '../../../producers/jetstream/frame.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { relayGeneration } from '../../contracts/facts/relay-address.ts'
import { relayStreams } from '../composition/jetstream.ts'
import { broken } from './doctor-findings.ts'

/** How long a relay is listened to, in ms: somebody writes in each second. */
const LISTEN_MS = 5_000

/** Whether each relay answers, and how old its newest event is; nothing where none is set. */
export async function jetstreamFindings(settings: Settings): Promise<Finding[]> {
  const { urls, dids } = settings.jetstream
  if (urls.length === 0) return []
  try {
    const open = relayStreams(settings)
    return await Promise.all(urls.map((url) => relayFinding(url, open, dids.length > 0)))
  } catch (error) {
    return [broken('jetstream', error, 'Mend jetstream.ca (docs/bluesky.md).')]
  }
}

async function relayFinding(url: string, open: ReturnType<typeof relayStreams>, isNarrow: boolean): Promise<Finding> {
  const what = `relay ${new URL(url).host}`
  try {
    const ageMs = await ageOfNewest(url, open)
    if (ageMs !== null) return { what, state: 'ok', detail: `its newest event is ${(ageMs / 1_000).toFixed(1)} s old` }
    const detail = `it answers, and has sent nothing within ${LISTEN_MS / 1_000} s`
    if (isNarrow) return { what, state: 'ok', detail: `${detail}: those in jetstream.dids may have written nothing` }
    return { what, state: 'warning', detail, todo: 'Name another in jetstream.urls (docs/bluesky.md).' }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    const todo = 'See whether this machine may reach it, or name another in jetstream.urls (docs/bluesky.md).'
    return { what, state: 'warning', detail, todo }
  }
}

/** Null if none came. */
async function ageOfNewest(url: string, open: ReturnType<typeof relayStreams>): Promise<number | null> {
  const stream = await open(url, null)
  try {
    for (const until = performance.now() + LISTEN_MS; performance.now() < until; ) {
      for (const frame of await stream.take(1, until - performance.now())) {
        const event = frame === null ? null : readFrame(relayGeneration(url) ?? 'v1', frame)
        if (event !== null && 'time' in event) return Math.max(0, Date.now() - event.time / 1_000)
      }
    }
    return null
  } finally {
    stream.close()
  }
}
