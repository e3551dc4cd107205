import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { printable, table } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { estimateTokens } from '../../../contracts/facts/token-estimate.ts'
import { chainOf } from '../../../models/fallback.ts'
import { type Policy, readPolicy, renderPolicy } from '../../../protocols/policy.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { filePartsOf } from '../../composition/make-protocols.ts'
import { policySource } from './policy-source.ts'

interface CheckOptions {
  readonly protocol?: string
}

/** What the policy adds to the bill of a thousand verdicts, in US dollars; null where a model has no price. */
interface PolicyPrice {
  readonly protocol: string
  /** Of verdicts without a debate. */
  readonly least: number | null
  /** Of verdicts with the longest debate, nothing of it cached. */
  readonly most: number | null
}

type CheckedPolicy =
  | { readonly file: string; readonly faults: readonly string[] }
  | {
      readonly file: string
      readonly policy: Pick<Policy, 'name' | 'version' | 'hash' | 'tenant' | 'language'>
      readonly clauses: readonly { readonly id: string; readonly title: string; readonly allows: boolean }[]
      readonly leftOut: Policy['leftOut']
      readonly notClauses: Policy['notClauses']
      readonly bytes: number
      readonly tokens: number
      readonly usdPerThousand: readonly PolicyPrice[]
    }

/** `gavel policy check`: how policies are read, what is wrong with them, and what they cost. */
export const command: Command<CheckOptions, readonly CheckedPolicy[]> = {
  options: [
    new Option(
      '--protocol <name>',
      'the protocol to price it for (default: those that the file names, else all)',
    ).argParser(protocolName),
  ],
  json: true,
  help: 'A fault is named with its file and line, and ends with exit code 1. Tokens are an estimate. The price is that of the policy in the prompts alone, without what endpoints cache. See docs/policies.md.\n\nExample:\n  $ gavel policy check policies/hate.md',
  run: async ({ args, options, settings }) => args.map((file) => checked(file, settings(), options.protocol)),
  print(results, { json, terminal }) {
    if (json) for (const result of results) terminal.out(JSON.stringify(result))
    else for (const result of results) if (!('faults' in result)) terminal.out(inWords(result))
    const faults = results.flatMap((result) => ('faults' in result ? result.faults : []))
    if (faults.length > 0) throw new OperatorError(faults.map((fault) => printable(fault, 300)).join('\n'))
  },
}

function checked(file: string, settings: Settings, protocol: string | undefined): CheckedPolicy {
  try {
    const source = policySource(file)
    const policy = readPolicy(file, source)
    const { name, version, hash, tenant, language, leftOut, notClauses } = policy
    const tokens = estimateTokens(renderPolicy(policy))
    const judging = PROTOCOLS.filter(({ policyQuestions }) => policyQuestions !== undefined)
    const names = judging.map(({ name: one }) => one)
    const unknown = policy.protocols?.filter((one) => !names.includes(one)) ?? []
    if (unknown.length > 0)
      throw new Error(`${file}: protocols: ${unknown.join(', ')}: only ${names.join(' and ')} judge by a policy`)
    const kinds = judging.filter(({ name: one }) =>
      protocol === undefined ? (policy.protocols?.includes(one) ?? true) : one === protocol,
    )
    return {
      file,
      policy: { name, version, hash, tenant, language },
      clauses: policy.clauses.map(({ id, title, allows }) => ({ id, title, allows })),
      leftOut,
      notClauses,
      bytes: Buffer.byteLength(source),
      tokens,
      usdPerThousand: kinds.map((kind) => priceOf(kind, settings, tokens)),
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const unread = 'code' in error ? `${file}: cannot be read (${String(error.code)})` : error.message
    return { file, faults: unread.split('\n') }
  }
}

function priceOf(kind: (typeof PROTOCOLS)[number], { models, protocols }: Settings, tokens: number): PolicyPrice {
  const given = entryOf(protocols, kind.name)
  const asked = given === undefined ? [] : (kind.policyQuestions?.(filePartsOf(kind, given).settings) ?? [])
  const sum = (of: 'least' | 'most') =>
    asked.reduce((so: number | null, { role, ...counts }) => {
      const price = entryOf(models.prices, chainOf(models.roles, kind.name, role)[0] ?? '')?.prompt
      if (counts[of] === 0) return so
      return so === null || price === undefined ? null : so + (counts[of] * tokens * price) / 1000
    }, 0)
  return { protocol: kind.name, least: sum('least'), most: sum('most') }
}

function inWords(result: Exclude<CheckedPolicy, { faults: unknown }>): string {
  const { policy, clauses, leftOut, notClauses, bytes, tokens, usdPerThousand } = result
  const of = policy.tenant === undefined ? '' : `, for the tenant ${policy.tenant}`
  const usd = (value: number | null) => (value === null ? 'no price set' : `$${value.toFixed(2)}`)
  return [
    `${printable(`${policy.name}, version ${policy.version}${of}`, 200)} (${result.file})`,
    table(
      ['clause', '', 'title'],
      clauses.map(({ id, title, allows }) => [id, allows ? 'allows' : 'forbids', printable(title, 80)]),
    ),
    ...notClauses.map(
      ({ line, what }) =>
        `line ${line} begins no clause, a clause is a heading with an id, as "## H6 Insults": ${printable(what, 80)}`,
    ),
    ...leftOut.map(
      ({ line, what }) => `line ${line} is left out, answers have a form of their own: ${printable(what, 80)}`,
    ),
    `${bytes} bytes, about ${tokens} tokens in each question that holds it`,
    ...usdPerThousand.map(
      ({ protocol, least, most }) =>
        `${protocol}: ${usd(least)} to ${usd(most)} of a thousand verdicts, without and with the longest debate`,
    ),
  ].join('\n')
}
