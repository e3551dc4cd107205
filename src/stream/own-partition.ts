import kafkajs from 'kafkajs'

/**
 * The partition, of so many, to which Gavel's producer sends records with this key; so does every producer that hashes keys
 * as Kafka's Java client does.
 */
export function partitionForKey(key: string, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 0,
    replicas: [],
    isr: [],
  }))
  return kafkajs.Partitioners.DefaultPartitioner()({
    topic: '',
    partitionMetadata,
    message: { key: Buffer.from(key), value: null },
  })
}
