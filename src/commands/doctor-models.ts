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
              detail: 'has no price: its calls count as $0, so that a budget in dollars never stops it',
            },
            todo: `Set models.prices."${check.model}": { prompt: P, cached: P, completion: C }, in US dollars per million tokens (cached: the same as prompt, if there is no discount). On hardware of your own set all three to 0, which silences this line.`,
          },
        ]),
    ...(check.shutdown === null
      ? []
      : [
          {
            ...{
              what,
              state: 'warning' as const,
              detail: `will be retired on ${check.shutdown}, as its endpoint says`,
            },
            todo: 'Name another model in models.roles before that day.',
          },
        ]),
  ]
}

/** Whether its answers can be read, in each role's form. */
function answerFindings(what: string, { model, roles, priced }: ModelCheck, settings: Settings): Finding[] {
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
      detail: `answered ${bad.length === 0 ? `all ${roles.length}` : `${good.length} of ${roles.length}`} test questions in a readable form, one for each role${bad.length === 0 ? '' : ` (not as ${listed(bad)}: see below)`}; whether the answers are right was not checked; half of them took ${Math.round(median)} ms or less${tokens === 0 ? '' : `; ${tokens} tokens in all`}; the replies name the model ${names.join(', ')}`,
    })
  if (answers.some(({ unreported }) => unreported === true))
    found.push({
      ...{
        what,
        state: 'warning',
        detail: `reports no token counts ("usage"), or none that can be right: each call is charged to the budgets at the most that it could have cost, so that budgets of tokens${priced ? ' and dollars' : ''} are used up early`,
      },
      todo: 'No setting of Gavel mends that: have the server, or the gateway in front of it, pass on "usage". Until then the costs in verdicts are estimates.',
    })
  for (const [why, of] of Map.groupBy(bad, (role) => role.why ?? ''))
    found.push({
      ...{
        what,
        state: 'broken',
        detail: `no readable answer as ${listed(of)}${of.some(({ withImage }) => withImage) ? ', whose question contains an image' : ''}: ${why}`,
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
    return `Set models.roles."${role.role}": [MODEL], with a model that takes images; other roles can stay. Until then nobody looks at images, and a post with one ends without a label where it would have been safe. If your posts have no images, nothing is to be done.`
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
      detail: `refused ${learnt.length === 1 ? 'a parameter' : `${learnt.length} parameters`}; Gavel noticed, and asks otherwise: ${learnt.map(({ lesson }) => lesson).join('; ')}`,
      todo: `Nothing to do. To spare ${learnt.length === 1 ? 'one refused call' : `${learnt.length} refused calls`} an hour in each process, set models.dialects."${model}": { ${learnt.map(({ setting }) => setting).join(', ')} }.`,
    })
  const warm = lacks('temperature')
  if (warm.length > 0)
    found.push({
      ...{ what, state: 'warning' },
      detail: `can't be given a temperature (Gavel would ask for ${[...new Set(warm.map(({ temperature }) => temperature))].join(' and ')}), so that the same post may get another verdict another time`,
      todo: `Nothing to do if you can live with that. Some models take a temperature once they don't think: try models.dialects."${model}": { effort: none }, without a temperature there, and run gavel doctor again.`,
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
      detail: `thinks before it answers; ${thinkingTokens === 0 ? 'its thoughts use up the room of the answer' : `each call leaves ${thinkingTokens} tokens for that beside the answer's own (models.dialects, thinkingTokens)`}`,
      ...(thinkingTokens > 0
        ? {}
        : {
            todo: `Set models.dialects."${model}": { thinkingTokens: 4096 }, a bound of which only what is used is billed, and which must fit into the server's context. Without it, a long thought cuts an answer off, and the question is asked a second time with more room. Or stop the thinking with effort: none, if the server takes that.`,
          }),
    })
  const seen = roles.filter(({ withImage, why }) => withImage && why === null)
  if (seen.length > 0)
    found.push({
      what,
      state: 'ok',
      detail: `did not refuse a test image (${listed(seen)}); whether it looks at images was not checked, and some servers drop them silently: try one image of your own with gavel judge`,
    })
  return found
}

const listed = (roles: readonly RoleCheck[]) => roles.map(({ role }) => role.slice(0, MAX_CHARS)).join(', ')
