import { z } from 'zod'

/** A schema as a registry has it, with the texts of those that it refers to, by their names there. */
export interface RegisteredSchema {
  readonly type: 'AVRO' | 'PROTOBUF' | 'JSON'
  readonly schema: string
  readonly references: ReadonlyMap<string, string>
}

/** Where a registry is that speaks as Confluent's does. */
export interface RegistrySettings {
  readonly url: string
  readonly username: string
  readonly password: string
  /** ms */
  readonly timeout: number
}

/** A registry does not answer, or not now: it is asked again. */
export class RegistryAway extends Error {
  override readonly name = 'RegistryAway'
}

/** Of one schema nothing can be had: asking again gives the same. */
export class SchemaFault extends Error {
  override readonly name = 'SchemaFault'
}

/** A schema's text may be so long, in bytes, and refer to so many others. */
const [LONGEST_ANSWER, MOST_REFERENCES] = [2 * 2 ** 20, 50]

/** The largest id: registries number by int32. */
const LARGEST_ID = 2 ** 31 - 1

const types = z.enum(['AVRO', 'PROTOBUF', 'JSON'])
const answer = z.object({
  schema: z.string(),
  schemaType: z.string().default('AVRO'),
  references: z.array(z.object({ name: z.string(), subject: z.string(), version: z.number().int() })).default([]),
})
type Answer = z.infer<typeof answer>

/**
 * The schema of an id, with all that it refers to. Rejects with a `SchemaFault` where the registry has none, or none that can be used,
 * and with a `RegistryAway` where it does not answer in time, or not as it should.
 */
export async function registeredSchema(at: RegistrySettings, id: number): Promise<RegisteredSchema> {
  const absent = new SchemaFault(`the schema registry has no schema ${id}`)
  if (id > LARGEST_ID) throw absent
  const found = await ask(at, `schemas/ids/${id}`)
  if (found === null) throw absent
  const type = types.safeParse(found.schemaType)
  if (!type.success) throw new SchemaFault(`schema ${id} is of no type that is read: ${types.options.join(', ')}`)
  const references = new Map<string, string>()
  const open = [...found.references]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (references.has(next.name)) continue
    if (references.size === MOST_REFERENCES)
      throw new SchemaFault(`schema ${id} refers to more than ${MOST_REFERENCES} others`)
    const one = await ask(at, `subjects/${encodeURIComponent(next.subject)}/versions/${next.version}`)
    if (one === null) throw new SchemaFault(`the schema registry lacks what schema ${id} refers to`)
    references.set(next.name, one.schema)
    open.push(...one.references)
  }
  // Those that others refer to come first.
  return { type: type.data, schema: found.schema, references: new Map([...references].reverse()) }
}

/** Of subjects, versions and schemas that a registry does not have. */
const absence = z.object({ error_code: z.number().int().min(40_401).max(40_403) })
/** What says nothing of the one schema that was asked for. */
const OF_ALL = new Set([401, 407, 408, 425, 429])

/** Whether an answer is a registry's own, and not one of what stands before it. */
function isAbsence(text: string): boolean {
  try {
    return absence.safeParse(JSON.parse(text)).success
  } catch {
    return false
  }
}

/** Whether it answers a question that is of no schema: then what it refused is that schema's own. */
async function lists(at: RegistrySettings): Promise<boolean> {
  const response = await get(at, 'subjects')
  await response.body?.cancel()
  return response.ok
}

function get({ url, username, password, timeout }: RegistrySettings, path: string): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return fetch(`${url.replace(/\/$/, '')}/${path}`, {
    headers: { accept: 'application/vnd.schemaregistry.v1+json', ...(username === '' ? {} : { authorization }) },
    signal: AbortSignal.timeout(timeout),
    redirect: 'error',
  })
}

/** Null where it has none. */
async function ask(at: RegistrySettings, path: string): Promise<Answer | null> {
  try {
    const response = await get(at, path)
    let bytes = 0
    const parts: Uint8Array[] = []
    for await (const part of response.body ?? []) {
      bytes += part.length
      if (bytes > LONGEST_ANSWER) throw new SchemaFault(`a schema has more than ${LONGEST_ANSWER} bytes`)
      parts.push(part)
    }
    const text = Buffer.concat(parts).toString('utf8')
    if (response.ok) return answer.parse(JSON.parse(text))
    if (response.status === 404 && isAbsence(text)) return null
    const refused = `the schema registry answers ${response.status}`
    const { status } = response
    if (status >= 400 && status < 500 && !OF_ALL.has(status) && (await lists(at))) throw new SchemaFault(refused)
    throw new RegistryAway(refused)
  } catch (error) {
    if (error instanceof RegistryAway || error instanceof SchemaFault) throw error
    throw new RegistryAway('the schema registry does not answer as one should', { cause: error })
  }
}
