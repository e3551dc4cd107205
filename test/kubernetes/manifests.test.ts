import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { MANIFESTS, manifestFiles } from '../../deploy/code/all.ts'
import { QUERIES } from '../../deploy/code/keda.ts'
import { DOOR_PRE_STOP, GAVEL, GRACE } from '../../deploy/code/names.ts'
import { command as run } from '../../src/app/commands/run.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import { fingerprint, ROLES } from '../../src/operations/identity.ts'
import { tell } from '../support/pipeline.ts'

// There is no cluster here: manifests are held against the API's schemas, Kustomize, promtool, the settings and each other.

const DEPLOYED = join(PROJECT, 'deploy', 'kubernetes')

const labels = z.record(z.string(), z.string())
const deployment = z.object({
  kind: z.literal('Deployment'),
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.number().optional(),
    selector: z.object({ matchLabels: labels }),
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        automountServiceAccountToken: z.literal(false),
        securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.number().min(1) }),
        containers: z.tuple([
          z.object({
            args: z.array(z.string()),
            env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.number() }) }) }).optional(),
            readinessProbe: z.unknown(),
            resources: z.object({ limits: z.object({ memory: z.string(), cpu: z.undefined().optional() }) }),
            securityContext: z.object({
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
            }),
            volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
          }),
        ]),
        volumes: z.array(
          z.object({
            name: z.string(),
            configMap: z.object({ name: z.string() }).optional(),
            secret: z
              .object({ secretName: z.string(), items: z.array(z.object({ key: z.string(), path: z.string() })) })
              .optional(),
          }),
        ),
      }),
    }),
  }),
})
type Deployment = z.infer<typeof deployment>
const configMap = z.object({ kind: z.literal('ConfigMap'), metadata: z.object({ name: z.string() }), data: labels })

const egress = z.object({
  kind: z.literal('NetworkPolicy'),
  spec: z.object({ egress: z.array(z.object({ ports: z.array(z.object({ port: z.number() })) })) }),
})

const kubectl = await findOnPath('kubectl')
const WITHOUT = 'there is no kubectl on the PATH, so nothing built the manifests'
let folder: string
let built: unknown[] = []
/** Base, every component and both overlays, as one who wants all of it has them. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gavel-manifests-'))
  if (kubectl === undefined) return tell(`SKIPPED ${WITHOUT}`)
  cpSync(DEPLOYED, join(folder, 'kubernetes'), { recursive: true })
  // As somebody's own overlay beside them has it: Kustomize takes no single file from elsewhere.
  mkdirSync(join(folder, 'own'))
  cpSync(join(DEPLOYED, 'base', 'gavel.yaml'), join(folder, 'own', 'gavel.yaml'))
  built = await build('own', {
    resources: ['../kubernetes/base'],
    components: [
      'door',
      'record',
      'console',
      'prompts',
      'traces',
      'vetoes',
      'reload',
      'keda',
      'prometheus-operator',
    ].map((name) => `../kubernetes/components/${name}`),
    configMapGenerator: [{ name: 'gavel-settings', behavior: 'merge', files: ['gavel.yaml'] }],
  })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function build(name: string, kustomization?: object): Promise<unknown[]> {
  const own = join(folder, name)
  if (kustomization !== undefined)
    writeFileSync(
      join(own, 'kustomization.yaml'),
      stringify({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', ...kustomization }),
    )
  const text = await runCommand(kubectl ?? '', ['kustomize', own], 60_000)
  return parseAllDocuments(text).map((one): unknown => one.toJS())
}

const deployments = (): Deployment[] => built.flatMap((one) => deployment.safeParse(one).data ?? [])
const roleOf = ({ spec }: Deployment) => spec.template.metadata.labels['app.kubernetes.io/component'] ?? ''

/** The values that somebody put in the places of placeholders. */
const SECRET_VALUE = 'a-secret-that-is-long-enough'

/** The settings as a pod's process reads them: the file, and variables with the files that these name. */
function settingsOf(one: Deployment): Settings {
  const { containers, volumes } = one.spec.template.spec
  const [{ args, env, volumeMounts }] = containers
  const [example] = parseAllDocuments(manifestFiles().get('secrets.example.yaml') ?? '')
  const { stringData: secrets } = z.object({ stringData: labels }).parse(example?.toJS())
  const copied = (path: string) => {
    const mount = volumeMounts.find(({ mountPath }) => mountPath === dirname(path))
    const volume = volumes.find(({ name }) => name === mount?.name)
    const maps = built.flatMap((each) => configMap.safeParse(each).data ?? [])
    const text =
      volume?.secret === undefined
        ? maps.find(({ metadata }) => metadata.name === volume?.configMap?.name)?.data[basename(path)]
        : secrets[volume.secret.items.find((item) => item.path === basename(path))?.key ?? '']?.replace(
            'CHANGE-ME',
            SECRET_VALUE,
          )
    if (text === undefined) throw new Error(`nothing is mounted at ${path}`)
    const file = join(folder, basename(path))
    writeFileSync(file, text)
    return file
  }
  const variables = env.map(({ name, value }) => {
    if (name.endsWith('_FILE')) return [name, copied(value)]
    if (name.endsWith('_PROMPTS_PATH')) return [name, join(DEPLOYED, 'components', 'prompts', basename(value))]
    return [name, value]
  })
  return loadSettings(Object.fromEntries(variables), copied(args.at(args.indexOf('--config') + 1) ?? ''))
}

describe('the files', () => {
  test('are what the code writes', () => {
    const found = (readdirSync(DEPLOYED, { recursive: true }) as string[]).filter((one) =>
      statSync(join(DEPLOYED, one)).isFile(),
    )
    expect(found.sort()).toEqual([...manifestFiles().keys()].sort())
    for (const [file, text] of manifestFiles()) expect(readFileSync(join(DEPLOYED, file), 'utf8'), file).toBe(text)
  })

  test.each(
    [...MANIFESTS].flatMap(([file, objects]) => objects.map((object, nth) => [`${file} ${nth}`, object] as const)),
  )('%s is an object of the API', (_, object) => object.validate())

  test('open metrics and health to Prometheus, and to no other pod', () => {
    const [policy] = parseAllDocuments(manifestFiles().get('base/network-policy.yaml') ?? '')
    expect(policy?.toJS()).toMatchObject({
      spec: {
        ingress: [
          {
            from: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }],
            ports: [{ port: 'http' }],
          },
        ],
      },
    })
  })

  test.skipIf(kubectl === undefined)('are taken by Kustomize, each overlay by itself and all together', async () => {
    const kinds = async (path: string) =>
      (await build(path))
        .map((one) => z.object({ kind: z.string() }).parse(one).kind)
        .filter((kind) => kind !== 'ConfigMap')
    const base = ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'ServiceAccount']
    expect(new Set(await kinds('kubernetes/base'))).toEqual(new Set(base))
    expect(new Set(await kinds('kubernetes/overlays/keda'))).toEqual(new Set([...base, 'ScaledObject']))
    expect(new Set(await kinds('kubernetes/overlays/prometheus-operator'))).toEqual(
      new Set([...base, 'PodMonitor', 'PrometheusRule']),
    )
    // The console reads the record's own file: it runs in the same process. One process reads Bluesky, beside whatever else it does.
    const beside = ['console', 'jetstream']
    expect(deployments().map(roleOf).sort()).toEqual(ROLES.filter((role) => !beside.includes(role)).sort())
  })
})

describe.skipIf(kubectl === undefined)('each Deployment', () => {
  test('runs a role and options that the program has, on ports that its settings name', () => {
    for (const one of deployments()) {
      const [{ args, ports }] = one.spec.template.spec.containers
      const { http, door, console } = settingsOf(one)
      const roles = roleOf(one) === 'record' ? 'record,console' : roleOf(one)
      expect(args.slice(0, 3)).toEqual(['run', '--roles', roles])
      const own = [...run.options.map(({ long }) => long), '--config']
      for (const flag of args.filter((arg) => arg.startsWith('--'))) expect(own).toContain(flag)
      expect(Object.fromEntries(ports.map(({ name, containerPort }) => [name, containerPort]))).toEqual({
        http: http.port,
        ...(roleOf(one) === 'door' ? { door: door.port } : {}),
        ...(roleOf(one) === 'record' ? { console: console.port } : {}),
      })
      expect([http.host, door.host, console.host]).toEqual(['0.0.0.0', '0.0.0.0', '0.0.0.0'])
      expect(http.token.length).toBeGreaterThanOrEqual(16)
    }
  })

  test('has the settings of every other: replicas that differ are a ticket', () => {
    const all = deployments().map((one) => settingsOf(one))
    expect(new Set(all.map(({ name }) => name))).toEqual(new Set([GAVEL]))
    expect(new Set(all.map(fingerprint)).size).toBe(1)
  })

  test('mounts the secrets that it reads, and no other', () => {
    const mounted = deployments().map((one) => {
      const { containers, volumes } = one.spec.template.spec
      const items = volumes.flatMap(({ secret }) => secret?.items.map(({ path }) => path) ?? [])
      const named = containers[0].env.flatMap(({ name, value }) => (name.endsWith('_FILE') ? [basename(value)] : []))
      expect(items.filter((item) => item !== 'keys.json').sort()).toEqual(named.sort())
      return [roleOf(one), items.sort()]
    })
    expect(Object.fromEntries(mounted)).toEqual({
      intake: ['fences-key', 'http-token', 'redis-url'],
      judge: ['fences-key', 'http-token', 'openai-key', 'redis-url'],
      publish: ['http-token', 'redis-url'],
      door: ['fences-key', 'http-token', 'keys.json', 'openai-key', 'redis-url'],
      record: ['http-token', 'oidc-client-secret', 'redis-url'],
    })
  })

  test('with a console has a port for it, which its Service leads to', () => {
    const [{ spec }] = z
      .tuple([
        z.object({ spec: z.object({ selector: labels, ports: z.tuple([z.object({ targetPort: z.string() })]) }) }),
      ])
      .parse(
        built.filter(
          (one) =>
            z
              .object({ kind: z.literal('Service'), metadata: z.object({ name: z.literal('gavel-console') }) })
              .safeParse(one).success,
        ),
      )
    const led = deployments().filter(({ spec: { template } }) =>
      Object.entries(spec.selector).every(([name, value]) => template.metadata.labels[name] === value),
    )
    expect(led.map(roleOf)).toEqual(['record'])
    expect(led[0]?.spec.template.spec.containers[0].ports.map(({ name }) => name)).toContain(spec.ports[0].targetPort)
  })

  test('does not start with the placeholders of the example', () => {
    const [example] = parseAllDocuments(manifestFiles().get('secrets.example.yaml') ?? '')
    const { stringData } = z.object({ stringData: labels }).parse(example?.toJS())
    const { 'fences-key': key = '', 'http-token': token = '' } = stringData
    expect(() => loadSettings({ GAVEL_FENCES_KEY: key, GAVEL_HTTP_TOKEN: token })).toThrow(
      /http\.token[\s\S]*fences\.key/,
    )
  })

  test('is ready by Redis, but for the door: its Service leads to it while Redis is away', () => {
    for (const one of deployments()) {
      const [{ readinessProbe }] = one.spec.template.spec.containers
      expect([roleOf(one), readinessProbe]).toEqual([
        roleOf(one),
        roleOf(one) === 'door'
          ? expect.objectContaining({ tcpSocket: { port: 'door' } })
          : expect.objectContaining({ httpGet: { path: '/health/ready', port: 'http' } }),
      ])
    }
  })

  test('has more memory than its heap and what a door may hold of bodies', () => {
    for (const one of deployments()) {
      const [{ resources }] = one.spec.template.spec.containers
      const bodies = roleOf(one) === 'door' ? settingsOf(one).door.bodies / 2 ** 20 : 0
      // As much as processes take that hash pictures for vetoes.
      const hashing = roleOf(one) === 'judge' ? 400 : 0
      const [, amount, unit] = /^(\d+)([MG])i$/.exec(resources.limits.memory) ?? []
      // Heap and young space as the launcher bounds them; the program itself takes some 60 MiB, what is being sent 32.
      const least = 192 + 48 + 60 + 32 + bodies + hashing
      expect(Number(amount) * (unit === 'G' ? 1_024 : 1), roleOf(one)).toBeGreaterThan(least)
    }
  })

  test('may ask the usual ports of Kafka, also as Amazon has it', () => {
    const [policy] = built.flatMap((one) => egress.safeParse(one).data ?? [])
    const open = policy?.spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port))
    expect(open).toEqual(expect.arrayContaining([9092, 9096, 6379, 443]))
  })

  test('is given the time that its calls and its drain take', () => {
    for (const one of deployments()) {
      const { terminationGracePeriodSeconds, containers } = one.spec.template.spec
      const { drain, models } = settingsOf(one)
      const preStop = containers[0].lifecycle?.preStop.sleep.seconds ?? 0
      expect(preStop).toBe(roleOf(one) === 'door' ? DOOR_PRE_STOP : 0)
      expect(drain).toBeGreaterThanOrEqual(models.callTimeout)
      // A stop is forced a second after the drain.
      expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(preStop * 1000 + drain + 1000)
      expect(terminationGracePeriodSeconds).toBe(GRACE)
    }
  })

  test('selects its own pods, and no other does', () => {
    const all = deployments()
    for (const one of all) {
      const { matchLabels } = one.spec.selector
      const selected = all.filter(({ spec }) =>
        Object.entries(matchLabels).every(([name, value]) => spec.template.metadata.labels[name] === value),
      )
      expect(selected).toEqual([one])
    }
  })

  test('gets another ConfigMap, and so a rolling restart, when settings or prompts change', async () => {
    const mapsOf = (all: unknown[]) =>
      all.flatMap((one) => configMap.safeParse(one).data ?? []).map(({ metadata }) => metadata.name)
    const before = mapsOf(built)
    cpSync(join(folder, 'own'), join(folder, 'changed'), { recursive: true })
    for (const file of ['changed/gavel.yaml', 'kubernetes/components/prompts/rumor/system.md']) {
      const path = join(folder, file)
      writeFileSync(path, `${readFileSync(path, 'utf8')}\n`)
    }
    const after = await build('changed')
    expect(mapsOf(after).filter((name) => before.includes(name))).toEqual([])
    const mounted = after
      .flatMap((one) => deployment.safeParse(one).data ?? [])
      .flatMap(({ spec }) => spec.template.spec.volumes.flatMap(({ configMap: map }) => map?.name ?? []))
    expect(new Set(mounted)).toEqual(new Set(mapsOf(after)))
  })
})

describe('the queries of KEDA', () => {
  const series = (name: string, text: string, values: string) => ({
    series: `${name}{gavel="${GAVEL}",${text}}`,
    values,
  })
  const intakes = ['a', 'b'].map((instance) =>
    series('gavel_build_info', `roles="intake",instance="${instance}"`, '1x20'),
  )
  const lag = series('gavel_kafka_lag_messages', 'topic="posts",partition="0",instance="a"', '60000x20')
  const reads = ['a', 'b'].map((instance) => series('gavel_messages_total', `instance="${instance}"`, '0+60000x20'))
  const waiting = ['a', 'b'].map((instance) =>
    series('gavel_stage_jobs', `stage="s",protocol="p",state="waiting",instance="${instance}"`, '1200x20'),
  )
  const answers = ['a', 'b'].map((instance) =>
    series('gavel_stage_run_seconds_count', `outcome="answered",stage="s",instance="${instance}"`, '0+600x20'),
  )
  const slots = ['a', 'b'].map((instance) =>
    series('gavel_model_slots', `state="busy",instance="${instance}"`, '64x20'),
  )
  test.each<[string, string, readonly { series: string; values: string }[], number | null]>([
    ['slots that are busy', QUERIES.slots, slots, 128],
    ['no judge', QUERIES.slots, intakes, 0],
    ['nothing, where no series of Gavel are there', QUERIES.slots, [], null],
    [
      'slots that are waited for, as where the endpoint is slow',
      QUERIES.slots,
      [...slots, series('gavel_model_slots', 'state="waiting",instance="a"', '54x20')],
      128,
    ],
    // 1,200 asks, twenty a second: one judge of two would take two minutes.
    ['asks that wait', QUERIES.backlog, [...waiting, ...answers], 120],
    ['asks that wait while nobody answers', QUERIES.backlog, [...intakes, ...waiting], 0],
    ['nothing', QUERIES.backlog, intakes, 0],
    ['asks, where no series of Gavel are there', QUERIES.backlog, [], null],
    // A thousand a second each.
    ['messages that are unread', QUERIES.lag, [...intakes, lag, ...reads], 60],
    [
      'messages that are unread while intake is paused: as many as there are',
      QUERIES.lag,
      [...intakes, lag, series('gavel_intake_paused', 'instance="a"', '1x20')],
      60,
    ],
    ['a stream that has just begun', QUERIES.lag, [...intakes, lag], 600],
    ['nothing unread', QUERIES.lag, intakes, 0],
    ['messages, where no series of Gavel are there', QUERIES.lag, [], null],
  ])('of %s', async (_, query, input, expected) => {
    const promtool = await findOnPath('promtool')
    if (promtool === undefined) return tell('SKIPPED there is no promtool on the PATH, so no query was tried')
    const file = join(folder, 'queries.test.yml')
    const samples = expected === null ? [] : [{ labels: '{}', value: expected }]
    writeFileSync(
      file,
      stringify({
        tests: [
          {
            interval: '1m',
            input_series: input,
            promql_expr_test: [{ expr: `round(${query})`, eval_time: '15m', exp_samples: samples }],
          },
        ],
      }),
    )
    expect(await runCommand(promtool, ['test', 'rules', file], 60_000)).toContain('SUCCESS')
  })
})
