import { z } from 'zod'
import { dialectPart } from '../src/contracts/facts/dialect.ts'
import { didYouMean } from '../src/contracts/facts/did-you-mean.ts'
import { tenantName } from '../src/contracts/facts/messages.ts'
import { canonicalName, DEFAULT_ENDPOINT } from '../src/contracts/facts/model-name.ts'
import { VERDICT_SCHEMAS } from '../src/contracts/facts/verdict-fields.ts'
import { TIERS } from '../src/contracts/ports/model.ts'
import { COMPRESSIONS } from '../src/contracts/ports/topic.ts'
import { ROUTED_SUBJECTS, ROUTED_TOPICS } from '../src/judging/engine/routes.ts'
import { PROTOCOLS, protocolsSettings } from '../src/protocols/registry.ts'
import { console as consoleSettings } from './console.ts'
import { door, webhooks } from './door.ts'
import { jetstream } from './jetstream.ts'
import { log } from './log.ts'
import { intake, overload, overloadedAtDue } from './overload.ts'
import { appeals, record, review } from './record.ts'
import { sasl } from './sasl.ts'
import { schemaRegistry, sinks, sources, usableTopics } from './sources.ts'
import { traces } from './traces.ts'
import { ascending, byName, count, duration, network, TLS_IS_OFF, textPath, tls, tlsFiles, wait } from './values.ts'
import { vetoes } from './vetoes.ts'

const HOST_AND_PORT = /^[^\s,]+:\d+$/
const hostAndPort = z.string().regex(HOST_AND_PORT, 'must be host:port')
const isUrl = (text: string) => {
  if (text === '') return true
  try {
    return URL.canParse(text) && decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

const limitsOf = z.strictObject({
  callsPerMinute: count.optional(),
  tokensPerMinute: count.optional(),
  inFlight: count.optional(),
})
/** Ways to ask for an answer's form. */
const answerFormat = z.enum(['json_schema', 'json_object', 'text'])
/** What is added to each request: a header's name and value hold nothing that would end them. */
const additions = byName(
  z.string().regex(/^[\x20-\x7e]{1,4096}$/, 'visible ASCII characters'),
  z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, 'letters, digits, dots, dashes or underscores'),
)
const baseUrl = z.url({ protocol: /^https?$/, error: 'is no address such as http://127.0.0.1:8000/v1' })
const endpoint = z
  .strictObject({
    baseUrl,
    apiKey: z.string().default(''),
    apiKeyFile: z.string().default(''),
    headers: additions.default({}),
    query: additions.default({}),
    answerFormat: answerFormat.default('json_schema'),
  })
  .refine(({ apiKey, apiKeyFile }) => apiKey === '' || apiKeyFile === '', {
    path: ['apiKeyFile'],
    error: 'apiKey is set as well: leave one out',
  })
const endpointName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, '1 to 64 letters, digits, dots, dashes or underscores')
  .refine((name) => name !== DEFAULT_ENDPOINT, 'the default endpoint is set in openai')
/** Of a million tokens, in US dollars: more would not keep sums exact. */
const usd = z.number().min(0).max(1e4)
const factor = z.number().min(0).max(100)
const price = z.strictObject({
  prompt: usd,
  cached: usd,
  completion: usd,
  cacheWrite: usd.optional(),
  thinking: usd.optional(),
  decisions: usd.optional(),
  tiers: byName(factor).optional(),
  longContext: z.strictObject({ above: count, prompt: factor, completion: factor }).optional(),
})

/** Bounds that keep the sums exact. */
const budget = { tokens: z.int().min(1).max(1e12).nullable(), usd: z.number().positive().max(1e6).nullable() }
const budgetWindow = duration.refine((ms) => ms >= 60_000, 'at least 1m')

const shelfName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a shelf is 1 to 64 small letters, digits, dashes or underscores')

const stage = z.strictObject({ concurrency: count, perAuthor: count.optional(), attempts: count, backoff: wait })

const route = z
  .strictObject({
    topics: z.array(z.enum(ROUTED_TOPICS)).min(1).optional(),
    subjects: z.array(z.enum(ROUTED_SUBJECTS)).min(1).optional(),
    tenants: z.array(tenantName).min(1).optional(),
    langs: z.array(z.string()).min(1).optional(),
    media: z.enum(['with', 'without']).optional(),
    minComments: z.int().min(0).optional(),
    maxComments: z.int().min(0).optional(),
    sample: z.number().min(0).max(1).optional(),
  })
  .refine(
    ({ minComments = 0, maxComments = Number.POSITIVE_INFINITY }) => minComments <= maxComments,
    'maxComments is less than minComments',
  )

const routes = z.partialRecord(
  z.enum(PROTOCOLS.map(({ name }) => name)),
  z.array(route).min(1, 'no route leads to it: set protocols.NAME.enabled to false instead'),
)

/** Whom models may be given to: everybody whom a protocol asks, by protocol or not, the baselines of an evaluation, the decider of a lane, and who scores texts at the door. */
const ROLES: ReadonlySet<string> = new Set([
  'default',
  'baseline',
  'decider',
  'moderator',
  ...PROTOCOLS.flatMap(({ name, roles = [] }) => [
    ...roles,
    ...[...roles, 'baseline', 'decider'].map((role) => `${name}.${role}`),
  ]),
])

const allSettings = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, '1 to 64 letters, digits, dots, dashes or underscores'),
  kafka: z.strictObject({
    brokers: z.array(z.string().regex(HOST_AND_PORT, 'a broker is host:port')),
    tls: tls.refine((set) => set.enabled || !tlsFiles(set), { path: ['enabled'], error: TLS_IS_OFF }),
    sasl,
    clientId: z.string().min(1),
    group: z.string().min(1),
    topicPrefix: z.string().regex(/^[A-Za-z0-9._-]*$/, 'letters, digits, dots, dashes and underscores'),
    partitions: count,
    replication: count,
    retention: duration,
    compression: z.enum(COMPRESSIONS),
    sessionTimeout: wait,
    maxBytesPerPartition: z.int().min(1024),
    fetchBytes: count,
    fetchWait: wait,
  }),
  redis: z
    .strictObject({
      url: z
        .string()
        .regex(/^(rediss?:\/\/.*)?$/, 'a URL that begins with redis:// or rediss://')
        .refine(isUrl, 'is no URL: percent-encode what is special in a password')
        .refine(
          (url) => !isUrl(url) || url === '' || /^\/?\d*$/.test(new URL(url).pathname),
          'ends with a number: the database',
        )
        .refine((url) => !/[?#]/.test(url), 'takes no ? or #: percent-encode them in a password'),
      cluster: z.array(hostAndPort),
      sentinels: z.array(hostAndPort),
      sentinelMaster: z.string().min(1),
      sentinelUsername: z.string(),
      sentinelPassword: z.string(),
      sentinelSilence: wait,
      username: z.string(),
      password: z.string(),
      tls,
      prefix: z.string().regex(/^[A-Za-z0-9._-]+$/, 'letters, digits, dots, dashes and underscores'),
      splitRisk: z.enum(['refuse', 'accept']),
    })
    .refine(
      ({ url, cluster, sentinels }) => [url, ...[cluster, sentinels].map(String)].filter(Boolean).length < 2,
      'more than one of url (REDIS_URL), cluster and sentinels is set',
    )
    .refine((set) => set.tls.enabled || set.url.startsWith('rediss:') || !tlsFiles(set.tls), {
      path: ['tls', 'enabled'],
      error: TLS_IS_OFF,
    }),
  openai: z.strictObject({
    baseUrl,
    apiKey: z.string(),
    answerFormat,
  }),
  endpoints: byName(endpoint, endpointName),
  models: z.strictObject({
    roles: byName(z.array(z.string().min(1)).min(1))
      .refine((roles) => roles.default !== undefined, 'default is missing')
      .superRefine((roles, { addIssue }) => {
        for (const role of Object.keys(roles))
          if (!ROLES.has(role))
            addIssue({ code: 'custom', path: [role], message: `nobody has this role.${didYouMean(role, ROLES)}` })
      }),
    onFiltered: z.enum(['stop', 'next']),
    prices: byName(price),
    slots: count,
    callTimeout: wait,
    tiers: byName(z.enum(TIERS)),
    flexTimeout: wait,
    minTimeout: wait.nullable(),
    latencyTolerance: z.number().min(1.1).nullable(),
    imageTokens: count,
    dialects: byName(dialectPart),
    thinkingTokens: z.int().min(0).max(1_000_000),
    keepThoughts: z.boolean(),
  }),
  memo: z.strictObject({
    enabled: z.boolean(),
    keep: duration,
    lease: wait,
    patience: wait,
    maxBytes: z.int().min(1024),
  }),
  limits: z.strictObject({ models: byName(limitsOf), tenants: byName(limitsOf) }),
  budgets: z.strictObject({
    whenSpent: z.enum(['hold', 'degrade']),
    unpriced: z.enum(['refuse', 'free']),
    verdict: z.strictObject(budget),
    tenant: z.strictObject({ ...budget, per: budgetWindow }),
    tenants: byName(z.strictObject(budget), tenantName),
    total: z.strictObject({ ...budget, per: budgetWindow }),
    fresh: budget.usd,
  }),
  breaker: z
    .strictObject({
      window: count,
      minCalls: count,
      failureShare: z.number().gt(0).max(1),
      coolDown: wait,
      maxCoolDown: wait,
      probes: count,
      successes: count,
    })
    .refine(({ minCalls, window }) => minCalls <= window, 'minCalls is more than window')
    .refine(({ coolDown, maxCoolDown }) => coolDown <= maxCoolDown, 'coolDown is longer than maxCoolDown'),
  images: z.strictObject({
    maxBytes: count.max(20 * 2 ** 20, 'at most 20 MiB: it is held in memory while a model looks at it'),
    maxPixels: count,
    timeout: wait,
    maxRedirects: z.int().min(0).max(10),
    keepFor: duration,
    keepBytes: z.int().min(0),
    fetches: z.int().min(1).max(1_000),
  }),
  library: z.strictObject({
    path: z.string().min(1),
    embedder: z.string().min(1),
    embedderPrefixes: z.strictObject({ query: z.string().max(500), document: z.string().max(500) }),
    shared: z.array(shelfName),
    proposalsPerAuthor: count,
    newProposals: z.strictObject({ perAuthor: count, perTenant: count, per: budgetWindow }),
  }),
  messages: z.strictObject({ textFields: z.array(textPath).max(20) }),
  sources,
  sinks,
  schemaRegistry,
  intake,
  shares: z
    .strictObject({
      tenant: z.number().gt(0).max(1),
      waiting: z.number().gt(0).lt(1),
      rest: z.number().gt(0).lt(1),
      record: z.number().gt(0).max(1),
    })
    .refine(({ waiting, rest }) => waiting + rest <= 1, 'waiting and rest must not sum up to more than 1'),
  threads: z
    .strictObject({
      maxComments: z.int().min(1).max(10_000),
      maxPerAuthor: z.int().min(1).nullable(),
      maxUnnamed: z.int().min(1).nullable(),
      placeholders: z.array(z.string().min(1).max(200)),
      maxTextChars: z.int().min(100),
      orphanWait: duration,
      keepAfterFinal: duration,
      keepTombstone: duration,
      maxReplies: count,
    })
    .refine(({ keepTombstone, keepAfterFinal }) => keepTombstone >= keepAfterFinal, {
      path: ['keepTombstone'],
      error: 'must not be shorter than keepAfterFinal: replies are found by it',
    }),
  checkpoints: z.strictObject({
    counts: z.array(count).refine(ascending, 'must rise'),
    ages: z.array(duration).refine(ascending, 'must rise'),
    finalAge: duration,
    reopen: z.boolean(),
  }),
  objectives: z.strictObject({ latency: duration }),
  clock: z.strictObject({ idleAfter: duration, atEnd: z.enum(['wall-pace', 'finish']), poll: wait }),
  verdicts: z.strictObject({ schema: z.literal(VERDICT_SCHEMAS) }),
  cases: z.strictObject({
    maxOpen: count,
    overload,
    overloadedAtDue,
    concurrency: count,
    deadline: duration,
    mostHeld: duration,
    maxTakeovers: count,
    handBack: duration,
    reconcileAfter: wait,
    keepJournal: duration,
    restartsPerSecond: z.int().min(1),
    transcriptBytes: z.int().min(10_000),
  }),
  stages: byName(stage).refine((stages) => stages.default !== undefined, 'default is missing'),
  queues: z.strictObject({ lock: wait, stalledCheck: wait }),
  forwarders: z.array(network),
  http: z.strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    hosts: z.array(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/, 'a host name or IPv4 address, without a port'),
    ),
    token: z.string().regex(/^(?:[\x21-\x7e]{16,})?$/, 'at least 16 visible ASCII characters, without spaces'),
  }),
  jetstream,
  door,
  webhooks,
  record,
  review,
  appeals,
  console: consoleSettings,
  traces,
  drain: wait,
  fences: z.strictObject({
    key: z.string().regex(/^(?:[\s\S]{16,})?$/u, 'at least 16 characters'),
    maxChars: z.int().min(100),
    maxCommentChars: z.int().min(100),
  }),
  log,
  protocols: protocolsSettings,
  routes,
  vetoes,
})

/** The settings, checked; durations in ms. `gavel.yaml` explains each. */
export const settingsSchema = allSettings
  .refine(({ fences, threads }) => fences.maxChars >= threads.maxTextChars, {
    path: ['fences', 'maxChars'],
    error: 'must not be less than threads.maxTextChars: all that is kept of a post is read',
  })
  .superRefine(usableTopics)
  .transform(withCanonicalNames)

type AllSettings = z.infer<typeof allSettings>

/** Each model has one name everywhere: a price or a limit for `default/NAME` is one for NAME. */
function withCanonicalNames(settings: AllSettings): AllSettings {
  const { endpoints, models, limits, library } = settings
  const one = (name: string) => canonicalName(name, endpoints)
  // A model of the endpoint that is called like the embedder inside the package keeps the endpoint's name.
  const embedder = one(library.embedder) === 'local' ? library.embedder : one(library.embedder)
  const byModel = <Value>(values: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [one(name), value]))
  return {
    ...settings,
    models: {
      ...models,
      roles: Object.fromEntries(Object.entries(models.roles).map(([role, chain]) => [role, chain.map(one)])),
      prices: byModel(models.prices),
    },
    limits: { ...limits, models: byModel(limits.models) },
    library: { ...library, embedder },
  }
}

export type Settings = z.infer<typeof settingsSchema>
