import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { pendingOf } from '../../producers/publisher/records.ts'
import { deliveriesOf } from '../../producers/webhooks/matching.ts'
import { verdictLine } from '../../src/app/commands/verdict-line.ts'
import { gavelClient } from '../../src/client/client.ts'
import { ruled, type Transcript, type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordedTopic, RecordFilter, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { decidedVerdict } from '../../src/judging/engine/decision-verdict.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { SCHEMAS } from '../../src/kit/contracts/all.ts'
import { evaluationsOf } from '../../src/operations/tracing/reading.ts'
import { spansOf, type TraceableTranscript } from '../../src/operations/tracing/spans.ts'
import { judgementsOf } from '../../src/record/judgements.ts'
import { entriesOf } from '../../src/record/project.ts'
import { againPlan } from '../../src/recovery/again-plan.ts'
import { verdictAudit } from '../../src/recovery/audit.ts'
import { publishedRevisions } from '../../src/recovery/published.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { aTranscript, CONTEXT, incoming } from '../contracts/record.ts'
import { testDoor } from '../door/door-for-tests.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { inSchemaTwo, WRITTEN_IN_ONE } from '../support/both-schemas.ts'
import { changesOf, fieldsOf, withField } from '../support/field-changes.ts'
import { tell } from '../support/pipeline.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { linesOfShown } from '../support/shown-verdict.ts'

// Each reader of verdicts, and the fields that it goes by: no other changes its answer, and without one of them it answers
// otherwise, or refuses. So a reader that loses a field, or looks for it under another name, fails here.

/** Stands in an answer where a reader refuses a verdict, or keeps it unread. */
const REFUSED = 'refused'

interface Reader {
  /** Its answer to each of these, every one on a subject of its own. */
  readonly answers: (all: readonly object[]) => unknown[] | Promise<unknown[]>
  /** The fields that it goes by; `all`, if it keeps verdicts as they are. */
  readonly fields: readonly string[] | 'all'
  /** Those of them that it goes by in schema 1 only. */
  readonly inOneAlone?: readonly string[]
  /** It compares words of open lists, and shows none. */
  readonly showsNoWords?: true
}

const each = (answer: (one: Verdict) => unknown) => (all: readonly object[]) =>
  all.map((one) => {
    const read = verdict.safeParse(one)
    return read.success ? answer(read.data) : REFUSED
  })

const NOW = Date.parse('2027-01-01T00:00:00Z')
const REF = { tenant: 'default', postId: 'p', kind: 'post' } as const

const recovered = (one: Verdict) => {
  const found = publishedRevisions([
    { name: 'rumor', subject: 'thread' },
    { name: 'counterspeech', subject: 'reply' },
  ])
  found.take(one)
  return found
}

const PROTOCOLS = ['rumor', 'hate', 'safety', 'counterspeech'].map((name) => ({ name, subject: 'post' as const }))

const FILTERS: Readonly<Record<string, RecordFilter>> = {
  tenant: { tenants: ['default'] },
  protocol: { protocol: 'rumor' },
  label: { label: 'rumor' },
  none: { label: null },
  degraded: { degraded: true },
  contested: { contested: true },
  standing: { standing: true },
  since: { since: Date.parse('2026-11-28T19:30:30Z') },
  model: { model: 'understudy' },
  prompts: { prompts: '7f3780c9d2ad6ab1' },
  ours: { fault: 'ours' },
  model_: { fault: 'model' },
  evidence: { fault: 'evidence' },
}

/** A record of all of these, each with the words that it is about. */
async function recordOf(all: readonly object[]) {
  const record = await recordInMemory({ costs: { hate: { hate: 3 } } })
  const take = (topic: RecordedTopic, values: readonly object[]) => {
    const entries = values.flatMap((value, offset) => {
      const { subjectId = `p${offset}` } = value as { subjectId?: string }
      return entriesOf(topic, incoming(topic, offset, String(subjectId), value, offset), CONTEXT).map((entry) => ({
        offset,
        entry,
      }))
    })
    return record.apply({ topic, partition: 0, from: 0, next: values.length, entries })
  }
  await take('verdicts', all)
  const argued = all.map((one) => ({ ...aTranscript(idOf(one), 'a harbour'), subjectId: nameOf(one) }))
  await take('transcripts', argued)
  return record
}

const idOf = (one: object) => String((one as { id?: unknown }).id)
const nameOf = (one: object) => String((one as { subjectId?: unknown }).subjectId)

const KINDS = [
  'counterspeech~s1~r1',
  'rumor~p1~r2',
  'hate~p1~r1',
  'safety~p1~r1',
  'safety~p3~r1',
  'hate~p2~r2',
  'hate~p2~r3',
  'safety~p3~r2',
]
const FILTERED = {
  filtered: [{ stage: 'describe', model: 'm', calls: 1, found: [{ category: 'sexual', severity: 'high' }] }],
}
/** One of each kind that there is, in schema 1 as it was written, and in schema 2 with every field. */
const IN_ONE = WRITTEN_IN_ONE.filter(({ id }) => KINDS.includes(id)).map((one) => {
  if (one.id === 'safety~p3~r1') return verdict.parse({ ...one, ...FILTERED })
  // Where its perspectives decided, their share is its confidence, which the review queue goes by.
  return one.id === 'hate~p1~r1' ? verdict.parse({ ...one, decidedBy: 'majority', degraded: ['so'] }) : one
})
const SAMPLES = { 1: IN_ONE, 2: IN_ONE.map(inSchemaTwo) } as const

const pathsOf = (samples: readonly Verdict[]) => [
  ...new Set(samples.flatMap((one) => fieldsOf(one).map(({ path }) => path))),
]
/** The fields that only schema 2 has. */
const SINCE_TWO = pathsOf(SAMPLES[2]).filter((path) => !pathsOf(SAMPLES[1]).includes(path))
const LEFT_OUT = ['author', 'cap', 'folded', 'late', 'load', 'unscored'].map((why) => `counts.leftOut.${why}`)

const READERS: Readonly<Record<string, Reader>> = {
  'the schema': { answers: each((one) => one), fields: 'all' },
  'the publisher': {
    answers: (all) =>
      all.map((one) => {
        const entry = { kind: 'verdict', id: '1-1', caseId: idOf(one), verdict: JSON.stringify(one), transcript: '{}' }
        const topics = {
          verdicts: 'v',
          transcripts: 't',
          proposals: 'p',
          reviews: 'r',
          decisionOutcomes: 'o',
          appealOutcomes: 'a',
        }
        const pending = pendingOf(entry as Parameters<typeof pendingOf>[0], { ...topics, deadLetters: 'd' })
        return pending?.records.map(({ key, headers }) => ({ key, headers })) ?? REFUSED
      }),
    fields: ['decidedBy', 'final', 'protocol', 'revision', 'schema', 'subjectId', 'tenant'],
  },
  webhooks: {
    answers: each((one) => {
      const to = { url: 'https://a.example/', tenant: 'default', secrets: [], allowPrivate: false }
      const hooks = { all: to, labels: { ...to, labels: ['rumor'] }, final: { ...to, final: true } }
      const some = { ...hooks, protocols: { ...to, protocols: ['hate', 'rumor'] } }
      const published = [{ verdict: one, json: JSON.stringify(one), ref: REF, from: { entry: '1-1', caseId: 'c' } }]
      return deliveriesOf(some, published).map(({ body, bare: _, ...sent }) => [sent, body.split('"data"')[0]])
    }),
    fields: ['decidedBy', 'final', 'id', 'label', 'protocol', 'revision', 'tenant', 'timing.decidedAt'],
    showsNoWords: true,
  },
  'webhooks’ bodies': {
    answers: each((one) => {
      const hook = { url: 'https://a.example/', tenant: one.tenant, secrets: [], allowPrivate: false }
      const published = [{ verdict: one, json: JSON.stringify(one), ref: REF, from: { entry: '1-1', caseId: 'c' } }]
      return deliveriesOf({ hook }, published).map(({ body }) => (JSON.parse(body) as { data: unknown }).data)
    }),
    fields: 'all',
  },
  recovery: {
    answers: each((one) => {
      const found = recovered(one)
      if (found.subjects.size === 0) return REFUSED
      return [
        [...found.subjects.values()].map(({ last, ...subject }) => [
          subject,
          [...last.values()].map(({ content: _, ...revision }) => revision),
        ]),
        [...found.decided],
        ['rumor', 'hate', 'safety', 'counterspeech'].map((name) => found.meanCostDecided(name)),
      ]
    }),
    fields: [
      'counts.accepted',
      'decidedBy',
      'decision.by',
      'decision.of',
      'degraded',
      'faults',
      'final',
      'id',
      'label',
      'protocol',
      'restored.by',
      'restored.of',
      'revision',
      'subjectId',
      'tenant',
      'timing.decidedAt',
      'timing.openedAt',
      'usage.costUsd',
    ],
    showsNoWords: true,
  },
  'judge-again': {
    answers: each((one) => {
      const filter = { since: null, until: null, protocol: null, tenant: null, fault: null, reason: null }
      const found = recovered(one)
      return found.subjects.size === 0
        ? REFUSED
        : [
            filter,
            { ...filter, since: Date.parse('2026-11-28T19:30:30Z') },
            { ...filter, fault: 'model' as const },
          ].map((each) => againPlan(found, PROTOCOLS, each))
    }),
    fields: [
      'counts.accepted',
      'decidedBy',
      'degraded',
      'final',
      'protocol',
      'revision',
      'subjectId',
      'tenant',
      'timing.decidedAt',
    ],
    showsNoWords: true,
  },
  'the check of the topic': {
    answers: each((one) => {
      const audit = verdictAudit()
      audit.take(one, 'one')
      audit.take(one, 'another')
      return audit.result()
    }),
    fields: ['id'],
    showsNoWords: true,
  },
  'the record': {
    answers: async (all) => {
      const record = await recordOf(all)
      const found = await Promise.all(all.map((one) => record.verdict(idOf(one))))
      await record.close()
      return found.map((one) => one?.verdict ?? REFUSED)
    },
    fields: 'all',
  },
  'the record’s lists': {
    answers: async (all) => {
      const record = await recordOf(all)
      const lists = await Promise.all(
        Object.entries(FILTERS).map(async ([name, filter]) => {
          const rows = await record.find(filter, all.length)
          return [name, new Map(rows.map((row, place) => [row.verdict.id, { row, place }]))] as const
        }),
      )
      await record.close()
      return all.map((one) => {
        const found = lists.flatMap(([name, ids]) => (ids.has(idOf(one)) ? [name] : []))
        const row = lists.find(([name]) => name === found[0])?.[1].get(idOf(one))?.row
        return row === undefined ? REFUSED : { found, subject: row.subject, contested: row.contested }
      })
    },
    fields: [
      'degraded',
      'faults',
      'label',
      'models',
      'protocol',
      'subjectId',
      'tenant',
      'timing.decidedAt',
      'versions.prompts',
    ],
    showsNoWords: true,
  },
  'the review queue': {
    answers: async (all) => {
      const record = await recordOf(all)
      const { items } = await record.review.list({}, all.length, NOW)
      await record.close()
      return all.map((one) => items.find(({ verdict: id }) => id === idOf(one)) ?? REFUSED)
    },
    fields: [
      'confidence.value',
      'counts.accepted',
      'decidedBy',
      'degraded',
      'id',
      'label',
      'protocol',
      'revision',
      'scores',
      'subjectId',
      'tenant',
      'timing.decidedAt',
    ],
    // Schema 2 states the confidence that schema 1 leaves to be found in the scores.
    inOneAlone: ['scores'],
    showsNoWords: true,
  },
  'gold from people': {
    answers: async (all) => {
      const record = await recordOf(all)
      const subjects = new Map<string, SubjectRecord>()
      for await (const one of record.export()) subjects.set(one.subject.postId, one)
      await record.close()
      return all.map((one) => {
        const known = subjects.get(nameOf(one))
        if (known === undefined) return REFUSED
        // As the machine's ruling beneath a person's, and as the person's own.
        const [own] = known.verdicts
        const human = { ...own?.verdict, decidedBy: 'human', label: 'rumor', revision: 99, decision: { by: 'ann' } }
        const beneath = {
          ...known,
          verdicts: [
            { ...own, verdict: human, standing: true },
            { ...own, standing: false },
          ],
        }
        // Only the verdicts beneath are read of it.
        return [judgementsOf(known), judgementsOf(beneath as unknown as SubjectRecord)]
      })
    },
    fields: ['decidedBy', 'decision.by', 'label', 'models', 'protocol', 'subjectId', 'tenant', 'versions.prompts'],
    showsNoWords: true,
  },
  'a withdrawal, which restores it': {
    answers: each((one) => {
      const place = { partition: 0, offset: '17', timestamp: NOW }
      const on = { scope: 'rumor~p~r', number: 9, published: 8, isLive: false, machine: JSON.stringify(one) }
      // Of a reply: what the ruling says of its kind is not what is known of the subject.
      const ref = { ...REF, kind: 'reply' as const }
      const said = { ref, protocol: 'rumor', place, same: '', against: 8, force: false, opinion: false }
      const decision = { ...said, label: null, by: 'ann', why: 'Ticket 88.', withdraw: true }
      const protocol = { version: 1, promptsHash: 'p', settingsHash: 's' } as Protocol
      return JSON.parse(decidedVerdict(decision, protocol, on, { schema: 2, gavel: '9' })?.verdict ?? 'null') as unknown
    }),
    fields: [
      'counts.accepted',
      'counts.judged',
      'decidedBy',
      'degraded',
      'evidence.oppose',
      'evidence.precedents',
      'evidence.support',
      'faults',
      'filtered',
      'final',
      'id',
      'label',
      'models',
      'rationale',
      'rounds',
      'scores',
      'steps',
      'timing.createdAt',
      'versions.prompts',
      'versions.script',
      'versions.settings',
      ...LEFT_OUT,
      ...SINCE_TWO,
    ],
  },
  'the line of a verdict': {
    answers: each((one) => String(verdictLine(one, 'words'))),
    fields: [
      'counts.accepted',
      'counts.judged',
      'decidedBy',
      'degraded',
      'final',
      'id',
      'label',
      'scores',
      'timing.decidedAt',
      'usage.calls',
      ...LEFT_OUT,
    ],
  },
  'gavel show': {
    answers: each((one) => linesOfShown(REF, one, NOW)),
    fields: [
      'clauses',
      'confidence.how',
      'confidence.value',
      'counts.accepted',
      'counts.judged',
      'debated.held',
      'debated.why',
      'debated.without',
      'decidedBy',
      'decision.against',
      'decision.by',
      'degraded',
      'filtered',
      'final',
      'id',
      'label',
      'lang',
      'policy.name',
      'policy.version',
      'rationale',
      'restored.by',
      'restored.from',
      'restored.why',
      'rounds',
      'scores',
      'timing.modelMs',
      'timing.overheadMs',
      'usage.calls',
      'usage.costUsd',
      'unverified.reason',
      'variant',
      ...LEFT_OUT,
    ],
  },
  traces: {
    answers: each((one) => {
      const summary = ruled.parse({ ...one, heldMs: 0, lostCalls: [] })
      // The subject is whatever the transcript itself does not tell.
      const transcript = { ...aTranscript(one.id, 'a claim'), verdict: summary, turns: [] } as unknown as Transcript
      const traced = [
        spansOf('g', transcript as TraceableTranscript, NOW),
        evaluationsOf('g', transcript as TraceableTranscript),
      ]
      // Hashes of the verdict's id.
      return JSON.stringify(traced, (name, value: unknown) => (/^(trace|span|parent)Id$/.test(name) ? null : value))
    }),
    fields: [
      'decidedBy',
      'faults',
      'final',
      'id',
      'label',
      'protocol',
      'revision',
      'scores',
      'subjectId',
      'tenant',
      'timing.decidedAt',
      'timing.modelMs',
      'timing.openedAt',
      'timing.overheadMs',
      'timing.receivedAt',
      'usage.cachedTokens',
      'usage.calls',
      'usage.completionTokens',
      'usage.costUsd',
      'usage.memoHits',
      'usage.promptTokens',
    ],
  },
  'the console': {
    answers: async (all) => {
      const console = await aConsole()
      const cookie = await console.signedIn()
      for (const one of all) await console.topics.send('verdicts', nameOf(one), one, 10)
      const pages: unknown[] = []
      for (const one of all) {
        const { status, text } = await console.page(`/verdict?id=${encodeURIComponent(idOf(one))}`, cookie)
        pages.push(status === 200 ? text.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'once') : REFUSED)
      }
      return pages
    },
    fields: [
      'clauses',
      'confidence.how',
      'confidence.value',
      'counts.accepted',
      'debated.held',
      'debated.why',
      'debated.without',
      'decidedBy',
      'decision.by',
      'degraded',
      'faults',
      'filtered',
      'final',
      'id',
      'label',
      'lang',
      'models',
      'protocol',
      'opposed.since',
      'policy.name',
      'policy.version',
      'rationale',
      'restored.by',
      'restored.why',
      'revision',
      'rounds',
      'scores',
      'story.current.verdictId',
      'story.id',
      'story.members',
      'tenant',
      'timing.decidedAt',
      'timing.openedAt',
      'timing.overheadMs',
      'timing.receivedAt',
      'usage.calls',
      'usage.costUsd',
      'usage.memoHits',
      'variant',
      'versions.gavel',
      'versions.prompts',
      'versions.script',
      'versions.settings',
      'unverified.reason',
      ...LEFT_OUT,
    ],
  },
  'the typed client': {
    answers: async (all) => {
      const body = JSON.stringify({ verdicts: all })
      const client = gavelClient({ url: 'http://door.example', fetch: async () => new Response(body) })
      return [...(await client.judgement('j')).verdicts]
    },
    fields: 'all',
  },
  'the consumer of docs/verdicts.md': {
    answers: (all) => all.map((one) => refusing(() => take?.(Buffer.from(JSON.stringify(one))))),
    fields: ['decidedBy', 'degraded', 'final', 'id', 'label', 'revision'],
    showsNoWords: true,
  },
  'the consumer in Python of docs/contracts.md': {
    answers: (all) => inPython(all),
    fields: ['decidedBy', 'degraded', 'final', 'id', 'label', 'revision'],
    showsNoWords: true,
  },
}

function refusing(answer: () => unknown): unknown {
  try {
    return answer()
  } catch {
    return REFUSED
  }
}

let take: ((value: Buffer) => unknown) | undefined
mkdirSync(join(PROJECT, '.gavel'), { recursive: true })
// Within the project, where its imports are found.
const folder = mkdtempSync(join(PROJECT, '.gavel', 'each-field-'))
const code = (document: string, language: string) =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(
    readFileSync(join(PROJECT, document), 'utf8'),
  )?.[1] ?? ''
beforeAll(async () => {
  copyFileSync(join(SCHEMAS, 'verdicts.schema.json'), join(folder, 'verdicts.schema.json'))
  const [own = ''] = code('docs/verdicts.md', 'ts').split('const { CompressionCodecs')
  writeFileSync(join(folder, 'take.ts'), `${own.replace(/^import .*(kafkajs|lz4-napi)'\n/gm, '')}\nexport { take }\n`)
  writeFileSync(join(folder, 'take_verdicts.py'), code('docs/contracts.md', 'python'))
  take = ((await import(join(folder, 'take.ts'))) as { take: (value: Buffer) => unknown }).take
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The example up to its loop, over lines of which some are refused. */
const DRIVER = `
import json, sys
names = {"__file__": sys.argv[1], "__name__": "take_verdicts"}
exec(open(sys.argv[1], encoding="utf-8").read().split("for value in records():")[0], names)
for line in sys.stdin.buffer:
    try:
        print(json.dumps(names["take"](line)))
    except Exception:
        print('"${REFUSED}"')
`

const python = (args: readonly string[], input = '') =>
  spawnSync('python3', args, { input, encoding: 'utf8', maxBuffer: 2 ** 28, env: bareEnvironment({ PYTHONUTF8: '1' }) })

function inPython(all: readonly object[]): unknown[] {
  const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('')
  const { status, stdout, stderr } = python(['-c', DRIVER, join(folder, 'take_verdicts.py')], lines)
  expect([stderr, status]).toEqual(['', 0])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

/** The verdict on a subject that only it has. */
function onOwnSubject<Of extends object>(one: Of, own: string): Of {
  const was = nameOf(one)
  const json = JSON.stringify(one).replaceAll(`~${was}~`, `~${own}~`)
  return JSON.parse(json.replace(`"subjectId":"${was}`, `"subjectId":"${own}`)) as Of
}

/** Readers that remember subjects never meet one twice. */
let subjects = 0

/** Answers that can be compared, whatever the subjects are called; each verdict is on its own, and then `mutated`. */
async function answersOf(
  { answers }: Reader,
  all: readonly Verdict[],
  mutated: (one: Verdict, n: number) => object = (one) => one,
): Promise<string[]> {
  const own = all.map(() => `own-${subjects++}-`)
  const given = await answers(all.map((one, n) => mutated(onOwnSubject(one, own[n] ?? ''), n)))
  expect(given).toHaveLength(all.length)
  return given.map((answer, n) => JSON.stringify(answer ?? null).replaceAll(own[n] ?? '', 'own'))
}

/** The fields of these verdicts on which a reader's answers depend. */
async function dependsOn(reader: Reader, samples: readonly Verdict[]): Promise<string[]> {
  const changes = samples.flatMap((one, of) => changesOf(one).map((change) => ({ one, of, ...change })))
  const all = [...samples, ...changes.map(({ one }) => one)]
  const answers = await answersOf(reader, all, (one, n) => changes[n - samples.length]?.on(one) ?? one)
  const [before, after] = [answers.slice(0, samples.length), answers.slice(samples.length)]
  return [...new Set(changes.flatMap(({ of, path }, n) => (after[n] === before[of] ? [] : [path])))].sort()
}

function fieldsIn({ fields, inOneAlone = [] }: Reader, samples: readonly Verdict[]): string[] {
  const paths = pathsOf(samples)
  if (fields === 'all') return paths.toSorted()
  const isOne = samples.every(({ schema }) => schema === 1)
  return fields.filter((path) => paths.includes(path) && (isOne || !inOneAlone.includes(path))).toSorted()
}

/** Lists that a later version may add words to. */
const OPEN_LISTS = ['decidedBy', 'faults', 'subjectKind', 'debated.why', 'confidence.how', 'unverified.reason']

const LATER = 'word-of-later'

const hasJsonschema = python(['-c', 'import jsonschema; jsonschema.Draft202012Validator']).status === 0

describe.each(Object.entries(READERS))('%s', (name, reader) => {
  const runs = name.includes('Python') && !hasJsonschema ? it.skip : it
  if (runs === it.skip) tell(`SKIPPED: ${name}: python3 has no jsonschema here`)

  runs.each([1, 2] as const)('goes by these fields of schema %i, and by no other', async (schema) => {
    expect(await dependsOn(reader, SAMPLES[schema])).toEqual(fieldsIn(reader, SAMPLES[schema]))
  })

  runs.each([1, 2] as const)(
    'answers otherwise without one of schema %i, or refuses; also if it is renamed',
    async (schema) => {
      const samples = SAMPLES[schema]
      const mutants = samples.flatMap((one, of) =>
        fieldsIn(reader, [one]).flatMap((path) => ['dropped', 'renamed'].map((how) => ({ one, of, path, how }))),
      )
      const before = await answersOf(reader, samples)
      const after = await answersOf(
        reader,
        mutants.map(({ one }) => one),
        (one, n) => withField({ ...one }, mutants[n]?.path ?? '', undefined, mutants[n]?.how === 'renamed'),
      )
      const unnoticed = new Set(mutants.map(({ path, how }) => `${path} ${how}`))
      for (const [n, { of, path, how }] of mutants.entries())
        if (after[n] !== before[of]) unnoticed.delete(`${path} ${how}`)
      expect([...unnoticed]).toEqual([])
    },
  )

  runs('takes words of later versions as they are', async () => {
    const [sample] = SAMPLES[2].filter(({ id }) => id === 'hate~p1~r1')
    if (sample === undefined) throw new Error('there is no such sample')
    const judged: Verdict = { ...sample, degraded: ['so'] }
    const all = [judged, ...OPEN_LISTS.map(() => judged)]
    const [before, ...after] = await answersOf(reader, all, (one, n) => {
      const path = OPEN_LISTS[n - 1]
      return path === undefined ? one : withField({ ...one }, path, path === 'faults' ? [LATER] : LATER)
    })
    for (const [n, path] of OPEN_LISTS.entries()) {
      if (before !== JSON.stringify(REFUSED)) expect(after[n], path).not.toBe(JSON.stringify(REFUSED))
      const isShown = reader.showsNoWords !== true && fieldsIn(reader, [judged]).includes(path)
      if (isShown) expect(after[n], path).toContain(LATER)
    }
  })
})

test('every reader is tried with fields of its own, and those that keep verdicts with those that nobody reads yet', () => {
  const unread = [
    'clauses',
    'story.id',
    'story.current.label',
    'veto.list',
    'variant',
    'policy.name',
    'unverified.reason',
  ]
  expect(pathsOf(SAMPLES[2])).toEqual(expect.arrayContaining([...unread, ...OPEN_LISTS]))
  for (const [name, { fields }] of Object.entries(READERS)) {
    expect(fields, name).not.toEqual([])
    if (fields === 'all') continue
    expect(
      fields.filter((path) => !pathsOf([...SAMPLES[1], ...SAMPLES[2]]).includes(path)),
      name,
    ).toEqual([])
  }
})

describe('the OpenAPI document of the door', () => {
  const documented = async () => {
    const { body } = await testDoor().ask('GET', '/openapi.json')
    return (body as { components: { schemas: { Verdict: Record<string, unknown> } } }).components.schemas.Verdict
  }

  it('describes verdicts as their topic does', async () => {
    const {
      $schema: _,
      title: __,
      description: ___,
      examples: ____,
      ...published
    } = JSON.parse(readFileSync(join(SCHEMAS, 'verdicts.schema.json'), 'utf8')) as Record<string, unknown>
    const { properties, required } = await documented()
    expect(Object.keys(properties as object).sort()).toEqual(Object.keys(published.properties as object).sort())
    expect(required).toEqual(published.required)
  })

  it('takes each verdict of either schema, words of later versions too, and none without a field that all have', async () => {
    const schema = await documented()
    const valid = new Ajv2020({ strict: false }).compile(schema)
    for (const one of [...SAMPLES[1], ...SAMPLES[2]]) {
      expect(valid(one), JSON.stringify(valid.errors)).toBe(true)
      for (const path of OPEN_LISTS.filter((path) => fieldsOf(one).some((field) => field.path === path)))
        expect(valid(withField({ ...one }, path, path === 'faults' ? ['of-later'] : 'of-later')), path).toBe(true)
      for (const name of schema.required as string[]) expect(valid(withField({ ...one }, name, undefined))).toBe(false)
    }
  })
})
