import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'
import { FOLDERS, GAVEL, LABELS, labelsOf, SECRET } from './names.ts'
import { workloadOf } from './workloads.ts'

export const serviceAccount = new ServiceAccount({
  metadata: { name: 'gavel', labels: LABELS },
  automountServiceAccountToken: false,
})

export const intake = workloadOf({ name: 'intake', replicas: 2, cpu: '250m' })
export const judge = workloadOf({ name: 'judge', replicas: 2, cpu: '500m' })
export const publish = workloadOf({ name: 'publish', replicas: 2, cpu: '100m' })
export const door = [
  ...workloadOf({ name: 'door', replicas: 2, cpu: '250m' }),
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

const ports = (protocol: 'TCP' | 'UDP', ...numbers: readonly number[]) => numbers.map((port) => ({ port, protocol }))

/** Who asks for metrics, and where Kafka, Redis and models are, is not known here: narrow both in an overlay. */
export const networkPolicy = new NetworkPolicy({
  metadata: { name: 'gavel', labels: LABELS },
  spec: {
    podSelector: { matchLabels: LABELS },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: [{ port: 'http', protocol: 'TCP' }] }],
    egress: [
      // 5353: OpenShift's name servers.
      { ports: [...ports('UDP', 53, 5353), ...ports('TCP', 53, 5353)] },
      // Kafka (9096: Amazon's with SCRAM), Redis and its sentinels, models and images, a collector of traces.
      { ports: ports('TCP', 9092, 9093, 9094, 9096, 6379, 6380, 26379, 443, 4318) },
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
  keys: ${FOLDERS.secrets}/keys.json
  # Half of what is shipped: with the heap it fits into the pod's memory.
  bodies: 134217728
record:
  path: ${FOLDERS.record}/record.sqlite
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
    'keys.json': '{"the file that gavel keys writes": "with the component door alone"}',
  },
})
