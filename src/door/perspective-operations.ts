import type { Operation, Schema } from './route.ts'

const COMMENT: Schema = { type: 'object', properties: { text: { type: 'string' }, type: { type: 'string' } } }
const SCORE: Schema = { type: 'object', properties: { value: { type: 'number' }, type: { type: 'string' } } }
const PLACE: Schema = { type: 'integer', description: 'In UTF-16 code units of the text; `end` is behind the last.' }
const EXAMPLE = { comment: { text: 'What a stupid idea.' }, requestedAttributes: { TOXICITY: {} }, languages: ['en'] }

export const ANALYZE: Operation = {
  operationId: 'analyzeComment',
  summary: "Perspective's analyze: scores of one text",
  description: "As Perspective's API documents it, errors included; the answer names model and version in `gavel`.",
  request: {
    schema: {
      type: 'object',
      properties: {
        comment: COMMENT,
        requestedAttributes: { type: 'object', description: 'By name, each with `scoreThreshold` if you like.' },
        languages: {
          type: ['array', 'null'],
          items: { type: 'string' },
          description: 'Detected, where there are none.',
        },
        context: { type: ['object', 'null'], description: 'The text that it replies to. It is not scored.' },
        doNotStore: { type: ['boolean', 'null'], description: 'true: the answer is not remembered.' },
        spanAnnotations: {
          type: ['boolean', 'null'],
          description: 'true: `spanScores` too, of each sentence, by a second call for each question.',
        },
        clientToken: { type: ['string', 'null'], description: 'Comes back in the answer.' },
        debate: {
          description:
            'Ours: true, or names of protocols, also has the comment debated. The verdicts follow by webhook, and at the address in the answer.',
          anyOf: [
            { type: ['boolean', 'null'] },
            { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 20 },
          ],
        },
      },
    },
    example: EXAMPLE,
  },
  response: {
    status: 200,
    description: 'The scores.',
    schema: {
      type: 'object',
      properties: {
        attributeScores: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            properties: {
              summaryScore: SCORE,
              spanScores: {
                type: 'array',
                items: {
                  type: 'object',
                  required: ['begin', 'end', 'score'],
                  properties: { begin: PLACE, end: PLACE, score: SCORE },
                },
              },
            },
          },
        },
        languages: { type: 'array', items: { type: 'string' } },
        detectedLanguages: { type: 'array', items: { type: 'string' } },
        clientToken: { type: 'string' },
        gavel: {
          type: 'object',
          required: ['model', 'version'],
          properties: {
            model: { type: 'string' },
            version: { type: 'string' },
            debate: {
              type: 'object',
              description: 'The request, the address of its verdicts, and until when they are kept.',
              required: ['id', 'url', 'until', 'protocols'],
              properties: {
                id: { type: 'string', description: 'The verdicts’ `subjectId`.' },
                url: { type: 'string' },
                until: { type: 'string' },
                protocols: { type: 'array', items: { type: 'string' } },
              },
            },
          },
        },
      },
    },
  },
}
export const SUGGEST: Operation = {
  operationId: 'suggestScore',
  summary: "Perspective's suggestscore: what a text's scores should have been, as feedback",
  request: {
    schema: { type: 'object', properties: { comment: COMMENT, attributeScores: { type: 'object' } } },
    example: {
      comment: { text: 'What a stupid idea.' },
      attributeScores: { TOXICITY: { summaryScore: { value: 0.9 } } },
    },
  },
  response: { status: 200, description: 'It is taken.', schema: { type: 'object' } },
}
