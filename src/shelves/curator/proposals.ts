import { contentId, type Proposal } from '../../contracts/ports/library.ts'

/** Which others of the same tenant say that the same text on the same shelf has another label. */
export function rivalsIn(all: readonly Proposal[]): (of: Proposal) => string[] {
  const keyOf = ({ shelf, text, provenance }: Proposal) => `${shelf} ${provenance.tenant} ${contentId(text)}`
  const live = Map.groupBy(
    all.filter(({ state }) => state !== 'rejected'),
    keyOf,
  )
  return (of) => {
    if (of.state === 'rejected') return []
    return (live.get(keyOf(of)) ?? []).filter(({ label }) => label !== of.label).map(({ id }) => id)
  }
}

/** The ids of the proposals that wait: those that nothing contradicts, and those between which a person chooses. */
export function uncontested(all: readonly Proposal[]): { chosen: string[]; contested: string[] } {
  const rivals = rivalsIn(all)
  const waiting = all.filter(({ state }) => state === 'waiting')
  const chosen = waiting.filter((one) => rivals(one).length === 0)
  const contested = waiting.filter((one) => rivals(one).length > 0)
  return { chosen: chosen.map(({ id }) => id), contested: contested.map(({ id }) => id) }
}
