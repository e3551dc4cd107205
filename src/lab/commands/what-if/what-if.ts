import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import { missingModels } from '../../../app/commands/judging/asked-models.ts'
import { runFolder } from '../../../app/commands/judging/kept-runs.ts'
import { watchedEndpoint } from '../../../app/commands/judging/watched-endpoint.ts'
import { secretForReading } from '../../../app/commands/secret-for-reading.ts'
import { withModel } from '../../../app/commands/with-model.ts'
import { sayRecorded } from '../../../app/commands/with-recording.ts'
import { askingAnew, StoppedAsking } from '../../../app/composition/ask-anew.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { counted, printable, type Terminal, table } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { WhatIfReport, WhatIfShare } from '../../../contracts/facts/what-if-report.ts'
import { interval, leftOutSentences, named, percent, whatIfSentences } from '../../../contracts/facts/what-if-words.ts'
import { makeFolder } from '../../../data-files/make-folder.ts'
import { openRecording } from '../../../data-files/recordings.ts'
import { chainOf } from '../../../models/fallback.ts'
import { endpointOf, modelsOfEndpoints } from '../../../models/openai/models-of-endpoints.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { libraryOf } from '../../../shelves/lancedb/library.ts'
import { whatIfPage } from '../../what-if/what-if-page.ts'
import { whatIfReport } from '../../what-if/what-if-report.ts'
import {
  CaseErased,
  drawnOf,
  planWhatIf,
  runWhatIf,
  type WhatIfLimits,
  type WhatIfParts,
  type WhatIfPlan,
} from '../../what-if/what-if-run.ts'
import { WHAT_IF_OPTIONS, type WhatIfOptions } from './options.ts'
import { nameOfVariant, variantOf } from './variant.ts'

type Of = Invocation<WhatIfOptions>

/** A deletion keeps words from being sent after so long, in ms: the record itself takes about as long. */
const LOOK_MS = 1_000
/** Failures that are said, of different kinds. */
const MOST_FAILURES = 5

/** `gavel what-if`: recorded cases under another policy, prompt, model or setting. Null where only the price was asked for. */
export const command: Command<WhatIfOptions, WhatIfReport | null> = {
  options: WHAT_IF_OPTIONS,
  json: true,
  help: 'Asks only questions that changed, and publishes nothing. Without --budget or --sample it tells the price and asks nothing. Needs the record. See docs/what-if.md.\n\nExamples:\n  $ gavel what-if --policy policies/ --protocol hate --since 30d\n  $ gavel what-if --policy policies/ --protocol hate --since 30d --budget 20',
  async run(invocation) {
    const { options, terminal, signal, misused } = invocation
    const { protocol: name, policy, settings: file, prompts, model } = options
    if (policy === undefined && file === undefined && prompts === undefined && model === undefined)
      misused('give what is to be tried: --policy, --settings, --prompts or --model')
    const variant = variantOf(invocation)
    const secret = await secretForReading(invocation.settings(), terminal.say)
    const reader = await recordReaderOf(invocation.settings())
    try {
      const parts: WhatIfParts = {
        ...variant,
        ...variant.protocol(secret),
        reader,
        signal,
        progress: terminal.progress,
      }
      const until = options.until ?? Date.now()
      const since = 'at' in options.since ? options.since.at : until - options.since.ago
      const plan = await planWhatIf(parts, { protocol: name, tenants: options.tenant, since, until })
      if (plan.found === 0)
        throw new OperatorError(
          `The record has no verdict of ${name} in this time. Widen --since, or see "gavel verdicts --record".`,
        )
      const limits = limitsOf(options, plan)
      sayPlan(plan, variant.settings, name, terminal)
      if (limits === null) {
        terminal.say('Nothing was asked. New questions are asked with --budget USD, or with --sample N.')
        return null
      }
      checkPrices(variant.settings, name, options, plan)
      const drawn = drawnOf(plan, limits, parts)
      const asked = drawn.filter(({ of }) => of.newQuestions > 0)
      if (plan.cases.length > drawn.length)
        terminal.say(
          `Of ${plan.cases.filter(({ newQuestions }) => newQuestions > 0).length} cases with new questions ${asked.length} are drawn, for about $${usdOf(asked).toFixed(4)}.`,
        )
      const folder = await folderOf(invocation, parts, name)
      const outcome = await withModel(variant.settings, invocation, (reachable) =>
        ask({ ...parts, settings: reachable }, { plan, drawn, limits, folder, secret, name }, invocation),
      )
      for (const why of outcome.failures.slice(0, MOST_FAILURES))
        terminal.say(printable(`A question had no answer: ${why}`, 400))
      const report = whatIfReport(
        {
          protocol: name,
          tried: variant.tried,
          changed: variant.changed,
          since: new Date(since).toISOString(),
          until: new Date(until).toISOString(),
          found: plan.found,
          leftOut: outcome.leftOut,
          notDrawn: plan.cases.length - drawn.length + outcome.unreached,
          usd: { all: plan.usd, drawn: usdOf(asked), bill: outcome.bill },
        },
        outcome.replayed,
      )
      for (const [file, content] of [
        ['report.json', `${JSON.stringify(report)}\n`],
        ['report.html', whatIfPage(report)],
      ] as const) {
        await writeFile(join(folder, `${file}.new`), content)
        await rename(join(folder, `${file}.new`), join(folder, file))
      }
      terminal.say(
        `Written to ${folder}: report.json, report.html. They hold words of posts, as do the answers beside them.`,
      )
      return report
    } catch (error) {
      if (!(error instanceof StoppedAsking)) throw error
      throw new OperatorError('Stopped. What was answered is kept: run it again to go on.')
    } finally {
      await reader.close()
    }
  },
  print(report, { json, terminal }) {
    if (report === null) return
    if (json) return terminal.out(JSON.stringify(report))
    const { flips, tried, cases } = report
    terminal.out(printable(`${report.protocol}: ${tried.join('; ')}`, 400))
    for (const sentence of whatIfSentences(report)) terminal.out(`- ${sentence}`)
    for (const sentence of leftOutSentences(cases.leftOut)) terminal.out(`- left out: ${sentence}`)
    const rows = [
      ...flips.directions.map(({ from, to, ...share }) => rowOf(`${named(from)} → ${named(to)}`, share)),
      ...flips.labels.map(({ value, ...share }) => rowOf(`of ${named(value)}`, share)),
      ...flips.clauses.map(({ value, ...share }) => rowOf(`citing ${value}`, share)),
      ...flips.languages.map(({ value, ...share }) => rowOf(`language ${value ?? '(none named)'}`, share)),
      ...flips.tenants.map(({ value, ...share }) => rowOf(`tenant ${value}`, share)),
    ]
    terminal.out(table(['flips', 'share', '95 % interval', 'cases', 'of'], rows))
  },
}

function rowOf(name: string, share: WhatIfShare): string[] {
  return [
    printable(name, 80),
    share.share === null ? '' : percent(share.share),
    interval(share),
    String(share.hits),
    String(share.cases),
  ]
}

/** Null where nothing may be asked, and something would have to be. */
function limitsOf({ budget, sample }: WhatIfOptions, { cases }: WhatIfPlan): WhatIfLimits | null {
  const asksNobody = cases.every(({ newQuestions }) => newQuestions === 0)
  if (budget === undefined && sample === undefined && !asksNobody) return null
  return { usd: budget ?? Number.POSITIVE_INFINITY, cases: sample ?? Number.POSITIVE_INFINITY }
}

function sayPlan(
  { cases, found, leftOut, usd }: WhatIfPlan,
  settings: Settings,
  name: string,
  terminal: Terminal,
): void {
  const changed = cases.filter(({ newQuestions }) => newQuestions > 0)
  const questions = changed.reduce((sum, { newQuestions }) => sum + newQuestions, 0)
  terminal.say(
    `${counted(found, 'case')} found, ${cases.length} can be replayed. ${changed.length} have new questions, about ${questions} in all, for about $${usd.toFixed(4)}${unpriced(settings, name).length === 0 ? '' : ' and what models without a price cost'}.`,
  )
  for (const sentence of leftOutSentences(leftOut)) terminal.say(`Left out: ${sentence}.`)
}

function usdOf(drawn: readonly { readonly of: { readonly usd: number } }[]): number {
  return drawn.reduce((sum, { of }) => sum + of.usd, 0)
}

/** Models that the protocol may ask and that have no price. */
function unpriced(settings: Settings, protocol: string): string[] {
  const models = new Set(chainsOf(settings, protocol).flat())
  return [...models].filter((model) => entryOf(settings.models.prices, model) === undefined)
}

/** The models that are asked first for the protocol. */
function firstModels(settings: Settings, protocol: string): string[] {
  return [...new Set(chainsOf(settings, protocol).map(([first = '']) => first))]
}

function chainsOf({ models: { roles } }: Settings, protocol: string): (readonly string[])[] {
  const own = PROTOCOLS.find(({ name }) => name === protocol)?.roles ?? []
  return [...own, 'default'].map((role) => chainOf(roles, protocol, role))
}

function checkPrices(settings: Settings, name: string, { budget }: WhatIfOptions, { cases }: WhatIfPlan): void {
  if (budget === undefined || cases.every(({ newQuestions }) => newQuestions === 0)) return
  const [model] = unpriced(settings, name)
  if (model !== undefined)
    throw new OperatorError(
      `Nothing was asked: --budget needs a price of ${model}, and models.prices has none (0 if it is free). --sample N limits the cases instead.`,
    )
}

/** The folder of the answers and the report: of the same things to be tried always the same one, so that a run goes on where it stopped. */
async function folderOf(
  { options, terminal, settings: live }: Of,
  { settings, protocol }: WhatIfParts,
  name: string,
): Promise<string> {
  if (options.out !== undefined) {
    await makeFolder(options.out)
    return options.out
  }
  const { promptsHash, settingsHash } = protocol
  const source = JSON.stringify([promptsHash, settingsHash, settings.models.roles])
  const called = `${name}-${nameOfVariant(options)}`
  return runFolder(settings, { source, called, protocol: name }, terminal.say, live().console.whatIfPath)
}

async function ask(
  parts: WhatIfParts,
  of: Pick<Parameters<typeof openRun>[0], 'folder' | 'secret' | 'name'> & {
    readonly plan: WhatIfPlan
    readonly drawn: Parameters<typeof runWhatIf>[2]
    readonly limits: WhatIfLimits
  },
  { terminal, signal }: Pick<Of, 'terminal' | 'signal'>,
) {
  const { usd } = of.limits
  const run = await openRun({ ...of, usd, settings: parts.settings, reader: parts.reader, terminal, signal })
  try {
    if (of.drawn.some(({ of: { newQuestions } }) => newQuestions > 0)) await run.checkModels()
    return await runWhatIf({ ...parts, signal: run.signal }, of.plan, of.drawn, of.limits, run.anew)
  } catch (error) {
    throw run.dead() ?? error
  } finally {
    await run.close()
  }
}

/** What answers the new questions of a run: the recording in its folder, and behind it the models. */
async function openRun({
  settings,
  reader,
  folder,
  secret,
  name,
  usd,
  terminal,
  signal,
}: Pick<WhatIfParts, 'settings' | 'reader' | 'signal'> & {
  readonly folder: string
  readonly secret: string
  readonly name: string
  readonly usd: number
  readonly terminal: Terminal
}) {
  const stop = new AbortController()
  const models = modelsOfEndpoints(settings)
  const endpoint = watchedEndpoint(models, (model) => endpointOf(settings, model), Date.now, {
    givenUp: () => stop.abort(),
  })
  const recording = await openRecording(folder)
  sayRecorded(recording, folder, terminal)
  let library: ReturnType<typeof libraryOf> | null = null
  const stopping = AbortSignal.any([signal, stop.signal])
  /** When each case was last seen in the record, so that a round of questions looks once. */
  const looked = new Map<string, { readonly at: number; readonly isThere: Promise<boolean> }>()
  return {
    signal: stopping,
    dead: endpoint.dead,
    async checkModels() {
      const missing = await missingModels(models, firstModels(settings, name), stopping)
      if (missing.length > 0)
        throw new OperatorError(
          `Nothing was asked: the endpoint has no model ${missing.join(', ')}. Check models.roles and --model, and "gavel doctor".`,
        )
    },
    anew: askingAnew(settings, name, {
      model: recording.model(endpoint.model),
      library() {
        library ??= libraryOf(settings, Date.now)
        return library
      },
      secret,
      usd,
      signal: stopping,
      dead: endpoint.dead,
      report(event, told) {
        if (event === 'error' && 'error' in told) terminal.say(printable(`${told.where}: ${String(told.error)}`, 400))
      },
      async mayAsk({ id }) {
        const last = looked.get(id)
        const now = Date.now()
        const isThere =
          last !== undefined && now - last.at < LOOK_MS
            ? last.isThere
            : reader.transcript(id).then((transcript) => transcript !== null)
        if (isThere !== last?.isThere) looked.set(id, { at: now, isThere })
        if (!(await isThere)) throw new CaseErased()
      },
    }),
    async close() {
      await recording.close()
      await library?.close()
    },
  }
}
