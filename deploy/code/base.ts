import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'
import { FOLDERS, GAVEL, KEYS_FILE, LABELS, labelsOf, SECRET, type SecretName, shipped } from './names.ts'
import { workloadOf } from './workloads.ts'

/** The Secret's key of what the provider knows Gavel's console by. */
const OIDC_SECRET = 'oidc-client-secret'

export const serviceAccount = new ServiceAccount({
  metadata: { name: 'gavel', labels: LABELS },
  automountServiceAccountToken: false,
})

/** Samples are drawn with it, and untrusted text is fenced. */
const FENCES: SecretName = 'GAVEL_FENCES_KEY_FILE'
/** What it takes to ask a model. */
const ASKS: readonly SecretName[] = ['OPENAI_API_KEY_FILE', FENCES]

export const intake = workloadOf({ name: 'intake', replicas: 2, cpu: '250m', secrets: [FENCES] })
export const judge = workloadOf({ name: 'judge', replicas: 2, cpu: '500m', secrets: ASKS })
export const publish = workloadOf({ name: 'publish', replicas: 2, cpu: '100m' })
export const door = [
  ...workloadOf({ name: 'door', replicas: 2, cpu: '250m', secrets: ASKS, files: [KEYS_FILE] }),
  new Service({
    metadata: { name: 'gavel-door', labels: labelsOf('door') },
    spec: { selector: labelsOf('door'), ports: [{ name: 'http', port: 80, targetPort: 'door' }] },
  }),
  new NetworkPolicy({
    metadata: { name: 'gavel-door', labels: labelsOf('door') },
    spec: {
      podSelector: { matchLabels: labelsOf('door') },
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 'door', protocol: 'TCP' }] }],
    },
  }),
]
/** One process reads at a time; the second goes on where the first has ended. */
export const jetstream = workloadOf({ name: 'jetstream', replicas: 2, cpu: '100m', secrets: [FENCES] })
export const record = [
  ...workloadOf({ name: 'record', replicas: 1, cpu: '250m', alone: true }),
  new PersistentVolumeClaim({
    metadata: {
      name: 'gavel-record',
      labels: labelsOf('record'),
      // What 200 days of the record are in is not deleted with the component.
      annotations: {
        'argocd.argoproj.io/sync-options': 'Prune=false',
        'kustomize.toolkit.fluxcd.io/prune': 'disabled',
      },
    },
    // record.maxBytes, and room for its log and for erasing.
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '30Gi' } } },
  }),
]

/** Beside the record, in its process: over SQLite it reads that file. */
export const console = [
  new Service({
    metadata: { name: 'gavel-console', labels: labelsOf('record') },
    spec: { selector: labelsOf('record'), ports: [{ name: 'http', port: 80, targetPort: 'console' }] },
  }),
  new NetworkPolicy({
    metadata: { name: 'gavel-console', labels: labelsOf('record') },
    spec: {
      podSelector: { matchLabels: labelsOf('record') },
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 'console', protocol: 'TCP' }] }],
    },
  }),
]
/** What of the record's Deployment is another with it, as JSON patches. */
export const CONSOLE_PATCHES = [
  { op: 'replace', path: '/spec/template/spec/containers/0/args/2', value: 'record,console' },
  // A picture of the most pixels takes 334 MB while it is drawn for people, in a process beside.
  { op: 'replace', path: '/spec/template/spec/containers/0/resources/limits/memory', value: '896Mi' },
  {
    op: 'add',
    path: '/spec/template/spec/containers/0/ports/-',
    value: { name: 'console', containerPort: shipped.console.port },
  },
  {
    op: 'add',
    path: '/spec/template/spec/containers/0/env/-',
    value: { name: 'GAVEL_CONSOLE_OIDC_CLIENT_SECRET_FILE', value: `${FOLDERS.secrets}/${OIDC_SECRET}` },
  },
  { op: 'add', path: '/spec/template/spec/volumes/1/secret/items/-', value: { key: OIDC_SECRET, path: OIDC_SECRET } },
]

const ports = (protocol: 'TCP' | 'UDP', ...numbers: readonly number[]) => numbers.map((port) => ({ port, protocol }))

/**
 * Where Kafka, Redis and models are is not known here: narrow it in an overlay. Metrics are for Prometheus, by the label that its
 * operator and its chart give it; probes come from the node, which every policy lets in.
 */
export const networkPolicy = new NetworkPolicy({
  metadata: { name: 'gavel', labels: LABELS },
  spec: {
    podSelector: { matchLabels: LABELS },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }],
        ports: [{ port: 'http', protocol: 'TCP' }],
      },
    ],
    egress: [
      // 5353: OpenShift's name servers.
      { ports: [...ports('UDP', 53, 5353), ...ports('TCP', 53, 5353)] },
      // Kafka (9096: Amazon's with SCRAM), Redis and its sentinels, models and images, a collector of traces, PostgreSQL for the record.
      { ports: ports('TCP', 9092, 9093, 9094, 9096, 6379, 6380, 26379, 443, 4318, 5432) },
    ],
  },
})

/** The same for every role: replicas with other settings are a ticket. */
export const SETTINGS = `# Laid over the shipped settings (config/gavel.yaml says what each is). Put your own in an overlay:
#   configMapGenerator: [{ name: gavel-settings, behavior: merge, files: [gavel.yaml] }]
name: ${GAVEL}
kafka:
  brokers: [kafka:9092]
  replication: 3
openai:
  baseUrl: https://models.example/v1
door:
  host: 0.0.0.0
  keys: ${FOLDERS.secrets}/${KEYS_FILE}
  # Half of what is shipped: with the heap it fits into the pod's memory.
  bodies: 134217728
record:
  path: ${FOLDERS.record}/record.sqlite
console:
  # With components/console set also publicUrl, people, and signIn with what belongs to it (docs/console.md).
  host: 0.0.0.0
protocols:
  # These look up examples on shelves: the image needs SHELVES=1 for that, and all judges one volume (docs/kubernetes.md).
  hate: { enabled: false }
  safety: { enabled: false }
`

/** Never applied as it stands. */
export const secretExample = new Secret({
  metadata: { name: SECRET },
  stringData: {
    'redis-url': 'rediss://gavel:a-password@redis:6379',
    'openai-key': 'the-key-of-your-endpoint',
    // Too short to be taken: whoever forgets to replace them is told at the start.
    'fences-key': 'CHANGE-ME',
    'http-token': 'CHANGE-ME',
    [OIDC_SECRET]: 'with the component console alone',
    [KEYS_FILE]: '{"the file that gavel keys writes": "with the component door alone"}',
  },
})
