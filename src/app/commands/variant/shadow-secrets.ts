import type { Settings } from '../../../../config/schema.ts'
import { liveSecrets } from '../../../operations/live-secrets.ts'
import type { ReloadOutcome } from '../../../operations/reload-socket.ts'
import { changedSettings, NEEDS_RESTART, STANDS } from '../../../operations/reloading.ts'

/** Settings whose secrets are replaced by `reload`, all of them or none; it takes nothing else. `read`: the settings as they are now. */
export function reloadableSecrets(read: () => { readonly live: Settings; readonly own: Settings }) {
  let known = read()
  const [live, own] = [liveSecrets(known.live), liveSecrets(known.own)]
  return {
    live: live.settings,
    own: own.settings,
    reload(): ReloadOutcome {
      try {
        const next = read()
        const changes = [changedSettings(known.live, next.live), changedSettings(known.own, next.own)]
        const changed = [...new Set(changes.flatMap(({ secrets }) => secrets))]
        const paths = [...new Set(changes.flatMap((one) => one.paths))].filter((path) => !changed.includes(path))
        if (paths.length > 0) return { outcome: 'fixed', paths, advice: NEEDS_RESTART }
        live.take(next.live)
        own.take(next.own)
        known = next
        return { outcome: 'reloaded', changed }
      } catch (error) {
        return { outcome: 'refused', why: error instanceof Error ? error.message : String(error), advice: STANDS }
      }
    },
  }
}
