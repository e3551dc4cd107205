import type { Settings } from '../../../../config/schema.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import { samplingRanks } from '../../../contracts/facts/sampling-rank.ts'
import { makeProtocols } from '../../composition/make-protocols.ts'
import type { Minutes } from './transcript.ts'

/** By protocol, what words of its models mean as labels. */
export function meaningsOf(settings: Settings): Minutes['meanings'] {
  const protocols = makeProtocols(settings.protocols, fences('show', settings.fences), samplingRanks('show'))
  return new Map(protocols.map(({ name, meanings = {} }) => [name, meanings]))
}
