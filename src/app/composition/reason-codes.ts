import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import { type ReasonCodes, reasonCodes } from '../../console/reason-codes.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { readYaml } from '../../protocols/yaml-file.ts'

/** The reasons that people choose, from the settings' own file or the shipped one. Throws an `OperatorError` if it can't be read. */
export function readReasonCodes(own: string | null): ReasonCodes {
  const path = own ?? join(PROJECT, 'config', 'review-reasons.yaml')
  const faults: string[] = []
  const read = reasonCodes.safeParse(readYaml(sourceOf(path), (why) => void faults.push(why)))
  if (faults.length === 0 && read.success) return read.data
  const wrong = read.error?.issues.map(({ path: at, message }) => [...at, message].join(': ')) ?? []
  throw new OperatorError(`${path} (review.reasons): ${[...faults, ...wrong].slice(0, 5).join('; ')}`)
}

function sourceOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`${path} (review.reasons) can't be read: ${String(error)}`, { cause: error })
  }
}
