/**
 * The rooms, from the ground floor up, each with the rooms that it may import and the reason. `test/counts/rooms.test.ts` holds the
 * table against the code: it has no circle, and no arrow that is not drawn. `npm run counts` prints it.
 */
const ROOMS = {
  contracts: [
    [],
    'Facts, and ports that speak of facts only. They depend on nothing, so that every room can share them.',
  ],
  platform: [
    ['contracts'],
    'The machine under the program: package folder, TLS, HTTP. It knows nothing of posts and verdicts.',
  ],
  models: [['contracts'], 'An ask, from the question to a readable answer. It knows no script, no case and no store.'],
  judging: [['contracts', 'models'], 'A case and a thread, over ports. It names no protocol and no client library.'],
  protocols: [['contracts', 'judging'], 'A protocol reads like its paper. Of judging it knows the form of a script.'],
  mapping: [['contracts'], "Records of a platform's own shape become messages. It is pure: it knows no Kafka."],
  config: [
    ['contracts', 'judging', 'mapping', 'platform', 'protocols'],
    'Settings are checked before anything is made of them. Each protocol brings the check of its own.',
  ],
  stream: [
    ['contracts', 'models', 'platform'],
    'Kafka, and the sender of webhooks. What a record means is decided elsewhere.',
  ],
  shelves: [
    ['contracts', 'models'],
    'Labelled examples and precedents, and what is learnt. It asks models, and names no protocol.',
  ],
  record: [['contracts', 'platform'], 'Verdicts for people, in SQLite or PostgreSQL. It is made of the topics alone.'],
  store: [
    ['contracts', 'judging', 'platform', 'shelves'],
    'State in Redis, and its twin in memory. Rules that both follow stand in judging; names of shelves in shelves.',
  ],
  producers: [['contracts', 'mapping', 'stream'], 'What goes out is ready when it comes here.'],
  consumers: [
    ['contracts', 'judging', 'mapping', 'producers', 'record', 'store', 'stream'],
    'Messages are made durable here, and judged elsewhere.',
  ],
  client: [['contracts'], 'Other programs load it, in browsers too: it knows types alone, and no package.'],
  door: [
    ['contracts', 'models', 'platform', 'protocols'],
    'The HTTP door is a function of requests over ports. It scores single texts with a model, without a case.',
  ],
  console: [['contracts', 'platform'], 'Pages are functions of requests over ports, and name no protocol.'],
  recovery: [
    ['consumers', 'contracts', 'judging', 'producers'],
    'Takes messages as intake does, over ports: it can be tried without Kafka and Redis.',
  ],
  operations: [
    ['config', 'consumers', 'contracts', 'judging', 'models', 'platform', 'store', 'stream'],
    'What keeps a process running, and reports how it is: loops, health, metrics, log, traces.',
  ],
  'data-files': [['contracts'], 'Files and public data sets are read without a service.'],
  cli: [['config', 'contracts', 'data-files', 'protocols'], 'What all commands share: options, terminal, tables.'],
  app: [
    [
      'cli',
      'config',
      'console',
      'consumers',
      'contracts',
      'data-files',
      'door',
      'judging',
      'mapping',
      'models',
      'operations',
      'platform',
      'producers',
      'protocols',
      'record',
      'recovery',
      'shelves',
      'store',
      'stream',
    ],
    'The one composition, and the commands that start it. Parts are given what they need; only who starts something wires it.',
  ],
  lab: [
    [
      'app',
      'cli',
      'config',
      'console',
      'contracts',
      'data-files',
      'door',
      'judging',
      'models',
      'platform',
      'protocols',
      'record',
      'shelves',
    ],
    'Evaluation, baselines, calibration. It draws debates with the console’s parts. Stand-ins and local servers are for developers, not for researchers.',
  ],
  kit: [
    [
      'app',
      'cli',
      'config',
      'contracts',
      'data-files',
      'door',
      'judging',
      'models',
      'operations',
      'platform',
      'producers',
      'protocols',
      'shelves',
      'store',
      'stream',
    ],
    'Local servers, understudy, bench and demo. Nothing that runs in production loads them.',
  ],
}

const TOPS = ['consumers', 'producers', 'config']
const folderOf = (room) => (TOPS.includes(room) ? room : `src/${room}`)
const OURS = '^(src|consumers|producers|config)/'

const walls = Object.entries(ROOMS).map(([room, [may, comment]]) => ({
  name: `${room}-imports`,
  comment,
  severity: 'error',
  from: { path: `^${folderOf(room)}/` },
  to: { path: OURS, pathNot: [room, ...may].map((one) => `^${folderOf(one)}/`) },
}))

/** Within a room: folders that may import less than their room may. */
const within = (from, may, comment) => ({
  name: `${from.replaceAll('/', '-')}-imports`,
  comment,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: OURS, pathNot: [from, ...may].map((path) => `^src/${path}`) },
})

/** A client library is met in the room that owns its port, so that it can be swapped or mended there. */
const LIBRARIES = {
  kafkajs: ['src/stream', 'consumers', 'producers'],
  bullmq: ['src/store'],
  ioredis: ['src/store'],
  openai: ['src/models/openai', 'src/shelves/embedders'],
  ws: ['producers/jetstream'],
  pg: ['src/record/postgres'],
  'prom-client': ['src/operations/metrics'],
  pino: ['src/operations'],
  '@silvia-odwyer': ['src/models/images'],
  protobufjs: ['src/mapping'],
  jsonata: ['src/mapping'],
  re2js: ['src/models/vetoes', 'src/mapping'],
  '@lancedb': ['src/shelves/lancedb'],
  'apache-arrow': ['src/shelves/lancedb'],
  '@energetic-ai': ['src/shelves/embedders'],
}

const libraries = Object.entries(LIBRARIES).map(([library, rooms]) => ({
  name: `${library.replace('@', '')}-has-one-room`,
  comment: 'A client library is met in the room that owns its port. Composition, commands and the kit only start it.',
  severity: 'error',
  from: { path: OURS, pathNot: [...rooms.map((room) => `^${room}/`), '^src/(app|lab|kit)/'] },
  to: { path: `node_modules/${library}/` },
}))

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'A circle has no place to start reading.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...walls,
    within('contracts/facts', [], 'Facts depend on nothing.'),
    within('judging/threads', ['contracts/'], 'Pure, so that every clock and order can be tried.'),
    within(
      'operations/tracing',
      ['contracts/', 'operations/'],
      'What a trace tells of a case is the same over any collector.',
    ),
    {
      name: 'composition-knows-no-command',
      comment: 'What is wired does not know who asked for it, nor any terminal.',
      severity: 'error',
      from: { path: '^src/app/composition/' },
      to: { path: '^src/(app/(commands|embedded)|cli|lab|kit)/' },
    },
    within(
      'lab/baselines',
      [
        'contracts/',
        'judging/engine/script',
        'protocols/(answer-fields|clips|faults|kind|order|posted-on|preset|prompts|short-hash)\\.ts',
      ],
      'A baseline takes the place of any protocol, and names none.',
    ),
    within(
      'lab/calibration',
      ['contracts/', 'lab/evaluation/', 'data-files/'],
      'An algorithm over what is asked, and not how.',
    ),
    within(
      'lab/lane',
      ['contracts/', 'lab/evaluation/', 'data-files/', 'protocols/(calibration-map|lane-file|same-words)\\.ts'],
      'A promise is arithmetic over what people and a decider said.',
    ),
    {
      name: 'protocols-know-the-form-of-a-script',
      comment: 'Of judging a protocol knows the form of a script, and no port.',
      severity: 'error',
      from: { path: '^src/protocols/' },
      to: { path: '^src/(judging|contracts/ports)/', pathNot: '^src/judging/engine/script\\.ts$' },
    },
    {
      name: 'protocols-know-no-sibling',
      comment: 'A protocol reads like its paper: no other protocol stands in it.',
      severity: 'error',
      from: { path: '^src/protocols/([^/]+)/' },
      to: { path: '^src/protocols/', pathNot: ['^src/protocols/$1/', '^src/protocols/[^/]+\\.ts$'] },
    },
    {
      name: 'the-registry-names-the-protocols',
      comment: 'Whoever wants a protocol asks the registry, so that a fifth is one folder and one line.',
      severity: 'error',
      from: { path: OURS, pathNot: ['^src/protocols/all\\.ts$', '^src/protocols/[^/]+/', '^src/kit/'] },
      to: { path: '^src/protocols/[^/]+/' },
    },
    {
      name: 'all-protocols-stand-in-the-registry',
      comment: 'One list, read in one place.',
      severity: 'error',
      from: { pathNot: '^src/protocols/registry\\.ts$' },
      to: { path: '^src/protocols/all\\.ts$' },
    },
    {
      name: 'hono-at-the-door',
      comment: 'One place knows the framework of routes, one the server.',
      severity: 'error',
      from: { path: OURS, pathNot: ['^src/door/', '^src/console/view\\.ts$'] },
      to: { path: 'node_modules/(hono|@hono)/' },
    },
    {
      name: 'facts-know-zod-and-the-distance-of-words-only',
      comment: 'Facts must be readable anywhere, and so must be which name was meant.',
      severity: 'error',
      from: { path: '^src/contracts/facts/' },
      to: { dependencyTypes: ['npm'], pathNot: 'node_modules/(zod|fastest-levenshtein)/' },
    },
    ...libraries,
    {
      name: 'main-starts-fast',
      comment: 'What a command needs is loaded when it runs: `--help` must not wait for every client library.',
      severity: 'error',
      from: { path: '^src/(main|cli/command-line)\\.ts$' },
      to: {
        path: OURS,
        pathNot: [
          '^src/commands\\.ts$',
          '^src/cli/(command|command-line|terminal)\\.ts$',
          '^src/contracts/facts/(errors|error-line)\\.ts$',
          '^src/platform/(stop-requests\\.ts|package-folder\\.js)$',
        ],
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'tools-are-beside-the-product',
      comment: 'Bench, demo, local servers and understudy are loaded only when they are asked for.',
      severity: 'error',
      from: { path: OURS, pathNot: '^src/kit/' },
      to: { path: '^src/kit/', dynamic: false },
    },
    {
      name: 'run-reaches-neither-lab-nor-kit',
      comment: 'Nor does the command that starts the service, by whatever way.',
      severity: 'error',
      from: { path: '^src/app/commands/run\\.ts$' },
      to: { path: '^src/(lab|kit)/', reachable: true },
    },
    {
      name: 'stack-and-understudy-know-no-service',
      comment: 'Servers and a stand-in for a model must not share the mistakes of what is tried against them.',
      severity: 'error',
      from: { path: '^src/kit/(stack|understudy)/', pathNot: '^src/kit/stack/command\\.ts$' },
      to: { path: OURS, pathNot: ['^src/kit/(stack|understudy)/', '^src/platform/package-folder\\.js$'] },
    },
    {
      name: 'nothing-imports-tests',
      comment: 'What ships does not know that it is tested.',
      severity: 'error',
      from: { path: OURS },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
