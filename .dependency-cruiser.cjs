/**
 * Imports run one way: domain ← ports ← threads, gateway ← engine ← protocols, adapters, producers, consumers ← recovery ←
 * composition ← lab, kit, commands.
 */
const only = (from, may, comment) => ({
  name: `${from.replaceAll('/', '-')}-imports`,
  comment,
  severity: 'error',
  from: { path: `^${from}/` },
  to: { path: '^(src|consumers|producers|config)/', pathNot: [`^${from}/`, ...may.map((path) => `^${path}`)] },
})

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'A circle has no place to start reading.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    only('src/service/domain', [], 'Facts depend on nothing.'),
    only('src/service/ports', ['src/service/domain/'], 'Ports speak of facts only.'),
    only(
      'src/service/threads',
      ['src/service/domain/', 'src/service/ports/'],
      'Pure, so that every clock and order can be tried.',
    ),
    only('src/service/gateway', ['src/service/domain/', 'src/service/ports/'], 'Knows asks and models, and no engine.'),
    only(
      'src/service/library',
      ['src/service/domain/', 'src/service/ports/'],
      'What shelves promise holds over any storage.',
    ),
    only(
      'src/service/record',
      ['src/service/domain/', 'src/service/ports/'],
      'What the record makes of messages, and how it is searched, is the same over any storage.',
    ),
    only(
      'src/service/tracing',
      ['src/service/domain/', 'src/service/ports/'],
      'What a trace says of a case is the same over any collector.',
    ),
    only(
      'src/service/engine',
      ['src/service/domain/', 'src/service/ports/', 'src/service/threads/', 'src/service/gateway/'],
      'Names no protocol and no client library.',
    ),
    only(
      'src/service/scoring',
      ['src/service/domain/', 'src/service/ports/', 'src/service/gateway/', 'src/service/protocols/prompts\\.ts'],
      'One call a text, through the gateway: no case, no engine.',
    ),
    only(
      'src/client',
      ['src/service/domain/'],
      'Loaded by other programs, in browsers too: it knows types of the service alone, and no package.',
    ),
    only(
      'src/service/door',
      ['src/service/domain/', 'src/service/ports/', 'src/service/scoring/'],
      'A door is a function of requests over ports: it can be tried without a server, Kafka or Redis.',
    ),
    only(
      'src/service/console',
      ['src/service/domain/', 'src/service/ports/'],
      'Pages are functions of requests over ports, and name no protocol.',
    ),
    {
      name: 'hono-at-the-door',
      comment: 'One place knows the framework of routes, one the server.',
      severity: 'error',
      from: {
        path: '^(src|consumers|producers|config)/',
        pathNot: ['^src/service/door/', '^src/service/console/view\\.ts$', '^src/service/adapters/door-server\\.ts$'],
      },
      to: { path: 'node_modules/(hono|@hono)/' },
    },
    only(
      'src/service/curator',
      ['src/service/domain/', 'src/service/ports/', 'src/service/gateway/'],
      'Learns over any library, asks through the gateway and names no protocol: what there is to learn of a case its protocol says.',
    ),
    only(
      'src/service/protocols',
      ['src/service/domain/', 'src/service/engine/script\\.ts', 'config/(load|schema)\\.ts'],
      'Of the engine a protocol knows the form of a script; settings and prompt files are read where protocols are made.',
    ),
    only(
      'config',
      [
        ...[
          'src/service/domain/',
          'src/service/ports/',
          'src/service/engine/routes\\.ts',
          'src/service/protocols/registry\\.ts',
        ],
        'src/package-folder\\.js',
      ],
      'Settings are checked before anything is made of them; each protocol brings the check of its own.',
    ),
    {
      name: 'the-registry-names-the-protocols',
      comment: 'Whoever wants a protocol asks the registry, so that a fifth is one folder and one line.',
      severity: 'error',
      from: {
        path: '^(src|consumers|producers|config)/',
        pathNot: ['^src/service/protocols/all\\.ts$', '^src/service/protocols/[^/]+/', '^src/kit/'],
      },
      to: { path: '^src/service/protocols/[^/]+/' },
    },
    {
      name: 'all-protocols-stand-in-the-registry',
      comment: 'One list, read in one place.',
      severity: 'error',
      from: { pathNot: '^src/service/protocols/registry\\.ts$' },
      to: { path: '^src/service/protocols/all\\.ts$' },
    },
    only(
      'src/lab/evaluation',
      ['src/service/domain/', 'src/service/ports/'],
      'Files and data sets are read without a service.',
    ),
    only(
      'src/lab/calibration',
      ['src/service/domain/', 'src/lab/evaluation/'],
      'An algorithm over what is asked, and not how.',
    ),
    only(
      'src/lab/baselines',
      [
        'src/service/domain/',
        'src/service/engine/script',
        'src/service/protocols/(answer-fields|faults|kind|order|preset|prompts|short-hash)\\.ts',
      ],
      'Takes the place of any protocol, and names none.',
    ),
    {
      name: 'stack-and-understudy-know-no-service',
      comment: 'Servers and a stand-in for a model must not share the mistakes of what is tried against them.',
      severity: 'error',
      from: { path: '^src/kit/(stack|understudy)/', pathNot: '^src/kit/stack/command\\.ts$' },
      to: {
        path: '^(src|consumers|producers|config)/',
        pathNot: ['^src/kit/(stack|understudy)/', '^src/package-folder\\.js$'],
      },
    },
    {
      name: 'tools-are-beside-the-product',
      comment: 'Bench, demo, local servers and understudy are loaded only when they are asked for.',
      severity: 'error',
      from: { path: '^(src|consumers|producers|config)/', pathNot: '^src/kit/' },
      to: { path: '^src/kit/', dynamic: false },
    },
    {
      name: 'commands-are-the-surface',
      comment: 'The service is run by commands and knows none.',
      severity: 'error',
      from: {
        path: '^(src|consumers|producers|config)/',
        pathNot: ['^src/main\\.ts$', '^src/(commands|lab/commands|kit)/'],
      },
      to: { path: '^src/commands/' },
    },
    {
      name: 'main-starts-fast',
      comment: 'What a command needs is loaded when it runs: `--help` must not wait for every client library.',
      severity: 'error',
      from: { path: '^src/main\\.ts$' },
      to: {
        path: '^(src|consumers|producers|config)/',
        pathNot: [
          '^src/commands/(all|command|terminal)\\.ts$',
          '^src/service/domain/(errors|error-line)\\.ts$',
          '^src/(stop-requests\\.ts|package-folder\\.js)$',
        ],
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    only(
      'src/service/adapters',
      [
        'src/service/domain/',
        'src/service/ports/',
        'src/service/threads/',
        'src/service/library/',
        'src/service/record/',
      ],
      'An adapter knows its client library, the ports that it implements and the rules that hold over any storage.',
    ),
    only(
      'producers',
      ['src/service/domain/', 'src/service/ports/', 'src/service/adapters/kafka/'],
      'What goes out is ready when it comes here.',
    ),
    only(
      'consumers',
      [
        'src/service/domain/',
        'src/service/ports/',
        'src/service/threads/',
        'src/service/record/',
        'src/service/adapters/(kafka|redis)/',
        'producers/dead-letter\\.ts',
      ],
      'Messages are made durable here, and judged elsewhere.',
    ),
    only(
      'src/service/recovery',
      [
        ...['src/service/domain/', 'src/service/ports/', 'src/service/threads/', 'src/service/engine/'],
        ...['consumers/(intake|read-message)\\.ts', 'producers/dead-letter\\.ts'],
      ],
      'Takes messages as intake does, over ports: it can be tried without Kafka and Redis.',
    ),
    only(
      'src/service/inspection',
      ['src/service/domain/', 'src/service/ports/', 'src/service/engine/', 'consumers/(intake|read-message)\\.ts'],
      'Looks at a subject over ports, and prints nothing.',
    ),
    only(
      'src/service/operations',
      [
        'src/package-folder\\.js',
        ...[
          'src/service/domain/',
          'src/service/ports/',
          'src/service/engine/(deadline|generations|open|routes|script)\\.ts',
          'src/service/gateway/gateway\\.ts',
          'src/service/adapters/',
        ],
        ...['consumers/backpressure\\.ts', 'config/(load|models|schema|topics)\\.ts'],
      ],
      'What keeps a process running and says how it is works on whatever parts it is given.',
    ),
    {
      name: 'composition-is-asked-by-commands',
      comment: 'Parts are handed what they need; only who starts something wires it.',
      severity: 'error',
      from: {
        path: '^(src|consumers|producers|config)/',
        pathNot: ['^src/(service/composition|commands|lab|kit)/', '^src/main\\.ts$'],
      },
      to: { path: '^src/service/composition/' },
    },
    {
      name: 'composition-knows-no-command',
      comment: 'What is wired does not know who asked for it, nor any terminal.',
      severity: 'error',
      from: { path: '^src/service/composition/' },
      to: { path: '^src/(commands/|lab/|kit/|main\\.ts$)' },
    },
    {
      name: 'protocols-are-pure',
      comment: 'A protocol reads like its paper: no port, no adapter, no other protocol.',
      severity: 'error',
      from: { path: '^src/service/protocols/([^/]+)/' },
      to: {
        path: '^(src|consumers|producers|config)/',
        pathNot: [
          '^src/service/protocols/$1/',
          '^src/service/protocols/(answer-fields|chunks|prompts|preset|kind|faults|images-told|order|short-hash|unread|voices|yaml-file)\\.ts$',
          '^src/service/domain/',
          '^src/service/engine/script\\.ts$',
        ],
      },
    },
    {
      name: 'domain-knows-zod-and-the-distance-of-words-only',
      comment: 'Facts must be readable anywhere, and so must be which name was meant.',
      severity: 'error',
      from: { path: '^src/service/domain/' },
      to: { dependencyTypes: ['npm'], pathNot: 'node_modules/(zod|fastest-levenshtein)/' },
    },
    {
      name: 'client-libraries-in-adapters',
      comment: 'A client library is met in one place, so that it can be swapped or mended there.',
      severity: 'error',
      from: {
        pathNot: [
          '^src/service/adapters/',
          '^consumers/',
          '^producers/',
          '^src/commands/',
          '^src/lab/commands/',
          '^src/kit/',
        ],
      },
      to: {
        path: 'node_modules/(bullmq|ioredis|kafkajs|openai|pg|prom-client|pino|@lancedb|apache-arrow|@energetic-ai)/',
      },
    },
    {
      name: 'the-service-knows-neither-lab-nor-kit',
      comment:
        'What runs in production loads nothing of data sets, evaluations and local servers, types included. test/service-reach.test.ts begins at the program itself.',
      severity: 'error',
      from: { path: '^(src/service|consumers|producers|config)/' },
      to: { path: '^src/(lab|kit)/' },
    },
    {
      name: 'run-reaches-neither-lab-nor-kit',
      comment: 'Nor does the command that starts the service, by whatever way.',
      severity: 'error',
      from: { path: '^src/commands/run\\.ts$' },
      to: { path: '^src/(lab|kit)/', reachable: true },
    },
    {
      name: 'the-lab-knows-no-kit',
      comment: 'Researchers read files and ask models; stand-ins and local servers are for developers.',
      severity: 'error',
      from: { path: '^src/lab/' },
      to: { path: '^src/kit/' },
    },
    {
      name: 'nothing-imports-tests',
      comment: 'What ships does not know that it is tested.',
      severity: 'error',
      from: { path: '^(src|consumers|producers|config)/' },
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
