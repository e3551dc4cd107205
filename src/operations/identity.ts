import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Settings } from '../../config/schema.ts'
import { version } from '../platform/package-folder.js'

/** Which process this is: on every log line, in `/health/ready`, and as a metric. */
export interface Identity {
  /** The deployment's name: `name` in the settings. */
  readonly gavel: string
  /** Gavel's version, as in package.json. */
  readonly version: string
  /**
   * Fingerprint of the settings without secrets, and without the address of a process's own page, 8 hex digits: the same in
   * two processes if their settings are.
   */
  readonly settings: string
  /** The machine's name; in Kubernetes the pod's. */
  readonly host: string
  readonly roles: readonly string[]
}

export function identityOf(settings: Settings, roles: readonly string[]): Identity {
  return { gavel: settings.name, version: version(), settings: fingerprint(settings), host: hostname(), roles }
}

/** How settings that hold a secret are named: `openai.apiKey`, `redis.sentinelPassword`, `http.token`, `webhooks.to.NAME.secrets`. */
const SECRET = /(?:key|password|token|secrets?)$/i
/** The user and password in a URL. */
const USER_INFO = /\/\/[^/]*@/g

/** Nothing can be guessed about a secret from it: no secret goes into it. */
export function fingerprint({ http: { host: _, port: __, ...http }, ...others }: Settings): string {
  const canonical = JSON.stringify({ ...others, http }, (name, value: unknown) => {
    if (SECRET.test(name) && (typeof value === 'string' || Array.isArray(value))) return undefined
    if (typeof value === 'string') return value.replace(USER_INFO, '//')
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    // What is added to an endpoint's requests may be a key, under any name.
    if (name === 'headers' || name === 'query') return Object.keys(value)
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
  return createHash('sha256').update(canonical).digest('hex').slice(0, 8)
}

/** What a process does of the service. */
export const ROLES = ['intake', 'judge', 'publish', 'door', 'record', 'console', 'jetstream'] as const
export type ProcessRole = (typeof ROLES)[number]

/**
 * The default roles of `gavel run`: door and console have ports that not everybody wants open, the
 * record a file that holds what people wrote, and Jetstream is somebody else's server.
 */
export const DEFAULT_ROLES: readonly ProcessRole[] = ['intake', 'judge', 'publish']

/** The others draw no sample and fence no text. */
const NEED_SECRET: readonly ProcessRole[] = ['intake', 'judge', 'door', 'jetstream']

export function needsSecret(roles: readonly ProcessRole[]): boolean {
  return NEED_SECRET.some((role) => roles.includes(role))
}
