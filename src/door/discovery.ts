import { STANDARD_PARAMETERS } from './perspective-requests.ts'
import { RequestRefused } from './problem.ts'
import { type DoorRoute, json } from './route.ts'

const STRING = { type: 'string' }

/** The discovery document by which Google's clients find Perspective's methods here. */
export function discoveryRoute(): DoorRoute {
  return {
    method: 'GET',
    path: '/$discovery/rest',
    scope: null,
    operation: {
      operationId: 'discovery',
      summary: "The discovery document of Perspective's methods, for Google's clients",
      parameters: [
        { name: 'version', in: 'query', description: 'v1alpha1', schema: { type: 'string', enum: ['v1alpha1'] } },
      ],
      response: { status: 200, description: 'The document.', schema: { type: 'object' } },
    },
    problems: [],
    answer({ query, base }) {
      if ((query.get('version') ?? 'v1alpha1') !== 'v1alpha1')
        throw new RequestRefused('not-found', 'there is v1alpha1 alone')
      return json(200, documentAt(base))
    },
  }
}

function documentAt(base: string) {
  const method = (name: string) => ({
    id: `commentanalyzer.comments.${name}`,
    path: `v1alpha1/comments:${name}`,
    flatPath: `v1alpha1/comments:${name}`,
    httpMethod: 'POST',
    parameters: {},
    parameterOrder: [],
    request: { $ref: 'Body' },
    response: { $ref: 'Body' },
  })
  return {
    kind: 'discovery#restDescription',
    discoveryVersion: 'v1',
    id: 'commentanalyzer:v1alpha1',
    name: 'commentanalyzer',
    version: 'v1alpha1',
    title: 'Scores of texts, by Gavel',
    protocol: 'rest',
    rootUrl: `${base}/`,
    baseUrl: `${base}/`,
    servicePath: '',
    batchPath: 'batch',
    parameters: Object.fromEntries(STANDARD_PARAMETERS.map((name) => [name, { ...STRING, location: 'query' }])),
    schemas: { Body: { id: 'Body', type: 'object', additionalProperties: { type: 'any' } } },
    resources: { comments: { methods: { analyze: method('analyze'), suggestscore: method('suggestscore') } } },
  }
}
