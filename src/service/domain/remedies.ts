import type { AwayReason } from './errors.ts'

/** How the settings of an endpoint are called. */
export interface EndpointNames {
  /** Its base URL. */
  readonly url: string
  readonly key: string
}

/** What to do about a model that can't be asked; `setting` is the one that names it. */
export function remedyFor(reason: AwayReason, { url, key }: EndpointNames, setting = 'models.roles'): string {
  switch (reason) {
    case 'quota':
      return `Add credit to the account, raise its limit, or name another model in ${setting}.`
    case 'key':
      return `Check ${key}, and that it belongs to ${url}.`
    case 'permission':
      return `Check what the key may do, or name another model in ${setting}.`
    case 'model':
      return `Check ${url}, and name a model of this endpoint in ${setting}.`
    case 'unreachable':
      return `Check ${url}, and that the server runs.`
  }
}
