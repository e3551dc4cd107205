import { randomUUID } from 'node:crypto'
import { FAULTS } from './faults.ts'
import {
  groupMembership,
  type JoinRequest,
  type JoinResponse,
  NOTHING,
  refused,
  type SyncResponse,
} from './membership.ts'

/**
 * One consumer group, by the classic protocol (KIP-62): when a member joins, leaves or misses its heartbeats, all others have
 * to join again; when they have, or the time for it is up, the leader assigns the partitions and each member gets its own.
 */
export function consumerGroup() {
  const group = groupMembership()
  const { members } = group
  const offsets = new Map<string, { offset: number; metadata: string }>()

  /** The error code for a request of this member in this generation; 0 for none. */
  function faultOf(id: string, given: number): number {
    if (!members.has(id)) return FAULTS.unknownMember
    return given === group.generation() ? 0 : FAULTS.illegalGeneration
  }

  return {
    /** Resolves when the whole group has joined. */
    join(request: JoinRequest): Promise<JoinResponse> {
      const id = request.memberId || `${request.clientId}-${randomUUID()}`
      const known = members.get(id)
      if (request.memberId !== '' && known === undefined)
        return Promise.resolve(refused(FAULTS.unknownMember, request.memberId))
      const before = group.commonProtocol()
      if (before !== undefined && !request.protocols.has(before) && members.size > (known ? 1 : 0))
        return Promise.resolve(refused(FAULTS.inconsistentProtocols, request.memberId))
      clearTimeout(known?.session) // no heartbeat is due while a join waits
      known?.joining?.(refused(FAULTS.unknownMember, id))
      known?.syncing?.({ fault: FAULTS.rebalancing, assignment: NOTHING })
      return new Promise((joining) => {
        members.set(id, { ...request, assignment: NOTHING, joining })
        group.rebalance()
      })
    },
    /** Resolves to the member's assignment when the leader has assigned the partitions. */
    async sync(id: string, given: number, assignments: ReadonlyMap<string, Buffer>): Promise<SyncResponse> {
      const member = members.get(id)
      const fault = faultOf(id, given)
      if (fault !== 0 || member === undefined) return { fault, assignment: NOTHING }
      group.heard(id, member)
      if (group.state() === 'PreparingRebalance') return { fault: FAULTS.rebalancing, assignment: NOTHING }
      if (group.state() === 'CompletingRebalance' && id !== group.leader())
        return await new Promise((resolve) => {
          member.syncing = resolve
        })
      if (group.state() === 'CompletingRebalance') {
        group.stable()
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
      group.heard(id, member)
      return group.state() === 'PreparingRebalance' ? FAULTS.rebalancing : 0
    },
    leave(id: string): number {
      if (!members.has(id)) return FAULTS.unknownMember
      group.remove(id)
      return 0
    },
    /** Kafka's error code for a commit by this member now, 0 if it may; anybody may while the group has no members. */
    mayCommit(id: string, given: number): number {
      if (given < 0 && members.size === 0) return 0
      const member = members.get(id)
      const fault = faultOf(id, given)
      if (fault !== 0 || member === undefined) return fault
      group.heard(id, member)
      return group.state() === 'CompletingRebalance' ? FAULTS.rebalancing : 0
    },
    /** What was committed, by partition and topic. */
    offsets,
    described: () => ({
      state: group.state(),
      protocol: group.protocol(),
      members: [...members].map(([id, { clientId, protocols, assignment }]) => ({
        id,
        clientId,
        metadata: protocols.get(group.protocol()) ?? NOTHING,
        assignment,
      })),
    }),
    isEmpty: () => members.size === 0,
  }
}
export type ConsumerGroup = ReturnType<typeof consumerGroup>
