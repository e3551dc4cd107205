import { z } from 'zod'

/** A JSON Schema of the words that all its drafts since 7 read alike. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
  readonly propertyNames?: JsonSchema
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly [keyword: string]: unknown
}

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** What is taken by this schema (`input`), or what it gives (`output`), to which later versions may add fields. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod
      if (def.type === 'map') Object.assign(jsonSchema, mappingOf(def as z.core.$ZodMapDef, io))
      if (def.type === 'string') refuseFlags(zodSchema)
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // Every whole number of zod's is one that a double holds.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // What they are is written down where they are read: here it would be one more thing to keep current.
      if (def.type === 'prefault') delete jsonSchema.default
    },
  })
  return whole as JsonSchema
}

/** Mappings of names are read as maps, since a name may be `__proto__`; in a file they are objects. */
function mappingOf({ keyType, valueType }: z.core.$ZodMapDef, io: 'input' | 'output'): JsonSchema {
  const names = jsonSchemaOf(keyType as z.ZodType, io)
  return {
    type: 'object',
    ...(names.pattern === undefined ? {} : { propertyNames: names }),
    additionalProperties: jsonSchemaOf(valueType as z.ZodType, io),
  }
}

/** A pattern in JSON Schema has no flags: one that needs them would mean something else there. */
function refuseFlags(schema: z.core.$ZodType): void {
  const { patterns } = schema._zod.bag as { patterns?: ReadonlySet<RegExp> }
  for (const pattern of patterns ?? [])
    if (/[ims]/.test(pattern.flags)) throw new Error(`${pattern} can't be written without its flags`)
}
