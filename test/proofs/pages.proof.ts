import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { cloned, shellIn } from '../clone/clone.ts'
import { commandsIn, PAGES, runBy } from '../clone/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'

const MINUTES = 60_000
const CURATOR = "cat > posts.jsonl <<'END'"
const LABELLED = 'text,label,perspective\n"What a stupid idea.",1,0.81\n"The bridge is closed.",0,0.03\n'

type Printed = { out: string; err: string }
type Step = {
  command: string
  /** What the reader puts in place of the page's ids, and less of what takes long. */
  with?: Readonly<Record<string, string>>
  code?: number
  prints: string | RegExp
}

/** The commands of the pages in docs, in a clone, on a local stack with the understudy. README and CONTRIBUTING have their own proof. */
describe('in a clean clone with a local stack', { timeout: 15 * MINUTES }, () => {
  const folder = join(ownFolder('clone'), 'gavel')
  const scripts = new Map(PAGES.flatMap(commandsIn).map(({ name, script }) => [name, script]))
  let shell: ReturnType<typeof shellIn>
  let stack: ReturnType<typeof shell.start>
  let ports: Record<string, string>

  const prepared = (text: string, changes: Readonly<Record<string, string>> = {}) => {
    // The proof `readme` runs npx, which takes longer than most commands.
    const own = text.replaceAll('npx gavel', 'gavel')
    const changed = Object.entries(changes).reduce((script, [from, to]) => script.replaceAll(from, () => to), own)
    return `set -a; . ./.env.local; set +a\n${changed}`
  }
  const run = async ({ command, with: changes, code = 0, prints }: Step): Promise<Printed> => {
    const began = performance.now()
    const ended = await shell.run([command], () => prepared(scripts.get(command) ?? command, changes))
    tell(`${command}: exit code ${ended.code} after ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    expect(ended.code, (ended.out + ended.err).slice(-3_000)).toBe(code)
    expect(ended.out + ended.err).toMatch(prints)
    return ended
  }
  const runAll = async (steps: readonly Step[]) => {
    for (const step of steps) await run(step)
  }
  /** Starts what goes on until it is stopped, and stops it after `use`. */
  const during = async (
    command: string,
    until: string | RegExp,
    use: (printed: () => string) => Promise<unknown> = async () => {},
    changes: Readonly<Record<string, string>> = {},
  ) => {
    const running = shell.start([command], (script) => prepared(script, changes))
    try {
      await running.until(until, 3 * MINUTES)
      await use(running.printed)
    } finally {
      await running.stop()
    }
  }
  const first = (printed: Printed): Record<string, string> => JSON.parse(printed.out.split('\n')[0] ?? '')

  beforeAll(async () => {
    expect(cloned(folder, 'linked'), 'this tree is no repository of Git').toBe(true)
    const names = ['GAVEL_HTTP_PORT', 'GAVEL_DOOR_PORT', 'GAVEL_CONSOLE_PORT']
    ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])))
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'gavel'), `#!/bin/sh\nexec node '${join(folder, 'src', 'launch.js')}' "$@"\n`, {
      mode: 0o755,
    })
    writeFileSync(join(folder, 'my-labels.csv'), 'comment,label\n"they go home now",OFFEN\n"nice weather",NOT\n')
    writeFileSync(join(folder, 'labelled.csv'), LABELLED)
    shell = shellIn(folder, { HOME: ownFolder('home'), ...ports, PATH: `${bin}:${process.env.PATH}` })
    stack = shell.start(['npx gavel stack --env .env.local'])
    await stack.until('Everything is up', 5 * MINUTES)
  }, 6 * MINUTES)
  afterAll(() => stack?.stop(), MINUTES)

  it('judges, follows, decides and reviews', async () => {
    await run({ command: 'npx gavel webhooks list', prints: '' })
    await during('npx gavel run --roles intake,judge,publish,record', 'service:started', async () => {
      const followed = during('npx gavel verdicts --follow --json | jq .label', /hate|rumor|safe/, undefined, {
        jq: 'jq --unbuffered',
      })
      await run({
        command: 'npx gavel produce config/demo/event.jsonl --speed 200',
        with: { 'speed 200': 'speed 500' },
        prints: '268 sent',
      })
      await followed
      await runAll([
        { command: 'npx gavel health', prints: '' },
        { command: 'npx gavel top --json | jq .stages', prints: 'rumor' },
      ])
      const post = { '3lbw2k4': 'calvera-p4', ' p1 ': ' calvera-p5 ' }
      await expect
        .poll(async () => (await shell.run(['npx gavel show calvera-p4'], prepared)).out, {
          timeout: MINUTES,
          interval: 500,
        })
        .toMatch(/(?:39 of 39|40 of 40) comments/)
      await runAll([
        { command: 'npx gavel show calvera-p4', prints: 'decided by consensus' },
        { command: 'npx gavel show calvera-p4 --transcript', prints: 'Round 1' },
        { command: 'npx gavel show calvera-p4 --record', prints: 'stands now' },
        { command: 'npx gavel show p1 --transcript', with: post, prints: 'calvera-p5' },
        { command: 'gavel show 3lbw2k4', with: post, prints: 'calvera-p4' },
        { command: 'gavel show 3lbw2k4 --transcript', with: post, prints: 'Round 1' },
        { command: 'gavel show 3lbw2k4 --offsets', with: post, prints: 'gavel.posts/' },
        { command: 'gavel show r17 --kind reply', prints: 'It never came' },
        { command: 'gavel show 3lbw2k4 --tenant acme', with: post, prints: 'of tenant acme' },
        { command: 'gavel show 3lbw2k4 --json | jq .standing', with: post, prints: /Judged: .*rumor~calvera-p4/ },
        {
          command: 'npx gavel verdicts --record --search "dam broken"',
          with: { 'dam broken': 'bridge' },
          prints: 'calvera',
        },
        {
          command:
            'npx gavel decide calvera-p4 --protocol rumor --label non-rumor --by ann --why "Confirmed by the city, ticket 88"',
          prints: 'stands.',
        },
        {
          command:
            'npx gavel decide 3lbw2k4 --protocol rumor --withdraw --by ben --why "Ticket 88 is about another bridge"',
          with: post,
          prints: 'Withdrawn',
        },
        {
          command:
            'npx gavel decide 3lbw2k4 --protocol rumor --label non-rumor --by ann --why "Confirmed by the city, ticket 88"',
          with: post,
          prints: 'stands.',
        },
        {
          command: 'npx gavel decide p1 --protocol rumor --label non-rumor --by ann --why "ticket 88"',
          with: post,
          prints: 'stands.',
        },
        { command: 'npx gavel review list --for ann', prints: 'items in all' },
      ])
      const item = async () =>
        /(\w+~[\w-]+~r\d+)/.exec(
          (await run({ command: 'npx gavel review reserve --by ann', prints: /~r\d/ })).out,
        )?.[1] ?? ''
      await run({
        command: 'npx gavel review release rumor~3lbw2k4~r2 --by ann',
        with: { 'rumor~3lbw2k4~r2': await item() },
        prints: '',
      })
      const reserved = await item()
      const [protocol = ''] = reserved.split('~')
      await run({
        command:
          'npx gavel review decide rumor~3lbw2k4~r2 --label non-rumor --by ann --why "Confirmed by the city, ticket 88"',
        with: { 'rumor~3lbw2k4~r2': reserved, 'non-rumor': protocol === 'safety' ? 'safe' : `non-${protocol}` },
        prints: 'stands.',
      })
      await run({ command: 'npx gavel review stats --protocol hate', prints: 'human verdict' })
      await run({ command: 'npx gavel review quality --since 7d', prints: 'person 1' })
      await runAll([
        { command: 'gavel cases list', prints: 'No open case' },
        { command: 'gavel cases list --state deferred --tenant acme', prints: 'No open case' },
        { command: 'npx gavel cases list --state deferred', prints: 'No open case' },
        { command: "gavel cases retry 'rumor~3lbw2k4~r1'", prints: 'not open' },
        {
          command: `gavel cases give-up 'rumor~3lbw2k4~r1' --why "the model is gone for good"`,
          code: 1,
          prints: 'No case was ended',
        },
        { command: 'npx gavel protocols pause safety', prints: 'safety' },
        { command: 'npx gavel dead-letters list --json', prints: '' },
        {
          command: 'npx gavel dead-letters list --reason future,invalid --since 2026-05-01',
          prints: 'no dead letters',
        },
        { command: 'npx gavel dead-letters replay --reason future --dry-run', prints: 'no dead letters' },
        { command: 'npx gavel dead-letters replay --reason future', prints: 'no dead letters' },
        { command: 'gavel judge-again --dry-run', prints: 'Nothing was changed' },
        { command: 'npx gavel judge-again --fault model --dry-run', prints: 'Nothing was changed' },
        {
          command: 'gavel judge-again --since 2026-01-31T12:00:00Z --fault model --rate 20',
          prints: 'No last verdict',
        },
        { command: 'gavel recover --dry-run', prints: 'Nothing was changed' },
        { command: 'npx gavel recover --dry-run', prints: 'Nothing was changed' },
        { command: 'gavel recover', prints: /restored|lost/ },
      ])
      await during('npx gavel console --as anna', /sign-in\/link\?t=/)
    })
    await during('npx gavel run --roles judge,publish', 'service:started')
    await during('OTEL_EXPORTER_OTLP_ENDPOINT=http://otel-collector:4318 gavel run', 'service:started')
    await run({ command: 'gavel doctor', prints: '0 broken' })
  })

  it('takes messages at the door, with a key', async () => {
    const keyed = async (command: string) => (await run({ command, prints: 'gavel_' })).out.trim()
    const key = await keyed('npx gavel keys create --tenant acme --scopes send,judge')
    await keyed('npx gavel keys create --tenant acme --scopes send')
    const own = { $KEY: key, '8420': ports.GAVEL_DOOR_PORT ?? '' }
    const [send = '', judge = '', score = ''] = [
      ['docs/door.md', '/v1/messages'],
      ['docs/door.md', '/v1/judge'],
      ['docs/leaving-perspective.md', 'comments:analyze'],
    ].map(([page = '', path = '']) => commandsIn(page).find(({ name }) => name.includes(path))?.name)
    await during('npx gavel serve', 'service:started', () =>
      run({ command: send, with: own, prints: '"acknowledged"' }),
    )
    await during('npx gavel run --roles door', 'service:started', () =>
      run({ command: score, with: own, prints: 'attributeScores' }),
    )
    const all = shell.start(['npx gavel run'], () => prepared('gavel run --roles intake,judge,publish,door'))
    try {
      await all.until('service:started', MINUTES)
      await run({ command: judge, with: own, prints: '"label"' })
    } finally {
      await all.stop()
    }
  })

  it('learns precedents, and takes them back', async () => {
    await run({ command: CURATOR, prints: '1 proposed' })
    const { id = '' } = first(
      await run({ command: 'gavel learn list --state waiting', with: { waiting: 'waiting --json' }, prints: '' }),
    )
    const approved = await run({
      command: 'gavel learn approve ID ID --by you',
      with: { 'ID ID': id },
      prints: '1 added',
    })
    const change = /rollback ([\w-]+)/.exec(approved.out + approved.err)?.[1] ?? ''
    await runAll([
      { command: 'npx gavel learn list --state waiting', prints: '' },
      { command: 'gavel learn show ID', with: { ID: id }, prints: 'cucumber' },
      { command: 'gavel learn show PRECEDENT', with: { PRECEDENT: id }, prints: 'by: bob' },
      { command: 'gavel learn history', prints: change },
      { command: 'gavel library touched ID', with: { ID: id }, prints: 'approved' },
      { command: 'gavel learn rollback CHANGE', with: { CHANGE: change }, prints: 'rolled back' },
      { command: 'gavel learn approve --all', prints: '1 added' },
      { command: 'gavel library take-back ID --by you', with: { ID: id }, prints: 'taken off' },
      { command: 'gavel learn reject ID', with: { ID: id }, prints: 'rejected' },
      { command: 'gavel learn --topic', prints: '0 read' },
      { command: 'npx gavel learn --topic', prints: '0 read' },
    ])
    await runAll([
      {
        command: 'npx gavel library import my-labels.csv --shelf kodoli --text-field comment --label-field label',
        prints: '2 added',
      },
      { command: 'npx gavel library search "they all should go home" --shelf kodoli -k 5', prints: 'they go home now' },
      { command: 'npx gavel library import config/demo/shelves/kold.jsonl --shelf kold', prints: 'added' },
      { command: 'npx gavel library search "drive them out" --shelf kold', prints: /0\.\d+/ },
      { command: 'npx gavel library touched 3f1c9a0b2d4e6f80 --json', code: 1, prints: '3f1c9a0b2d4e6f80' },
    ])
  })

  it('judges, scores, evaluates and calibrates without servers', async () => {
    await runAll([
      { command: 'npx gavel judge config/demo/event.jsonl', prints: 'verdicts' },
      {
        command: 'npx gavel judge config/demo/event.jsonl --protocol rumor --json --out .gavel/event > verdicts.jsonl',
        prints: 'verdicts',
      },
      { command: 'cat labelled.csv', prints: 'perspective' },
      { command: 'npx gavel scores labelled.csv --old-field perspective', prints: '0.05' },
      {
        command: 'npx gavel scores labelled.csv --old-field perspective --at 0.8,0.7 --out .gavel/scores',
        prints: '0.05',
      },
      {
        command: 'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --out .gavel/eval-rumor',
        prints: 'self-consistency',
      },
      {
        command:
          'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --replay .gavel/eval-rumor --against .gavel/eval-rumor/report.json',
        prints: /all .* 0\.0 /,
      },
      {
        command:
          'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --replay .gavel/eval-rumor --report .gavel/eval-rumor --debates 5',
        prints: 'self-consistency',
      },
      {
        command: 'npx gavel calibrate --aspect relevance --ratings config/demo/ratings.jsonl',
        prints: 'Nothing was asked',
      },
      {
        command:
          'npx gavel calibrate --aspect relevance --ratings config/demo/ratings.jsonl --out .gavel/relevance --yes',
        prints: 'nothing is written',
      },
      { command: 'npx gavel capacity --posts-per-second 5 --latency 2s', prints: 'judge: ' },
      {
        command: 'npx gavel capacity --posts-per-second 5 --comments-per-post 20 --latency 2s',
        prints: 'judge: 5 replicas',
      },
      { command: 'npx gavel bench --prompts', prints: '"protocol":"hate"' },
      { command: 'source <(gavel completion bash)', prints: '' },
    ])
    await during('gavel stack --dialect vllm', 'Everything is up', undefined, { 'stack ': 'stack --kafka memory ' })
    await during('npx gavel stack --kafka memory --latency 500 --fail-rate 0.3', 'Everything is up')
  })

  it('measures, with less of everything', { timeout: 30 * MINUTES }, async () => {
    await runAll([
      {
        command:
          "gavel bench --gateway --rate 200 --seconds 20 | jq '{plain: .plain.overheadMs, gateway: .gateway.overheadMs}'",
        with: { 'seconds 20': 'seconds 5' },
        prints: /"gateway": \{/,
      },
      {
        command: "gavel bench --gateway --faults --seconds 10 | jq '.rows[] | select(.share == 0.05) | {fault, ratio}'",
        with: { 'seconds 10': 'seconds 2' },
        prints: '"ratio": 0.',
      },
      {
        command: "gavel bench --fail-rate 0.3 --subjects 100 | jq '{lost, duplicates, calls, tokens, orphans}'",
        with: { 'subjects 100': 'subjects 10' },
        prints: '"lost": 0',
      },
      { command: 'gavel bench --savings', prints: /"none"/ },
      { command: 'gavel bench --recovery --kills 5', with: { 'kills 5': 'kills 1' }, prints: /"kills"|askedAgain/ },
      { command: 'gavel bench --soak --minutes 10', with: { 'minutes 10': 'minutes 1' }, prints: 'verdicts' },
      {
        command: 'gavel bench --latencies 3000,10000 --slots 256',
        with: { '3000,10000 --slots 256': '500 --slots 32' },
        prints: /"latencyMs": ?500/,
      },
      {
        command: 'gavel bench --idle --processes 3 --seconds 30',
        with: { 'processes 3 --seconds 30': 'processes 1 --seconds 10' },
        prints: '"cpu"',
      },
      { command: 'gavel bench --start', prints: 'firstCall' },
      { command: 'gavel bench --door --flood 100000', with: { 'flood 100000': 'flood 2000' }, prints: 'messages' },
      {
        command: 'gavel bench --waiting --slots 64',
        with: { 'slots 64': 'slots 64 --backlog 500 --latency 200 --seconds 5' },
        prints: 'behindMs',
      },
      ...['npx gavel bench --json > bench.json', BENCH].map((command) => ({
        command,
        with: { '--json': '--json --flood 2000 --verdicts 50 --half-load 5 --slots 32 --latency 100' },
        prints: command === BENCH ? /"share": \d/ : '',
      })),
    ])
  })

  it('and none that is to be run here was left out', () => {
    const own = runBy('proof: pages')
    expect(own.filter((command) => !shell.tried.has(command))).toEqual([])
  })
})

const BENCH =
  "gavel bench --json | jq '{share: (.verdictsPerSecond / .baselinePerSecond), cpuMsPerVerdict, overheadMs, parts}'"
