import { setTimeout as sleep } from 'node:timers/promises'
import { UNDERSTUDY } from '../../contracts/facts/by-hand.ts'
import { estimateTokens } from '../../contracts/facts/token-estimate.ts'
import type { Model, ModelRequest } from '../../contracts/ports/model.ts'
import { contentOf } from '../understudy/answer.ts'
import type { LooseSchema } from '../understudy/json-schema.ts'
import { readQuestion } from '../understudy/question.ts'

/**
 * A model of set latency for the bench. In a rumor debate it answers by the form that is asked for, without reading: the
 * opinions differ and the first turn brings agreement, so that each verdict takes the same calls. Every other question the
 * understudy answers, which reads it.
 */
export function benchModel(latencyMs: number): Model {
  return {
    async complete(request) {
      if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: request.signal })
      const text = benchAnswer(request)
      return { text, finish: 'stop', model: 'bench', cachedTokens: 0, ...tokensOf(request, text) }
    },
  }
}

/** The understudy inside this process: answers at once from word lists. Its tokens are those of the texts' scripts. */
export function understudyModel(): Model {
  return {
    async complete(request) {
      const text = contentOf(questionOf(request))
      return { text, finish: 'stop', model: UNDERSTUDY, cachedTokens: 0, ...tokensOf(request, text) }
    },
  }
}

function tokensOf({ messages }: Pick<ModelRequest, 'messages'>, text: string) {
  return {
    promptTokens: messages.reduce((sum, { content }) => sum + estimateTokens(content), 0),
    completionTokens: estimateTokens(text),
  }
}

/** The answer of the bench's model to a question. */
export function benchAnswer(request: Pick<ModelRequest, 'messages' | 'answer'>): string {
  const rumor = rumorAnswer(request)
  return rumor === undefined ? contentOf(questionOf(request)) : JSON.stringify(rumor)
}

function questionOf({ messages, answer: { name, schema } }: Pick<ModelRequest, 'messages' | 'answer'>) {
  const format = { type: 'json_schema', json_schema: { name, schema: schema as LooseSchema } }
  return readQuestion({ messages, response_format: format })
}

function rumorAnswer({ answer, messages }: Pick<ModelRequest, 'messages' | 'answer'>): unknown {
  const prompt = messages.at(-1)?.content ?? ''
  const fields = Object.keys((answer.schema as { properties?: object }).properties ?? {})
  switch (answer.name) {
    case 'stance': {
      const items = [...prompt.matchAll(/^(\d+): "/gm)].map((match) => Number(match[1]))
      if (items.length === 0) return { reason: 'bench', score: 0.5 }
      return { scores: items.map((comment) => ({ comment, reason: 'bench', score: comment % 2 === 0 ? 0.5 : -0.5 })) }
    }
    case 'subjectivity':
      return { reason: 'bench', answer: 'No' }
    case 'opinion':
      return { reasoning: 'bench', answer: prompt.includes('that oppose the claim') ? 'Fake' : 'Real' }
    default:
      return fields.includes('answer') ? { reasoning: 'bench', answer: 'Real' } : undefined
  }
}
