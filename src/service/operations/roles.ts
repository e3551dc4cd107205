/** What a process does of the service. */
export const ROLES = ['intake', 'judge', 'publish', 'door', 'record', 'console'] as const
export type Role = (typeof ROLES)[number]

/**
 * What `gavel run` does unless it is told otherwise: door and console have ports that not everybody wants open, the
 * record a file that holds what people wrote.
 */
export const DEFAULT_ROLES: readonly Role[] = ['intake', 'judge', 'publish']

/** The others draw no sample and fence no text. */
const NEED_SECRET: readonly Role[] = ['intake', 'judge', 'door']

export function needsSecret(roles: readonly Role[]): boolean {
  return NEED_SECRET.some((role) => roles.includes(role))
}
