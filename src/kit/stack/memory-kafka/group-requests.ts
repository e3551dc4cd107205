import { FAULTS } from './faults.ts'
import { type ConsumerGroup, consumerGroup } from './group.ts'
import type { PartitionLog } from './partition.ts'
import { answerByTopic, type BrokerAddress, byTopic, NO_THROTTLE, NODE, type Request } from './request.ts'
import { int16, int32, int64, list, sized, text, type Wire } from './wire.ts'

/** The requests about consumer groups. A group exists from the first request that names it. */
export function groupRequests(topics: ReadonlyMap<string, readonly PartitionLog[]>, address: BrokerAddress) {
  const groups = new Map<string, ConsumerGroup>()

  function groupOf(id: string): ConsumerGroup {
    const group = groups.get(id) ?? consumerGroup()
    groups.set(id, group)
    return group
  }

  function findCoordinator({ body }: Request): Wire {
    body.text()
    body.int8()
    const { host, port } = address()
    return [...NO_THROTTLE, ...int16(0), ...text(null), ...int32(NODE), ...text(host), ...int32(port)]
  }

  async function joinGroup({ body, clientId }: Request): Promise<Wire> {
    const [group, sessionMs, rebalanceMs, memberId] = [body.text(), body.int32(), body.int32(), body.text()]
    body.text() // the type of protocol: consumer
    const protocols = new Map(body.list(() => [body.text(), body.bytes()] as const))
    const joined = await groupOf(group).join({ memberId, clientId, sessionMs, rebalanceMs, protocols })
    return [
      ...NO_THROTTLE,
      ...int16(joined.fault),
      ...int32(joined.generation),
      ...text(joined.protocol),
      ...text(joined.leader),
      ...text(joined.memberId),
      ...list(joined.members, ({ id, metadata: own }) => [...text(id), ...sized([own])]),
    ]
  }

  async function syncGroup({ body }: Request): Promise<Wire> {
    const [group, generation, memberId] = [body.text(), body.int32(), body.text()]
    const assignments = new Map(body.list(() => [body.text(), body.bytes()] as const))
    const { fault, assignment } = await groupOf(group).sync(memberId, generation, assignments)
    return [...NO_THROTTLE, ...int16(fault), ...sized([assignment])]
  }

  function heartbeat({ body }: Request): Wire {
    const [group, generation, memberId] = [body.text(), body.int32(), body.text()]
    return [...NO_THROTTLE, ...int16(groupOf(group).heartbeat(memberId, generation))]
  }

  function leaveGroup({ body }: Request): Wire {
    const [group, memberId] = [body.text(), body.text()]
    return [...NO_THROTTLE, ...int16(groupOf(group).leave(memberId))]
  }

  function commitOffsets({ body }: Request): Wire {
    const [id, generation, memberId] = [body.text(), body.int32(), body.text()]
    body.int64() // how long to keep them: as long as this process
    const group = groupOf(id)
    const fault = group.mayCommit(memberId, generation)
    const sent = byTopic(body, () => ({ partition: body.int32(), offset: body.int64(), metadata: body.text() }))
    return answerByTopic(sent, (topic, { partition, ...position }) => {
      if (fault === 0) group.offsets.set(`${partition} ${topic}`, position)
      return [...int32(partition), ...int16(fault)]
    })
  }

  function fetchOffsets({ body }: Request): Wire {
    const { offsets } = groupOf(body.text())
    const known = [...topics].map(([topic, logs]) => ({ topic, partitions: [...logs.keys()] }))
    const asked = body.listOrAll(() => ({ topic: body.text(), partitions: body.list(body.int32) })) ?? known
    const answer = answerByTopic(asked, (topic, partition) => {
      const { offset, metadata: own } = offsets.get(`${partition} ${topic}`) ?? { offset: -1, metadata: '' }
      return [...int32(partition), ...int64(offset), ...text(own), ...int16(0)]
    })
    return [...NO_THROTTLE, ...answer, ...int16(0)]
  }

  function describeGroups({ body }: Request): Wire {
    const described = body.list(body.text).map((id) => ({ id, ...groups.get(id)?.described() }))
    return [
      ...NO_THROTTLE,
      ...list(described, ({ id, state = 'Dead', protocol = '', members = [] }) => [
        ...int16(0),
        ...text(id),
        ...text(state),
        ...text('consumer'),
        ...text(protocol),
        ...list(members, (one) => [
          ...text(one.id),
          ...text(one.clientId),
          ...text('/127.0.0.1'),
          ...sized([one.metadata]),
          ...sized([one.assignment]),
        ]),
      ]),
    ]
  }

  function deleteGroups({ body }: Request): Wire {
    const results = body.list(body.text).map((id) => {
      const group = groups.get(id)
      if (group?.isEmpty()) groups.delete(id)
      return { id, fault: group === undefined ? FAULTS.groupNotFound : group.isEmpty() ? 0 : FAULTS.groupNotEmpty }
    })
    return [...NO_THROTTLE, ...list(results, ({ id, fault }) => [...text(id), ...int16(fault)])]
  }

  return {
    findCoordinator,
    joinGroup,
    syncGroup,
    heartbeat,
    leaveGroup,
    commitOffsets,
    fetchOffsets,
    describeGroups,
    deleteGroups,
  }
}
