import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../config/load.ts'
import type { Settings } from '../config/schema.ts'
import { command as run } from '../src/commands/run.ts'
import { findOnPath, runCommand } from '../src/kit/stack/servers/command.ts'
import { serveHttp } from '../src/service/adapters/http.ts'
import { ROLES } from '../src/service/composition/service.ts'
import { tell } from './support/pipeline.ts'

// There is no Kubernetes here: this reads the manifests as it would, and holds them against the code.

const page = readFileSync(join(PROJECT, 'docs', 'kubernetes.md'), 'utf8')
const documents = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, text = '']) =>
  parseAllDocuments(text).map((document): unknown => {
    expect(document.errors).toEqual([])
    return document.toJS()
  }),
)
function ofKind<Shape extends z.ZodType>(kind: string, shape: Shape): z.infer<Shape> {
  const [found, ...more] = documents.filter(
    (document) => z.object({ kind: z.literal(kind) }).safeParse(document).success,
  )
  expect(more).toEqual([])
  return shape.parse(found)
}

const labels = z.record(z.string(), z.string())
const probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.string() }),
  timeoutSeconds: z.number().default(1),
})
const container = z.object({
  args: z.array(z.string()),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  ports: z.tuple([z.strictObject({ name: z.string(), containerPort: z.number() })]),
  ...{ startupProbe: probe, livenessProbe: probe, readinessProbe: probe },
  resources: z.object({ limits: z.object({ memory: z.string().regex(/^\d+Mi$/) }) }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
})
const config = ofKind('ConfigMap', z.object({ metadata: z.object({ name: z.string() }), data: labels }))
// Placeholders are refused: whoever forgets to replace them is told at the start.
const replaced = labels.transform((given) =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace('CHANGE-ME', 'a-secret-that-is-long-enough')]),
  ),
)
const secret = ofKind('Secret', z.object({ metadata: z.object({ name: z.string() }), stringData: replaced }))
const { selector, template } = ofKind(
  'Deployment',
  z.object({
    spec: z.object({
      selector: z.object({ matchLabels: labels }),
      template: z.object({
        metadata: z.object({ labels }),
        spec: z.object({
          terminationGracePeriodSeconds: z.number(),
          containers: z.tuple([container]),
          volumes: z.array(
            z.object({
              name: z.string(),
              configMap: z.object({ name: z.string() }).optional(),
              secret: z.object({ secretName: z.string() }).optional(),
            }),
          ),
        }),
      }),
    }),
  }),
).spec
const monitor = ofKind(
  'PodMonitor',
  z.object({
    spec: z.object({
      jobLabel: z.string(),
      selector: z.object({ matchLabels: labels }),
      podMetricsEndpoints: z.tuple([
        z.object({
          ...{ port: z.string(), path: z.string() },
          authorization: z.object({ credentials: z.object({ name: z.string(), key: z.string() }) }),
        }),
      ]),
    }),
  }),
).spec
const [gavel] = template.spec.containers

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubernetes-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What a pod sees under this path: a file of what is mounted there. */
function mounted(path: string): string {
  const mount = gavel.volumeMounts.find(({ mountPath }) => mountPath === dirname(path))
  const volume = template.spec.volumes.find(({ name }) => name === mount?.name)
  if (volume?.configMap?.name === config.metadata.name) return config.data[basename(path)] ?? ''
  if (volume?.secret?.secretName === secret.metadata.name) return secret.stringData[basename(path)] ?? ''
  return ''
}

/** A file with what the pod sees under this path. */
function copied(path: string): string {
  const file = join(folder, basename(path))
  writeFileSync(file, mounted(path))
  return file
}

/** The settings as the pod's process reads them. */
function settingsOfPod(): Settings {
  const variables = gavel.env.map(({ name, value }) => [name, name.endsWith('_FILE') ? copied(value) : value])
  return loadSettings(Object.fromEntries(variables), copied(gavel.args.at(gavel.args.indexOf('--config') + 1) ?? ''))
}

describe('the manifests', () => {
  it('set variables that are settings, and nothing else', () => {
    const names = gavel.env.map(({ name }) => name.replace(/_FILE$/, ''))
    const given = new Set(['KAFKA_BROKERS', 'REDIS_URL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'])
    expect(names.filter((name) => !name.startsWith('GAVEL_') && !given.has(name))).toEqual([])
    expect(settingsOfPod()).toMatchObject({
      name: 'production',
      kafka: { brokers: ['kafka-0.kafka:9092', 'kafka-1.kafka:9092'], replication: 3 },
    })
  })

  it('mount each file that a variable or argument names, and the file is there', () => {
    const paths = gavel.env.filter(({ name }) => name.endsWith('_FILE')).map(({ value }) => value)
    for (const path of [...paths, gavel.args.at(-1) ?? '']) expect(mounted(path), path).not.toBe('')
    expect(paths.map((path) => basename(path)).sort()).toEqual(Object.keys(secret.stringData).sort())
  })

  it('start the service, with roles and options that it has', () => {
    expect(gavel.args[0]).toBe('run')
    const flags = gavel.args.filter((arg) => arg.startsWith('--'))
    const own = run.options.map(({ long }) => long)
    for (const flag of flags) expect([...own, '--config']).toContain(flag)
    const roles: readonly string[] = ROLES
    for (const role of gavel.args[gavel.args.indexOf('--roles') + 1]?.split(',') ?? []) expect(roles).toContain(role)
  })

  it('probe and scrape pages that the port has, on the port that the settings name', async () => {
    const { http } = settingsOfPod()
    const [{ name, containerPort }] = gavel.ports
    expect(containerPort).toBe(http.port)
    expect(http.host).toBe('0.0.0.0')
    const served = await serveHttp(
      { host: '127.0.0.1', port: 0, hosts: [], token: '' },
      {
        metrics: async () => ({ type: 'text/plain', text: '' }),
        live: async () => ({ ok: true, checks: {} }),
        ready: async () => ({ ok: true, checks: {} }),
      },
    )
    try {
      const [scraped] = monitor.podMetricsEndpoints
      const { startupProbe, livenessProbe, readinessProbe } = gavel
      const asked = [scraped, ...[startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)]
      for (const { path, port } of asked) {
        expect(port).toBe(name)
        expect((await fetch(`http://127.0.0.1:${served.port}${path}`)).status, path).toBe(200)
      }
      expect([livenessProbe, readinessProbe].map(({ httpGet: { path } }) => path)).toEqual([
        '/health/live',
        '/health/ready',
      ])
      // Each page waits up to a second for Redis.
      for (const { timeoutSeconds } of [livenessProbe, readinessProbe]) expect(timeoutSeconds).toBeGreaterThan(1)
    } finally {
      await served.close()
    }
  })

  it('leave calls the time to end, and the process that to drain', () => {
    const { drain, models } = settingsOfPod()
    expect(drain).toBeGreaterThanOrEqual(models.callTimeout)
    // A stop is forced a second after the drain.
    expect(template.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(drain + 1_000)
  })

  it('allow more memory than was measured', () => {
    const measured = [...page.matchAll(/(\d+) MiB (?:resident|while)/g)].map(([, mib]) => Number(mib))
    expect(measured).toEqual([204, 238])
    const bench = readFileSync(join(PROJECT, 'docs', 'bench.md'), 'utf8')
    expect(bench).toContain('over ten minutes, to 204 MiB resident')
    expect(bench).toContain('at most 238 MiB resident')
    expect(Number.parseInt(gavel.resources.limits.memory, 10)).toBeGreaterThan(Math.max(...measured) + 50)
  })

  it('have Prometheus find the pods, as the job that alerts and dashboards go by, with the token', () => {
    for (const chosen of [selector.matchLabels, monitor.selector.matchLabels])
      expect(template.metadata.labels).toMatchObject(chosen)
    expect(template.metadata.labels[monitor.jobLabel]).toBe('gavel')
    const [{ authorization }] = monitor.podMetricsEndpoints
    expect(authorization.credentials.name).toBe(secret.metadata.name)
    expect(secret.stringData[authorization.credentials.key]).toBe(settingsOfPod().http.token)
  })

  it('have a configuration that Prometheus takes', async (context) => {
    const scrape = z.object({ scrape_configs: z.tuple([z.looseObject({ job_name: z.literal('gavel') })]) })
    const [plain] = documents.flatMap((document) => scrape.safeParse(document).data ?? [])
    const program = await findOnPath('promtool')
    if (program === undefined) {
      const reason = 'there is no promtool on the PATH, so nothing read the scrape configuration'
      tell(`SKIPPED ${reason}`)
      return context.skip(reason)
    }
    expect(plain?.scrape_configs[0]).toHaveProperty('kubernetes_sd_configs')
    // Debian's Prometheus is built without this discovery.
    const known = plain?.scrape_configs.map((one) => ({ ...one, kubernetes_sd_configs: undefined }))
    const file = join(folder, 'prometheus.yml')
    writeFileSync(file, JSON.stringify({ scrape_configs: known }))
    expect(await runCommand(program, ['check', 'config', '--syntax-only', file], 60_000)).toContain('SUCCESS')
  })
})

describe('the page', () => {
  it('names variables of Kubernetes that are ignored', () => {
    const variables = {
      GAVEL_SERVICE_HOST: '10.0.0.1',
      GAVEL_SERVICE_PORT_HTTP: '80',
      GAVEL_PORT_9464_TCP_ADDR: '10.0.0.1',
      GAVEL_HTTP_PORT: 'tcp://10.0.0.1:80',
    }
    expect(loadSettings(variables).http.port).toBe(loadSettings({}).http.port)
    expect(() => loadSettings({ GAVEL_SERVICE_HOTS: '10.0.0.1' })).toThrow('no setting has this name')
  })
})
