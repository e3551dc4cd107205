import { hash } from 'node:crypto'

/** The id of a message to a webhook: the same for each try of one verdict at one hook, and for no other. */
export function webhookId(hook: string, verdictId: string): string {
  return `msg_${hash('sha256', `${hook}\0${verdictId}`, 'base64url').slice(0, 27)}`
}
