import type { Settings } from '../../config/schema.ts'
import { checkModels, type ModelCheck, type RoleCheck, toMend } from '../composition/model-checks.ts'
import { dialectsOf, endpointOf, modelsWithoutKey } from '../composition/models.ts'
import type { Finding } from '../domain/finding.ts'
import { remedyFor } from '../domain/remedies.ts'

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
              detail: 'has no price: its cost counts as 0 in verdicts and budgets',
            },
            todo: `Set models.prices."${check.model}": { prompt, cached, completion } in US dollars per million tokens.`,
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
  const names = [...new Set(answers.map((reply) => reply.model))]
  const times = good.map(({ ms }) => ms).sort((one, other) => one - other)
  const median = times[Math.floor(times.length / 2)] ?? 0
  const found: Finding[] = []
  if (good.length > 0)
    found.push({
      ...{ what, state: 'ok' },
      detail: `answers as ${names.join(', ')}, in the form of ${listed(good)}; ${Math.round(median)} ms in the median, ${tokens} tokens spent`,
    })
  for (const [why, of] of Map.groupBy(bad, (role) => role.why ?? ''))
    found.push({
      ...{ what, state: 'broken', detail: `${why} (asked as ${listed(of)})` },
      todo: adviceOn(of[0], model, settings),
    })
  return found
}

function adviceOn(role: RoleCheck | undefined, model: string, settings: Settings): string {
  const names = endpointOf(settings, model)
  const mend = toMend(role?.error ?? null)
  if (mend !== undefined) return remedyFor(mend, names)
  if (role?.withImage === true && role.error !== null)
    return `If it looks at no images, name another model for this role in models.roles, or set models.dialects."${model}".images to false and a model that does beside it.`
  if (role?.error == null)
    return `Its answer does not fit the form. Try models.dialects."${model}".form: json_object or text, a larger answerTokens, or another model for this role.`
  if (/timeout|no answer within/.test(role.error.message))
    return `It took longer than models.callTimeout (${settings.models.callTimeout / 1000} s): raise that, or name a faster model.`
  if (/models\.dialects/.test(role.error.message))
    return `Set it for "${model}" in models.dialects, or name another model.`
  return `${remedyFor('unreachable', names)} A server that refuses a parameter is named with it; this one named none.`
}

/** What it takes, as its refusals have shown, and what can't be had. */
function dialectFindings(what: string, { model, roles, lessons }: ModelCheck, settings: Settings): Finding[] {
  const found: Finding[] = []
  const lacks = (remark: 'temperature' | 'log-probabilities') =>
    roles.filter(({ reply }) => reply?.remarks?.includes(remark))
  if (lessons.length > 0)
    found.push({
      ...{ what, state: 'ok' },
      detail: `learnt from what it refuses: ${lessons.map(({ lesson }) => lesson).join('; ')}`,
      todo: `Nothing has to be done. Say so in models.dialects."${model}" to spare the refused calls, one an hour in each process.`,
    })
  const warm = lacks('temperature')
  if (warm.length > 0)
    found.push({
      ...{ what, state: 'warning' },
      detail: `takes no temperature as it is set (${[...new Set(warm.map(({ temperature }) => temperature))].join(', ')}): its answers vary as its maker chose`,
      todo: 'Transcripts say so, and verdicts under preset paper. For models that take one beside the effort none, set models.dialects.NAME.effort: none.',
    })
  if (lacks('log-probabilities').length > 0)
    found.push({
      ...{ what, state: 'warning', detail: 'gives no log-probabilities: score: weighted goes by the answered number' },
      todo: 'Set protocols.counterspeech.score to answered, or name another scorer.',
    })
  const thinking = roles.filter(({ reply, room }) => reply?.thoughts !== undefined || room !== null)
  const { thinkingTokens } = dialectsOf(settings)(model)
  if (thinking.length > 0)
    found.push({
      ...{ what, state: thinkingTokens > 0 ? 'ok' : 'warning' },
      detail: `thinks before it answers; ${thinkingTokens === 0 ? 'no' : thinkingTokens} tokens are set aside for that beside each answer`,
      ...(thinkingTokens > 0
        ? {}
        : {
            todo: `Set models.dialects."${model}".thinkingTokens, for instance to 4096: else answers are cut off and asked for twice.`,
          }),
    })
  const seen = roles.filter(({ withImage, why }) => withImage && why === null)
  if (seen.length > 0) found.push({ what, state: 'ok', detail: `took an image, as ${listed(seen)}` })
  return found
}

const listed = (roles: readonly RoleCheck[]) => roles.map(({ role }) => role.slice(0, MAX_CHARS)).join(', ')
