import type { DrawEntry, DrawPurpose, DrawQuery } from '../contracts/ports/review.ts'

/** An entry of the ledger, as any store lists it. */
export interface DrawEntryRow {
  readonly item: string
  readonly of_tenant: string
  readonly kind: DrawEntry['subject']['kind']
  readonly subject: string
  readonly purpose: DrawPurpose
  readonly protocol: string
  readonly verdict: string
  readonly chance: number
  readonly drawn_at: number
  readonly counts: number
  readonly differs: number | null
}

/** The draws that are asked for, the newest first, in the SQL that both databases understand. The last value is yet to come: how many. */
export function drawEntriesQuery({ tenants, protocol, purpose, before }: DrawQuery) {
  const all: (readonly [sql: string, ...values: (string | number)[]])[] = [['1 = 1']]
  if (tenants !== undefined)
    all.push([`draws.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`, ...tenants])
  if (protocol !== undefined) all.push(['protocol = ?', protocol])
  if (purpose !== undefined) all.push(['purpose = ?', purpose])
  const [, at, ofPurpose, item] = /^(\d{1,15})\.([a-z-]+)\.(.*)$/s.exec(before ?? '') ?? []
  if (at !== undefined && ofPurpose !== undefined && item !== undefined)
    all.push(['(drawn_at, purpose, item) < (?, ?, ?)', Number(at), ofPurpose, item])
  return {
    sql: `SELECT item, subjects.tenant AS of_tenant, kind, id AS subject, purpose, protocol, verdict, chance, drawn_at, CASE WHEN label IS NULL THEN 0 ELSE 1 END AS counts, differs
      FROM draws JOIN subjects USING (s) WHERE ${all.map(([sql]) => sql).join(' AND ')} ORDER BY drawn_at DESC, purpose DESC, item DESC LIMIT ?`,
    values: all.flatMap(([, ...values]) => values),
  }
}

export function drawEntry({ drawn_at: at, counts, differs, ...row }: DrawEntryRow): DrawEntry {
  const { item, purpose, protocol, verdict, chance, of_tenant: tenant, kind, subject: postId } = row
  const found = differs === 1 ? 'differs' : differs === 0 ? 'same' : counts === 1 ? 'waits' : 'left'
  return {
    item,
    subject: { tenant, kind, postId },
    purpose,
    protocol,
    verdict,
    chance,
    at,
    found,
    place: `${at}.${purpose}.${item}`,
  }
}
