import { expect, it, vi } from 'vitest'
import { startApacheKafka } from '../../../src/kit/stack/servers/apache-kafka.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { tell } from '../../support/pipeline.ts'

// A random id that comes out as '-AAAAAAAQACAAAAAAAAAAA' where it names a cluster: one in 64 begins like that.
vi.mock('node:crypto', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:crypto')>()),
  randomUUID: () => 'f8000000-0000-4000-8000-000000000000',
}))

it('starts Apache Kafka under an id that begins with a dash, and would be an option if it stood by itself', {
  timeout: 900_000,
}, async (context) => {
  const certificates = makeCertificates()
  if (certificates === null) {
    tell('No openssl here, so no secured listener: only then is each start formatted under an id of its own.')
    return context.skip('no openssl here')
  }
  const { keyStore } = certificates
  const secured = { keyStore, plain: { gavel: 'secret' }, scram: { gavel: 'secret' } }
  const kafka = await startApacheKafka({ say: tell, secured })
  try {
    expect(kafka.pid).toBeGreaterThan(0)
    expect(kafka.settings.KAFKA_BROKERS).toMatch(/^127\.0\.0\.1:\d+$/)
  } finally {
    await kafka.close()
  }
})
