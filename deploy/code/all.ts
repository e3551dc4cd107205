import { stringify } from 'yaml'
import {
  CONSOLE_PATCHES,
  console,
  door,
  intake,
  jetstream,
  judge,
  networkPolicy,
  publish,
  record,
  SETTINGS,
  secretExample,
  serviceAccount,
} from './base.ts'
import { intakesScaled, judges } from './keda.ts'
import { FOLDERS, read } from './names.ts'
import { podMonitor, rules } from './prometheus-operator.ts'

/** An object of Kubernetes that can say whether it is one. */
export interface Manifest {
  validate(): void
  toJSON(): unknown
}

const HEAD = '# Written by `npm run manifests` from deploy/code: change it there, or in an overlay of your own.\n'

/** By file what it holds. */
export const MANIFESTS: ReadonlyMap<string, readonly Manifest[]> = new Map<string, readonly Manifest[]>([
  ['base/service-account.yaml', [serviceAccount]],
  ['base/intake.yaml', intake],
  ['base/judge.yaml', judge],
  ['base/publish.yaml', publish],
  ['base/network-policy.yaml', [networkPolicy]],
  ['secrets.example.yaml', [secretExample]],
  ['components/door/door.yaml', door],
  ['components/jetstream/jetstream.yaml', jetstream],
  ['components/record/record.yaml', record],
  ['components/console/console.yaml', console],
  ['components/keda/scaled-objects.yaml', [judges, intakesScaled]],
  ['components/prometheus-operator/pod-monitor.yaml', [podMonitor]],
  ['components/prometheus-operator/rules.yaml', [rules]],
])

const resourcesIn = (folder: string) =>
  [...MANIFESTS.keys()].flatMap((file) => (file.startsWith(`${folder}/`) ? [file.slice(folder.length + 1)] : []))
const kustomization = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' }
const component = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component' }
/** Of all Deployments of Gavel. */
const deployments = { kind: 'Deployment', labelSelector: 'app.kubernetes.io/name=gavel' }
const inYaml = (patch: unknown) => stringify(patch)

/** A change of its contents gives a ConfigMap another name, and so pods a rolling restart. */
const KUSTOMIZATIONS = new Map<string, object>([
  [
    'base',
    {
      ...kustomization,
      resources: resourcesIn('base'),
      configMapGenerator: [{ name: 'gavel-settings', files: ['gavel.yaml'] }],
    },
  ],
  ['components/door', { ...component, resources: resourcesIn('components/door') }],
  ['components/jetstream', { ...component, resources: resourcesIn('components/jetstream') }],
  ['components/record', { ...component, resources: resourcesIn('components/record') }],
  [
    'components/console',
    {
      ...component,
      resources: resourcesIn('components/console'),
      patches: [{ target: { kind: 'Deployment', name: 'gavel-record' }, patch: inYaml(CONSOLE_PATCHES) }],
    },
  ],
  [
    // Prompts of a team's own, here one of rumor's as an example; all roles see them, so that none differs.
    'components/prompts',
    {
      ...component,
      configMapGenerator: [{ name: 'gavel-prompts-rumor', files: ['rumor/system.md'] }],
      patches: [
        {
          target: deployments,
          patch: inYaml([
            {
              op: 'add',
              path: '/spec/template/spec/volumes/-',
              value: { name: 'prompts-rumor', configMap: { name: 'gavel-prompts-rumor' } },
            },
            {
              op: 'add',
              path: '/spec/template/spec/containers/0/volumeMounts/-',
              value: { name: 'prompts-rumor', mountPath: `${FOLDERS.settings}-prompts/rumor`, readOnly: true },
            },
            {
              op: 'add',
              path: '/spec/template/spec/containers/0/env/-',
              value: { name: 'GAVEL_PROTOCOLS_RUMOR_PROMPTS_PATH', value: `${FOLDERS.settings}-prompts/rumor` },
            },
          ]),
        },
      ],
    },
  ],
  [
    'components/traces',
    {
      ...component,
      patches: [
        {
          target: deployments,
          patch: inYaml([
            {
              op: 'add',
              path: '/spec/template/spec/containers/0/env/-',
              value: { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel-collector.monitoring.svc:4318' },
            },
          ]),
        },
      ],
    },
  ],
  [
    // The processes that hash pictures take up to 400 MiB beside the judge's own memory.
    'components/vetoes',
    {
      ...component,
      patches: [
        {
          target: { kind: 'Deployment', name: 'gavel-judge' },
          patch: inYaml([
            { op: 'replace', path: '/spec/template/spec/containers/0/resources/limits/memory', value: '1Gi' },
          ]),
        },
      ],
    },
  ],
  [
    // For a ConfigMap that keeps its name when it changes: pods take it without a restart.
    'components/reload',
    {
      ...component,
      patches: [
        {
          target: deployments,
          patch: inYaml([{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--watch' }]),
        },
      ],
    },
  ],
  [
    'components/keda',
    {
      ...component,
      resources: resourcesIn('components/keda'),
      // KEDA sets them: as long as they stand here, each apply would set them back.
      patches: ['intake', 'judge'].map((role) => ({
        target: { kind: 'Deployment', name: `gavel-${role}` },
        patch: inYaml([{ op: 'remove', path: '/spec/replicas' }]),
      })),
    },
  ],
  ['components/prometheus-operator', { ...component, resources: resourcesIn('components/prometheus-operator') }],
  // One as it is, for who wants no more.
  ...['keda', 'prometheus-operator'].map(
    (name) =>
      [
        `overlays/${name}`,
        { ...kustomization, resources: ['../../base'], components: [`../../components/${name}`] },
      ] as const,
  ),
])

/** Every file below deploy/kubernetes with its content. */
export function manifestFiles(): ReadonlyMap<string, string> {
  const listed = (objects: readonly unknown[]) =>
    HEAD + objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')
  return new Map([
    ...[...MANIFESTS].map(([file, objects]) => [file, listed(objects.map((object) => object.toJSON()))] as const),
    ...[...KUSTOMIZATIONS].map(([folder, one]) => [`${folder}/kustomization.yaml`, listed([one])] as const),
    ['base/gavel.yaml', SETTINGS],
    ['components/prompts/rumor/system.md', read('config', 'prompts', 'rumor', 'system.md')],
  ])
}
