import { basename, dirname, join, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import { withFirstAt } from '../../../../config/settings-file.ts'
import { policySource } from '../../../app/commands/policy/policy-source.ts'
import { percentIn } from '../../../app/commands/variant/set-ramp.ts'
import { changeSettings } from '../../../app/commands/variant/settings-change.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { notNegative, positiveWhole, protocolName } from '../../../cli/options.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { variantName } from '../../../contracts/facts/shadow-verdict.ts'
import { type Policy, readPolicy } from '../../../protocols/policy.ts'
import { PUBLISHED_NAME } from '../../../protocols/published-policy.ts'
import type { Obedience } from '../../evaluation/steering/obedience.ts'
import type { PolicyPair } from '../../evaluation/steering/pairs.ts'
import { changedClauses, touchedPairs } from '../../evaluation/steering/touched.ts'
import type { EvalOptions } from '../eval/options.ts'
import { printObedience, steered } from '../eval/steering.ts'
import { kindNamed } from '../eval/tables.ts'
import { keepPublished } from './kept-policies.ts'
import { livePolicies } from './live-policies.ts'

interface PublishOptions {
  readonly protocol: string
  readonly by: string
  readonly as?: string
  readonly data?: string
  readonly size: number
  readonly budget?: number
  readonly least: number
  readonly skipSteer?: true
}

/** A policy that is live now, as a variant of its protocol. */
interface PublishedPolicy {
  readonly protocol: string
  readonly variant: string
  readonly policy: Pick<Policy, 'name' | 'version' | 'hash' | 'tenant'>
  /** The version in its place before. */
  readonly over: string
  readonly changed: readonly string[]
  /** The settings file, and the folder of the text that is in force. */
  readonly file: string
  readonly kept: string
}

type Of = Invocation<PublishOptions>

/** `gavel policy publish`: checks a policy, tries whether the model follows what changed, and makes it live. Null where only the price was asked for. */
export const command: Command<PublishOptions, PublishedPolicy | null> = {
  options: [
    new Option('--protocol <name>', 'the protocol that is to judge by it')
      .argParser(protocolName)
      .makeOptionMandatory(),
    new Option('--by <name>', 'who publishes it, for the audit').makeOptionMandatory(),
    new Option('--as <name>', 'the name of its variant (default: the name of its file, and its version)'),
    new Option('--data <file>', 'HateCheck’s texts, by which is tried whether the model follows it'),
    new Option('--size <texts>', 'judge so many texts of each pair').argParser(positiveWhole).default(20),
    new Option('--budget <usd>', 'ask for at most so many US dollars; without it the price is told').argParser(
      notNegative,
    ),
    new Option('--least <percent>', 'publish nothing where fewer verdicts of a pair follow')
      .argParser(leastPercent)
      .default(0.9, '90%'),
    new Option('--skip-steer', 'do not try whether the model follows it; the audit says so').conflicts([
      'data',
      'budget',
    ]),
  ],
  json: true,
  help: 'It changes the file of --config, and notes that in the audit. Reload each replica then. "gavel variant back" takes it back. See docs/policies.md.\n\nExamples:\n  $ gavel policy publish policies/house.md --protocol hate --config gavel.yaml --by ann --data cases.jsonl\n  $ gavel policy publish policies/house.md --protocol hate --config gavel.yaml --by ann --data cases.jsonl --budget 2',
  async run(invocation) {
    const { args, options, settingsFile: file, terminal } = invocation
    const { protocol, by, skipSteer = false } = options
    if (file === undefined) throw new OperatorError('Which settings? Name their file: --config FILE.')
    const [path = ''] = args
    const settings = invocation.settings()
    const policy = checkedPolicy(path, protocol)
    const live = livePolicies(settings, protocol)
    const before = live.for(policy.tenant)
    checkVersions(path, before, policy)
    const changed = changedClauses(before, policy)
    const steer = skipSteer ? 'skipped' : await steerOf(invocation, settings, changed, policy)
    if (steer === null) return null
    const variant = nameOf(options, path, policy)
    const kept = await keepPublished(
      join(dirname(resolve(file)), 'published', `${variant}-${policy.hash.slice(0, 8)}`),
      [...live.othersThan(policy.tenant), { name: stemOf(path), source: policySource(path), policy }],
    )
    await changeSettings(
      file,
      {
        text: (text) => withFirstAt(text, ['protocols', protocol, 'variants'], variant, { ramp: 1, ...kept }),
        isDone: (next) => livePolicies(next, protocol).for(policy.tenant)?.hash === policy.hash,
        by,
        page: `/policy/${protocol}/${variant}/${policy.hash}/steer-${steer}`,
      },
      invocation,
    )
    terminal.say('Reload each replica (docs/reload.md), unless it runs with --watch.')
    const { name, version, hash, tenant } = policy
    const over = before?.version ?? 'none'
    const published = { protocol, variant, policy: { name, version, hash, tenant }, over, changed: [...changed.keys()] }
    return { ...published, file, kept: kept.policiesPath }
  },
  print(published, { json, terminal }) {
    if (published === null) return
    if (json) return terminal.out(JSON.stringify(published))
    const { protocol, variant, policy, over, changed, file, kept } = published
    terminal.out(
      printable(
        `${protocol}: ${policy.name}, version ${policy.version}, is live by ${file}, in place of version ${over}. Changed: ${changed.join(', ')}.`,
        600,
      ),
    )
    terminal.out(
      printable(`Its text is kept in ${kept}: what you write further changes nothing until it is published.`, 600),
    )
    terminal.out(
      `Back: gavel variant back ${variant} --protocol ${protocol} --config ${printable(file, 200)} --by NAME`,
    )
  },
}

function leastPercent(text: string): number {
  const share = percentIn(text)
  if (share === null) throw new InvalidArgumentError('must be a percentage, as 90%')
  return share
}

function checkedPolicy(path: string, protocol: string): Policy {
  if (kindNamed(protocol).folders?.includes('policies') !== true)
    throw new OperatorError(`${protocol} judges by no policy.`)
  let policy: Policy
  try {
    policy = readPolicy(path, policySource(path))
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw new OperatorError(`${printable(path, 200)} cannot be read (${String(error.code)}).`, { cause: error })
    throw new OperatorError(error instanceof Error ? error.message : String(error), { cause: error })
  }
  if (!path.endsWith('.md')) throw new OperatorError(`${printable(path, 200)}: a policy is a file that ends with .md.`)
  if (policy.protocols?.includes(protocol) === false)
    throw new OperatorError(`${printable(path, 200)}: is not for ${protocol}, by its own protocols`)
  return policy
}

/** Of two people who publish at once the second would undo what the first has changed. */
function checkVersions(path: string, live: Policy | null, { version, hash, tenant }: Policy): void {
  const file = printable(path, 200)
  if (live === null || live.tenant !== tenant) return
  if (live.hash === hash) throw new OperatorError(`${file} is live already.`)
  if (live.version === version)
    throw new OperatorError(
      `${file} says that it is version ${printable(version, 40)}, and another text of this version is live (${live.hash}): somebody else has published meanwhile. Take that as the base, and give yours a version of its own.`,
    )
}

/** A policy's file by its name without the ending. */
function stemOf(path: string): string {
  return basename(path).replace(PUBLISHED_NAME, '').replace(/\.md$/, '')
}

function nameOf({ as }: PublishOptions, path: string, { version }: Policy): string {
  const made = `${stemOf(path)}-${version}`.toLowerCase().replace(/[^a-z0-9-]+/g, '-')
  const name = variantName.safeParse(as ?? made.replace(/^-+/, ''))
  if (!name.success)
    throw new OperatorError(
      `A variant's name has ${name.error.issues[0]?.message ?? 'another form'}: name one with --as.`,
    )
  return name.data
}

/** How well the model follows what changed, in words for the audit; null where only the price was told. */
async function steerOf(
  invocation: Of,
  settings: Settings,
  changed: ReadonlyMap<string, string>,
  policy: Policy,
): Promise<string | null> {
  const { options, terminal, startStandIn } = invocation
  const { protocol, data, budget, least } = options
  const pairs = touchedPairs(changed, policy)
  const what = [...changed.keys()].join(', ')
  if (pairs.length === 0) {
    terminal.say(printable(`Changed: ${what}. None of the pairs of --steer is about that: nothing is asked.`, 400))
    return 'untouched'
  }
  const names = pairs.map(({ name }) => name).join(', ')
  if (data === undefined)
    throw new OperatorError(
      `Changed: ${printable(what, 200)}, so the pairs on ${names} are to be judged: give HateCheck's texts with --data FILE (docs/data-sets.md), or --skip-steer.`,
    )
  const judge = (of: Settings, more: Partial<EvalOptions>) =>
    steered(of, protocol, { file: data, format: 'hatecheck' }, steering(invocation, more), pairs)
  if (budget === undefined) {
    const standIn = await startStandIn?.()
    if (standIn === undefined) throw new OperatorError('Give --budget USD.')
    try {
      const priced = await judge(answeredBy(settings, standIn.settings), {})
      checkTried(priced, pairs)
      const { usage, all } = priced
      terminal.say(
        `Changed: ${printable(what, 200)}. ${all.verdicts.of} verdicts on ${names} would be asked for, for about $${usage.costUsd.toFixed(4)}. Nothing was asked, and nothing is published: give --budget USD.`,
      )
    } finally {
      await standIn.close()
    }
    return null
  }
  const obedience = await judge(settings, { maxCost: budget === 0 ? Number.MIN_VALUE : budget })
  checkTried(obedience, pairs)
  printObedience(obedience, { json: false, terminal: { ...terminal, out: terminal.say } })
  checkFollowed(obedience, least)
  return inWords(obedience)
}

function steering(invocation: Of, more: Partial<EvalOptions>): Invocation<EvalOptions> {
  const { protocol, size } = invocation.options
  const options: EvalOptions = {
    protocol,
    size,
    seed: '1',
    contradictions: 'keep',
    unverified: 'leave-out',
    profanity: 'hate',
    margin: 0,
    ...more,
  }
  return { ...invocation, options }
}

/** Every endpoint is the stand-in, under the models' names and prices. */
function answeredBy(
  settings: Settings,
  { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey }: { OPENAI_BASE_URL: string; OPENAI_API_KEY: string },
): Settings {
  const endpoints = Object.entries(settings.endpoints).map(
    ([name, one]) => [name, { ...one, baseUrl, apiKey }] as const,
  )
  return {
    ...settings,
    openai: { ...settings.openai, baseUrl, apiKey },
    endpoints: Object.fromEntries(endpoints),
  }
}

function checkTried({ pairs }: Obedience, touched: readonly PolicyPair[]): void {
  const lacking = touched.filter(({ name }) => pairs.every(({ pair }) => pair !== name)).map(({ name }) => name)
  if (lacking.length > 0)
    throw new OperatorError(
      `Nothing is published: the file has no text on ${lacking.join(', ')}, which changed. Give all of HateCheck's texts with --data, or --skip-steer.`,
    )
}

function checkFollowed({ pairs }: Obedience, least: number): void {
  const weak = pairs.filter(({ forbidden, allowed }) =>
    [forbidden, allowed].some(({ followed, of }) => followed < least * of),
  )
  if (weak.length === 0) return
  const which = weak.map(({ pair }) => pair).join(', ')
  throw new OperatorError(
    `Nothing is published: too few verdicts follow the policy on ${which} (--least). Another model may follow it (docs/policies.md), or --skip-steer publishes all the same.`,
  )
}

function inWords({ all: { verdicts } }: Obedience): string {
  return `${verdicts.followed}-of-${verdicts.of}`
}
