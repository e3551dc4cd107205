import { readFileSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createTcp } from 'node:net'
import { createServer, TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { certificateFindings } from '../../src/app/commands/doctor-certificates.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import { certificatesOf, certificateWatch } from '../../src/operations/certificates.ts'
import { makeCertificates } from '../support/certificates.ts'

const made = makeCertificates()
const DAY = 86_400_000

const opened = async (server: Server) =>
  new Promise<number>((done) => server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port)))

it('names what connections rest on', () => {
  const settings = loadSettings({
    REDIS_URL: 'rediss://host',
    KAFKA_BROKERS: 'one:9093,two:9093',
    GAVEL_KAFKA_TLS_ENABLED: 'true',
    GAVEL_KAFKA_TLS_CERT: '/c.pem',
    GAVEL_KAFKA_TLS_KEY: '/k.pem',
    GAVEL_RECORD_STORE: 'postgres',
    GAVEL_RECORD_POSTGRES_URL: 'postgresql://gavel@db/x',
    GAVEL_RECORD_POSTGRES_TLS_ENABLED: 'true',
    GAVEL_WEBHOOKS_TO: `{ shop: { url: "https://shop.example/x", tenant: a, secrets: [whsec_${'A'.repeat(32)}] } }`,
  })
  expect(certificatesOf(settings).map(({ of, name }) => `${of} ${name}`)).toEqual([
    'redis host:6379',
    'kafka one:9093',
    'kafka two:9093',
    'kafka client',
    'record db:5432',
    'webhook shop',
  ])
  expect(certificatesOf(loadSettings({ REDIS_URL: 'redis://host', KAFKA_BROKERS: 'a:1' }))).toEqual([])
})

it.skipIf(made === null)(
  "sees when servers' certificates end, over PostgreSQL's own greeting too, and says once a day which do so soon",
  async () => {
    if (made === null) return
    const pair = { key: readFileSync(made.key), cert: readFileSync(made.cert) }
    const redis = createServer(pair)
    const postgres = createTcp((raw) => {
      raw.on('error', () => {})
      raw.once('data', (asked) => {
        expect([...asked]).toEqual([0, 0, 0, 8, 4, 210, 22, 47])
        raw.write('S')
        new TLSSocket(raw, { isServer: true, ...pair }).on('error', () => {})
      })
    })
    const [redisPort, postgresPort] = [await opened(redis), await opened(postgres)]
    const settings = loadSettings({
      REDIS_URL: `rediss://127.0.0.1:${redisPort}`,
      KAFKA_BROKERS: 'localhost:9',
      GAVEL_RECORD_STORE: 'postgres',
      GAVEL_RECORD_POSTGRES_URL: `postgresql://gavel@127.0.0.1:${postgresPort}/x`,
      GAVEL_RECORD_POSTGRES_TLS_ENABLED: 'true',
    })
    const told: [keyof Events, object][] = []
    const now = { ms: Date.now() }
    const watch = certificateWatch(settings, {
      clock: () => now.ms,
      report: (name, event) => void told.push([name, event]),
    })
    try {
      await watch.poll()
      await watch.poll()
      const seen = told.flatMap(([name, event]) =>
        name === 'certificate:looked-at' ? [event as Events[typeof name]] : [],
      )
      expect(seen.map(({ of }) => of)).toEqual(['redis', 'record'])
      for (const { endsAt } of seen) expect(Math.abs(endsAt - Date.now() - 2 * DAY)).toBeLessThan(DAY / 2)
      const said = () => told.filter(([name]) => name === 'certificate:ends').length
      expect(said()).toBe(2)
      now.ms += DAY / 2
      await watch.poll()
      expect([said(), told.filter(([name]) => name === 'certificate:looked-at').length]).toEqual([2, 4])
      now.ms += DAY / 2
      await watch.poll()
      expect(said()).toBe(4)
      const [finding] = await certificateFindings(settings)
      expect(finding).toMatchObject({ what: 'certificates', state: 'warning' })
      expect(finding?.detail).toMatch(/redis 127\.0\.0\.1:\d+: until .*; record 127/)
    } finally {
      for (const server of [redis, postgres]) server.close()
    }
  },
)
