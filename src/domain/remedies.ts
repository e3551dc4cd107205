import type { AwayReason } from './errors.ts'

/** What to do about a model that can't be asked. */
export const REMEDIES: Readonly<Record<AwayReason, string>> = {
  quota: 'Add credit to the account, raise its limit, or name another model in models.roles.',
  key: 'Check OPENAI_API_KEY, and that it belongs to OPENAI_BASE_URL.',
  permission: 'Check what the key may do, or name another model in models.roles.',
  model: 'Check OPENAI_BASE_URL, and name a model of this endpoint in models.roles.',
  unreachable: 'Check OPENAI_BASE_URL, and that the server runs.',
}
