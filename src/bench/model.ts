import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelRequest } from '../ports/model.ts'

/**
 * A model of set latency for the bench: it answers by the form that is asked for, without reading. In a rumor debate the
 * opinions differ and the first turn brings agreement, so that each verdict takes the same calls.
 */
export function benchModel(latencyMs: number): Model {
  return {
    async complete(request) {
      if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: request.signal })
      const text = JSON.stringify(answerTo(request))
      const characters = request.messages.reduce((sum, { content }) => sum + content.length, 0)
      return {
        text,
        finish: 'stop',
        model: 'bench',
        promptTokens: Math.ceil(characters / CHARACTERS_A_TOKEN),
        cachedTokens: 0,
        completionTokens: Math.ceil(text.length / CHARACTERS_A_TOKEN),
      }
    },
  }
}

/** A rule of thumb for English. */
const CHARACTERS_A_TOKEN = 4

function answerTo({ answer, messages }: ModelRequest): unknown {
  const prompt = messages.at(-1)?.content ?? ''
  switch (answer.name) {
    case 'stance': {
      const items = [...prompt.matchAll(/^<<comment (\d+):/gm)].map((match) => Number(match[1]))
      if (items.length === 0) return { reason: 'bench', score: 0.5 }
      return { scores: items.map((comment) => ({ comment, reason: 'bench', score: comment % 2 === 0 ? 0.5 : -0.5 })) }
    }
    case 'subjectivity':
      return { reason: 'bench', answer: 'No' }
    case 'opinion':
      return { reasoning: 'bench', answer: prompt.includes('that oppose the claim') ? 'Fake' : 'Real' }
    default:
      return { reasoning: 'bench', answer: 'Real' }
  }
}
