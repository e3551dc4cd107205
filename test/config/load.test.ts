import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { mappingOf } from '../../config/tree.ts'
import { variablesOf } from '../../config/variables.ts'
import { OperatorError } from '../../src/contracts/facts/errors.ts'
import { ownFolder } from '../support/own-folder.ts'

const MINUTE = 60_000
const folder = ownFolder('settings')
let files = 0

function overlay(text: string): string {
  const file = join(folder, `${++files}.yaml`)
  writeFileSync(file, text)
  return file
}

/** The faults that loading ends in, one a line. */
function faultsOf(environment: Record<string, string>, file?: string): string[] {
  try {
    loadSettings(environment, file)
  } catch (error) {
    expect(error).toBeInstanceOf(OperatorError)
    const [head = '', ...faults] = (error as OperatorError).message.split('\n')
    expect(head).toBe(`The settings have ${faults.length} fault${faults.length === 1 ? '' : 's'}:`)
    return faults.map((fault) => fault.trim())
  }
  throw new Error('the settings have no fault')
}

describe('the settings', () => {
  test('are the documented ones where nothing lies over them', () => {
    const settings = loadSettings({})
    expect(settings.kafka).toMatchObject({ brokers: [], topicPrefix: 'gavel.', compression: 'lz4' })
    expect(settings.checkpoints).toMatchObject({ counts: [10, 30, 100, 300], finalAge: 24 * 60 * MINUTE })
    expect(settings.clock).toEqual({ idleAfter: 5_000, atEnd: 'wall-pace', poll: 100 })
  })

  test('hold what is set for a name that every object has already, and nothing where nothing is set', () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty']
    const limits = names.map((name, at) => `${name}: { callsPerMinute: ${at + 1} }`).join(', ')
    const budgets = names.map((name, at) => `${name}: { tokens: ${at + 1}, usd: null }`).join(', ')
    const file = overlay(`limits: { tenants: { ${limits} } }\nbudgets: { tenants: { ${budgets} } }`)
    const set = loadSettings({}, file)
    for (const [at, name] of names.entries()) {
      expect(Object.entries(set.limits.tenants)).toContainEqual([name, { callsPerMinute: at + 1 }])
      expect(Object.entries(set.budgets.tenants)).toContainEqual([name, { tokens: at + 1, usd: null }])
    }
    expect(Object.keys(set.limits.models)).toEqual([])
    expect(faultsOf({}, overlay('limits: { tenants: { __proto__: { calls: 1 } }, models: [] }'))).toEqual([
      expect.stringMatching(/^limits\.models: must be a mapping of names \(.*, line 1\)$/),
      expect.stringMatching(/^limits\.tenants\.__proto__: .*calls/),
    ])
    expect(faultsOf({}, overlay('__proto__: { kafka: 1 }'))).toEqual([expect.stringContaining('__proto__')])
  })

  test('are read from the file laid over the defaults, which stay where it says nothing', () => {
    const file = overlay(
      'http:\n  port: 0\ncheckpoints:\n  counts: [5]\nmodels:\n  roles:\n    judge: [large, small]\n',
    )
    const { http, checkpoints, models } = loadSettings({}, file)
    expect(http).toEqual({ host: '127.0.0.1', port: 0, hosts: ['host.docker.internal'], token: '' })
    expect(checkpoints.counts).toEqual([5])
    expect(checkpoints.ages).toEqual([2 * MINUTE, 60 * MINUTE, 360 * MINUTE])
    expect(models.roles).toMatchObject({
      default: ['gpt-6-luna'],
      arbiter: ['gpt-6.1-terra'],
      judge: ['large', 'small'],
    })
  })

  test('are overruled by the environment, whatever the file says', () => {
    const file = overlay('http:\n  port: 8080\nkafka:\n  brokers: [file:9092]\nprotocols:\n  rumor:\n    k: 3\n')
    const settings = loadSettings(
      {
        GAVEL_HTTP_PORT: '8081',
        KAFKA_BROKERS: 'one:9092, two:9092',
        REDIS_URL: 'rediss://user:word@host:6380/2',
        OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
        OPENAI_API_KEY: 'key',
        GAVEL_CLOCK_AT_END: 'finish',
        GAVEL_CHECKPOINTS_COUNTS: '2, 4,8',
        GAVEL_CHECKPOINTS_AGES: '1m,2h',
        GAVEL_CHECKPOINTS_REOPEN: 'false',
        GAVEL_PROTOCOLS_RUMOR_BATCH_SIZE: '7',
        GAVEL_KAFKA_MAX_BYTES_PER_PARTITION: '2048',
        PATH: '/bin',
        HOME: '/',
      },
      file,
    )
    expect(settings.http.port).toBe(8081)
    expect(settings.kafka).toMatchObject({ brokers: ['one:9092', 'two:9092'], maxBytesPerPartition: 2048 })
    expect(settings.redis.url).toBe('rediss://user:word@host:6380/2')
    expect(settings.openai).toMatchObject({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key' })
    expect(settings.clock.atEnd).toBe('finish')
    expect(settings.checkpoints).toMatchObject({ counts: [2, 4, 8], ages: [MINUTE, 120 * MINUTE], reopen: false })
    expect(settings.protocols.rumor).toMatchObject({ k: 3, batchSize: 7 })
  })

  test.each(['oauthbearer', 'AWS_MSK_IAM', 'gssapi'])(
    'that ask for %s are refused with the page that says what works',
    (name) => {
      expect(() => loadSettings({ GAVEL_KAFKA_SASL_MECHANISM: name })).toThrow(
        /kafka\.sasl\.mechanism: this mechanism is not supported; see docs\/connections\.md/,
      )
    },
  )

  test('of an endpoint come from its file, a key file, and a variable by its name', () => {
    const key = join(folder, 'endpoint-key')
    writeFileSync(key, 'from a file\n')
    const file = overlay(
      [
        'endpoints:',
        `  a: { baseUrl: "https://a.example/v1", apiKeyFile: ${key} }`,
        '  b: { baseUrl: "https://b.example/v1", apiKey: "", query: { api-version: "2024-10-21" } }',
        'models: { roles: { default: [default/gpt-4o-mini, a/x], arbiter: [default/a/y] } }',
      ].join('\n'),
    )
    const { endpoints, models } = loadSettings({ GAVEL_ENDPOINTS_B_API_KEY: 'from a variable' }, file)
    expect(endpoints.a).toMatchObject({ apiKey: 'from a file', answerFormat: 'json_schema' })
    expect(endpoints.b).toMatchObject({ apiKey: 'from a variable', query: { 'api-version': '2024-10-21' } })
    expect(models.roles).toMatchObject({ default: ['gpt-4o-mini', 'a/x'], arbiter: ['default/a/y'] })
  })

  test('stay as they are where a variable is empty', () => {
    expect(loadSettings({ GAVEL_HTTP_PORT: '', KAFKA_BROKERS: '' }).http.port).toBe(9464)
  })

  test('of one loading do not change those of the next', () => {
    loadSettings({ GAVEL_HTTP_PORT: '1', GAVEL_PROTOCOLS_RUMOR_K: '1' }, overlay('http:\n  host: 0.0.0.0\n'))
    expect(loadSettings({})).toMatchObject({ http: { host: '127.0.0.1', port: 9464 }, protocols: { rumor: { k: 20 } } })
  })
})

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['0ms', 0],
  ])('of %s is %d ms', (text, ms) => {
    expect(loadSettings({ GAVEL_CASES_HAND_BACK: text }).cases.handBack).toBe(ms)
  })

  test.each(['90', '', ' 5s', '5 s', '-5s', '5w', '1e3s', '5s 3s', 'PT5S'])('is not written "%s"', (text) => {
    const file = overlay(`cases:\n  handBack: ${JSON.stringify(text)}\n`)
    const [fault] = faultsOf({}, file)
    expect(fault).toBe(`cases.handBack: a duration is a number and ms, s, m, h or d, as in "90s" (${file}, line 2)`)
  })

  test('without its unit is told how durations are written', () => {
    const [fault] = faultsOf({}, overlay('drain: 20\n'))
    expect(fault).toMatch(/^drain: .*(ms, s, m, h or d|duration)/)
  })

  test.each(['drain', 'models.callTimeout', 'clock.poll'])('of 40 days is more than %s can wait', (path) => {
    // Timers of more than 2^31 ms fire at once: the longest waits would become none.
    const [section = '', name] = path.split('.')
    const text = name === undefined ? `${section}: 40d\n` : `${section}:\n  ${name}: 40d\n`
    expect(faultsOf({}, overlay(text))[0]).toMatch(new RegExp(`^${path}: `))
  })
})

describe('routes', () => {
  test.each([
    ['of a protocol that there is not', 'rumour: [{}]', /^routes\.rumour|^routes: /],
    ['that lead to nothing', 'hate: []', /^routes\.hate: no route leads to it/],
    [
      'with sizes the wrong way round',
      'rumor: [{ minComments: 9, maxComments: 2 }]',
      /^routes\.rumor\.0: maxComments is less/,
    ],
    ['for a tenant that is none', 'rumor: [{ tenants: ["a b"] }]', /^routes\.rumor\.0\.tenants\.0: a tenant is/],
    ['from a topic that there is not', 'rumor: [{ topics: [comments] }]', /^routes\.rumor\.0\.topics\.0: /],
    ['with a share over 1', 'rumor: [{ sample: 1.5 }]', /^routes\.rumor\.0\.sample: /],
    ['with a word that means nothing', 'rumor: [{ language: [en] }]', /^routes\.rumor\.0: .*language/],
  ])('%s are faults', (_, text, fault) => {
    expect(faultsOf({}, overlay(`routes:\n  ${text}\n`))).toEqual([expect.stringMatching(fault)])
  })

  test('are read as they stand', () => {
    const file = overlay('routes:\n  safety: [{ media: with }, { sample: 0.1, langs: [en, und] }]\n')
    expect(loadSettings({}, file).routes).toEqual({
      safety: [{ media: 'with' }, { sample: 0.1, langs: ['en', 'und'] }],
    })
  })
})

describe('faults', () => {
  test('a tombstone that dies before the thread is one', () => {
    expect(faultsOf({ GAVEL_THREADS_KEEP_TOMBSTONE: '1m' })).toEqual([
      expect.stringMatching(/^threads\.keepTombstone: must not be shorter than keepAfterFinal/),
    ])
  })

  test('are reported all at once, each with its path, in the order of the file', () => {
    const file = overlay('http:\n  port: 99999\nkafka:\n  compression: brotli\ncheckpoints:\n  counts: [30, 10]\n')
    expect(faultsOf({}, file).map((fault) => fault.split(':', 1)[0])).toEqual([
      'http.port',
      'kafka.compression',
      'checkpoints.counts',
    ])
  })

  test('of every source are reported together, and a variable’s under its name', () => {
    const file = overlay('redis:\n  url: http://host\nnonsense: true\nhttp:\n  prot: 1\n')
    const faults = faultsOf({ GAVEL_HTTP_PORT: 'eighty', GAVEL_HTPP_PORT: '1', KAFKA_BROKERS: 'host' }, file)
    expect(faults.join('\n')).toContain('GAVEL_HTPP_PORT: no setting has this name')
    expect(faults.join('\n')).toMatch(/^http\.port: .*\(set by GAVEL_HTTP_PORT\)$/m)
    expect(faults.join('\n')).toMatch(/^kafka\.brokers\.0: a broker is host:port/m)
    expect(faults.join('\n')).toMatch(/^redis\.url: /m)
    expect(faults.join('\n')).toMatch(/nonsense/)
    expect(faults.join('\n')).toMatch(/^http: .*prot/m)
    expect(faults).toHaveLength(6)
  })

  test('name a key that could be guessed: a mark of it stands in every verdict', () => {
    expect(faultsOf({ GAVEL_FENCES_KEY: 'fifteen letters' })).toEqual([
      expect.stringMatching(/fences\.key: at least 16 characters/),
    ])
    expect(loadSettings({ GAVEL_FENCES_KEY: 'sixteen letters!' }).fences.key).toBe('sixteen letters!')
  })

  test('are none for what Kubernetes sets beside a service called gavel, and one for a typo that only looks like it', () => {
    const pod = {
      GAVEL_SERVICE_HOST: '10.0.0.1',
      GAVEL_SERVICE_PORT: '9464',
      GAVEL_SERVICE_PORT_METRICS: '9464',
      GAVEL_PORT: 'tcp://10.0.0.1:9464',
      GAVEL_PORT_9464_TCP: 'tcp://10.0.0.1:9464',
      GAVEL_PORT_9464_TCP_PROTO: 'tcp',
      GAVEL_PORT_9464_TCP_PORT: '9464',
      GAVEL_PORT_9464_TCP_ADDR: '10.0.0.1',
      // A second service, called gavel-http: its port has the name of a setting.

      GAVEL_HTTP_SERVICE_HOST: '10.0.0.2',
      GAVEL_HTTP_PORT: 'tcp://10.0.0.2:80',
      GAVEL_HTTP_PORT_80_TCP: 'tcp://x',
    }
    expect(loadSettings(pod)).toEqual(loadSettings({}))
    for (const typo of ['GAVEL_SERVICE_HOTS', 'GAVEL_PORT_TCP', 'GAVEL_PORT_9464_HTTP', 'GAVEL_SERVICEHOST'])
      expect(faultsOf({ [typo]: '1' })).toEqual([`${typo}: no setting has this name`])
    expect(faultsOf({ GAVEL_PORT: '9464' })).toEqual(['GAVEL_PORT: no setting has this name'])
    expect(loadSettings({ GAVEL_HTTP_PORT: '1234' }).http.port).toBe(1234)
  })

  test('that are no more are named with what takes their place, in a file and as a variable', () => {
    const gone = [
      ['rumor', 'undisputed: alone', 'UNDISPUTED'],
      ['rumor', 'oneSided: debated', 'ONE_SIDED'],
      ['hate', 'unanimous: decided', 'UNANIMOUS'],
      ['safety', 'furtherRounds: straddling', 'FURTHER_ROUNDS'],
    ] as const
    for (const [protocol, setting, variable] of gone) {
      const file = overlay(`protocols:\n  ${protocol}:\n    ${setting}`)
      const [key] = setting.split(':')
      expect(faultsOf({}, file)).toEqual([
        `protocols.${protocol}: Unrecognized key: "${key}". Set "debateWhen" instead. (${file}, line 3)`,
      ])
      const prefix = `GAVEL_PROTOCOLS_${protocol.toUpperCase()}`
      expect(faultsOf({ [`${prefix}_${variable}`]: 'x' })).toEqual([
        `${prefix}_${variable}: no setting has this name. Set "${prefix}_DEBATE_WHEN" instead`,
      ])
    }
    const both = overlay('protocols: { rumor: { undisputed: alone, oneSided: alone } }')
    expect(
      faultsOf({}, both)
        .join()
        .match(/Set "debateWhen" instead/g),
    ).toHaveLength(1)
  })

  test('are none for a secret in a file; its line end does not count', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, ' a key with spaces \n')
    const { openai, redis } = loadSettings({ OPENAI_API_KEY_FILE: file, GAVEL_REDIS_PASSWORD_FILE: file })
    expect([openai.apiKey, redis.password]).toEqual([' a key with spaces ', ' a key with spaces '])
  })

  test('name an endpoint that is the default one, has two keys, or a key file that cannot be read', () => {
    const of = (endpoint: string) => faultsOf({}, overlay(`endpoints: { ${endpoint} }`)).join()
    expect(of('default: { baseUrl: "https://x.example/v1" }')).toContain('the default endpoint is set in openai')
    expect(of('a: { baseUrl: "https://x.example/v1", apiKey: k, apiKeyFile: f }')).toContain('endpoints.a.apiKeyFile')
    expect(of(`a: { baseUrl: "https://x.example/v1", apiKeyFile: ${join(folder, 'absent')} }`)).toContain('ENOENT')
    expect(of('a: { baseUrl: "https://x.example/v1", headers: { "a b": x } }')).toContain('endpoints.a.headers')
  })

  test('name a file of a secret that cannot be read, a setting that is given twice, and a file of no setting', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, 'hunter2-is-my-secret')
    expect(faultsOf({ OPENAI_API_KEY_FILE: join(folder, 'absent') })).toEqual([
      `OPENAI_API_KEY_FILE: ${join(folder, 'absent')} cannot be read (ENOENT)`,
    ])
    expect(faultsOf({ OPENAI_API_KEY: 'x', OPENAI_API_KEY_FILE: file })).toEqual([
      'OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set: leave one out',
    ])
    expect(faultsOf({ GAVEL_NONSENSE_FILE: file })).toEqual(['GAVEL_NONSENSE_FILE: no setting has this name'])
    writeFileSync(file, 'http://user:hunter2-is-my-secret@host')
    expect(faultsOf({ REDIS_URL_FILE: file }).join()).not.toContain('hunter2')
  })

  test('never repeat a secret that was set', () => {
    const secret = 'hunter2-is-my-secret'
    const text = faultsOf({
      REDIS_URL: `http://user:${secret}@host`,
      OPENAI_BASE_URL: `nonsense ${secret}`,
      OPENAI_API_KEY: secret,
      GAVEL_FENCES_KEY: secret,
    }).join('\n')
    expect(text).toContain('redis.url')
    expect(text).toContain('openai.baseUrl')
    expect(text).not.toContain(secret)
  })

  test('name an address of models that lacks http:// as such', () => {
    expect(faultsOf({ OPENAI_BASE_URL: '127.0.0.1:8000/v1' })).toEqual([
      'openai.baseUrl: is no address such as http://127.0.0.1:8000/v1 (set by OPENAI_BASE_URL)',
    ])
  })

  test.each([
    ['is not YAML', 'http: [1,\nkafka: }'],
    ['says one thing twice', 'drain: 1s\ndrain: 2s\n'],
    ['is a list', '- http\n'],
    ['is a word', 'http'],
  ])('name the file where it %s', (_, text) => {
    const file = overlay(text)
    const faults = faultsOf({ GAVEL_NONSENSE: '1' }, file)
    expect(faults.filter((fault) => fault.startsWith(`${file}: `)).length).toBeGreaterThan(0)
    expect(faults).toContain('GAVEL_NONSENSE: no setting has this name')
  })

  test('name a file that cannot be read', () => {
    const file = join(folder, 'absent.yaml')
    expect(faultsOf({}, file)).toEqual([`${file}: there is no such file`])
    expect(faultsOf({}, folder)).toEqual([`${folder}: cannot be read (EISDIR)`])
  })

  test('are none where the file is empty or holds comments alone', () => {
    expect(loadSettings({}, overlay(''))).toEqual(loadSettings({}))
    expect(loadSettings({}, overlay('# nothing yet\n'))).toEqual(loadSettings({}))
  })

  test('are found where a section was left empty', () => {
    expect(faultsOf({}, overlay('http:\n'))[0]).toMatch(/^http: /)
  })
})

describe('every setting can be set by a variable', () => {
  const text = readFileSync(join(PROJECT, 'config', 'gavel.yaml'), 'utf8')
  const variables = [...variablesOf(mappingOf(text, () => {}))]
  const defaults = loadSettings({})

  /** What a variable says for a value: lists with commas, mappings and lists of them as YAML. */
  const said = (value: unknown): string =>
    Array.isArray(value) && value.length > 0 && value.every((item) => typeof item !== 'object')
      ? value.join(', ')
      : typeof value === 'string'
        ? value
        : JSON.stringify(value)
  const tree: unknown = parseDocument(text).toJS()
  const written = (path: readonly string[]): unknown =>
    path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], tree)

  test('as it is shipped, and all of them together', () => {
    const shipped = variables.flatMap(([variable, { path }]) => {
      const value = written(path)
      return value === undefined || value === '' ? [] : [[variable, said(value)] as const]
    })
    expect(shipped.length).toBeGreaterThan(170)
    for (const [variable, value] of shipped) expect(loadSettings({ [variable]: value }), variable).toEqual(defaults)
    expect(loadSettings(Object.fromEntries(shipped))).toEqual(defaults)
  })

  test('as the kind of value that its schema says: nothing takes a number for a word', () => {
    for (const [variable] of variables) {
      let said = ''
      try {
        loadSettings({ [variable]: '5' })
      } catch (error) {
        said = (error as Error).message
      }
      expect(said, variable).not.toMatch(/expected (number|int)\b.*received string/)
    }
  })

  test.each([
    ['GAVEL_BUDGETS_TOTAL_USD', '50', 50],
    ['GAVEL_BUDGETS_TENANT_TOKENS', '1000000', 1_000_000],
    ['GAVEL_THREADS_MAX_PER_AUTHOR', 'null', null],
    ['GAVEL_THREADS_MAX_PER_AUTHOR', '7', 7],
    ['GAVEL_MODELS_LATENCY_TOLERANCE', 'null', null],
    ['GAVEL_KAFKA_CLIENT_ID', '7', '7'],
    ['GAVEL_REDIS_PASSWORD', 'null', 'null'],
    ['GAVEL_REDIS_PASSWORD', '*hunter2', '*hunter2'],
    ['GAVEL_CHECKPOINTS_COUNTS', '[]', []],
    ['GAVEL_LIBRARY_SHARED', 'one, two', ['one', 'two']],
    [
      'GAVEL_LIMITS_TENANTS',
      '{ a: { callsPerMinute: 5 }, __proto__: { inFlight: 1 } }',
      { a: { callsPerMinute: 5 }, ['__proto__']: { inFlight: 1 } },
    ],
    ['GAVEL_ROUTES', 'rumor: [{ minComments: 3 }]', { rumor: [{ minComments: 3 }] }],
    [
      'GAVEL_MODELS_PRICES',
      '{"m": {"prompt": 1, "cached": 0, "completion": 2}}',
      { m: { prompt: 1, cached: 0, completion: 2 } },
    ],
  ])('%s=%s', (variable, value, expected) => {
    const path = variablesOf(mappingOf(text, () => {})).get(variable)?.path ?? []
    const set = path.reduce<unknown>(
      (at, key) => (at as Record<string, unknown>)[key],
      loadSettings({ [variable]: value }),
    )
    if (typeof expected === 'object' && expected !== null && !Array.isArray(expected))
      expect(set).toMatchObject(expected)
    else expect(set).toEqual(expected)
  })

  test('a mapping beside what it holds, and what is more exact counts', () => {
    const { roles } = loadSettings({
      GAVEL_MODELS_ROLES_DEFAULT: 'exact',
      GAVEL_MODELS_ROLES: '{ default: [whole], judge: [whole] }',
    }).models
    expect([roles.default, roles.judge]).toEqual([['exact'], ['whole']])
  })
})

test.each([
  ['an alias of what it stands in', 'limits: &l { tenants: *l }'],
  ['aliases of aliases', 'limits: &l { tenants: { a: *l } }'],
  ['a list in itself', 'checkpoints: { counts: &c [1, *c] }'],
  ['an alias of nothing', 'openai: { apiKey: *hunter2 }'],
  ['a tag of nothing', 'openai: { apiKey: !hunter2 x }'],
  ['a directive', '%hunter2\nopenai: { apiKey: x }'],
  ['an escape of nothing', 'openai: { apiKey: "\\hunter2" }'],
  ['a quotation without end', 'openai: { apiKey: "hunter2 }'],
  ['a reserved character', 'openai: { apiKey: @hunter2 }'],
  ['a block', 'openai:\n  apiKey: |hunter2\n    x'],
  ['two scalars', 'openai:\n  apiKey: "x" hunter2'],
])('a file with %s is refused with its name, and nothing of it is repeated', (_, text) => {
  const file = overlay(text)
  const faults = faultsOf({}, file)
  expect(faults.length).toBeGreaterThan(0)
  expect(faults.join('\n')).not.toContain('hunter2')
  expect(faults.join('\n')).not.toContain('unexpected: RangeError')
})

test('a post of which more would be kept than a question holds is refused, in one line', () => {
  const fault = 'fences.maxChars: must not be less than threads.maxTextChars: all that is kept of a post is read'
  expect(faultsOf({ GAVEL_FENCES_MAX_CHARS: '9999' })).toEqual([expect.stringContaining(fault)])
  expect(faultsOf({ GAVEL_THREADS_MAX_TEXT_CHARS: '12001' })).toEqual([expect.stringContaining(fault)])
  expect(loadSettings({ GAVEL_FENCES_MAX_CHARS: '10000' }).fences.maxChars).toBe(10_000)
})

test('every setting has its comment: on it, above it, or one above its neighbours that names it', () => {
  const text = readFileSync(join(PROJECT, 'config', 'gavel.yaml'), 'utf8')
  const lines = text.split('\n')
  const commentAbove = (line: number) => {
    let from = line
    while (/^\s*#/.test(lines[from - 1] ?? '')) from--
    return lines.slice(from, line).join('\n')
  }
  const bare: string[] = []
  /** `inherited` is the comment above the section: it speaks for the section's only or first setting. */
  const look = (map: YAMLMap, path: readonly string[], inherited: string) => {
    let heard = inherited
    for (const [index, { key, value }] of map.items.entries()) {
      if (!isScalar(key)) throw new Error('a key that is no word')
      const name = String(key.value)
      const line = text.slice(0, key.range?.[0]).split('\n').length - 1
      const above = commentAbove(line)
      if (above !== '') heard = above
      if (isMap(value) && value.flow !== true) {
        look(value, [...path, name], above)
        continue
      }
      const named = heard.includes(name) || heard.includes(name.replace(/[A-Z]/g, '_$&').toUpperCase())
      const spoken = above !== '' || /\s#/.test(lines[line] ?? '') || (index === 0 && inherited !== '')
      if (!spoken && !named) bare.push([...path, name].join('.'))
    }
  }
  const { contents } = parseDocument(text)
  if (!isMap(contents)) throw new Error('gavel.yaml is no mapping')
  look(contents, [], '')
  expect(bare).toEqual([])
})
