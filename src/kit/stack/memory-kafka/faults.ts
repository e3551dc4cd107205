/** Kafka's error codes, those of them that this broker answers with. */
export const FAULTS = {
  offsetOutOfRange: 1,
  corrupt: 2,
  unknownTopic: 3,
  illegalGeneration: 22,
  inconsistentProtocols: 23,
  unknownMember: 25,
  rebalancing: 27,
  unsupportedVersion: 35,
  groupNotEmpty: 68,
  groupNotFound: 69,
} as const
