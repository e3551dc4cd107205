import { randomUUID } from 'node:crypto'
import type { Settings } from '../../../config/schema.ts'
import type { Ask } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { ParameterRefused, PermanentError, type Trial } from '../../contracts/facts/errors.ts'
import { DEFAULT_ENDPOINT, placeOf } from '../../contracts/facts/model-name.ts'
import type { Model, ModelReply, Tier } from '../../contracts/ports/model.ts'
import { jsonSchema, withFormat } from '../../models/format.ts'
import type { DialectLesson } from '../../models/openai/learning.ts'
import { type ContextLength, type ListedModel, listedModels, loadedContext } from '../../models/openai/listed-models.ts'
import { dialectLookup, modelsOfEndpoints } from '../../models/openai/models-of-endpoints.ts'
import { replyTo } from '../../models/read-answer.ts'
import { wasCutInThought, withThoughtsApart } from '../../models/thinking.ts'
import { tierOf, timeoutOf } from '../../models/time-limits.ts'
import { checkScale, isOffScale, type RightScale, type ScaleFault } from './model-scales.ts'
import { isOwnServer } from './own-server.ts'
import { COLOUR_OF_IMAGE, isDeciderRole, plainPairs, roleQuestions } from './role-questions.ts'

/** Fewer readers of a hundred than this would call a threat of murder harmful only by another scale, or by no judgement. */
export const LEAST_HARM = 50

/** What a model said to a role's tiny question. */
export interface RoleCheck {
  readonly role: string
  readonly temperature: number
  readonly wantsLogprobs: boolean
  readonly withImage: boolean
  /** Whether it named the colour of the image; null where it was shown none, or where its answer can't be read. */
  readonly namedColour: boolean | null
  /** The highest of its scores for a harmful text, of a hundred; null where it was asked for none, or can't be read. */
  readonly harm: number | null
  /** The model, or its endpoint's filter, refused the harmful text that it was to score. */
  readonly refusedHarm: boolean
  readonly ms: number
  readonly reply: ModelReply | null
  /** The answer as read; null where there is none. */
  readonly answer: unknown
  /** Why the answer can't be used; null where it can. */
  readonly why: string | null
  readonly error: Error | null
  /** The tier that was asked for. */
  readonly tier: Tier | undefined
  /** It needed this many tokens for its thoughts, which its dialect does not set aside. */
  readonly room: number | null
}

/** All that was found out about a model. */
/** Whether it is asked which label one text has, by a first lane. */
export const isDecider = ({ role }: Pick<RoleCheck, 'role'>) => isDeciderRole(role)

export interface ModelCheck {
  readonly model: string
  readonly roles: readonly RoleCheck[]
  /** Roles in which it scores otherwise than asked. */
  readonly scaleFaults: readonly ScaleFault[]
  /** Scales to which it keeps, as far as was seen. */
  readonly rightScales: readonly string[]
  readonly lessons: readonly DialectLesson[]
  readonly priced: boolean
  /** The date on which its endpoint switches it off, if its list of models has one. */
  readonly shutdown: string | null
  /** How many tokens its questions and answers have room in, if its server reports that. */
  readonly context: ContextLength | null
  /** Whether it stops thinking, and takes a temperature, with the effort `none`; null where that was not tried. */
  readonly stopsThinking: boolean | null
}

/** So many pairs of plain questions are put to a model at the same time. */
const PAIRS_AT_ONCE = 4

/** Asks each model of each role one tiny question in the role's own form, and reads the answer like any other. */
export async function checkModels(settings: Settings, signal: AbortSignal): Promise<ModelCheck[]> {
  const lessons: DialectLesson[] = []
  const model = modelsOfEndpoints(settings, { learnt: (lesson) => lessons.push(lesson) })
  const questions = roleQuestions(settings)
  const pairs = plainPairs(settings)
  const names = [...new Set(questions.flatMap(({ models }) => models))]
  const checks = await Promise.all(
    names.map(async (name) => {
      const roles: RoleCheck[] = []
      const own = questions.filter(({ models }) => models.includes(name))
      // One after the other, so that what a model takes is found out once.
      for (const question of own) roles.push(await checkRole(settings, model, name, { ...question, signal }))
      const plain = pairs.filter((one) => one.models.includes(name) && mayScore(roles, one.role))
      const met: (ScaleFault | RightScale | null)[] = []
      for (let at = 0; at < plain.length; at += PAIRS_AT_ONCE)
        met.push(
          ...(await Promise.all(
            plain
              .slice(at, at + PAIRS_AT_ONCE)
              .map((pair) =>
                checkScale(pair, (ask) => checkRole(settings, model, name, { role: pair.role, ask, signal })),
              ),
          )),
        )
      const scaleFaults = met.filter((one) => one !== null && one.why !== null)
      const thinking = own.find((_, at) => wouldThinkLess(settings, name, roles[at]))
      return {
        model: name,
        roles,
        scaleFaults,
        rightScales: met.flatMap((one) => (one?.why === null ? one.scales : [])),
        lessons: lessons.filter((lesson) => lesson.model === name),
        stopsThinking: thinking === undefined ? null : await stopsThinking(settings, name, { ...thinking, signal }),
        priced: entryOf(settings.models.prices, name) !== undefined,
      }
    }),
  )
  // Afterwards, for some servers say how much room a model has only once they have loaded it.
  const listed = await listedOf(settings, checks, signal)
  return checks.map((check) => ({ shutdown: null, context: null, ...check, ...listed.get(check.model) }))
}

/** Asks a model this question, in the form of a role, and reads the answer like any other. */
async function checkRole(
  settings: Settings,
  model: Model,
  name: string,
  { role, ask, aboutHarm = false, signal }: { role: string; ask: Ask; aboutHarm?: boolean; signal: AbortSignal },
): Promise<RoleCheck> {
  const messages = withFormat(ask)
  const { thinkingTokens, effort } = dialectLookup(settings)(name)
  const times = settings.models
  const [protocol = '', own = protocol] = role.split('.')
  const tier = tierOf(times, protocol, own)
  const asked =
    (room: number) =>
    (trial?: Trial): Promise<ModelReply> =>
      model
        .complete({
          model: name,
          messages,
          temperature: ask.temperature,
          maxTokens: ask.maxTokens,
          ...(room === 0 ? {} : { thinkingTokens: room }),
          ...(effort === null ? {} : { effort }),
          answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
          ...(ask.expected === undefined && ask.decision === undefined ? {} : { probabilities: true as const }),
          ...(ask.decision === undefined ? {} : { decision: ask.decision }),
          trial,
          tier,
          callId: `doctor-${randomUUID()}`,
          timeoutMs: timeoutOf(times, tier),
          signal,
        })
        .catch((error: unknown) => {
          if (error instanceof ParameterRefused) return error.again(asked(room), signal)
          throw error
        })
  const start = performance.now()
  const about = {
    role,
    tier,
    temperature: ask.temperature,
    wantsLogprobs: ask.expected !== undefined || (ask.decision !== undefined && ask.fromDecided === undefined),
    withImage: messages.some(({ images = [] }) => images.length > 0),
  }
  try {
    let room = Math.min(thinkingTokens, settings.models.thinkingTokens)
    let reply = withThoughtsApart(await asked(room)(), messages)
    const { readable } = replyTo(ask, reply)
    const cut = wasCutInThought(reply, { readable, most: ask.maxTokens + room })
    if (cut !== 'no' && room < settings.models.thinkingTokens) {
      room = settings.models.thinkingTokens
      reply = withThoughtsApart(await asked(room)(), messages)
    }
    const reading = replyTo(ask, reply)
    return {
      ...about,
      reply,
      answer: reading.readable ? reading.answer : null,
      ms: performance.now() - start,
      error: null,
      why: reading.readable ? null : reading.why,
      room: room > thinkingTokens ? room : null,
      namedColour: reading.readable && about.withImage ? COLOUR_OF_IMAGE.test(reply.text ?? '') : null,
      harm: reading.readable && aboutHarm ? highestOf(reading.answer) : null,
      refusedHarm: aboutHarm && !reading.readable && reading.code !== 'unreadable',
    }
  } catch (error) {
    const thrown = error instanceof Error ? error : new Error('failed')
    const isFiltered = thrown instanceof PermanentError && thrown.code === 'content-filter'
    return {
      ...about,
      reply: null,
      answer: null,
      why: thrown.message,
      error: thrown,
      room: null,
      namedColour: null,
      harm: null,
      refusedHarm: aboutHarm && isFiltered,
      ms: performance.now() - start,
    }
  }
}

/** Whether its answer to the role's tiny question could be read, or was on another scale. */
function mayScore(roles: readonly RoleCheck[], role: string): boolean {
  return roles.some((one) => one.role === role && (one.why === null || isOffScale(one.why)))
}

/** Whether it thought before it answered. */
export function hasThought({ reply, room }: RoleCheck): boolean {
  return reply?.thoughts !== undefined || (reply?.thinkingTokens ?? 0) > 0 || room !== null
}

/** Whether a setting to think less may help: the model thinks or takes no temperature, and no setting limits its thinking. */
function wouldThinkLess(settings: Settings, name: string, role: RoleCheck | undefined): boolean {
  if (role === undefined || role.why !== null) return false
  const { effort, temperature, thinkingTokens } = dialectLookup(settings)(name)
  const isSet = effort !== null || temperature === 'never' || thinkingTokens > 0
  return !isSet && (hasThought(role) || role.reply?.remarks?.includes('temperature') === true)
}

/** Asks the same with the effort `none`, at the temperature of the question. */
async function stopsThinking(
  settings: Settings,
  name: string,
  asked: { role: string; ask: Ask; signal: AbortSignal },
): Promise<boolean> {
  const { dialects: set } = settings.models
  const others = Object.entries(set).filter(([pattern]) => pattern !== name)
  const dialects = Object.fromEntries([...others, [name, { ...entryOf(set, name), effort: 'none' }]])
  const there = { ...settings, models: { ...settings.models, dialects } }
  const refused = new Set<DialectLesson['parameter']>()
  const model = modelsOfEndpoints(there, { learnt: ({ parameter }) => refused.add(parameter) })
  const role = await checkRole(there, model, name, asked)
  return role.why === null && !hasThought(role) && !refused.has('effort') && !refused.has('temperature')
}

/** Each model's entry in its endpoint's list, and on an own server the size of its context. */
async function listedOf(
  settings: Settings,
  checks: readonly Pick<ModelCheck, 'model' | 'roles'>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Pick<ListedModel, 'shutdown' | 'context'>>> {
  const lists = new Map<string, Promise<ListedModel[]>>()
  const found = checks.map(async ({ model: name, roles }) => {
    const { endpoint, model } = placeOf(name, settings.endpoints)
    const at = endpoint === DEFAULT_ENDPOINT ? settings.openai : entryOf(settings.endpoints, endpoint)
    if (at === undefined) throw new Error('a place without an endpoint')
    const list = lists.get(endpoint) ?? listedModels(at, signal).catch(() => [])
    lists.set(endpoint, list)
    const { shutdown = null, context = null } = (await list).find(({ id }) => id === model) ?? {}
    const isUnseen = context === null && isOwnServer(at.baseUrl) && roles.some(({ reply }) => reply !== null)
    return [name, { shutdown, context: isUnseen ? await loadedContext(at, model, signal) : context }] as const
  })
  return new Map(await Promise.all(found))
}

/** Whether an error means that somebody has to mend the account, the key or the settings. */
export function operatorActionOf(error: Error | null): PermanentError['operatorAction'] {
  return error instanceof PermanentError ? error.operatorAction : undefined
}

function highestOf(answer: unknown): number {
  return Math.max(...Object.values(answer as object).filter((value) => typeof value === 'number'))
}
