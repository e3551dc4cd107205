/** Among what is paused: first lanes that are closed, by their basis; for one tenant's subjects, or for all. */
export function laneMark(basis: string, tenant?: string): string {
  return tenant === undefined ? `lane ${basis}` : `lane ${basis} ${tenant}`
}

export function isLaneMark(mark: string): boolean {
  return mark.startsWith('lane ')
}

/** Whether a lane is closed for this tenant's subjects. */
export function isLaneClosed(paused: ReadonlySet<string>, basis: string, tenant: string): boolean {
  return paused.has(laneMark(basis)) || paused.has(laneMark(basis, tenant))
}

/** The tenants for whose subjects alone a lane is closed. */
export function closedTenants(paused: ReadonlySet<string>, basis: string): string[] {
  const beginning = laneMark(basis, '')
  return [...paused].flatMap((mark) => (mark.startsWith(beginning) ? [mark.slice(beginning.length)] : []))
}

/** A language that nobody names (BCP 47). */
export const UNKNOWN_LANGUAGE = 'und'

/** The language of a lane's group. Regions and scripts are too many groups for few labels. */
export function laneLanguage(tag: string | undefined): string {
  return tag?.toLowerCase().split(/[-_]/, 1)[0] || UNKNOWN_LANGUAGE
}
