import type { Settings } from '../../config/schema.ts'
import { hasThought, type ModelCheck } from '../composition/model-checks.ts'
import { dialectsOf, endpointOf } from '../composition/models.ts'
import { isOwnServer } from '../composition/own-server.ts'
import type { Finding } from '../domain/finding.ts'
import type { Remark } from '../domain/verdict.ts'
import { counted } from './terminal.ts'

/** Set aside for thoughts where nothing is known of how long they are. */
const THINKING_TOKENS = 4_096

/**
 * What a question, its thoughts and the answer have room in, in tokens: twenty comments of 500 characters with those that they
 * answer, THINKING_TOKENS, and an answer for each comment.
 */
const CONTEXT_TOKENS = 16_384

/** What a model takes, as its refusals and answers have shown, and all that `models.dialects` should say of it in one piece. */
export function dialectFindings(what: string, check: ModelCheck, settings: Settings): Finding[] {
  return [
    ...askedFindings(what, check, settings),
    ...lackFindings(what, check),
    ...contextFindings(what, check, settings),
  ]
}

/** How it has to be asked. */
function askedFindings(what: string, check: ModelCheck, settings: Settings): Finding[] {
  const { model, roles, stopsThinking } = check
  const { thinkingTokens } = dialectsOf(settings)(model)
  // That it takes no images is said of the role that shows one.
  const learnt = check.lessons.filter(({ parameter }) => parameter !== 'images')
  const warm = roles.filter(({ reply }) => reply?.remarks?.includes('temperature'))
  const temperatures = [...new Set(warm.map(({ temperature }) => temperature))].join(' and ')
  const thinks = roles.some(hasThought)
  const room = Math.min(THINKING_TOKENS, settings.models.thinkingTokens)
  const lacksRoom = thinks && thinkingTokens === 0 && room > 0
  const shown = [
    ...learnt.filter(({ parameter }) => parameter !== 'temperature' || warm.length === 0).map(({ lesson }) => lesson),
    ...(warm.length === 0
      ? []
      : [
          `no temperature can be sent (Gavel would send ${temperatures}), so the same post may get another verdict another time`,
        ]),
  ]
  const detail = [
    ...(shown.length === 0 ? [] : [`is not asked as usual: ${shown.join('; ')}`]),
    ...(thinks && !lacksRoom
      ? [`thinks before it answers; each call leaves ${thinkingTokens} tokens for that beside the answer's own`]
      : []),
    ...(lacksRoom
      ? [
          "thinks before it answers, in the answer's own room: a long thought cuts the answer off, and the question is asked again with more room",
        ]
      : []),
  ].join('. It ')
  if (detail === '') return []
  const settingsOf = learnt.map(({ setting }) => setting)
  const refused = learnt.length === 0 ? '' : `, at ${counted(learnt.length, 'refused call')} an hour in each process`
  const thinking = settingOf(model, [...settingsOf, ...(lacksRoom ? [`thinkingTokens: ${room}`] : [])])
  if (stopsThinking === true) {
    const kept = learnt.filter(({ parameter }) => parameter !== 'temperature').map(({ setting }) => setting)
    const taken = warm.length === 0 ? '' : ', and takes a temperature'
    return [
      {
        ...{ what, state: 'warning', detail: `${detail}. Gavel runs as it is${refused}` },
        todo: `Set ${settingOf(model, [...kept, 'effort: none'])}. That was tried just now: the model then answers without thinking${taken}, sooner and for fewer tokens. Or, if it is to think, set ${thinking}${lacksRoom ? `, ${USED}` : ''}. Not both.`,
      },
    ]
  }
  if (lacksRoom) {
    const tried =
      stopsThinking === false ? ' (effort: none was tried just now, and does not stop it from thinking.)' : ''
    return [
      {
        ...{ what, state: 'warning', detail: `${detail}. Gavel runs as it is${refused}` },
        todo: `Set ${thinking}, ${USED}.${tried}`,
      },
    ]
  }
  const todo =
    learnt.length === 0
      ? 'Nothing to do.'
      : `Nothing to do. ${thinking} spares ${counted(learnt.length, 'refused call')} an hour in each process.`
  return [{ ...{ what, state: 'ok', detail }, ...(shown.length === 0 ? {} : { todo }) }]
}

const USED = 'of which only those that are used are billed'

/** What the settings ask for and the model does not have. */
function lackFindings(what: string, { roles }: ModelCheck): Finding[] {
  const found: Finding[] = []
  const lacks = (remark: Remark) => roles.filter(({ reply }) => reply?.remarks?.includes(remark))
  const [unsure] = lacks('log-probabilities')
  if (unsure !== undefined)
    found.push({
      ...{ what, state: 'warning' },
      detail: 'gives no log-probabilities: score: weighted goes by the answered number. Gavel runs as it is',
      todo: `Set protocols.counterspeech: { score: answered }, or models.roles: { "${unsure.role}": ["ENDPOINT/MODEL"] } with a model that gives them.`,
    })
  const untiered = lacks('tier')
  if (untiered.length > 0)
    found.push({
      ...{ what, state: 'warning' },
      detail: `refuses the tier that is set (${[...new Set(untiered.map(({ tier }) => tier))].join(', ')}), and is asked for none: Gavel runs, and its calls cost as usual`,
      todo: `Take the tier of ${untiered.map(({ role }) => role).join(', ')} out of models.tiers, or name a model that has it in models.roles.`,
    })
  return found
}

/** A server of one's own has the context that it was started with, and nobody is told where a question is cut to fit. */
function contextFindings(what: string, { model, roles }: ModelCheck, settings: Settings): Finding[] {
  if (!isOwnServer(endpointOf(settings, model).baseUrl) || roles.every(({ reply }) => reply === null)) return []
  return [
    {
      ...{ what, state: 'ok' },
      detail: `runs on a machine of your own, and Gavel can't see the length of its context; a question about twenty comments, with thoughts and answer, needs some ${CONTEXT_TOKENS} tokens`,
      todo: `Check once that its server gives it as many: with fewer, long questions lose their beginning unsaid, or fail. Ollama (often 4096 unless it is told): OLLAMA_CONTEXT_LENGTH=${CONTEXT_TOKENS} ollama serve. LM Studio: lms load NAME --context-length ${CONTEXT_TOKENS}. llama.cpp: llama-server --ctx-size ${CONTEXT_TOKENS}. vLLM: --max-model-len ${CONTEXT_TOKENS}.`,
    },
  ]
}

/** What stands in a settings file, as it is written there. */
function settingOf(model: string, parts: readonly string[]): string {
  return `models.dialects: { "${model}": { ${parts.join(', ')} } }`
}
