import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { certificatesOf, endsSoon } from '../../operations/certificates.ts'
import { certificateEnd } from '../../platform/certificate-ends.ts'

/** Which certificates end within two weeks, or have ended; nothing where no connection is secured. */
export async function certificateFindings(settings: Settings): Promise<Finding[]> {
  const known = certificatesOf(settings)
  const ends = await Promise.all(known.map(certificateEnd))
  const seen = known.flatMap(({ of, name }, at) => {
    const end = ends[at] ?? null
    return end === null ? [] : [{ end, named: `${of} ${name}: until ${new Date(end).toISOString().slice(0, 16)}Z` }]
  })
  if (seen.length === 0) return []
  const [first] = seen.toSorted((one, other) => one.end - other.end)
  const soon = seen.filter(({ end }) => endsSoon(end, Date.now()))
  if (soon.length === 0)
    return [{ what: 'certificates', state: 'ok', detail: `${seen.length} seen; the first to end is ${first?.named}` }]
  const todo = 'Renew what ends within two weeks: docs/runbooks/GavelCertificateEnds.md'
  return [{ what: 'certificates', state: 'warning', detail: soon.map(({ named }) => named).join('; '), todo }]
}
