import type { Journal } from '../domain/case.ts'
import { FAULTS, type Remark, type Ruling } from '../domain/verdict.ts'

/** A tier is no part of how a paper asks. */
const SAID: Readonly<Record<Exclude<Remark, 'tier'>, (model: string) => string>> = {
  temperature: (model) => `${model} took no temperature as the paper sets it`,
  'log-probabilities': (model) => `${model} gave no log-probabilities`,
  'thinking-room': (model) => `${model} was given more room for its thoughts after an answer was cut off`,
}

/** A ruling that is to be a paper's, with what its models were asked in another way than the paper's: once for each model. */
export function faithfully(ruling: Ruling, asked: readonly { readonly key: string }[], journal: Journal): Ruling {
  const entries = asked.flatMap(({ key }) => journal.get(key) ?? [])
  const said = entries.flatMap(({ remarks = [], model }) =>
    remarks.flatMap((remark) => (remark === 'tier' ? [] : [SAID[remark](model || 'the model')])),
  )
  if (said.length === 0) return ruling
  const found = new Set([...(ruling.faults ?? []), 'model'])
  return {
    ...ruling,
    degraded: [...ruling.degraded, ...new Set(said)],
    faults: FAULTS.filter((fault) => found.has(fault)),
  }
}
