import { InvalidArgumentError } from 'commander'
import { didYouMean } from '../service/domain/did-you-mean.ts'
import { PROTOCOLS } from '../service/protocols/registry.ts'

/** What stands for verdicts without a label. */
export const NO_LABEL = 'none'

/** A label that a protocol gives, or the word for none; a list of all, and the one that was probably meant, for any other. */
export function labelName(text: string): string {
  const known = [...PROTOCOLS.flatMap(({ labels }) => (labels === undefined ? [] : Object.values(labels))), NO_LABEL]
  if (known.includes(text)) return text
  throw new InvalidArgumentError(`labels are ${known.join(', ')}.${didYouMean(text, known)}`)
}
