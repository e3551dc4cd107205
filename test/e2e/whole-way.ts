import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { auditEntry } from '../../src/contracts/facts/audit.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import { shadowVerdict } from '../../src/contracts/facts/shadow-verdict.ts'
import { isOfVariant } from '../../src/contracts/facts/variant-draw.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { WhatIfReport } from '../../src/contracts/facts/what-if-report.ts'
import type { CallRecord } from '../../src/kit/understudy/call-log.ts'
import { type Random, seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { repeats } from '../support/ledger.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'

/** How much a run of the whole way judges. */
export interface WayLength {
  /** Cases of each of two protocols that are recorded before. */
  readonly cases: number
  /** Of those of rumor so many are threads in their third revision. */
  readonly threads: number
  /** Posts while the variant judges some, all, and none. */
  readonly posts: number
  /** Kills of judges while cases are recorded, of each what-if, and of judges once more while the variant judges. */
  readonly kills: { readonly recorded: number; readonly whatIf: number; readonly between: number }
}

const KEY = 'a key of the operator’s own'
/** The first is forbidden by the new policy alone. No two posts have the same words, and so no question of another's is known. */
const TEXTS = [
  (id: string) => `The ferry number ${id} leaves from the old quay.`,
  (id: string) => `Damn these idiots, number ${id}.`,
  (id: string) => `All immigrants are idiots, says number ${id}.`,
  (id: string) => `These immigrants are all lazy, says neighbour ${id}.`,
  (id: string) => `They are vermin and should leave our street ${id}.`,
]
/** Half of the posts are the tenant's that the new policy is for: of others no question changes. */
const ACME = 'acme'
const tenantOf = (nth: number) => (nth % 2 === 0 ? ACME : 'default')
const kindOf = (nth: number) => Math.floor(nth / 2) % TEXTS.length
const numberIn = (id: string) => Number(/\d+$/.exec(id)?.[0])
/** What an answer may take to be on record after it was given, in ms: a kill in this time loses it. */
const NOTED_MS = 1_500
const SHARE = { shadow: 0.1, ramp: 0.3 }
const MAIN = join(PROJECT, 'src', 'main.ts')

/** A service with a record, whose cases were judged under the old policy through kills; the ways of all seeds go on from there. */
export async function recordedService(
  stack: Servers,
  { cases, threads, kills: { recorded: kills } }: WayLength,
  { random, store = {} }: { readonly random: Random; readonly store?: Record<string, string> },
) {
  const folder = ownFolder('whole-way')
  const environment = environmentOn(stack, {
    ...protocolsOn('hate', 'rumor'),
    GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
    GAVEL_FENCES_KEY: KEY,
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_CHECKPOINTS_COUNTS: '3,7',
    GAVEL_CHECKPOINTS_REOPEN: 'true',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
    GAVEL_PROTOCOLS_HATE_CONTROL_SHARE: '0',
    GAVEL_PROTOCOLS_HATE_ORDER: 'fixed',
    ...store,
  })
  const config = join(folder, 'gavel.yaml')
  writeFileSync(config, '# The operator’s own words stay.\nprotocols: {}\n')
  const killedAt: number[] = []
  let service: Service | null = null
  const producer = clientOf(environment).producer()
  await producer.connect()
  const topics = topicsOf(settingsOf(environment))
  const stage = {
    folder,
    environment,
    config,
    killedAt,
    /** The newest call, and those after one. */
    lastCall: () => stack.understudy?.calls().at(-1)?.seq ?? 0,
    callsAfter: (last: number): CallRecord[] => (stack.understudy?.calls() ?? []).filter(({ seq }) => seq > last),
    send: (values: readonly { readonly id: string; readonly postId?: string }[]) =>
      producer.send({
        topic: values[0]?.postId === undefined ? topics.posts : topics.comments,
        messages: values.map((value) => ({ key: value.postId ?? value.id, value: JSON.stringify(value) })),
      }),
    /** A judge that runs is killed: what comes reads the settings as they are now. */
    async judges(): Promise<Service> {
      if (service !== null) killedAt.push(Date.now())
      await service?.kill('SIGKILL')
      service = await startService(environment, 'intake,judge,publish,record', PROJECT, ['--config', config])
      return service
    },
    async close() {
      await service?.kill('SIGKILL')
      await producer.disconnect()
    },
  }
  const before = stage.lastCall()
  await stage.judges()
  const begun = Date.now() - 3_600_000
  const at = (ms: number) => new Date(begun + ms).toISOString()
  await stage.send(postsOf('p', cases).map((post, nth) => ({ ...post, createdAt: at(nth) })))
  for (let kill = 1; kill <= kills; kill++) {
    await eventually(async () => (await judged(stage, 'hate')).size > (cases * kill) / (kills + 1), 600_000)
    await sleep(300 * random.unit())
    await stage.judges()
  }
  await eventually(async () => (await judged(stage, 'hate')).size === cases, 900_000)
  await eventually(async () => (await judged(stage, 'rumor')).size >= cases, 900_000)
  for (const from of [0, 4]) {
    const known = (await judged(stage, 'rumor')).size
    await stage.send(
      Array.from({ length: threads }, (_, thread) =>
        commentsOf(thread, from).map((one, n) => ({ ...one, createdAt: at(400_000 + from + n) })),
      ).flat(),
    )
    await eventually(async () => (await judged(stage, 'rumor')).size >= known + threads, 300_000)
  }
  const transcripts = new Set(
    (await recordsOf(environment, 'transcripts')).map((json) => (JSON.parse(json) as { verdictId: string }).verdictId),
  )
  await eventually(async () => (await recorded(environment)) >= transcripts.size, 300_000)
  return {
    ...stage,
    cases,
    threads,
    until: new Date().toISOString(),
    live: new Set(questionsOf(stage.callsAfter(before))),
  }
}

export type RecordedService = Awaited<ReturnType<typeof recordedService>>
type Stage = Pick<RecordedService, 'environment'>

function postsOf(name: string, count: number) {
  return Array.from({ length: count }, (_, nth) => ({
    id: `${name}${nth}`,
    text: TEXTS[kindOf(nth)]?.(`${name}${nth}`),
    tenant: tenantOf(nth),
  }))
}

/** Of the nth thread that is of another tenant than the policy's. */
function commentsOf(thread: number, from: number) {
  const nth = 2 * thread + 1
  return Array.from({ length: 4 }, (_, n) => ({
    id: `c${thread}-${from + n}`,
    postId: `p${nth}`,
    tenant: tenantOf(nth),
    author: `a${from + n}`,
    text: n % 2 === 0 ? `I saw it, it is ${from + n} true` : `No, that is false, number ${from + n}`,
  }))
}

/** The verdicts of a protocol on subjects so named, by their ids. */
async function judged({ environment }: Stage, protocol: string, name = 'p'): Promise<Map<string, Verdict>> {
  const own = (await verdictsOf(environment)).filter(
    (one) => one.protocol === protocol && one.subjectId.startsWith(name),
  )
  return new Map(own.map((one) => [one.id, one]))
}

async function recorded(environment: Record<string, string>): Promise<number> {
  const reader = await recordReaderOf(settingsOf(environment)).catch(() => null)
  try {
    return reader === null ? 0 : (await reader.size()).rows.transcripts
  } finally {
    await reader?.close()
  }
}

function questionsOf(calls: readonly CallRecord[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ question }) => question ?? []))
}

/** The command in a process of its own; killed by SIGKILL once `until` holds. Its code is null where it was. */
async function command(
  { folder, environment, killedAt }: Pick<RecordedService, 'folder' | 'environment' | 'killedAt'>,
  words: readonly string[],
  until?: () => Promise<boolean> | boolean,
): Promise<{ readonly code: number | null; readonly out: string; readonly said: string }> {
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', MAIN, ...words], {
    cwd: folder,
    env: bareEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, said] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'close')
  while (until !== undefined && child.exitCode === null && !(await until())) await sleep(20)
  if (until !== undefined && child.exitCode === null) {
    killedAt.push(Date.now())
    child.kill('SIGKILL')
  }
  await ended
  return { code: child.exitCode, out, said }
}

/** Calls whose question was asked before, though its answer was not lost by a kill. */
function askedTwice(calls: readonly CallRecord[], killedAt: readonly number[]): CallRecord[] {
  const wasCutOff = ({ at, endedAt }: CallRecord) =>
    killedAt.some((kill) => at <= kill + 50 && (endedAt ?? Number.POSITIVE_INFINITY) >= kill - NOTED_MS)
  return [...Map.groupBy(calls, ({ question }) => question).values()].flatMap(
    (same) => same.slice(1).filter((_, nth) => !wasCutOff(same[nth] as CallRecord)), // It has one less.
  )
}

/** One seed: write, shadow, what-if, ramp, live, back. `share`: of the subjects that the shadow judges. */
export async function wholeWay(
  service: RecordedService,
  seed: number,
  { posts, kills }: WayLength,
  share = SHARE,
): Promise<void> {
  const random = seededRandom(`way ${seed}`)
  const { environment, config, folder, cases, killedAt } = service
  const own = join(folder, `seed-${seed}`)
  mkdirSync(join(own, 'policies'), { recursive: true })
  // Written: one clause more, for one tenant.
  const shipped = readFileSync(join(PROJECT, 'config', 'policies', 'hate.md'), 'utf8')
  const written = shipped
    .replace('name: Hate speech, in plain words', `name: House rules\ntenant: ${ACME}`)
    .replace('# Allowed', '## H6 The old quay\nCovers:\n- the old quay\n\nExamples:\n- "old quay"\n\n# Allowed')
  const policy = join(own, 'policies', 'house.md')
  writeFileSync(policy, written)
  const variant = `stricter-${seed}`
  const switches = `{ policies: [house], policiesPath: ${JSON.stringify(join(own, 'policies'))} }`
  writeFileSync(join(own, 'stricter.yaml'), `protocols: { hate: ${switches} }\n`)
  const before = `# The operator’s own words stay.\nprotocols:\n  hate:   # with their spaces\n    variants:\n      ${variant}: { ramp: 0, ${switches.slice(2)}\n\n`
  writeFileSync(config, before)
  const isDrawn = (one: Pick<Verdict, 'tenant' | 'subjectId'>, of: number) =>
    isOfVariant(
      variant,
      'hate',
      { tenant: one.tenant, kind: 'post', postId: one.subjectId },
      { share: of, rank: samplingRanks(KEY) },
    )

  const labels = new Map<string, string | null>()
  /** One policy says one thing of one kind of text, wherever it is asked. */
  const agrees = (hash: string | undefined, id: string, label: string | null) => {
    const of = `${hash} ${kindOf(numberIn(id))}`
    expect(labels.get(of) ?? label, `${id} by ${hash}`).toBe(label)
    labels.set(of, label)
  }
  for (const one of (await judged(service, 'hate')).values()) agrees(one.policy?.hash, one.subjectId, one.label)

  const shadowed = await inTheShadow(service, { own, variant, share: share.shadow, random, isDrawn })
  for (const one of shadowed) agrees(one.policy?.hash, one.subjectId, one.label)
  const report = await whatIf(service, { own, random, kills: kills.whatIf })

  const by = ['--config', config, '--by', 'ann']
  const steps = [
    { words: ['variant', 'ramp', variant, `${share.ramp * 100}%`, ...by], part: share.ramp, name: `r${seed}-` },
    { words: ['variant', 'live', variant, ...by], part: 1, name: `l${seed}-` },
    { words: ['variant', 'back', variant, ...by], part: 0, name: `b${seed}-` },
  ]
  const from = service.lastCall()
  for (const { words, part, name } of steps) {
    const [was, end] = [readFileSync(config, 'utf8'), Date.now() + 300 + 1_500 * random.unit()]
    const cut = await command(service, words, () => Date.now() > end)
    if (cut.code === null)
      expect([was, was.replace(/ramp: [\d.]+/, `ramp: ${part}`)]).toContain(readFileSync(config, 'utf8'))
    const { code, said } = await command(service, words)
    expect(code, said).toBe(0)
    expect(readFileSync(config, 'utf8')).toBe(was.replace(/ramp: [\d.]+/, `ramp: ${part}`))
    await service.judges()
    await service.send(
      postsOf(name, posts).map((post) => ({ ...post, createdAt: new Date(Date.now() - 60_000).toISOString() })),
    )
    for (let kill = 0; kill < kills.between; kill++) {
      const most = posts * random.unit()
      await eventually(async () => (await judged(service, 'hate', name)).size >= most, 60_000)
      await service.judges()
    }
    await eventually(async () => (await judged(service, 'hate', name)).size === posts, 120_000)
    for (const one of (await judged(service, 'hate', name)).values()) {
      const isNew = isDrawn(one, part)
      expect([one.revision, one.variant, one.policy?.name], one.id).toEqual([
        1,
        isNew ? variant : undefined,
        isNew && one.tenant === ACME ? 'House rules' : 'Hate speech, in plain words',
      ])
      agrees(one.policy?.hash, one.subjectId, one.label)
      if (part === 0) expect(one.versions).toEqual((await judged(service, 'hate')).values().next().value?.versions)
    }
  }
  for (const question of questionsOf(service.callsAfter(from))) service.live.add(question)
  expect(readFileSync(config, 'utf8'), 'the bytes of before').toBe(before)
  expect(readFileSync(policy, 'utf8')).toBe(written)
  expect(repeats(await recordsOf(environment, 'verdicts')).filter(({ identical }) => !identical)).toEqual([])
  const audited = (await recordsOf(environment, 'audit')).map((json) => auditEntry.parse(JSON.parse(json)))
  const changes = audited.flatMap(({ by: who, page }) => (page.includes(`/${variant}/`) ? [`${who} ${page}`] : []))
  expect([...new Set(changes)]).toEqual([share.ramp, 1, 0].map((part) => `ann /variant/hate/${variant}/${part}`))

  const [old, now] = [...new Set([...labels.keys()].map((of) => of.slice(0, of.indexOf(' '))))]
  const flips = postsOf('p', cases).filter(
    ({ tenant }, nth) => tenant === ACME && labels.get(`${old} ${kindOf(nth)}`) !== labels.get(`${now} ${kindOf(nth)}`),
  ).length
  expect(report.flips.all.hits).toBe(flips)
  expect(flips, 'the new policy changes something').toBeGreaterThan(0)
  tell(
    `seed ${seed}: ${shadowed.length} in the shadow, ${report.cases.replayed} replayed, ${flips} flips, ${killedAt.length} kills`,
  )
}

/** Judges a share of what was recorded in the shadow, through a kill of its command and of the judges. */
async function inTheShadow(
  service: RecordedService,
  {
    own,
    variant,
    share,
    random,
    isDrawn,
  }: {
    readonly own: string
    readonly variant: string
    readonly share: number
    readonly random: Random
    readonly isDrawn: (one: Verdict, share: number) => boolean
  },
) {
  const { environment, killedAt } = service
  const from = service.lastCall()
  const said = async () => {
    const all = (await recordsOf(environment, 'shadowVerdicts')).map((json) => shadowVerdict.parse(JSON.parse(json)))
    return [...new Map(all.filter((one) => one.variant === variant).map((one) => [one.of, one])).values()]
  }
  const drawn = [...(await judged(service, 'hate', '')).values()].filter((one) => isDrawn(one, share))
  const words = ['variant', 'shadow', variant, '--protocol', 'hate', '--settings', join(own, 'stricter.yaml')]
  const options = ['--share', `${100 * share}%`, '--budget', '100', '--at-once', '8', '--behind', '1d']
  const some = drawn.length * random.unit()
  await command(service, [...words, ...options], async () => (await said()).length >= some)
  const judges = service.judges()
  await command(service, [...words, ...options], async () => (await said()).length >= drawn.length)
  await judges
  const made = await said()
  expect(made.map(({ of }) => of).sort()).toEqual(drawn.map(({ id }) => id).sort())
  const live = new Map(drawn.map((one) => [one.id, one]))
  for (const { tenant, policy, asked, of } of made) {
    const isSame = policy?.hash === live.get(of)?.policy?.hash
    expect([policy?.name, asked?.anew === 0, asked?.known === 0], of).toEqual([
      tenant === ACME ? 'House rules' : 'Hate speech, in plain words',
      isSame,
      !isSame,
    ])
  }
  const calls = service.callsAfter(from)
  expect(
    calls.filter(({ question }) => service.live.has(question ?? '')),
    'asks no unchanged question',
  ).toEqual([])
  expect(askedTwice(calls, killedAt)).toEqual([])
  return made
}

/** What the policy, and another prompt of rumor's judge, would have changed. */
async function whatIf(
  service: RecordedService,
  { own, random, kills }: { readonly own: string; readonly random: Random; readonly kills: number },
): Promise<WhatIfReport> {
  const { cases, until, killedAt } = service
  mkdirSync(join(own, 'prompts'))
  const judge = readFileSync(join(PROJECT, 'config', 'prompts', 'rumor', 'judge.md'), 'utf8')
  writeFileSync(join(own, 'prompts', 'judge.md'), `${judge}\nThink twice.\n`)
  const ways = [
    { protocol: 'rumor', changed: ['--prompts', join(own, 'prompts')], asks: /^judge$/ },
    { protocol: 'hate', changed: ['--policy', join(own, 'policies')], asks: /./ },
  ]
  let report: WhatIfReport | null = null
  for (const { protocol, changed, asks } of ways) {
    const from = service.lastCall()
    const out = join(own, protocol)
    const words = ['what-if', '--json', '--protocol', protocol, ...changed, '--since', '1d', '--until', until]
    const more = ['--sample', '1000000', '--out', out]
    const answers = () =>
      existsSync(join(out, 'answers.jsonl')) ? readFileSync(join(out, 'answers.jsonl'), 'utf8').split('\n').length : 0
    for (let kill = 1, most = 0; kill <= kills; kill++) {
      most += (cases * random.unit()) / kills
      await command(service, [...words, ...more], () => answers() > most)
    }
    const { code, out: json, said } = await command(service, [...words, ...more])
    expect(code, said).toBe(0)
    report = JSON.parse(json) as WhatIfReport
    const { unchanged: _, ...counts } = report.cases
    expect(counts, said).toEqual({ found: cases, leftOut: {}, replayed: cases, notDrawn: 0 })
    if (protocol === 'hate')
      expect(report.cases.unchanged).toBe(postsOf('p', cases).filter(({ tenant }) => tenant !== ACME).length)
    const calls = service.callsAfter(from).filter(({ stage }) => stage !== 'answer')
    expect(calls.filter(({ question, stage }) => service.live.has(question ?? '') || !asks.test(stage ?? ''))).toEqual(
      [],
    )
    expect(askedTwice(calls, killedAt)).toEqual([])
  }
  if (report === null) throw new Error('nothing was replayed')
  return report
}
