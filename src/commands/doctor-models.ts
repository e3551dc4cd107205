import type { Settings } from '../../config/schema.ts'
import { NO_IMAGES } from '../adapters/openai/learning.ts'
import { checkModels, type ModelCheck, type RoleCheck, toMend } from '../composition/model-checks.ts'
import { dialectsOf, endpointOf, modelsWithoutKey } from '../composition/models.ts'
import type { Finding } from '../domain/finding.ts'
import { printable } from '../domain/printable.ts'
import { remedyFor } from '../domain/remedies.ts'
import type { Remark } from '../domain/verdict.ts'

/** Longest name of a model or a role that is printed, in characters. */
const MAX_CHARS = 80

/** Asks each model of each role one tiny question in the role's own form, and says what came of it. */
export async function modelFindings(settings: Settings, signal: AbortSignal): Promise<Finding[]> {
  const unasked = modelsWithoutKey(settings)
  if (unasked.length > 0)
    return [
      {
        what: 'model',
        state: 'broken',
        detail: `the default endpoint has no key, and belongs to ${unasked.join(', ')}`,
        todo: 'Set OPENAI_API_KEY and OPENAI_BASE_URL, name models of another endpoint in models.roles (ENDPOINT/MODEL), or start the understudy with "gavel stack".',
      },
    ]
  const checks = await checkModels(settings, signal)
  return checks.flatMap((check) => findingsOf(check, settings))
}

function findingsOf(check: ModelCheck, settings: Settings): Finding[] {
  const what = `model ${check.model.slice(0, MAX_CHARS)}`
  return [
    ...answerFindings(what, check, settings),
    ...dialectFindings(what, check, settings),
    ...(check.priced
      ? []
      : [
          {
            ...{
              what,
              state: 'warning' as const,
              detail: 'has no price: its cost counts as 0, so that no budget in dollars stops it',
            },
            todo: `Set models.prices."${check.model}": { prompt: P, cached: C, completion: A }, in US dollars per million tokens; all 0 if it costs you nothing.`,
          },
        ]),
    ...(check.shutdown === null
      ? []
      : [
          {
            ...{ what, state: 'warning' as const, detail: `is switched off by its endpoint on ${check.shutdown}` },
            todo: 'Name another model in models.roles before that day.',
          },
        ]),
  ]
}

/** Whether its answers can be read, in each role's form. */
function answerFindings(what: string, { model, roles }: ModelCheck, settings: Settings): Finding[] {
  const good = roles.filter(({ why }) => why === null)
  const bad = roles.filter(({ why }) => why !== null)
  const answers = good.map(({ reply }) => reply).filter((reply) => reply !== null)
  const tokens = answers.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0)
  const names = [...new Set(answers.map((reply) => printable(reply.model, MAX_CHARS)))]
  const times = good.map(({ ms }) => ms).sort((one, other) => one - other)
  const median = times[Math.floor(times.length / 2)] ?? 0
  const found: Finding[] = []
  if (good.length > 0)
    found.push({
      ...{ what, state: 'ok' },
      detail: `gave a readable answer to ${good.length} of ${roles.length} questions, one a role; it calls itself ${names.join(', ')}; the median took ${Math.round(median)} ms; ${tokens} tokens reported; the roles: ${listed(good)}`,
    })
  if (answers.some(({ unreported }) => unreported === true))
    found.push({
      ...{
        what,
        state: 'warning',
        detail: 'reports no usage, or none that can be right: budgets book the bound of each call',
      },
      todo: 'Have the server, or the gateway before it, pass on "usage": else verdicts estimate their cost, and budgets end early.',
    })
  for (const [why, of] of Map.groupBy(bad, (role) => role.why ?? ''))
    found.push({
      ...{
        what,
        state: 'broken',
        detail: `no readable answer as ${listed(of)}${of.some(({ withImage }) => withImage) ? ', which shows an image' : ''}: ${why}`,
      },
      todo: adviceOn(of[0], model, settings),
    })
  return found
}

function adviceOn(role: RoleCheck | undefined, model: string, settings: Settings): string {
  const names = endpointOf(settings, model)
  const mend = toMend(role?.error ?? null)
  if (mend !== undefined) return remedyFor(mend, names)
  if (role?.withImage === true && role.error?.message.includes(NO_IMAGES))
    return `Name a model that takes images, for this role alone (models.roles."${role.role}": [OTHER]) or behind this one in the role's list. Until then images stay unseen, and posts with images are never called harmless.`
  if (role?.withImage === true && role.error !== null)
    return `If it can't look at images: name one that can for this role in models.roles; or set models.dialects."${model}".images: false, and put one that can behind it in the role's list.`
  if (role?.error == null)
    return `Its answer does not fit the form. Try models.dialects."${model}".form: json_object or text, a larger answerTokens, or another model for this role.`
  if (/timeout|no answer within/.test(role.error.message)) {
    const setting = role.tier === 'flex' ? 'flexTimeout' : 'callTimeout'
    return `It took longer than models.${setting} (${settings.models[setting] / 1000} s): raise that, or name a faster model.`
  }
  if (/models\.dialects/.test(role.error.message))
    return `Set it for "${model}" in models.dialects, or name another model.`
  return `${remedyFor('unreachable', names)} A server that refuses a parameter is named with it; this one named none.`
}

/** What it takes, as its refusals have shown, and what can't be had. */
function dialectFindings(what: string, { model, roles, lessons }: ModelCheck, settings: Settings): Finding[] {
  const found: Finding[] = []
  const lacks = (remark: Remark) => roles.filter(({ reply }) => reply?.remarks?.includes(remark))
  // That it takes no images is said of the role that shows one.
  const learnt = lessons.filter(({ parameter }) => parameter !== 'images')
  if (learnt.length > 0)
    found.push({
      ...{ what, state: 'ok' },
      detail: `refused a parameter, and is asked otherwise from then on: ${learnt.map(({ lesson }) => lesson).join('; ')}`,
      todo: `Optional: set models.dialects."${model}": { ${learnt.map(({ setting }) => setting).join(', ')} }. That spares one refused call an hour in each process.`,
    })
  const warm = lacks('temperature')
  if (warm.length > 0)
    found.push({
      ...{ what, state: 'warning' },
      detail: `does not take the temperatures that are set (${[...new Set(warm.map(({ temperature }) => temperature))].join(' and ')}): it answers at its maker's, so that one question may get different answers`,
      todo: `Nothing to do, unless it takes one when it does not think: then set models.dialects."${model}".effort: none. Transcripts name the missing temperature, and so do verdicts under preset: paper.`,
    })
  if (lacks('log-probabilities').length > 0)
    found.push({
      ...{ what, state: 'warning', detail: 'gives no log-probabilities: score: weighted goes by the answered number' },
      todo: 'Set protocols.counterspeech.score to answered, or name another scorer.',
    })
  const untiered = lacks('tier')
  if (untiered.length > 0)
    found.push({
      ...{ what, state: 'warning' },
      detail: `refuses the tier that is set (${[...new Set(untiered.map(({ tier }) => tier))].join(', ')}), and is asked for none: its calls are served, and cost, as usual`,
      todo: 'Take the tier out of models.tiers for its roles, or name a model that has it.',
    })
  const thinking = roles.filter(({ reply, room }) => reply?.thoughts !== undefined || room !== null)
  const { thinkingTokens } = dialectsOf(settings)(model)
  if (thinking.length > 0)
    found.push({
      ...{ what, state: thinkingTokens > 0 ? 'ok' : 'warning' },
      detail: `thinks before it answers; ${thinkingTokens === 0 ? 'no' : thinkingTokens} tokens are reserved for that beside each answer's own`,
      ...(thinkingTokens > 0
        ? {}
        : {
            todo: `Set models.dialects."${model}".thinkingTokens, for instance to 4096: without it a long thought cuts the answer off, and the question is asked again with more room.`,
          }),
    })
  const seen = roles.filter(({ withImage, why }) => withImage && why === null)
  if (seen.length > 0)
    found.push({
      what,
      state: 'ok',
      detail: `accepted an image, as ${listed(seen)}; whether it saw it rightly was not checked`,
    })
  return found
}

const listed = (roles: readonly RoleCheck[]) => roles.map(({ role }) => role.slice(0, MAX_CHARS)).join(', ')
