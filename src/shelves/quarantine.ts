import { OperatorError } from '../contracts/facts/errors.ts'
import type { DeletedOwners } from '../contracts/ports/erasures.ts'
import {
  contentId,
  type Item,
  type LoggedChange,
  type NewProposal,
  type Proposal,
  type Proposer,
  type Room,
  type SubjectRef,
} from '../contracts/ports/library.ts'
import { changeId, hashOf, learntFrom, ownerOf, placeName, placeOf } from './names.ts'
import { textKey } from './same-text.ts'
import { checkedName } from './shelf-reading.ts'
import type { ProposalRecord, Storage } from './storage.ts'
import { loggedChangeOf } from './storage.ts'
import { placeFor } from './take-back.ts'
import type { writing } from './writing.ts'

/** How many proposals an author and a tenant may make. */
export interface ProposalBounds {
  /** Most proposals of one author of a tenant on one shelf, waiting and approved together. */
  readonly proposalsPerAuthor: number
  /** Most new proposals of one author, and of all authors of a tenant, in any `per` ms, whatever happened to them. */
  readonly newProposals: { readonly perAuthor: number; readonly perTenant: number; readonly per: number }
}

/** Proposals, from their authors until somebody approves or rejects them. */
export function quarantine(
  storage: Storage,
  { write }: ReturnType<typeof writing>,
  { now, deletedAmong, proposalsPerAuthor, newProposals }: ProposalBounds & DeletedOwners & { now: () => number },
) {
  /** The limits on an author's proposals for a shelf. */
  async function bounds({ shelf, tenant, by }: Proposer): Promise<Room[]> {
    const { perAuthor, perTenant, per } = newProposals
    const isTheirs = (of: { tenant: string; by: string }) => of.tenant === tenant && of.by === by
    const standing = (await storage.proposals({ shelf, by })).filter(
      ({ proposal: { state, provenance } }) => state !== 'rejected' && isTheirs(provenance),
    )
    const since = now() - per
    const fresh = (await storage.proposed()).filter((one) => one.tenant === tenant && one.proposedAt > since)
    const lately = `within ${Math.round(per / 360_000) / 10} h`
    return [
      {
        of: hashOf(shelf, tenant, by),
        left: proposalsPerAuthor - standing.length,
        why: `${by} has as many proposals on the shelf "${shelf}" as one author may have (${proposalsPerAuthor})`,
      },
      {
        of: hashOf(tenant, by),
        left: perAuthor - fresh.filter(isTheirs).length,
        why: `${by} has made as many proposals ${lately} as one author may (${perAuthor})`,
      },
      {
        of: hashOf(tenant),
        left: perTenant - fresh.length,
        why: `people of the tenant ${tenant} have made as many proposals ${lately} as one tenant may (${perTenant})`,
      },
    ]
  }

  async function fullOf(proposer: Proposer): Promise<Room | undefined> {
    return (await bounds(proposer)).find(({ left }) => left <= 0)
  }

  async function propose(proposals: readonly NewProposal[]) {
    for (const { shelf } of proposals) checkedName(shelf)
    return storage.exclusive(async () => {
      const proposed: Proposal[] = []
      const refused: { proposal: NewProposal; why: string }[] = []
      let unchanged = 0
      for (const wanted of proposals) {
        const { caseText, ...proposal } = wanted
        const { tenant, by } = proposal.provenance
        const id = proposalId(wanted)
        const known = await storage.proposal(id)
        const full = known === null ? await fullOf({ shelf: proposal.shelf, tenant, by }) : undefined
        if (known !== null) unchanged++
        else if (full !== undefined) refused.push({ proposal: wanted, why: full.why })
        else {
          const put: Proposal = { ...proposal, id, state: 'waiting', change: null }
          const source = caseText === undefined ? '' : textKey(caseText)
          const record = { proposal: put, source, proposedAt: now() }
          await storage.putProposal(record)
          if (await wasDeleted(learntFrom(put.provenance))) {
            await storage.removeProposal(record)
            refused.push({ proposal: wanted, why: 'its subject was deleted meanwhile' })
          } else proposed.push(put)
        }
      }
      return { proposed, unchanged, refused }
    })
  }

  async function wasDeleted(subject: SubjectRef): Promise<boolean> {
    const owner = ownerOf(subject)
    return (await storage.wasForgotten(owner)) || (await deletedAmong([owner])).has(owner)
  }

  /** Without those whose subject was deleted: they are erased soon. */
  async function standing(records: readonly ProposalRecord[]): Promise<readonly ProposalRecord[]> {
    const ownerIn = ({ proposal }: ProposalRecord) => ownerOf(learntFrom(proposal.provenance))
    const deleted = await deletedAmong([...new Set(records.map(ownerIn))])
    return records.filter((record) => !deleted.has(ownerIn(record)))
  }

  async function named(ids: readonly string[]) {
    const known = await Promise.all([...new Set(ids)].map((id) => storage.proposal(id)))
    const left = await standing(known.filter((record) => record !== null))
    const byId = new Map(left.map((record) => [record.proposal.id, record]))
    const found = [...new Set(ids)].map((id) => ({ id, record: byId.get(id) ?? null }))
    const unknown = found.filter(({ record }) => record === null)
    if (unknown.length > 0) throw new OperatorError(`There is no proposal ${unknown.map(({ id }) => id).join(', ')}.`)
    return found.flatMap(({ record }) => (record === null ? [] : [record]))
  }

  async function approve(ids: readonly string[], by: string, signal: AbortSignal): Promise<LoggedChange[]> {
    const isOpen = ({ proposal }: ProposalRecord) => proposal.state !== 'approved'
    const open = (await named(ids)).filter(isOpen)
    const made: LoggedChange[] = []
    for (const [name, wanted] of Map.groupBy(open, ({ proposal }) => placeName(placeFor(proposal)))) {
      const change = changeId(now())
      let written: readonly ProposalRecord[] = wanted
      await write({
        place: placeOf(name),
        kind: 'approve',
        items: wanted.map(({ proposal }) => itemOf(proposal)),
        by,
        signal,
        change,
        still: async () => {
          const now = await Promise.all(wanted.map(({ proposal }) => storage.proposal(proposal.id)))
          written = (await standing(now.filter((record) => record !== null))).filter(isOpen)
          return written.map(({ proposal, source }) => ({ ...itemOf(proposal), source }))
        },
        written: async () => {
          for (const record of written)
            await storage.putProposal({ ...record, proposal: { ...record.proposal, state: 'approved', change } })
        },
      })
      const logged = await storage.change(change)
      if (logged !== null) made.push(loggedChangeOf(logged))
    }
    return made
  }

  async function reject(ids: readonly string[]): Promise<void> {
    await storage.exclusive(async () => {
      const records = await named(ids)
      const approved = records.filter(({ proposal }) => proposal.state === 'approved')
      if (approved.length > 0) {
        const which = approved.map(({ proposal }) => `${proposal.id} (change ${proposal.change})`).join(', ')
        throw new OperatorError(`Approved already: ${which}. Roll that change back first.`)
      }
      for (const record of records)
        await storage.putProposal({ ...record, proposal: { ...record.proposal, state: 'rejected' } })
    })
  }

  async function proposals(state?: Proposal['state']): Promise<Proposal[]> {
    const records = await standing(await storage.proposals())
    return records
      .toSorted((a, b) => a.proposedAt - b.proposedAt || (a.proposal.id < b.proposal.id ? -1 : 1))
      .flatMap(({ proposal }) => (state === undefined || proposal.state === state ? [proposal] : []))
  }

  return { room: bounds, propose, wasDeleted, proposals, approve, reject }
}

function proposalId({ shelf, text, label, provenance }: NewProposal): string {
  const { tenant, subjectId, verdictId, by } = provenance
  return hashOf(shelf, contentId(text), label, tenant, subjectId, verdictId, by).slice(0, 16)
}

function itemOf({ text, label, metadata, provenance }: Proposal): Item {
  return { text, label, metadata, subject: learntFrom(provenance) }
}
