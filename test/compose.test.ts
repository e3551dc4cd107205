import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../config/load.ts'

// There may be no Docker here: this reads the file as Docker Compose would, and runs nothing.

const text = (...path: string[]) => readFileSync(join(PROJECT, ...path), 'utf8')
const service = z.strictObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  ports: z.array(z.string()),
  volumes: z.array(z.string()),
  extra_hosts: z.array(z.string()).optional(),
  depends_on: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  restart: z.string(),
})
const role = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.literal('.'), dockerfile: z.string() }),
  environment: z.record(z.string(), z.string()),
  command: z.array(z.string()),
  volumes: z.array(z.string()),
  tmpfs: z.array(z.string()),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  profiles: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  stop_grace_period: z.string().regex(/^\d+s$/),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })),
  restart: z.string(),
})
const compose = z
  .strictObject({
    name: z.string(),
    'x-gavel': z.unknown(),
    services: z.strictObject({
      'gavel-intake': role,
      'gavel-judge': role,
      'gavel-publish': role,
      'gavel-console': role,
      redis: service,
      kafka: service,
      prometheus: service,
      alertmanager: service,
      grafana: service,
    }),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(text('compose.yaml'), { merge: true }))
const { redis, kafka, prometheus, grafana } = compose.services
const [roles = [], servers = []] = ['gavel-', ''].map((own) =>
  Object.entries(compose.services).flatMap(([name, one]) =>
    name.startsWith('gavel-') === (own !== '') ? [{ name, one }] : [],
  ),
)
const services = servers.map(({ name, one }) => ({ name, ...service.parse(one) }))
const gavels = roles.map(({ name, one }) => ({ name, ...role.parse(one) }))
const mounts = [...services, ...gavels].flatMap(({ name, volumes }) =>
  volumes.map((volume) => {
    const [source = '', target = '', mode = 'rw'] = volume.split(':')
    return { name, source, target, mode }
  }),
)
/** Where a file of this project is seen inside a container. */
const inside = (name: string, target: string) =>
  mounts.find((mount) => mount.name === name && mount.mode === 'ro' && target.startsWith(`${mount.target}/`))

it.each(services)('$name has a pinned image', ({ image }) => {
  expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+\.\d+(-alpine)?$/)
})

it.each([...services, ...gavels])('$name opens its ports on loopback only', ({ ports }) => {
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/)
})

it.each(mounts)('$name mounts $source, which is there', ({ source, mode }) => {
  if (source.startsWith('./')) expect([existsSync(join(PROJECT, source)), mode]).toEqual([true, 'ro'])
  else expect(Object.keys(compose.volumes)).toContain(source)
})

it('keeps what Redis holds, and evicts none of it', () => {
  const command = redis.command?.join(' ')
  expect(command).toContain('--appendonly yes')
  expect(command).toContain('--maxmemory-policy noeviction')
  expect(command).toContain('--maxmemory 1gb')
  expect(mounts).toContainEqual({ name: 'redis', source: 'redis-data', target: '/data', mode: 'rw' })
})

it('runs the Kafka that the local stack runs, as one node that names itself localhost', () => {
  const [, version] = /<kafka\.version>(.+)<\/kafka\.version>/.exec(text('config', 'kafka', 'pom.xml')) ?? []
  expect(kafka.image).toBe(`apache/kafka:${version}`)
  expect(kafka.environment).toMatchObject({
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_ADVERTISED_LISTENERS: 'PLAINTEXT://localhost:9092,INSIDE://kafka:19092',
    KAFKA_LISTENERS: 'PLAINTEXT://:9092,INSIDE://:19092,CONTROLLER://localhost:9093',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1,
  })
  expect(Buffer.from(String(kafka.environment.CLUSTER_ID), 'base64url')).toHaveLength(16)
})

it('has Prometheus tell Alertmanager, which reads the routes of this project', () => {
  const config = z
    .looseObject({
      alerting: z.object({
        alertmanagers: z.array(z.object({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) })),
      }),
    })
    .parse(parse(text('config', 'prometheus', 'prometheus.yml')))
  const told = config.alerting.alertmanagers.flatMap(({ static_configs }) =>
    static_configs.flatMap(({ targets }) => targets),
  )
  expect(told).toEqual(['alertmanager:9093'])
  const { ports, command } = compose.services.alertmanager
  expect(ports).toEqual(['127.0.0.1:9093:9093'])
  const file = command?.find((word) => word.startsWith('--config.file='))?.slice('--config.file='.length) ?? ''
  const mount = inside('alertmanager', file)
  expect(existsSync(join(PROJECT, mount?.source ?? '', file.slice((mount?.target ?? '').length + 1)))).toBe(true)
})

const scraping = z.looseObject({
  rule_files: z.array(z.string()),
  scrape_configs: z.tuple([
    z.looseObject({
      job_name: z.literal('gavel'),
      static_configs: z.array(z.looseObject({ targets: z.array(z.string()) })).default([]),
      dns_sd_configs: z.array(z.looseObject({ names: z.array(z.string()), port: z.number() })).default([]),
    }),
  ]),
})
const scrapedBy = (file: string) => scraping.parse(parse(text('config', 'prometheus', file)))

it('has Prometheus scrape every role at the port that it serves, or a Gavel on this machine', () => {
  const { http } = loadSettings({})
  const [inContainers, outside] = [scrapedBy('prometheus.yml'), scrapedBy('host.yml')]
  const [{ dns_sd_configs: found }] = inContainers.scrape_configs
  expect(found).toMatchObject([{ names: gavels.map(({ name }) => name), port: http.port }])
  const [{ static_configs: fixed }] = outside.scrape_configs
  expect(fixed).toEqual([{ targets: [`host.docker.internal:${http.port}`] }])
  // Docker Desktop's containers reach loopback by that name.
  expect(http.hosts).toContain('host.docker.internal')
  expect(prometheus.extra_hosts).toEqual(['host.docker.internal:host-gateway'])
  expect(prometheus.command?.[0]).toMatch(
    /^--config\.file=\/etc\/prometheus\/\$\{PROMETHEUS_CONFIG:-prometheus\.yml\}$/,
  )
  expect(inside('prometheus', '/etc/prometheus/prometheus.yml')?.source).toBe('./config/prometheus')
  for (const file of inContainers.rule_files) expect(existsSync(join(PROJECT, 'config', 'prometheus', file))).toBe(true)
  // But for what they scrape they say the same.
  const rest = (file: string) => ({ ...scrapedBy(file), scrape_configs: [] })
  expect(rest('host.yml')).toEqual(rest('prometheus.yml'))
})

describe.each(gavels)('$name', ({ name, image, build, command, environment, stop_grace_period, depends_on }) => {
  it('runs its role in the image of this version', () => {
    const own = name.slice('gavel-'.length)
    // The console reads the record's own file.
    const roles = own === 'console' ? 'record,console' : own
    expect(command).toEqual(['run', '--roles', roles, '--wait-for-dependencies'])
    const { version } = JSON.parse(text('package.json')) as { version: string }
    expect(image).toBe(`gavel:${version}`)
    expect(existsSync(join(PROJECT, build.dockerfile))).toBe(true)
  })

  it('has settings that are some, reaches Kafka and Redis in the containers beside it, and starts when they answer', () => {
    const settings = loadSettings(
      // As Compose fills in what is not set outside.
      Object.fromEntries(
        Object.entries(environment).map(([key, value]) => [key, value.replace(/\$\{\w+:-([^}]*)\}/, '$1')]),
      ),
    )
    expect(settings.kafka.brokers).toEqual(['kafka:19092'])
    expect(settings.redis.url).toBe('redis://redis:6379')
    expect(settings.traces.endpoint).toBe('')
    expect(settings.http.host).toBe('0.0.0.0')
    expect(Object.keys(depends_on).sort()).toEqual(
      services.flatMap((one) => (one.healthcheck ? [one.name] : [])).sort(),
    )
    // A stop is forced a second after the drain.
    expect(settings.drain).toBeGreaterThanOrEqual(settings.models.callTimeout)
    expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(settings.drain + 1000)
  })
})

it('runs the console by choice, on its port, with the settings that every other role has and that sign people in', () => {
  const console = role.parse(compose.services['gavel-console'])
  for (const { name, environment, profiles } of gavels) {
    expect(environment).toEqual(console.environment)
    expect(profiles).toEqual(name === 'gavel-console' ? ['console'] : undefined)
  }
  const given: Record<string, string> = {
    GAVEL_CONSOLE_PUBLIC_URL: 'https://gavel.example',
    GAVEL_CONSOLE_SIGN_IN: 'oidc',
    GAVEL_CONSOLE_PEOPLE: '[{"who":"group:mods","role":"moderator"}]',
    GAVEL_CONSOLE_OIDC_ISSUER: 'https://login.example',
    GAVEL_CONSOLE_OIDC_CLIENT_ID: 'gavel',
  }
  const { console: settings } = loadSettings(
    Object.fromEntries(
      Object.entries(console.environment).map(([key, value]) => [
        key,
        value.replace(/\$\{(\w+):-([^}]*)\}/, (_, name: string, otherwise: string) => given[name] ?? otherwise),
      ]),
    ),
  )
  expect(settings).toMatchObject({
    host: '0.0.0.0',
    publicUrl: 'https://gavel.example',
    signIn: 'oidc',
    people: [{ who: 'group:mods', role: 'moderator' }],
    oidc: { issuer: 'https://login.example', clientId: 'gavel' },
  })
  expect(console.ports).toEqual([`127.0.0.1:${settings.port}:${settings.port}`])
})

it('has Grafana find its data source and its dashboards', () => {
  const { datasources } = z
    .looseObject({ datasources: z.array(z.looseObject({ type: z.string(), url: z.string(), isDefault: z.boolean() })) })
    .parse(parse(text('grafana', 'provisioning', 'datasources', 'prometheus.yaml')))
  expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }])
  const { providers } = z
    .looseObject({ providers: z.array(z.looseObject({ options: z.object({ path: z.string() }) })) })
    .parse(parse(text('grafana', 'provisioning', 'dashboards', 'gavel.yaml')))
  for (const { options } of providers)
    expect(inside('grafana', `${options.path}/`)?.source).toBe('./grafana/dashboards')
  const home = String(grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)
  expect(inside('grafana', home)?.source).toBe('./grafana/dashboards')
  expect(existsSync(join(PROJECT, 'grafana', 'dashboards', home.slice(home.lastIndexOf('/') + 1)))).toBe(true)
  for (const kind of ['datasources', 'dashboards'])
    expect(inside('grafana', `/etc/grafana/provisioning/${kind}/x.yaml`)?.source).toBe(`./grafana/provisioning/${kind}`)
})

it('lets anybody on this machine look, and nobody log in', () => {
  expect(grafana.environment).toMatchObject({ GF_AUTH_ANONYMOUS_ENABLED: 'true', GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer' })
  expect(grafana.environment).toMatchObject({ GF_AUTH_DISABLE_LOGIN_FORM: 'true', GF_AUTH_BASIC_ENABLED: 'false' })
  expect(grafana.depends_on).toEqual(['prometheus'])
})
