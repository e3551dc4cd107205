import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    name: string
    in: 'path' | 'query'
    example?: unknown
    schema: { enum?: string[] }
  }[]
  readonly requestBody?: { content: { 'application/json': { schema: AnySchema; example?: unknown } } }
  readonly responses: Record<string, { content?: Record<string, { schema?: AnySchema }> }>
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, object> }
}

let embedded: Awaited<ReturnType<typeof startEmbedded>>
let base: string
let document: Document
beforeAll(async () => {
  const settings = loadSettings({ GAVEL_DOOR_PORT: '0', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
  embedded = await startEmbedded(settings, { model: understudyModel(), report: () => {} })
  base = `http://127.0.0.1:${embedded.doorPort}`
  document = (await (await fetch(`${base}/openapi.json`)).json()) as Document
}, 60_000)
afterAll(() => embedded?.close())

/** The operations, those first that make what others ask for. */
function operations() {
  const all = Object.entries(document.paths).flatMap(([path, ofPath]) =>
    Object.entries(ofPath).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  )
  return all.sort((one, other) => Number(other.method === 'POST') - Number(one.method === 'POST'))
}

/** What the document promises of a status, and whether an answer keeps it. */
async function checked({ operationId, responses }: Operation, response: Response): Promise<unknown> {
  const { status } = response
  const named = responses[status]
  expect(named, `${operationId} answered ${status}, which the document does not have`).toBeDefined()
  const text = await response.text()
  if (text === '') return null
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  const content = named?.content?.[type]
  expect(content, `${operationId} ${status}: ${type} is not documented`).toBeDefined()
  const said: unknown = JSON.parse(text)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'door', components: document.components })
  const schema = JSON.parse(JSON.stringify(content?.schema ?? {}).replaceAll('"#/components/', '"door#/components/'))
  const fits = ajv.compile(schema)
  expect(fits(said), `${operationId} ${status}: ${JSON.stringify(fits.errors)}\n${text}`).toBe(true)
  return said
}

const SUCCESS = /^20[0-4]$/

describe('the document', { timeout: 60_000 }, () => {
  it('has an example of every body, which fits its schema and is taken, and answers as it says', async () => {
    const asked: string[] = []
    let judgement = ''
    for (const operation of operations()) {
      const { path, method, parameters = [], requestBody, operationId } = operation
      const json = requestBody?.content['application/json']
      if (requestBody !== undefined) expect(json?.example, `${operationId} has no example`).toBeDefined()
      const id = path.includes('judgements') ? judgement : path.includes('reasons') ? 'act-1' : 'p1'
      const values: Record<string, string> = { id, name: 'invalid' }
      const to = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
      for (const { name } of parameters.filter((one) => one.in === 'path')) expect(values[name]).toBeDefined()
      const response = await fetch(`${base}${to}`, {
        method,
        headers: json === undefined ? {} : { 'content-type': 'application/json' },
        ...(json === undefined ? {} : { body: JSON.stringify(json.example) }),
      })
      // A decision against a revision that is not there yet is told so.
      const isTaken = SUCCESS.test(String(response.status)) || operationId?.startsWith('decide') === true
      const said = (await checked(operation, response)) as { id?: string }
      expect(isTaken, `${operationId}: ${JSON.stringify(said)}`).toBe(true)
      if (operationId === 'judge') judgement = said.id ?? ''
      asked.push(operationId)
    }
    expect(asked.length).toBeGreaterThanOrEqual(10)
    expect(asked).toContain('decide')
  })

  it('names what every route answers to a bad body, an unknown key and an unknown id', async () => {
    for (const operation of operations()) {
      const { path, method } = operation
      const to = `${base}${path.replace(/\{\w+\}/g, 'nobody-knows-this')}`
      const body = (text: string) =>
        method === 'POST' ? { body: text, headers: { 'content-type': 'application/json' } } : {}
      for (const text of ['{', '[]', 'null', '{"none": 1}', '"text"'])
        await checked(operation, await fetch(to, { method, ...body(text) }))
      if (method === 'POST')
        await checked(operation, await fetch(to, { method, body: 'x', headers: { 'content-type': 'text/plain' } }))
      if (!path.startsWith('/problems') && !path.includes('openapi') && !path.includes('discovery'))
        await checked(
          operation,
          await fetch(to, {
            method,
            ...body('{}'),
            headers: { authorization: 'Bearer gavel_wrong', 'content-type': 'application/json' },
          }),
        )
    }
  })
})
