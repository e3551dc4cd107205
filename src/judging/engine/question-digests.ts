import { hash } from 'node:crypto'
import type { Ask } from '../../contracts/facts/ask.ts'
import { withFormat } from '../../models/format.ts'

/** Length of a digest, 132 bits. */
const CHARS = 22

/**
 * What tells the questions of an ask from all others, whichever model they go to: the messages as sent and the parameters. Of a batch
 * each item has one, made of its own words and of what all items have in common, so that it is found again in any other batch.
 */
export function questionDigests(ask: Ask): string[] {
  const { lookup, batch } = ask
  if (lookup !== undefined) {
    const { text, lang = null, shelves, k } = lookup
    return [digest(['lookup', text, lang, shelves, k])]
  }
  // How long an answer may be follows from the number of items, too.
  const common = batch === undefined ? ask : batch.subset([])
  const { stage, temperature, maxTokens, draw = '', expected } = common
  const messages = withFormat(common).map(({ role, content, images = [] }) => [role, content, images])
  const frame = digest([stage, temperature, maxTokens, draw, expected !== undefined, messages])
  return batch === undefined ? [frame] : batch.texts.map((text) => digest([frame, text]))
}

function digest(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, CHARS)
}
