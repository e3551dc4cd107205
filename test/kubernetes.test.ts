import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../config/load.ts'
import { findOnPath, runCommand } from '../src/kit/stack/servers/command.ts'
import { serveHttp } from '../src/platform/http.ts'
import { tell } from './support/pipeline.ts'

// There is no Kubernetes here: this holds probes and scrapes of the manifests against the pages that a process serves.

const read = (...path: string[]) => readFileSync(join(PROJECT, ...path), 'utf8')
const manifest = <Shape extends z.ZodType>(file: string, shape: Shape): z.infer<Shape> =>
  shape.parse(parseAllDocuments(read('deploy', 'kubernetes', file))[0]?.toJS())

const labels = z.record(z.string(), z.string())
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }), timeoutSeconds: z.number() })
const deployment = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        containers: z.tuple([
          z.object({
            ports: z.tuple([z.object({ name: z.string(), containerPort: z.number() })]),
            startupProbe: probe,
            livenessProbe: probe,
            readinessProbe: probe,
            resources: z.object({ limits: z.object({ memory: z.string().regex(/^\d+Mi$/) }) }),
          }),
        ]),
      }),
    }),
  }),
})
const monitor = manifest(
  'components/prometheus-operator/pod-monitor.yaml',
  z.object({
    spec: z.object({
      jobLabel: z.string(),
      selector: z.object({ matchLabels: labels }),
      podMetricsEndpoints: z.tuple([
        z.object({
          port: z.string(),
          path: z.string(),
          authorization: z.object({ credentials: z.object({ name: z.string(), key: z.string() }) }),
        }),
      ]),
    }),
  }),
).spec
const ROLES = ['intake', 'judge', 'publish']
const podOf = (role: string) => manifest(`base/${role}.yaml`, deployment).spec.template

describe.each(ROLES)('the Deployment of %s', (role) => {
  const { metadata, spec } = podOf(role)
  const [gavel] = spec.containers

  it('probes and scrapes pages that the port has, on the port that the settings name', async () => {
    const [{ name, containerPort }] = gavel.ports
    expect(containerPort).toBe(loadSettings({}).http.port)
    const served = await serveHttp(
      { host: '127.0.0.1', port: 0, hosts: [], token: '', forwarders: [] },
      {
        metrics: async () => ({ type: 'text/plain', text: '' }),
        live: async () => ({ ok: true, checks: {} }),
        ready: async () => ({ ok: true, checks: {} }),
      },
    )
    try {
      const { startupProbe, livenessProbe, readinessProbe } = gavel
      const probes = [startupProbe, livenessProbe, readinessProbe]
      for (const { path, port } of [monitor.podMetricsEndpoints[0], ...probes.map(({ httpGet }) => httpGet)]) {
        expect(port).toBe(name)
        expect((await fetch(`http://127.0.0.1:${served.port}${path}`)).status, path).toBe(200)
      }
      expect([livenessProbe, readinessProbe].map(({ httpGet: { path } }) => path)).toEqual([
        '/health/live',
        '/health/ready',
      ])
      // Each page waits up to a second for Redis.
      for (const { timeoutSeconds } of probes) expect(timeoutSeconds).toBeGreaterThan(1)
    } finally {
      await served.close()
    }
  })

  it('allows more memory than was measured', () => {
    const measured = [...read('docs/kubernetes.md').matchAll(/(\d+) MiB (?:resident|while)/g)].map(([, mib]) =>
      Number(mib),
    )
    expect(measured).toEqual([204, 284])
    const bench = read('docs/bench.md')
    expect(bench).toContain('over ten minutes, to 204 MiB resident')
    expect(bench).toContain('at most 284 MiB resident')
    expect(Number.parseInt(gavel.resources.limits.memory, 10)).toBeGreaterThan(Math.max(...measured) + 50)
  })

  it('is found by Prometheus, as the job that alerts and dashboards go by, with the token', () => {
    expect(metadata.labels).toMatchObject(monitor.selector.matchLabels)
    expect(metadata.labels[monitor.jobLabel]).toBe('gavel')
    const { name, key } = monitor.podMetricsEndpoints[0].authorization.credentials
    const secret = z.object({ metadata: z.object({ name: z.string() }), stringData: labels })
    const example = manifest('secrets.example.yaml', secret)
    expect(name).toBe(example.metadata.name)
    expect(Object.keys(example.stringData)).toContain(key)
  })
})

describe('the configuration of a Prometheus without the operator', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubernetes-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const shape = z.object({
    scrape_configs: z.tuple([
      z.looseObject({
        job_name: z.literal('gavel'),
        kubernetes_sd_configs: z.unknown(),
        relabel_configs: z.array(z.looseObject({ source_labels: z.array(z.string()), regex: z.string().optional() })),
      }),
    ]),
  })
  const { scrape_configs } = shape.parse(parse(read('config/prometheus/kubernetes.yml')))

  it('keeps the pods of every role, and of their ports the one with the metrics', () => {
    const by = (ending: string) =>
      scrape_configs[0].relabel_configs.find(({ source_labels: [label = ''] }) => label.endsWith(ending))?.regex
    for (const { metadata, spec } of ROLES.map(podOf)) {
      expect(metadata.labels['app.kubernetes.io/name']).toBe(by('label_app_kubernetes_io_name'))
      expect(spec.containers[0].ports[0].name).toBe(by('container_port_name'))
    }
  })

  it('is taken by Prometheus', async (context) => {
    const program = await findOnPath('promtool')
    if (program === undefined) {
      const reason = 'there is no promtool on the PATH, so nothing read the scrape configuration'
      tell(`SKIPPED ${reason}`)
      return context.skip(reason)
    }
    // Debian's Prometheus is built without this discovery.
    const known = scrape_configs.map((one) => ({ ...one, kubernetes_sd_configs: undefined }))
    const file = join(folder, 'prometheus.yml')
    writeFileSync(file, JSON.stringify({ scrape_configs: known }))
    expect(await runCommand(program, ['check', 'config', '--syntax-only', file], 60_000)).toContain('SUCCESS')
  })
})

test('variables that Kubernetes sets beside a Service called gavel are ignored, others stop the start', () => {
  const variables = {
    GAVEL_SERVICE_HOST: '10.0.0.1',
    GAVEL_SERVICE_PORT_HTTP: '80',
    GAVEL_PORT_9464_TCP_ADDR: '10.0.0.1',
    GAVEL_HTTP_PORT: 'tcp://10.0.0.1:80',
  }
  expect(loadSettings(variables).http.port).toBe(loadSettings({}).http.port)
  expect(() => loadSettings({ GAVEL_SERVICE_HOTS: '10.0.0.1' })).toThrow('no setting has this name')
})
