import { z } from 'zod'
import { shown } from './unknown-fields.ts'

/**
 * An object of Google's JSON: a field goes by its name in camel case or by the name of its proto (`doNotStore`,
 * `do_not_store`). A field that is neither is refused, as there: it may be a wish, such as not to be stored.
 */
function message<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = new Map(Object.keys(shape).flatMap((name) => [name, protoName(name)].map((form) => [form, name])))
  return z.preprocess((given, context) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
    const read = new Map<string, unknown>()
    for (const [written, value] of Object.entries(given)) {
      const name = names.get(written)
      const fault = name === undefined ? 'Cannot find field.' : read.has(name) ? 'It is given twice.' : null
      if (name !== undefined && fault === null) read.set(name, value)
      else context.addIssue({ code: 'custom', path: [shown(written)], message: `${fault}`, params: { isName: true } })
    }
    return Object.fromEntries(read)
  }, z.object(shape))
}

/** A string; a key without its quotation marks; a comma that nothing follows. */
const LOOSE = /"(?:[^"\\]|\\[\s\S])*"?|\b([A-Za-z_]\w{0,60})(?=\s{0,60}:)|,(?=\s{0,1000}[}\]])/g

/** JSON of what Google's servers take for it: its guide has keys without quotation marks, its reference a comma too many. Linear. */
export function asJson(text: string): string {
  return text.replace(LOOSE, (found, key: string | undefined) =>
    found.startsWith('"') ? found : key === undefined ? '' : `"${key}"`,
  )
}

const protoName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** What is wrong with a request, in the words of Google's servers. */
export function faultInRequest({ issues: [fault] }: z.ZodError): string {
  const path = fault?.path.map((part) => shown(String(part))) ?? []
  if (fault?.code !== 'custom' || fault.params?.isName !== true)
    return `Invalid value at '${path.join('.')}': ${fault?.message}`
  const place = path.length > 1 ? ` at '${path.slice(0, -1).join('.')}'` : ''
  return `Invalid JSON payload received. Unknown name "${path.at(-1)}"${place}: ${fault.message}`
}

/** The parameters that each address of Google's takes. They change nothing here: the answer is JSON, whole, and by the key's tenant. */
export const STANDARD_PARAMETERS = [
  'key',
  'alt',
  'prettyPrint',
  'fields',
  'quotaUser',
  '$.xgafv',
  'uploadType',
  'upload_protocol',
] as const

/** Those of them that ask for what is not done here. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['access_token', 'OAuth tokens are not taken here: send a key.'],
  ['oauth_token', 'OAuth tokens are not taken here: send a key.'],
  ['callback', 'The answer is JSON, and no script.'],
])

/** What is wrong with the parameters of an address, in the words of Google's servers where they refuse it as well; null for nothing. */
export function faultInParameters(query: URLSearchParams): string | null {
  for (const [name, value] of query) {
    const refused = REFUSED.get(name)
    if (refused !== undefined) return `${name}: ${refused}`
    if (name === 'alt' && value !== 'json') return 'alt: The answer is JSON, and nothing else.'
    if (!STANDARD_PARAMETERS.some((known) => known === name))
      return `Invalid JSON payload received. Unknown name "${shown(name)}": Cannot bind query parameter. Field '${shown(name)}' could not be found in request message.`
  }
  return null
}

const text = message({ text: z.string().nullish(), type: z.string().nullish() })

/** What both methods take. The ids are taken and not read. */
const shared = {
  comment: text.nullish(),
  context: message({
    entries: z.array(text).nullish(),
    articleAndParentComment: message({ article: text.nullish(), parentComment: text.nullish() }).nullish(),
  }).nullish(),
  // As Google's servers: one value stands for a list of it. Clients send it (peRspective, of R).
  languages: z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(z.string()).nullish()),
  clientToken: z.string().nullish(),
  sessionId: z.unknown().optional(),
  communityId: z.unknown().optional(),
}

export const analysis = message({
  ...shared,
  requestedAttributes: z
    .record(z.string(), message({ scoreType: z.string().nullish(), scoreThreshold: z.number().nullish() }))
    .nullish(),
  doNotStore: z.boolean().nullish(),
  spanAnnotations: z.boolean().nullish(),
  dropUnsupportedAttributes: z.boolean().nullish(),
  debate: z.union([z.boolean(), z.array(z.string().min(1).max(64)).min(1).max(20)]).nullish(),
})
export type Analysis = z.infer<typeof analysis>

const [value, place] = [z.number().min(0).max(1), z.number().nullish()]
export const suggestion = message({
  ...shared,
  attributeScores: z
    .record(
      z.string(),
      message({
        summaryScore: message({ value, type: z.string().nullish() }).nullish(),
        spanScores: z
          .array(message({ begin: place, end: place, score: message({ value, type: z.string().nullish() }).nullish() }))
          .nullish(),
      }),
    )
    .nullish(),
})
