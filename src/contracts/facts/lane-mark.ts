/** Among what is paused: a first lane that is closed, by its hash; for one tenant's subjects, or for all. */
export function laneMark(hash: string, tenant?: string): string {
  return tenant === undefined ? `lane ${hash}` : `lane ${hash} ${tenant}`
}

/** Whether a lane is closed for this tenant's subjects. */
export function isLaneClosed(paused: ReadonlySet<string>, hash: string, tenant: string): boolean {
  return paused.has(laneMark(hash)) || paused.has(laneMark(hash, tenant))
}

/** The tenants for whose subjects alone a lane is closed. */
export function closedTenants(paused: ReadonlySet<string>, hash: string): string[] {
  const beginning = laneMark(hash, '')
  return [...paused].flatMap((mark) => (mark.startsWith(beginning) ? [mark.slice(beginning.length)] : []))
}

/** A language that nobody names (BCP 47). */
const UNKNOWN = 'und'

/** The language of a lane's group. Regions and scripts are too many groups for few labels. */
export function laneLanguage(tag: string | undefined): string {
  return tag?.toLowerCase().split(/[-_]/, 1)[0] || UNKNOWN
}
