import { randomUUID } from 'node:crypto'
import { FAULTS } from './faults.ts'

export interface JoinRequest {
  readonly memberId: string
  readonly clientId: string
  readonly sessionMs: number
  readonly rebalanceMs: number
  readonly protocols: ReadonlyMap<string, Buffer>
}

export interface Joined {
  readonly fault: number
  readonly generation: number
  readonly protocol: string
  readonly leader: string
  readonly memberId: string
  /** For the leader alone, who shares the partitions out. */
  readonly members: readonly { id: string; metadata: Buffer }[]
}

export interface Synced {
  readonly fault: number
  readonly assignment: Buffer
}

interface Member extends JoinRequest {
  assignment: Buffer
  session?: NodeJS.Timeout
  joining?: (answer: Joined) => void
  syncing?: (answer: Synced) => void
}

const NOTHING = Buffer.alloc(0)

/**
 * One consumer group, by the classic protocol (KIP-62): whoever joins, leaves or is not heard of makes all others join again;
 * when they have, or their time is up, the leader shares out, and everybody gets their part.
 */
export function consumerGroup() {
  const members = new Map<string, Member>()
  const offsets = new Map<string, { offset: number; metadata: string }>()
  let state: 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' = 'Empty'
  let generation = 0
  let leader = ''
  let protocol = ''
  let deadline: NodeJS.Timeout | undefined

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

  /** Begins the next generation with those who have joined; the others are out. */
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

  function commonProtocol(): string | undefined {
    const [first, ...others] = members.values()
    return [...(first?.protocols.keys() ?? [])].find((name) => others.every(({ protocols }) => protocols.has(name)))
  }

  function faultOf(id: string, given: number): number {
    if (!members.has(id)) return FAULTS.unknownMember
    return given === generation ? 0 : FAULTS.illegalGeneration
  }

  const refused = (fault: number, memberId: string): Joined => ({
    fault,
    generation: -1,
    protocol: '',
    leader: '',
    memberId,
    members: [],
  })

  return {
    /** Answered when the whole group has joined. */
    join(request: JoinRequest): Promise<Joined> {
      const id = request.memberId || `${request.clientId}-${randomUUID()}`
      const known = members.get(id)
      if (request.memberId !== '' && known === undefined)
        return Promise.resolve(refused(FAULTS.unknownMember, request.memberId))
      const before = commonProtocol()
      if (before !== undefined && !request.protocols.has(before) && members.size > (known ? 1 : 0))
        return Promise.resolve(refused(FAULTS.inconsistentProtocols, request.memberId))
      clearTimeout(known?.session) // who waits for the others need not be heard of
      known?.joining?.(refused(FAULTS.unknownMember, id))
      known?.syncing?.({ fault: FAULTS.rebalancing, assignment: NOTHING })
      return new Promise((joining) => {
        members.set(id, { ...request, assignment: NOTHING, joining })
        rebalance()
      })
    },
    /** Answered when the leader has shared out. */
    async sync(id: string, given: number, assignments: ReadonlyMap<string, Buffer>): Promise<Synced> {
      const member = members.get(id)
      const fault = faultOf(id, given)
      if (fault !== 0 || member === undefined) return { fault, assignment: NOTHING }
      heard(id, member)
      if (state === 'PreparingRebalance') return { fault: FAULTS.rebalancing, assignment: NOTHING }
      if (state === 'CompletingRebalance' && id !== leader)
        return await new Promise((resolve) => {
          member.syncing = resolve
        })
      if (state === 'CompletingRebalance') {
        state = 'Stable'
        for (const [other, one] of members) {
          one.assignment = assignments.get(other) ?? NOTHING
          one.syncing?.({ fault: 0, assignment: one.assignment })
          delete one.syncing
        }
      }
      return { fault: 0, assignment: member.assignment }
    },
    heartbeat(id: string, given: number): number {
      const member = members.get(id)
      const fault = faultOf(id, given)
      if (fault !== 0 || member === undefined) return fault
      heard(id, member)
      return state === 'PreparingRebalance' ? FAULTS.rebalancing : 0
    },
    leave(id: string): number {
      if (!members.has(id)) return FAULTS.unknownMember
      remove(id)
      return 0
    },
    /** Whether this member may commit now; whoever is no member may while there are none. */
    mayCommit(id: string, given: number): number {
      if (given < 0 && members.size === 0) return 0
      const member = members.get(id)
      const fault = faultOf(id, given)
      if (fault !== 0 || member === undefined) return fault
      heard(id, member)
      return state === 'CompletingRebalance' ? FAULTS.rebalancing : 0
    },
    offsets,
    described: () => ({
      state,
      protocol,
      members: [...members].map(([id, { clientId, protocols, assignment }]) => ({
        id,
        clientId,
        metadata: protocols.get(protocol) ?? NOTHING,
        assignment,
      })),
    }),
    isEmpty: () => members.size === 0,
  }
}
export type ConsumerGroup = ReturnType<typeof consumerGroup>
