import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const PROJECT = join(import.meta.dirname, '..', '..')

export function read(...path: readonly string[]): string {
  return readFileSync(join(PROJECT, ...path), 'utf8')
}

/** The shipped settings, as far as manifests go by them. */
export const shipped = z
  .object({
    http: z.object({ port: z.number() }),
    door: z.object({ port: z.number() }),
    console: z.object({ port: z.number() }),
    models: z.object({ slots: z.number() }),
    kafka: z.object({ partitions: z.number() }),
  })
  .parse(parse(read('config', 'gavel.yaml')))

export const { version: VERSION } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')))

/** What this deployment is called in the settings below: dashboards, alerts and the queries of KEDA go by it. */
export const GAVEL = 'production'
/** The Secret; who deploys makes it (secrets.example.yaml). */
export const SECRET = 'gavel'
/** The Secret's keys, by the variables that name their files. */
export const SECRETS = {
  REDIS_URL_FILE: 'redis-url',
  OPENAI_API_KEY_FILE: 'openai-key',
  GAVEL_FENCES_KEY_FILE: 'fences-key',
  GAVEL_HTTP_TOKEN_FILE: 'http-token',
} as const
/** The door's file of keys in the Secret. */
export const KEYS_FILE = 'keys.json'
export type SecretName = keyof typeof SECRETS
/** Secrets that every role reads. */
export const ALL_READ: readonly SecretName[] = ['REDIS_URL_FILE', 'GAVEL_HTTP_TOKEN_FILE']
/** Folders of a pod. */
export const FOLDERS = {
  settings: '/etc/gavel',
  secrets: '/run/gavel',
  own: '/var/lib/gavel',
  record: '/var/lib/gavel/record',
}
/** User and group of the image. */
export const USER = 10_001
/** By the label, every pod is the job `gavel` of Prometheus. */
export const LABELS = { 'app.kubernetes.io/name': 'gavel' }

/** Seconds: calls in flight end within `drain`, and a second later the process is gone. */
export const DRAIN = 65
/** A door is still sent requests for this long after it was told to stop: endpoints and proxies take so long to be updated. */
export const DOOR_PRE_STOP = 15
/** Nine are left for a slow machine. */
export const GRACE = DOOR_PRE_STOP + DRAIN + 10

export function labelsOf(role: string) {
  return { ...LABELS, 'app.kubernetes.io/component': role }
}
