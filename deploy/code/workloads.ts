import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1/Deployment'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import {
  ALL_READ,
  DOOR_PRE_STOP,
  DRAIN,
  FOLDERS,
  GRACE,
  labelsOf,
  SECRET,
  SECRETS,
  type SecretName,
  shipped,
  USER,
  VERSION,
} from './names.ts'

type PodSpec = NonNullable<NonNullable<NonNullable<IDeployment['spec']>['template']>['spec']>

/** What of a role is not as in every other one. */
export interface Role {
  readonly name: 'intake' | 'judge' | 'publish' | 'door' | 'record' | 'jetstream'
  readonly replicas: number
  readonly cpu: string
  /** The secrets that it reads besides those that every role does; the others are not mounted. */
  readonly secrets?: readonly SecretName[]
  /** Keys of the Secret that its settings name as files. */
  readonly files?: readonly string[]
  /** One process at a time: the next begins when the last has ended. */
  readonly alone?: true
}

const PORTS = {
  http: { name: 'http', containerPort: shipped.http.port },
  door: { name: 'door', containerPort: shipped.door.port },
}

/** A Deployment and a PodDisruptionBudget of a role. */
export function workloadOf(role: Role) {
  const name = `gavel-${role.name}`
  const labels = labelsOf(role.name)
  return [
    new Deployment({
      metadata: { name, labels },
      spec: {
        replicas: role.replicas,
        selector: { matchLabels: labels },
        strategy:
          role.alone === true
            ? { type: 'Recreate' }
            : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: { metadata: { labels }, spec: podOf(role) },
      },
    }),
    new PodDisruptionBudget({
      metadata: { name, labels },
      // Pods are not ready while Redis is away: draining a node must not wait for that.
      spec: { selector: { matchLabels: labels }, maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    }),
  ]
}

function podOf(role: Role): PodSpec {
  const isRecord = role.name === 'record'
  return {
    serviceAccountName: 'gavel',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: labelsOf(role.name) },
      },
    ],
    containers: [containerOf(role)],
    volumes: [
      { name: 'settings', configMap: { name: 'gavel-settings' } },
      { name: 'secrets', secret: { secretName: SECRET, defaultMode: 0o440, items: itemsOf(role) } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      { name: 'own', emptyDir: { sizeLimit: '1Gi' } },
      ...(isRecord ? [{ name: 'record', persistentVolumeClaim: { claimName: 'gavel-record' } }] : []),
    ],
  }
}

function containerOf(role: Role): PodSpec['containers'][number] {
  const isDoor = role.name === 'door'
  return {
    name: 'gavel',
    image: `gavel:${VERSION}`,
    args: ['run', '--roles', role.name, '--wait-for-dependencies', '--config', `${FOLDERS.settings}/gavel.yaml`],
    env: [
      ...secretsOf(role).map((name) => ({ name, value: `${FOLDERS.secrets}/${SECRETS[name]}` })),
      { name: 'GAVEL_HTTP_HOST', value: '0.0.0.0' },
      { name: 'GAVEL_DRAIN', value: `${DRAIN}s` },
    ],
    ports: isDoor ? [PORTS.http, PORTS.door] : [PORTS.http],
    startupProbe: { ...probe('/health/live'), periodSeconds: 2, failureThreshold: 60 },
    // The port is closed for a while between waiting for Kafka and Redis and being ready.
    livenessProbe: { ...probe('/health/live'), periodSeconds: 10, failureThreshold: 12 },
    // A door takes messages while Redis is away, and says itself what it can't do: its Service must go on leading to it.
    readinessProbe: isDoor
      ? { tcpSocket: { port: 'door' }, periodSeconds: 5, failureThreshold: 3 }
      : { ...probe('/health/ready'), periodSeconds: 5, failureThreshold: 3 },
    ...(isDoor ? { lifecycle: { preStop: { sleep: { seconds: DOOR_PRE_STOP } } } } : {}),
    // No limit of CPU: a process that is throttled loses its locks, and others judge again what it judged.
    resources: {
      requests: { cpu: role.cpu, memory: '320Mi', 'ephemeral-storage': '128Mi' },
      limits: { memory: '512Mi', 'ephemeral-storage': '1280Mi' },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'settings', mountPath: FOLDERS.settings, readOnly: true },
      { name: 'secrets', mountPath: FOLDERS.secrets, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'own', mountPath: FOLDERS.own },
      ...(role.name === 'record' ? [{ name: 'record', mountPath: FOLDERS.record }] : []),
    ],
  }
}

function secretsOf({ secrets = [] }: Role): SecretName[] {
  return [...ALL_READ, ...secrets]
}

function itemsOf(role: Role) {
  return [...secretsOf(role).map((name) => SECRETS[name]), ...(role.files ?? [])].map((key) => ({ key, path: key }))
}

/** Each page waits up to a second for Redis. */
function probe(path: string) {
  return { httpGet: { path, port: 'http' }, timeoutSeconds: 3 }
}
