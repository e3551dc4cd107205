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

/** A schema's text may be so long, in bytes, and refer to so many others. */
const [LONGEST_ANSWER, MOST_REFERENCES] = [2 * 2 ** 20, 50]

const answer = z.object({
  schema: z.string(),
  schemaType: z.enum(['AVRO', 'PROTOBUF', 'JSON']).default('AVRO'),
  references: z.array(z.object({ name: z.string(), subject: z.string(), version: z.number().int() })).default([]),
})
type Answer = z.infer<typeof answer>

/**
 * The schema of an id, with all that it refers to; null where the registry has none. Rejects with a `RegistryAway` where it does not
 * answer in time, or not as it should.
 */
export async function registeredSchema(at: RegistrySettings, id: number): Promise<RegisteredSchema | null> {
  const found = await ask(at, `schemas/ids/${id}`)
  if (found === null) return null
  const references = new Map<string, string>()
  const open = [...found.references]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (references.has(next.name)) continue
    if (references.size === MOST_REFERENCES) return null
    const one = await ask(at, `subjects/${encodeURIComponent(next.subject)}/versions/${next.version}`)
    if (one === null) return null
    references.set(next.name, one.schema)
    open.push(...one.references)
  }
  // Those that others refer to come first.
  return { type: found.schemaType, schema: found.schema, references: new Map([...references].reverse()) }
}

/** Of subjects, versions and schemas that a registry does not have. */
const absence = z.object({ error_code: z.number().int().min(40_401).max(40_403) })

/** Whether an answer is a registry's own, and not one of what stands before it. */
function isAbsence(text: string): boolean {
  try {
    return absence.safeParse(JSON.parse(text)).success
  } catch {
    return false
  }
}

async function ask({ url, username, password, timeout }: RegistrySettings, path: string): Promise<Answer | null> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/${path}`, {
      headers: { accept: 'application/vnd.schemaregistry.v1+json', ...(username === '' ? {} : { authorization }) },
      signal: AbortSignal.timeout(timeout),
      redirect: 'error',
    })
    let bytes = 0
    const parts: Uint8Array[] = []
    for await (const part of response.body ?? []) {
      bytes += part.length
      if (bytes > LONGEST_ANSWER)
        throw new RegistryAway(`the schema registry answers with more than ${LONGEST_ANSWER} bytes`)
      parts.push(part)
    }
    const text = Buffer.concat(parts).toString('utf8')
    if (response.ok) return answer.parse(JSON.parse(text))
    if (response.status === 404 && isAbsence(text)) return null
    throw new RegistryAway(`the schema registry answers ${response.status}`)
  } catch (error) {
    if (error instanceof RegistryAway) throw error
    throw new RegistryAway('the schema registry does not answer as one should', { cause: error })
  }
}
