import { resolve } from 'node:path'
import { unpricedFinding } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Command } from '../../cli/command.ts'
import { counted, paragraph, printable } from '../../cli/terminal.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError, PermanentError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { sameModel } from '../../contracts/facts/steps.ts'
import type { Library, Shelf } from '../../contracts/ports/library.ts'
import { chainOf } from '../../models/fallback.ts'
import { libraryOf } from '../../shelves/lancedb/library.ts'
import { whyNotLoaded } from '../../shelves/lancedb/open-tables.ts'
import { redisDialects } from '../../store/dialect/redis.ts'
import { configurationFindings, redisFindings as findingsOfRedis } from '../../store/redis/checks.ts'
import { checkRedis, connect, redisAddresses } from '../../store/redis/connect.ts'
import { keysUnder } from '../../store/redis/keys.ts'
import { memoryUse } from '../../store/redis/memory.ts'
import { dayFinding } from '../composition/fresh-budget.ts'
import { makeProtocols } from '../composition/make-protocols.ts'
import { certificateFindings } from './doctor-certificates.ts'
import { broken, withTimeout } from './doctor-findings.ts'
import { jetstreamFindings } from './doctor-jetstream.ts'
import { kafkaFindings } from './doctor-kafka.ts'
import { laneFindings } from './doctor-lanes.ts'
import { FIRST, hasSetting, isPasted } from './doctor-lines.ts'
import { memoryFindings } from './doctor-memory.ts'
import { modelFindings } from './doctor-models.ts'
import { recordFindings } from './doctor-record.ts'
import { vetoFindings } from './doctor-vetoes.ts'
import { otherModels } from './paper-models.ts'

/** `gavel doctor`: checks everything that a running service needs. Ends with an `OperatorError` if something is broken. */
export const command: Command<object, readonly Finding[]> = {
  options: [],
  json: true,
  help: 'It asks each model of each role one tiny question, of some hundred tokens.\n\nExample:\n  $ gavel doctor',
  async run({ settings: read, signal }) {
    const settings = read()
    const findings = await Promise.all([
      protocolsFinding(settings),
      stepsFindings(settings),
      keyFinding(settings),
      redisFindings(settings),
      kafkaFindings(settings),
      modelsAnswer(settings, signal),
      unpricedFinding(settings) ?? [],
      paperFindings(settings),
      libraryFindings(settings),
      recordFindings(settings),
      vetoFindings(settings),
      certificateFindings(settings),
      laneFindings(settings),
      jetstreamFindings(settings),
    ])
    // What was not answered because of a stop is no fault.
    signal.throwIfAborted()
    return findings.flat()
  },
  print(findings, { json, terminal, settingsFile }) {
    if (json) terminal.out(JSON.stringify(findings))
    else {
      for (const { what, state, detail, todo } of findings) {
        const sign = { ok: 'ok     ', warning: 'warning', broken: 'BROKEN ' }[state]
        const tone = ({ ok: 'good', warning: 'warning', broken: 'bad' } as const)[state]
        terminal.out(paragraph({ text: `${sign}  `, tone }, `${what}: ${printable(detail, MAX_DETAIL_CHARS)}`))
        for (const [at, line] of (todo?.split('\n') ?? []).entries()) {
          const lead = `         ${at === 0 ? '→' : ' '} `
          // What can be copied stays on its line.
          terminal.out(isPasted(line) ? `${lead}${line}` : paragraph(lead, line))
        }
      }
      if (findings.some(({ todo = '' }) => hasSetting(todo))) terminal.out(paragraph('', placeOfSettings(settingsFile)))
    }
    const count = (wanted: Finding['state']) => findings.filter(({ state }) => state === wanted).length
    const broken = count('broken')
    const tally = `${broken} broken, ${counted(count('warning'), 'warning')}`
    if (broken > 0) throw new OperatorError(`${tally}: mend what is BROKEN, and run gavel doctor again.`)
    const first = [...new Set(findings.filter(({ todo }) => todo?.startsWith(FIRST)).map(({ what }) => what))]
    const but = first.length === 0 ? '' : `, but first follow the advice above on ${first.join(', ')}`
    if (!json) terminal.out(`${tally}: Gavel can run${but}.`)
  },
}

/** Longest detail that is printed, in characters: some hold a server's own words. */
const MAX_DETAIL_CHARS = 1_000

/** Where the settings belong that advice names. */
function placeOfSettings(file: string | undefined): string {
  const own =
    file === undefined
      ? 'a settings file of your own, which each command is given as --config FILE (it holds only what differs from config/gavel.yaml)'
      : resolve(file)
  return [
    `Copy the lines of settings, with your words for those in CAPITALS, to the left margin of ${printable(own, MAX_DETAIL_CHARS)}.`,
    'They add to models: and the like. If a key such as models.prices: is there already, put the content of the braces into it, because a key may be there only once.',
    'After a change start Gavel anew where it runs, and run gavel doctor again.',
  ].join(' ')
}

async function protocolsFinding(settings: Settings): Promise<Finding[]> {
  try {
    const names = makeProtocols(settings.protocols, fences('doctor', settings.fences), samplingRanks('doctor')).map(
      ({ name }) => name,
    )
    if (names.length > 0)
      return [{ what: 'settings and prompts', state: 'ok', detail: `protocols: ${names.join(', ')}` }]
    return [
      {
        what: 'settings and prompts',
        state: 'warning',
        detail: 'every protocol is off',
        todo: 'Set protocols.rumor.enabled to true.',
      },
    ]
  } catch (error) {
    return [broken('settings and prompts', error, 'Fix the prompt files listed above.')]
  }
}

const UNCALIBRATED = { shipped: 'shipped', own: 'your own', none: 'none', 'model-written': 'written by the model' }

/** Where the evaluation steps come from that protocols score by, and whether they were found for the model that scores. */
function stepsFindings(settings: Settings): Finding[] {
  let protocols: ReturnType<typeof makeProtocols>
  try {
    protocols = makeProtocols(settings.protocols, fences('doctor', settings.fences), samplingRanks('doctor'))
  } catch {
    // Said by the finding on settings and prompts.
    return []
  }
  return protocols.flatMap(({ name: protocol, steps = {} }) => {
    const scorer = chainOf(settings.models.roles, protocol, 'scorer')[0] ?? ''
    const wantsCalibrated = entryOf(settings.protocols, protocol)?.steps === 'calibrated'
    return Object.entries(steps).map(([aspect, { source, model, answeredAs, ratings, date }]): Finding => {
      const what = `steps of ${protocol} for ${aspect}`
      if (source !== 'calibrated' && wantsCalibrated)
        return {
          what,
          state: 'warning',
          detail: `${UNCALIBRATED[source]}, and the settings ask for calibrated ones`,
          todo: `Run "gavel calibrate --aspect ${aspect}", and name its folder in protocols.${protocol}.stepsFor.`,
        }
      if (source !== 'calibrated') return { what, state: 'ok', detail: UNCALIBRATED[source] }
      const detail = `calibrated for ${model ?? 'an unknown model'}${answeredAs === undefined || answeredAs === model ? '' : `, which answered as ${answeredAs}`} (ratings ${ratings ?? 'unknown'}, ${date ?? 'no date'})`
      if (model === undefined || sameModel(model, scorer)) return { what, state: 'ok', detail }
      return {
        what,
        state: 'warning',
        detail: `${detail}; ${scorer} scores`,
        todo: `Run "gavel calibrate --aspect ${aspect}" with this model; until then \`degraded\` in verdicts names the steps of another one.`,
      }
    })
  })
}

/** A key that is kept only in Redis is lost with its data: afterwards other comments are sampled, and fences differ. */
function keyFinding({ fences: { key } }: Settings): Finding {
  if (key !== '') return { what: 'fences.key (prompt fences and sampling)', state: 'ok', detail: 'is set' }
  return {
    what: 'fences.key (prompt fences and sampling)',
    state: 'warning',
    detail: 'is not set: a generated one is kept in Redis, and lost if Redis loses its data',
    todo: 'Set GAVEL_FENCES_KEY to the same secret for every process, for instance the output of "openssl rand -hex 32".',
  }
}

/** What of the library can't be read any more. */
async function damagedIn(library: Library, shelves: readonly Shelf[]): Promise<Finding[]> {
  const found = (detail: string, todo: string): Finding => ({ what: 'library', state: 'broken', detail, todo })
  const proposals = await library.proposals().then(
    () => [],
    (error: unknown) => {
      if (error instanceof PermanentError) return [found(error.message, 'Until then nothing can be learnt.')]
      throw error
    },
  )
  const unerased = 'Until then what was learnt from deleted subjects waits to be erased.'
  return [
    ...shelves.flatMap(({ damaged }) =>
      damaged === undefined
        ? []
        : found(damaged, 'Until then questions are asked without it, and `degraded` in verdicts names that.'),
    ),
    ...(await library.history()).flatMap(({ damaged }) => (damaged === undefined ? [] : found(damaged, unerased))),
    ...proposals,
  ]
}

/** The shelves that the protocols search: a missing one costs quality; one built with a different embedder finds nothing. */
async function libraryFindings(settings: Settings): Promise<Finding[]> {
  const library = libraryOf(settings, Date.now)
  try {
    const wanted = new Set(
      makeProtocols(settings.protocols, fences('doctor', settings.fences), samplingRanks('doctor')).flatMap(
        ({ shelves = [] }) => shelves,
      ),
    )
    const { embedder } = settings.library
    const whyNot = wanted.size === 0 ? null : await whyNotLoaded()
    if (whyNot !== null)
      return [
        {
          what: 'library',
          state: 'warning',
          detail: whyNot,
          todo: 'Gavel runs without examples and earlier cases, and `degraded` in verdicts names that.',
        },
      ]
    const shelves = await library.shelves()
    const damaged = await damagedIn(library, shelves)
    if (damaged.length > 0) return damaged
    const there = shelves.filter(({ name }) => wanted.has(name))
    const missing = [...wanted].filter((wanted) => !there.some(({ name, items }) => name === wanted && items > 0))
    const others = there.filter((shelf) => shelf.embedder !== library.embedder)
    const foreign = others.map(
      ({ name, tenant, embedder }) => `${name}${tenant === null ? '' : ` of ${tenant}`} (${embedder})`,
    )
    if (foreign.length > 0)
      return [
        {
          what: 'library',
          state: 'broken',
          detail: `built with a different embedder (expected ${embedder}): ${foreign.join(', ')}`,
          todo: 'Set library.embedder to theirs, or drop the shelves and import them again.',
        },
      ]
    if (missing.length > 0)
      return [
        {
          what: 'library',
          state: 'warning',
          detail: `shelves without examples in ${settings.library.path}: ${missing.join(', ')}`,
          todo: 'Fill them with "gavel library import"; until then `degraded` in verdicts names what they lack.',
        },
      ]
    return [{ what: 'library', state: 'ok', detail: `${wanted.size} shelves, embedder ${embedder}` }]
  } catch (error) {
    return [broken('library', error, 'See "gavel library list".')]
  } finally {
    await library.close()
  }
}

async function redisFindings(settings: Settings): Promise<Finding[]> {
  if (redisAddresses(settings.redis).length === 0)
    return [
      {
        what: 'Redis',
        state: 'broken',
        detail: 'is not set',
        todo: 'Set REDIS_URL, or start local servers with "gavel stack".',
      },
    ]
  let client: ReturnType<typeof connect> | undefined
  try {
    client = connect(settings.redis, () => {}, 'fail-fast')
    await withTimeout(checkRedis(client, settings.redis))
    return [
      ...(await withTimeout(findingsOfRedis(client, settings.redis))),
      ...(await withTimeout(configurationFindings(client, settings.redis))),
      ...memoryFindings(settings, await withTimeout(memoryUse(client))),
      // What it may not read is said above.
      dayFinding(settings, await withTimeout(client.get(keysUnder(settings.redis.prefix).fresh)).catch(() => null)),
    ]
  } catch (error) {
    return [broken('Redis', error, 'Check REDIS_URL, and that Redis is running.')]
  } finally {
    client?.disconnect()
  }
}

async function modelsAnswer(settings: Settings, signal: AbortSignal): Promise<Finding[]> {
  const hasRedis = redisAddresses(settings.redis).length > 0
  const client = hasRedis ? connect(settings.redis, () => {}, 'fail-fast') : undefined
  const kept = client === undefined ? null : redisDialects(client, keysUnder(settings.redis.prefix))
  try {
    return await modelFindings(settings, signal, kept)
  } catch (error) {
    return [broken('model', error, 'Fix the settings and prompts first: a role is asked in its own form.')]
  } finally {
    client?.disconnect()
  }
}

/** A paper's results can be reproduced with its own models only. */
function paperFindings(settings: Settings): Finding[] {
  return otherModels(settings).map((line) => ({
    what: 'preset paper',
    state: 'warning',
    detail: line,
    todo: "Set models.roles and library.embedder to the paper's, if they are still available.",
  }))
}
