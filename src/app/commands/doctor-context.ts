import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { LocalServerProgram } from '../../models/openai/listed-models.ts'
import { endpointOf } from '../../models/openai/models-of-endpoints.ts'
import { FIRST, pasted } from './doctor-lines.ts'
import { isDecider, type ModelCheck } from './model-checks.ts'
import { isOwnServer } from './own-server.ts'

/**
 * What a question, its thoughts and the answer have room in, in tokens: twenty comments of 500 characters with those that they
 * answer, 4,096 tokens of thought, and an answer for each comment.
 */
export const ENOUGH_CONTEXT = 16_384
/** The same for five comments. */
const ENOUGH_FOR_FEW = 8_192
const NEEDED = `a question about twenty comments needs some ${ENOUGH_CONTEXT}, with thoughts and answer`
const FEWER =
  'long questions lose their beginning without any message, so that verdicts on them may be wrong, or they fail'

/** How more room is given; the same for all models of a server. */
const MORE: Readonly<Record<LocalServerProgram, string>> = {
  Ollama: `set OLLAMA_CONTEXT_LENGTH=${ENOUGH_CONTEXT} where Ollama is started (the environment of its service; in its app there is a slider), and start it anew`,
  'LM Studio': `load it anew: lms load NAME --context-length ${ENOUGH_CONTEXT}`,
  'llama.cpp': `start llama-server with --ctx-size ${ENOUGH_CONTEXT}; with --parallel N as many times that`,
  vLLM: `start it with --max-model-len ${ENOUGH_CONTEXT} or more`,
}

const UNSEEN = [
  `Look at the context first. Ollama: ollama ps, column CONTEXT, while the model is loaded. LM Studio: lms ps. llama.cpp: n_ctx in /props. vLLM: max_model_len in /v1/models. With ${ENOUGH_CONTEXT} or more, do nothing. Otherwise:`,
  ...Object.entries(MORE).map(([server, how]) => `${server}: ${how}.`),
].join('\n')

/** Whether questions fit into a model's context. A server of one's own has the one that it was started with. */
export function contextFindings(what: string, { model, roles, context }: ModelCheck, settings: Settings): Finding[] {
  const isOwn = isOwnServer(endpointOf(settings, model).baseUrl)
  if (roles.every(({ reply }) => reply === null)) return []
  // Who is the decider alone is asked about one text, as long as five comments with those that they answer.
  if (context !== null && context.tokens >= ENOUGH_FOR_FEW && roles.every(isDecider)) return []
  if (context === null) {
    if (!isOwn) return []
    const detail = `Gavel could not see how many tokens its context has; ${NEEDED}. Gavel runs; with fewer, ${FEWER}`
    return [{ what, state: 'warning', detail, todo: UNSEEN }]
  }
  const { tokens, server } = context
  const has = `has a context of ${tokens} tokens${server === null ? '' : ` (${server})`}`
  if (tokens >= ENOUGH_CONTEXT) return isOwn ? [{ what, state: 'ok', detail: `${has}; ${NEEDED}` }] : []
  const more = server === null ? 'name a model with a longer one in models.roles' : MORE[server]
  return [
    {
      what,
      state: 'warning',
      detail: `${has}, and ${NEEDED}. Gavel runs; ${FEWER}`,
      todo: [
        `${FIRST}: ${more}. Then run gavel doctor again.`,
        `If it has too little memory for that, give it ${ENOUGH_FOR_FEW} or more, and ask about fewer comments at a time:`,
        pasted('protocols.rumor: { batchSize: 5, k: 5 }'),
      ].join('\n'),
    },
  ]
}
