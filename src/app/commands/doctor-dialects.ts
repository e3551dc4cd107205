import type { Settings } from '../../../config/schema.ts'
import { counted } from '../../cli/terminal.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { Remark } from '../../contracts/facts/verdict.ts'
import { dialectLookup } from '../../models/openai/models-of-endpoints.ts'
import { ENOUGH_CONTEXT } from './doctor-context.ts'
import { pasted } from './doctor-lines.ts'
import { hasThought, isDecider, type ModelCheck } from './model-checks.ts'

/** Set aside for thoughts where nothing is known of how long they are. */
const THINKING_TOKENS = 4_096

/** What a model takes, as its refusals and answers have shown, and all that `models.dialects` should say of it in one piece. */
export function dialectFindings(what: string, check: ModelCheck, settings: Settings): Finding[] {
  return [...askedFindings(what, check, settings), ...lackFindings(what, check)]
}

/** How it has to be asked. */
function askedFindings(what: string, check: ModelCheck, settings: Settings): Finding[] {
  const { model, roles, stopsThinking, context } = check
  const isSmall = context !== null && context.tokens < ENOUGH_CONTEXT
  const { thinkingTokens } = dialectLookup(settings)(model)
  // That it takes no images is said of the role that shows one.
  const learnt = check.lessons.filter(({ parameter }) => parameter !== 'images')
  const warm = roles.filter(({ reply }) => reply?.remarks?.includes('temperature'))
  const temperatures = [...new Set(warm.map(({ temperature }) => temperature))].join(' and ')
  const thinks = roles.some(hasThought)
  const room = Math.min(THINKING_TOKENS, settings.models.thinkingTokens)
  const lacksRoom = thinks && thinkingTokens === 0 && room > 0

  const unusual = [
    ...learnt.filter(({ parameter }) => parameter !== 'temperature' || warm.length === 0).map(({ lesson }) => lesson),
    ...(warm.length === 0
      ? []
      : [
          `no temperature is sent (it would be ${temperatures}), so the same post may get another verdict another time`,
        ]),
  ]
  const found = [
    ...(unusual.length === 0 ? [] : [`is not asked as usual: ${unusual.join('; ')}.`]),
    ...(thinks && !lacksRoom
      ? [`thinks before it answers; each call leaves ${thinkingTokens} tokens for that beside the answer's own.`]
      : []),
    ...(lacksRoom
      ? [
          'thinks before it answers, and its thoughts use up the tokens that are meant for the answer. If too few are left, the question is asked again with more room, at twice the time and cost. For the next hour all questions get that room at once.',
        ]
      : []),
  ].join(' It ')
  if (found === '') return []

  const refusals = `${counted(learnt.length, 'refused call')} an hour in each process`
  const asIs = `Gavel runs as it is${learnt.length === 0 ? '' : `, and finds out anew what is refused by ${refusals}, from which no post suffers`}`
  const all = learnt.map(({ setting }) => setting)
  const thinking = settingOf(model, [...all, ...(lacksRoom ? [`thinkingTokens: ${room}`] : [])])
  if (stopsThinking === true) {
    const kept = learnt.filter(({ parameter }) => parameter !== 'temperature').map(({ setting }) => setting)
    const taken = warm.length === 0 ? '' : ', takes the temperature'
    const varies = warm.length === 0 ? '' : '; verdicts can still vary'
    return [
      {
        what,
        state: 'warning',
        detail: `${found} ${asIs}`,
        todo: [
          `Worth doing. Tried just now: with this the model answers without thinking${taken}, and needs less time and fewer tokens; on hard posts it may be less careful:`,
          settingOf(model, [...kept, 'effort: none']),
          `Or this, if it is to think${lacksRoom ? ` (${BOUND}${varies})` : ''}. Paste one of the two; if in doubt ${isSmall ? 'the first, for thoughts would fill a context as small as this model has' : 'this one, which leaves the model as careful as it is'}:`,
          thinking,
        ].join('\n'),
      },
    ]
  }
  if (lacksRoom) {
    const tried =
      stopsThinking === false
        ? '; effort: none was tried just now, and does not stop it from thinking, so that only a switch of its server could'
        : ''
    return [
      { what, state: 'warning', detail: `${found} ${asIs}`, todo: `Worth doing (${BOUND}${tried}):\n${thinking}` },
    ]
  }
  const todo = learnt.length === 0 ? 'Nothing to do.' : `Nothing to do. This would spare ${refusals}:\n${thinking}`
  return [{ what, state: 'ok', detail: found, ...(unusual.length === 0 ? {} : { todo }) }]
}

const BOUND = 'thinkingTokens is a bound: only those that are used are billed'

/** What the settings ask for and the model does not have. */
function lackFindings(what: string, { roles }: ModelCheck): Finding[] {
  const found: Finding[] = []
  const lacks = (remark: Remark) => roles.filter(({ reply }) => reply?.remarks?.includes(remark))
  const unsure = lacks('log-probabilities')
  const decider = unsure.find(isDecider)
  const scorer = unsure.find((role) => !isDecider(role))
  if (decider !== undefined)
    found.push({
      what,
      state: 'warning',
      detail:
        'tells over no interface for decisions, nor by log-probabilities, how likely its labels are: a lane settles nothing by it. Gavel runs as it is',
      todo: `Can wait: name a model that tells it.\n${pasted(`models.roles: { "${decider.role}": ["ENDPOINT/MODEL"] }`)}`,
    })
  if (scorer !== undefined)
    found.push({
      what,
      state: 'warning',
      detail: 'gives no log-probabilities: score: weighted goes by the answered number. Gavel runs as it is',
      todo: [
        'Worth doing: settle for the answered number,',
        pasted('protocols.counterspeech: { score: answered }'),
        'or name a model that gives them:',
        pasted(`models.roles: { "${scorer.role}": ["ENDPOINT/MODEL"] }`),
      ].join('\n'),
    })
  const untiered = lacks('tier')
  if (untiered.length > 0)
    found.push({
      what,
      state: 'warning',
      detail: `refuses the tier that is set (${[...new Set(untiered.map(({ tier }) => tier))].join(', ')}), and is asked for none. Gavel runs, and its calls cost as usual`,
      todo: `Can wait: take the tier of ${untiered.map(({ role }) => role).join(', ')} out of models.tiers, or name a model that has it in models.roles.`,
    })
  return found
}

/** What stands in a settings file, as it is written there. */
function settingOf(model: string, parts: readonly string[]): string {
  return pasted(`models.dialects: { "${model}": { ${parts.join(', ')} } }`)
}
