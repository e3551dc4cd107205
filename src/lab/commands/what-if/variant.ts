import { readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { loadSettings } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import { policySource } from '../../../app/commands/policy/policy-source.ts'
import { protocolsOf } from '../../../app/composition/protocols.ts'
import type { Invocation } from '../../../cli/command.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Protocol } from '../../../judging/engine/script.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { readPolicy } from '../../../protocols/policy.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { changedClauses } from '../../evaluation/steering/touched.ts'
import type { ChangedClauses } from '../../what-if/what-if-report.ts'
import type { PolicyFile } from '../policy/kept-policies.ts'
import { livePolicies } from '../policy/live-policies.ts'
import type { WhatIfOptions } from './options.ts'

/** What is tried on recorded cases. */
export interface WhatIfVariant {
  readonly settings: Settings
  /** In words, a line each. */
  readonly tried: readonly string[]
  /** Ids of the clauses that differ from those of the policies that are live, by the hash of each of these; null where other things are tried, too. */
  readonly changed: ChangedClauses | null
  /** The protocol as it would judge. Throws an `OperatorError` that names every fault in its files. */
  protocol(secret: string): Pick<ReturnType<typeof protocolsOf>, 'samplingRank'> & { readonly protocol: Protocol }
}

/** Throws an `OperatorError` where what is to be tried can't be read. */
export function variantOf({
  options,
  environment,
  settings: live,
}: Pick<Invocation<WhatIfOptions>, 'options' | 'environment' | 'settings'>): WhatIfVariant {
  const { protocol: name, policy, settings: file, prompts, model } = options
  const kind = PROTOCOLS.find((one) => one.name === name)
  if (kind?.labels === undefined) throw new OperatorError(`${name} has no labels that could flip.`)
  const given = file === undefined ? live() : loadSettings(environment, file)
  const own = entryOf(given.protocols, name)
  const settings: Settings = {
    ...given,
    models: model === undefined ? given.models : { ...given.models, roles: { default: [model] } },
    protocols: {
      ...given.protocols,
      [name]: { ...own, enabled: true, ...(prompts === undefined ? {} : { promptsPath: resolve(prompts) }) },
    },
  }
  const policies = policy === undefined ? [] : policiesAt(policy, name)
  const tried = [
    ...policies.map(
      ({ name: called, policy: one }) =>
        `the policy ${one.name}, version ${one.version}${one.tenant === undefined ? '' : `, of ${one.tenant}`} (${called}.md)`,
    ),
    ...(file === undefined ? [] : [`the settings ${file}`]),
    ...(prompts === undefined ? [] : [`the prompts ${prompts}`]),
    ...(model === undefined ? [] : [`the model ${model}`]),
  ]
  const isPolicyAlone = file === undefined && prompts === undefined && model === undefined
  return {
    settings,
    tried,
    changed: isPolicyAlone ? changedOf(policies, livePolicies(given, name)) : null,
    protocol(secret) {
      const { protocols, samplingRank } = protocolsOf(settings, secret, [
        policies.length === 0 ? kind : withPolicies(kind, policies),
      ])
      const [protocol] = protocols
      if (protocol === undefined) throw new OperatorError(`No protocol is called ${name}.`)
      return { protocol, samplingRank }
    },
  }
}

/** Null where more than clauses that forbid has changed: a verdict cites nothing else. */
function changedOf(policies: readonly PolicyFile[], live: ReturnType<typeof livePolicies>): ChangedClauses | null {
  const changed = new Map<string, ReadonlySet<string>>()
  for (const { policy } of policies) {
    const before = live.for(policy.tenant)
    if (before === null) return null
    const ids = [...changedClauses(before, policy).keys()]
    const forbids = (id: string) => {
      const said = [before, policy].flatMap(({ clauses }) => clauses.filter((one) => one.id === id))
      return said.length > 0 && said.every(({ allows }) => !allows)
    }
    if (!ids.every(forbids)) return null
    changed.set(before.hash, new Set([...(changed.get(before.hash) ?? []), ...ids]))
  }
  return changed
}

/** The policies of a file or of a folder that are for this protocol. */
function policiesAt(path: string, protocol: string): PolicyFile[] {
  let files: string[]
  try {
    files = statSync(path).isDirectory()
      ? readdirSync(path)
          .filter((file) => file.endsWith('.md') && !/^(\.|readme)/i.test(file))
          .map((file) => join(path, file))
      : [path]
  } catch (error) {
    throw new OperatorError(
      `${path} cannot be read (${error instanceof Error && 'code' in error ? String(error.code) : String(error)}).`,
      {
        cause: error,
      },
    )
  }
  const read = files.map((file): PolicyFile => {
    try {
      const source = policySource(file)
      return { name: basename(file).replace(/\.md$/, ''), source, policy: readPolicy(file, source) }
    } catch (error) {
      throw new OperatorError(error instanceof Error ? error.message : String(error), { cause: error })
    }
  })
  const found = read.filter(({ policy }) => policy.protocols?.includes(protocol) ?? true)
  if (found.length === 0)
    throw new OperatorError(`${path} has no policy for ${protocol}: a policy is a file that ends with .md.`)
  return found
}

/** The kind of protocol with these policies in the place of those that are for the same tenants, or are called the same. */
function withPolicies(kind: ProtocolKind, policies: readonly PolicyFile[]): ProtocolKind {
  if (kind.folders?.includes('policies') !== true) throw new OperatorError(`${kind.name} judges by no policy.`)
  return {
    ...kind,
    make(parts) {
      const { policies: listed } = parts.settings as { readonly policies?: readonly string[] } // Checked where it is read, by the kind itself.
      const files = parts.files('policies')
      const tenants = new Set(policies.map(({ policy }) => policy.tenant))
      const stays = (name: string) => {
        const source = files.get(`${name}.md`)
        return source === undefined || !tenants.has(readPolicy(`${name}.md`, source).tenant)
      }
      const names = new Set(policies.map(({ name }) => name))
      const live = (listed ?? []).filter((name) => !names.has(name) && stays(name))
      const layered = new Map([...files, ...policies.map(({ name, source }) => [`${name}.md`, source] as const)])
      return kind.make({
        ...parts,
        settings: { ...Object(parts.settings), policies: [...live, ...names] },
        files: (folder) => (folder === 'policies' ? layered : parts.files(folder)),
      })
    },
  }
}

/** Names of the policies, for the folder of a run. */
export function nameOfVariant({ policy, settings, prompts, model }: WhatIfOptions): string {
  return basename(policy ?? settings ?? prompts ?? model ?? 'what-if')
}
