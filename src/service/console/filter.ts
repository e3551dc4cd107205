import type { RecordFilter } from '../ports/record.ts'
import type { Session } from './sessions.ts'

/** What an address asks for, as far as this session may see it: a tenant of others finds nothing. */
export function filterOf(query: URLSearchParams, { tenants }: Session): RecordFilter {
  const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 400)
  const tenant = given('tenant')
  const allowed = tenant === '' ? tenants : (tenants ?? [tenant]).filter((one) => one === tenant)
  const label = given('label')
  const [since, until] = [dayOf(given('from')), dayOf(given('to'))]
  return {
    ...(allowed === undefined ? {} : { tenants: allowed }),
    ...text('protocol', given('protocol')),
    ...(label === '' ? {} : { label: label === NO_LABEL ? null : label }),
    ...text('author', given('author')),
    ...text('model', given('model')),
    ...text('prompts', given('prompts')),
    ...text('fault', given('fault')),
    ...text('before', given('before')),
    ...(query.has('contested') ? { contested: true as const } : {}),
    ...(query.has('degraded') ? { degraded: true as const } : {}),
    ...(since === null ? {} : { since }),
    // The day that is named counts whole.
    ...(until === null ? {} : { until: until + DAY_MS }),
  }
}

/** How an address asks for verdicts without a label. */
const NO_LABEL = 'none'
const DAY_MS = 86_400_000

function text<Name extends 'protocol' | 'author' | 'model' | 'prompts' | 'fault' | 'before'>(
  name: Name,
  value: string,
) {
  return value === '' ? {} : ({ [name]: value } as { readonly [One in Name]: string })
}

function dayOf(day: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return null
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? null : at
}
