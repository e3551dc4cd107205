import { Counter, Gauge, type Registry } from 'prom-client'
import type { Handlers } from './group.ts'

/** Which process of which deployment is measured. */
export interface ProcessLabels {
  readonly gavel: string
  readonly version: string
  readonly settings: string
  readonly host: string
  readonly roles: readonly string[]
}

/** The versions with which the process judges now: they distinguish replicas that differ, also after a reload. */
export function buildMetrics(
  registry: Registry,
  {
    identity,
    prompts,
    missing = () => [],
  }: {
    readonly identity: ProcessLabels
    readonly prompts: string
    /** What the process waits for before it does anything. */
    readonly missing?: () => readonly string[]
  },
): Handlers {
  const registers = [registry]
  const info = new Gauge({
    name: 'gavel_build_info',
    help: 'Always 1; by its labels the version, the roles, the host, and fingerprints of the settings without secrets and of the prompts.',
    labelNames: ['version', 'settings', 'prompts', 'host', 'roles'],
    registers,
  })
  const reloads = new Counter({
    name: 'gavel_reloads_total',
    help: 'Times that settings and prompts were read again; by outcome: reloaded, refused for a fault, or fixed: they need a restart.',
    labelNames: ['outcome'],
    registers,
  })
  const refused = new Gauge({
    name: 'gavel_reload_refused',
    help: '1 while what was read last is not current; 0 otherwise.',
    registers,
  })
  new Gauge({
    name: 'gavel_waits_for',
    help: '1 while this process waits for Kafka or Redis to answer for the first time since its start, and does nothing else.',
    labelNames: ['dependency'],
    registers,
    collect() {
      this.reset()
      this.set({ dependency: 'any' }, missing().length > 0 ? 1 : 0)
      for (const dependency of missing()) this.set({ dependency }, 1)
    },
  })
  const ends = new Gauge({
    name: 'gavel_certificate_ends_timestamp_seconds',
    help: 'When a certificate ends; by whose it is (of: redis, kafka, record or webhook) and by name: the server, the receiver, or client for the one that Gavel shows.',
    labelNames: ['of', 'name'],
    registers,
  })
  const { version, host, roles } = identity
  const tell = (fingerprints: { readonly settings: string; readonly prompts: string }) => {
    info.reset()
    info.set({ version, ...fingerprints, host, roles: roles.join(',') }, 1)
  }
  tell({ settings: identity.settings, prompts })
  const ended = (outcome: 'reloaded' | 'refused' | 'fixed') => {
    reloads.inc({ outcome })
    refused.set(outcome === 'reloaded' ? 0 : 1)
  }
  return {
    'settings:reloaded': (fingerprints) => {
      ended('reloaded')
      tell({ settings: fingerprints.settings, prompts: fingerprints.prompts })
    },
    'certificate:looked-at': ({ of, name, endsAt }) => ends.set({ of, name }, endsAt / 1000),
    'settings:refused': () => ended('refused'),
    'settings:fixed': () => ended('fixed'),
  }
}
