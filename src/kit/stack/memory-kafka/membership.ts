import { FAULTS } from './faults.ts'

export interface JoinRequest {
  /** Empty for a client that is no member yet. */
  readonly memberId: string
  readonly clientId: string
  readonly sessionMs: number
  readonly rebalanceMs: number
  /** Its metadata for each of the assignment protocols that it knows, the preferred one first. */
  readonly protocols: ReadonlyMap<string, Buffer>
}

export interface JoinResponse {
  /** Kafka's error code; 0 for none. */
  readonly fault: number
  readonly generation: number
  readonly protocol: string
  readonly leader: string
  readonly memberId: string
  /** For the leader alone, which assigns the partitions; empty for the others. */
  readonly members: readonly { id: string; metadata: Buffer }[]
}

export interface SyncResponse {
  /** Kafka's error code; 0 for none. */
  readonly fault: number
  readonly assignment: Buffer
}

export interface Member extends JoinRequest {
  assignment: Buffer
  /** Removes the member when it has not been heard of for `sessionMs`. */
  session?: NodeJS.Timeout
  /** Answers its JoinGroup while that waits. */
  joining?: (answer: JoinResponse) => void
  /** Answers its SyncGroup while that waits. */
  syncing?: (answer: SyncResponse) => void
}

export const NOTHING = Buffer.alloc(0)

/** A group's members and state, and the rebalances, each of which starts a new generation. */
export function groupMembership() {
  const members = new Map<string, Member>()
  let state: 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' = 'Empty'
  let generation = 0
  let leader = ''
  let protocol = ''
  let deadline: NodeJS.Timeout | undefined

  /** Starts a member's session timeout again. */
  function heard(id: string, member: Member): void {
    clearTimeout(member.session)
    member.session = setTimeout(() => remove(id), member.sessionMs)
  }

  function remove(id: string): void {
    const member = members.get(id)
    if (member === undefined) return
    clearTimeout(member.session)
    members.delete(id)
    member.joining?.(refused(FAULTS.unknownMember, id))
    member.syncing?.({ fault: FAULTS.unknownMember, assignment: NOTHING })
    rebalance()
  }

  /** Asks all members to join again, and completes at once if all of them have. */
  function rebalance(): void {
    if (members.size === 0) {
      clearTimeout(deadline)
      state = 'Empty'
      generation++
      return
    }
    if (state !== 'PreparingRebalance') {
      state = 'PreparingRebalance'
      for (const member of members.values()) {
        member.syncing?.({ fault: FAULTS.rebalancing, assignment: NOTHING })
        delete member.syncing
      }
      clearTimeout(deadline)
      deadline = setTimeout(complete, Math.max(...[...members.values()].map(({ rebalanceMs }) => rebalanceMs)))
    }
    if ([...members.values()].every(({ joining }) => joining !== undefined)) complete()
  }

  /** Starts the next generation with the members that have joined; the others are removed. */
  function complete(): void {
    clearTimeout(deadline)
    for (const [id, member] of members)
      if (member.joining === undefined) {
        clearTimeout(member.session)
        members.delete(id)
      }
    if (members.size === 0) {
      rebalance()
      return
    }
    generation++
    if (!members.has(leader)) leader = members.keys().next().value ?? ''
    protocol = commonProtocol() ?? ''
    state = 'CompletingRebalance'
    const all = [...members].map(([id, { protocols }]) => ({ id, metadata: protocols.get(protocol) ?? NOTHING }))
    for (const [memberId, member] of members) {
      const { joining } = member
      delete member.joining
      member.assignment = NOTHING
      heard(memberId, member)
      joining?.({ fault: 0, generation, protocol, leader, memberId, members: memberId === leader ? all : [] })
    }
  }

  /** The first member's first protocol that all others have too. */
  function commonProtocol(): string | undefined {
    const [first, ...others] = members.values()
    return [...(first?.protocols.keys() ?? [])].find((name) => others.every(({ protocols }) => protocols.has(name)))
  }

  return {
    members,
    state: () => state,
    generation: () => generation,
    leader: () => leader,
    protocol: () => protocol,
    heard,
    remove,
    rebalance,
    commonProtocol,
    /** The leader has assigned the partitions: members may work. */
    stable(): void {
      state = 'Stable'
    },
  }
}

/** The answer to a join that is turned away with this error code. */
export function refused(fault: number, memberId: string): JoinResponse {
  return { fault, generation: -1, protocol: '', leader: '', memberId, members: [] }
}
