import type { Settings } from '../../../config/schema.ts'
import type { ReadLimits } from '../../contracts/facts/read-value.ts'

/** How messages are read under these settings, from whichever topic or request. */
export function readLimitsOf({ intake, messages }: Pick<Settings, 'intake' | 'messages'>): ReadLimits {
  return { ...intake, textFields: messages.textFields }
}
