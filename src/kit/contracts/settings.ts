import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { settingsSchema } from '../../../config/schema.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/**
 * A settings file, the shipped one or one that is laid over it: what it may hold, none of it required. The shipped file's comments
 * are the descriptions, its values the defaults; a setting that is not in it has those of its own schema.
 */
export function schemaOfSettings(shipped: string): JsonSchema {
  const { contents } = parseDocument(shipped)
  if (!isMap(contents)) throw new Error('the settings are no mapping')
  const whole = optional(jsonSchemaOf(settingsSchema, 'input'))
  const described = withComments(whole, contents, shipped.split('\n'), shipped, '')
  const sections = Object.keys(described.properties ?? {}).join('|')
  return {
    title: 'Settings of Gavel',
    description: 'Only what differs from config/gavel.yaml has to be there.',
    ...described,
    patternProperties: { [`^(${sections})\\.`]: { description: 'A path: `models.roles` is `roles` in `models`.' } },
  }
}

/** The same with nothing required, for files are laid over one another; but what stands in a list is replaced as a whole. */
function optional({ required: _, ...schema }: JsonSchema): JsonSchema {
  const { properties, additionalProperties, anyOf } = schema
  return {
    ...schema,
    ...(properties && { properties: mapped(properties, optional) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: optional(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(optional) }),
  }
}

function mapped<From, To>(values: Readonly<Record<string, From>>, change: (value: From, name: string) => To) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]))
}

/** `above` is the comment above the mapping: it speaks for its first setting, and for those that it names. */
function withComments(
  schema: JsonSchema,
  map: YAMLMap,
  lines: readonly string[],
  text: string,
  above: string,
): JsonSchema {
  let heard = above
  const known = new Map<string, { comment: string; value: unknown }>()
  for (const [at, { key, value }] of map.items.entries()) {
    if (!isScalar(key)) continue
    const name = String(key.value)
    const line = text.slice(0, key.range?.[0]).split('\n').length - 1
    const own = commentAbove(lines, line)
    if (own !== '') heard = own
    const shared = !isMap(value) && ((at === 0 && above !== '') || isNamed(heard, name))
    known.set(name, { comment: own !== '' || shared ? heard : '', value })
  }
  return {
    ...schema,
    properties: mapped(schema.properties ?? {}, (setting, name) => {
      const { comment = '', value } = known.get(name) ?? {}
      const description = comment === '' ? {} : { description: comment }
      if (isMap(value) && setting.properties !== undefined)
        return { ...description, ...withComments(setting, value, lines, text, comment) }
      const { default: own, ...rest } = setting
      const unlessSet = value === undefined ? own : plain(value)
      return { ...description, ...rest, ...description, ...(unlessSet === undefined ? {} : { default: unlessSet }) }
    }),
  }
}

/** By its name, or as its variable has it: `OPENAI_API_KEY`. */
function isNamed(comment: string, setting: string): boolean {
  return comment.includes(setting) || comment.includes(setting.replace(/[A-Z]/g, '_$&').toUpperCase())
}

/** The comment above a line, in one paragraph; its indented lines keep theirs. */
function commentAbove(lines: readonly string[], line: number): string {
  let from = line
  while (/^\s*#/.test(lines[from - 1] ?? '')) from--
  return lines
    .slice(from, line)
    .map((one) => one.replace(/^\s*# ?/, ''))
    .reduce((all, one) => (all === '' ? one : all + (/^\s/.test(one) ? '\n' : ' ') + one), '')
}

function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'toJSON' in value
    ? (value as { toJSON(): unknown }).toJSON()
    : value
}
