import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { openVetoLists } from '../../models/vetoes/veto-lists.ts'
import { everyProtocol } from '../composition/protocols.ts'
import { checkLabels } from '../composition/vetoes.ts'
import { broken } from './doctor-findings.ts'

const WHAT = 'vetoes'
/** A hash that nobody's picture has: a service is asked for it to see whether it answers. */
const NO_PICTURE = '0'.repeat(64)

/** Whether each list can be read and each service answers; nothing where there are none. */
export async function vetoFindings(settings: Settings): Promise<Finding[]> {
  if (Object.keys(settings.vetoes).length === 0) return []
  try {
    const protocols = new Map(everyProtocol(settings).map(({ name, labels }) => [name, labels]))
    checkLabels(settings, (name) => protocols.get(name))
    const lists = await openVetoLists(settings.vetoes)
    const search = await lists.findPicture({ sha256: NO_PICTURE, pdq: NO_PICTURE })
    await lists.close()
    const sizes = lists.sizes.map(({ name, kind, entries }) => `${name} (${kind}, ${entries ?? 'a service'})`)
    const found: Finding = { what: WHAT, state: 'ok', detail: sizes.join(', ') }
    const silent = 'silent' in search ? search.silent : []
    return [
      found,
      ...silent.map(
        ({ list, why, isClosed }): Finding => ({
          what: WHAT,
          state: 'warning',
          detail: `${list} did not answer: ${why}`,
          todo: isClosed
            ? 'Until it answers no picture gets a benign label (docs/vetoes.md).'
            : 'Until it answers no model is shown a picture (docs/vetoes.md).',
        }),
      ),
    ]
  } catch (error) {
    return [broken(WHAT, error, 'Mend the list that is named (docs/vetoes.md).')]
  }
}
