import { Kafka, logLevel } from 'kafkajs'

/** True when a Kafka client gets the cluster's description from this address, with a broker in it. */
export async function describesCluster(address: string): Promise<boolean> {
  const client = new Kafka({
    clientId: 'gavel-stack',
    brokers: [address],
    connectionTimeout: 1000,
    requestTimeout: 3000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  })
  const admin = client.admin()
  try {
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    return brokers.length > 0
  } finally {
    await admin.disconnect()
  }
}
