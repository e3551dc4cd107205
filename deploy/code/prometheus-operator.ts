import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor'
import {
  type IPrometheusRule,
  PrometheusRule,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { parse } from 'yaml'
import { LABELS, read, SECRET, SECRETS } from './names.ts'

type Groups = NonNullable<NonNullable<IPrometheusRule['spec']>['groups']>

export const podMonitor = new PodMonitor({
  metadata: { name: 'gavel', labels: LABELS },
  spec: {
    jobLabel: 'app.kubernetes.io/name',
    selector: { matchLabels: LABELS },
    podMetricsEndpoints: [
      {
        port: 'http',
        path: '/metrics',
        interval: '15s',
        authorization: { credentials: { name: SECRET, key: SECRETS.GAVEL_HTTP_TOKEN_FILE } },
      },
    ],
  },
})

/** The shipped alerts and objectives, as they are. */
export const rules = new PrometheusRule({
  metadata: { name: 'gavel', labels: LABELS },
  spec: {
    groups: ['objectives.yml', 'alerts.yml'].flatMap(
      (file) => (parse(read('config', 'prometheus', file)) as { groups: Groups }).groups,
    ),
  },
})
