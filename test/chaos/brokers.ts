import { type ApacheKafka, startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { startProxy, type Way } from './proxy.ts'

/** One broker, or three that each hold a copy of everything; between each of them and each process a proxy. */
export interface Brokers {
  /** In the order of their ids, from 1 on. */
  readonly servers: readonly [ApacheKafka, ...ApacheKafka[]]
  /** The brokers' own addresses, as a setting names them. */
  readonly addresses: string
  /** The way of the nth process to all of them. */
  wayOf(process: number): Promise<Way>
  close(): Promise<void>
}

export async function startBrokers(count: 1 | 3, processes: number): Promise<Brokers> {
  const ports = (many: number) => Promise.all(Array.from({ length: many }, () => freePort()))
  const proxies = await Promise.all(Array.from({ length: count }, () => ports(processes)))
  const controllers = (await ports(count)).map((port) => `127.0.0.1:${port}`)
  const started = await Promise.allSettled(
    proxies.map((own, nth) =>
      startApacheKafka({
        say: () => {},
        proxies: own.map((port) => `127.0.0.1:${port}`),
        node: { id: nth + 1, controllers },
      }),
    ),
  )
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const close = async () => void (await Promise.all(servers.map((server) => server.close())))
  const failed = started.find((one) => one.status === 'rejected')
  const [first, ...others] = servers
  if (failed !== undefined || first === undefined) {
    await close()
    throw failed?.reason
  }
  return {
    servers: [first, ...others],
    addresses: servers.map(({ settings }) => settings.KAFKA_BROKERS).join(),
    wayOf: async (process) =>
      together(
        await Promise.all(
          servers.map((server, nth) => startProxy(proxies[nth]?.[process] ?? 0, () => server.behind[process] ?? '')),
        ),
      ),
    close,
  }
}

/** Several ways that share their weather. */
function together(ways: readonly Way[]): Way {
  return {
    address: ways.map(({ address }) => address).join(),
    set: async (weather) => void (await Promise.all(ways.map((way) => way.set(weather)))),
    get weather() {
      return ways[0]?.weather ?? { kind: 'clear' }
    },
    cut: () => ways.forEach((way) => void way.cut()),
    close: async () => void (await Promise.all(ways.map((way) => way.close()))),
  }
}
