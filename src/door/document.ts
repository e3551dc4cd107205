import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { decisionMessage } from '../contracts/facts/decision-messages.ts'
import { verdict } from '../contracts/facts/verdict.ts'
import { MESSAGE_TYPES } from './messages.ts'
import { PROBLEMS, type ProblemName } from './problem.ts'
import type { DoorRoute, Schema } from './route.ts'

/** Problems that any route may have. */
const ANYWHERE: readonly ProblemName[] = [
  'bad-request',
  'bad-id',
  'dot-segment',
  'not-found',
  'method',
  'slow-request',
  'host',
  'expectation',
  'headers',
  'failed',
  'draining',
]
const WITH_KEY: readonly ProblemName[] = ['key-missing', 'key-unknown', 'scope', 'rate']
const WITH_BODY: readonly ProblemName[] = ['content-type', 'compressed', 'too-large', 'not-json']

/** The OpenAPI 3.1 document of the door, from the schemas by which it reads. */
export function documentOf(
  app: Pick<OpenAPIHono, 'openAPIRegistry' | 'getOpenAPI31Document'>,
  routes: readonly DoorRoute[],
  version: string,
): object {
  const { openAPIRegistry: registry } = app
  for (const [name, schema] of Object.entries(components()))
    registry.registerComponent('schemas', name, schema as Parameters<typeof registry.registerComponent<'schemas'>>[2])
  registry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer', bearerFormat: 'gavel_…' })
  for (const route of routes) registry.registerPath(pathOf(route) as Parameters<typeof registry.registerPath>[0])
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Gavel',
      version,
      description:
        'Judges live social content by structured debate. Every error is a problem (RFC 9457) with advice. The rate of a key counts units: one for each message of a request, for each image at /v1/moderations, and for each call of a model that may be made for it, at least one. A request is let in if a unit is left; what it takes beyond is owed, and the next waits (429, Retry-After).',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
  })
}

function components(): Record<string, Schema> {
  const all = [...Object.entries(MESSAGE_TYPES), ['decision', { schema: decisionMessage }] as const]
  const types = all.map(([type, { schema }]) => {
    const { $schema: _, ...whole } = z.toJSONSchema(schema, {
      io: 'input',
      target: 'draft-2020-12',
      unrepresentable: 'any',
    })
    const { odd: __, by, ...others } = whole.properties ?? {}
    // Who decides is the key's.
    const properties = by === undefined || type === 'decision' ? others : { ...others, by }
    const name = `${type[0]?.toUpperCase()}${type.slice(1)}`
    const required = ['type', ...(whole.required ?? []).filter((field) => Object.keys(properties).includes(field))]
    return [name, { ...whole, required, properties: { type: { const: type }, ...properties } }] as const
  })
  return {
    ...Object.fromEntries(types),
    Verdict: verdictSchema(),
    Message: { oneOf: types.map(([name]) => ({ $ref: `#/components/schemas/${name}` })) },
    Problem: PROBLEM,
  }
}

/** As on the topic, of either schema; later versions may add fields. */
function verdictSchema(): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(verdict, {
    io: 'output',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return schema as Schema
}

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'todo'],
  properties: {
    type: { type: 'string', description: 'The page that explains it: /problems/NAME.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'The details of this case. It quotes nothing that was sent.' },
    instance: { type: 'string', description: "The request's id, as in the header X-Request-Id and in the log." },
    todo: { type: 'string', description: 'Advice.' },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

function pathOf(route: DoorRoute) {
  const { operation, method, path, scope, takesBody } = route
  const { request, response, others = [], parameters = [], ...said } = operation
  const problems = [
    ...ANYWHERE,
    ...(scope === null ? [] : WITH_KEY),
    ...(takesBody ? WITH_BODY : []),
    ...route.problems,
  ]
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const undescribed = named.filter((name) => !parameters.some((one) => one.in === 'path' && one.name === name))
  const inPath = undescribed.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return {
    method: method.toLowerCase(),
    path,
    ...said,
    parameters: [...inPath, ...parameters.map((one) => ({ ...one, required: one.in === 'path' }))],
    security: scope === null ? [] : [{ key: [] }],
    ...(request && {
      request: {
        body: { required: true, content: { 'application/json': { schema: request.schema, example: request.example } } },
      },
    }),
    responses: {
      ...byStatus(problems, route.refuse !== undefined),
      ...Object.fromEntries(
        [response, ...others].map(({ status, description, schema }) => [
          status,
          { description, ...(schema && { content: { 'application/json': { schema } } }) },
        ]),
      ),
    },
  }
}

/** `inOwnForm`: most of them have the form of the interface that the route answers for, those before it is found have not. */
function byStatus(problems: readonly ProblemName[], inOwnForm: boolean): Record<string, object> {
  const groups = Map.groupBy(new Set(problems), (name) => PROBLEMS[name].status)
  return Object.fromEntries(
    [...groups].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `${name}: ${PROBLEMS[name].title}.`).join(' '),
        ...(status === 429 || status === 503
          ? { headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } } }
          : {}),
        content: {
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
          ...(inOwnForm && { 'application/json': { schema: { type: 'object', required: ['error'] } } }),
        },
      },
    ]),
  )
}
