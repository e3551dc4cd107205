import { loadFiles } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import { rampsIn } from '../../../app/commands/variant/set-ramp.ts'
import { filePartsOf } from '../../../app/composition/make-protocols.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { readPolicy } from '../../../protocols/policy.ts'
import { kindNamed } from '../eval/tables.ts'
import type { PolicyFile } from './kept-policies.ts'

/** The policies that most subjects are judged by: those of the first variant that judges all, else the protocol's own. */
export function livePolicies(settings: Settings, protocol: string) {
  const own = entryOf(settings.protocols, protocol)
  const first = rampsIn(settings).find((one) => one.protocol === protocol && one.ramp === 1)
  const variants = Object(own?.variants) as Record<string, object> // Checked as the settings were read.
  const { ramp: _, ...switches } = Object(first && entryOf(variants, first.variant)) as { ramp?: number } // Likewise.
  const parts = filePartsOf(kindNamed(protocol), { ...own, enabled: true, ...switches })
  const { policies: listed = [] } = parts.settings as { readonly policies?: readonly string[] } // Checked likewise.
  const files = parts.files('policies')
  const read = (name: string, source: string | undefined): PolicyFile[] =>
    source === undefined ? [] : [{ name, source, policy: readPolicy(`${name}.md`, source) }]
  const policies = listed.flatMap((name) => read(name, files.get(`${name}.md`)))
  const [shipped] = read(protocol, loadFiles('policies').get(`${protocol}.md`))
  return {
    for: (tenant: string | undefined) =>
      (
        policies.find(({ policy }) => policy.tenant === tenant) ??
        policies.find(({ policy }) => policy.tenant === undefined) ??
        shipped
      )?.policy ?? null,
    othersThan: (tenant: string | undefined) => policies.filter(({ policy }) => policy.tenant !== tenant),
  }
}
