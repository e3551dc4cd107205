import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { type MemoryUse, pauseShare, stopShare } from '../../store/redis/memory.ts'

/** Whether intake pauses for what Redis holds; nothing while it does not. */
export function memoryFindings({ intake }: Pick<Settings, 'intake'>, { share, most }: MemoryUse): Finding[] {
  const pause = pauseShare(intake.pauseAtMemory, most)
  if (share <= pause) return []
  const isNearFull = share > stopShare(intake.stopAtMemory, pause)
  return [
    {
      what: "Redis's memory",
      state: 'warning',
      detail: `${Math.round(100 * share)} % is used: intake pauses ${isNearFull ? 'whoever holds what (intake.stopAtMemory)' : 'where shares hold nobody back (intake.pauseAtMemory)'}`,
      todo: `See docs/runbooks/${isNearFull ? 'GavelRedisNearFull' : 'GavelRedisFull'}.md.`,
    },
  ]
}
