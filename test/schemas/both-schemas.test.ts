import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { pendingOf } from '../../producers/publisher/records.ts'
import { deliveriesOf } from '../../producers/webhooks/matching.ts'
import { verdictLine } from '../../src/app/commands/verdict-line.ts'
import type { VerdictProposal } from '../../src/contracts/facts/decision-messages.ts'
import { proposal } from '../../src/contracts/facts/decision-messages.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordedTopic, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { decidedVerdict, overrules } from '../../src/judging/engine/decision-verdict.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { contractFiles, SCHEMAS } from '../../src/kit/contracts/all.ts'
import { breaks } from '../../src/kit/contracts/compatible.ts'
import type { JsonSchema } from '../../src/kit/contracts/json-schema.ts'
import { judgementsOf } from '../../src/record/judgements.ts'
import { entriesOf } from '../../src/record/project.ts'
import { againPlan } from '../../src/recovery/again-plan.ts'
import { verdictAudit } from '../../src/recovery/audit.ts'
import { publishedRevisions } from '../../src/recovery/published.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { aTranscript, CONTEXT, incoming } from '../contracts/record.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { historyInBoth, historyInOne, inSchemaTwo, knownToBoth, WRITTEN_IN_ONE } from '../support/both-schemas.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { linesOfShown } from '../support/shown-verdict.ts'

const COUNT = 2_000
const ONE = historyInOne(COUNT)
const BOTH = historyInBoth(COUNT)
const NOW = Date.parse('2027-01-01T00:00:00Z')

/** What a reader answers over the mixed history is, for what both schemas know, what it answers over schema 1 alone. */
async function sameOver(answers: (history: readonly Verdict[]) => unknown): Promise<void> {
  const [mixed, before] = [await answers(BOTH), await answers(ONE)]
  expect(knownToBoth(mixed)).toEqual(knownToBoth(before))
  expect(JSON.stringify(before).length).toBeGreaterThan(1_000)
}

const asMessage = (topic: RecordedTopic, value: object, offset: number) => {
  const { subjectId = 'p' } = value as { subjectId?: string }
  return incoming(topic, offset, subjectId, value, offset)
}

/** The record of a history, with the words that each verdict is about. */
async function recordOf(history: readonly Verdict[]) {
  const record = await recordInMemory({ costs: { hate: { hate: 3 } } })
  const take = (topic: RecordedTopic, values: readonly object[]) => {
    const entries = values.flatMap((value, offset) =>
      entriesOf(topic, asMessage(topic, value, offset), CONTEXT).map((entry) => ({ offset, entry })),
    )
    return record.apply({ topic, partition: 0, from: 0, next: values.length, entries })
  }
  await take('verdicts', history)
  await take(
    'transcripts',
    history.map(({ id, subjectId }, n) => ({ ...aTranscript(id, `claim ${n} of the harbour`), subjectId })),
  )
  return record
}

describe('2,000 verdicts of schemas 1 and 2 tell each reader what they told in schema 1', () => {
  it('the record, with its search, its export and the review queue', () =>
    sameOver(async (history) => {
      const record = await recordOf(history)
      const { rows } = await record.size()
      expect(rows.unread).toBe(0)
      const subjects: SubjectRecord[] = []
      for await (const one of record.export()) subjects.push(one)
      return {
        rows,
        found: (await record.find({}, COUNT)).map(({ sent: _, ...row }) => row),
        searched: (await record.search('harbour', { label: 'rumor' }, 50)).found.map(({ verdict: { id } }) => id),
        queue: await record.review.list({}, COUNT, NOW),
        gold: subjects.flatMap(judgementsOf),
      }
    }))

  it('recovery, judge-again and the check of the topic', () =>
    sameOver((history) => {
      const found = publishedRevisions([
        { name: 'rumor', subject: 'thread' },
        { name: 'counterspeech', subject: 'reply' },
      ])
      const audit = verdictAudit()
      for (const one of history) {
        expect(found.take(verdict.parse(one))).toBe(true)
        audit.take(one, JSON.stringify(one))
      }
      const filter = { since: null, until: null, protocol: null, tenant: null, fault: null, reason: null }
      const last = [...found.subjects].map(([key, { last: all, ...subject }]) => [
        key,
        subject,
        [...all.values()].map(({ content: _, ...one }) => one),
      ])
      const again = againPlan(found, [{ name: 'rumor', subject: 'thread' }], filter)
      return { last, decided: [...found.decided], again, audit: audit.result() }
    }))

  it('decisions, their withdrawal and proposals', () =>
    sameOver((history) =>
      history.flatMap((one) => {
        const { protocol: name, tenant, subjectId: postId, revision } = one
        const place = { partition: 0, offset: '17', timestamp: NOW }
        const basis = { scope: `${name}~${postId}~r`, number: revision + 1, published: revision, isLive: true }
        const on = { ...basis, machine: JSON.stringify(one) }
        const protocol = { version: 1, promptsHash: 'p', settingsHash: 's' } as Protocol
        const ref = { tenant, postId, kind: 'post' } as const
        const said = { ref, protocol: name, place, same: '', against: revision, force: false, opinion: false }
        const decision = { ...said, label: 'rumor', by: 'ann', why: 'Ticket 88.', withdraw: false }
        return [decision, { ...decision, label: null, withdraw: true }].map((each) => ({
          verdict: JSON.parse(
            decidedVerdict(each, protocol, on, { schema: 1, gavel: '' })?.verdict ?? 'null',
          ) as unknown,
          overrules: overrules(each, on),
        }))
      }),
    ))

  it('the publisher and webhooks', () =>
    sameOver((history) =>
      history.map((one) => {
        const entry = {
          kind: 'verdict',
          id: '1-1',
          caseId: one.id,
          verdict: JSON.stringify(one),
          transcript: '{}',
        } as const
        const topic = 'a topic'
        const topics = {
          verdicts: topic,
          transcripts: 't',
          proposals: topic,
          reviews: topic,
          decisionOutcomes: topic,
          appealOutcomes: topic,
        }
        const pending = pendingOf(entry, { ...topics, deadLetters: topic })
        const read = pending?.verdict
        if (read === undefined) throw new Error(`the publisher can't read ${entry.verdict}`)
        const [ofTranscript, ofVerdict] = pending?.records ?? []
        expect(ofTranscript?.headers?.['gavel-schema']).toBe('1')
        expect(ofVerdict?.headers?.['gavel-schema']).toBe(String(one.schema))
        const { 'gavel-schema': _, ...headers } = ofVerdict?.headers ?? {}
        const ref = { tenant: 'default', postId: one.subjectId, kind: 'post' } as const
        const hook = {
          url: 'https://a.example/',
          tenant: 'default',
          secrets: [],
          allowPrivate: false,
          labels: ['rumor'],
        }
        const published = [{ verdict: read, json: entry.verdict, ref, from: { entry: '1-1', caseId: one.id } }]
        const sent = deliveriesOf({ hook }, published).map(({ body, bare, ...delivery }) => ({
          ...delivery,
          bodies: [body, bare].map((text) => JSON.parse(text) as unknown),
        }))
        // A person's words are theirs, and a retraction has none.
        for (const { bodies } of ['human', 'deleted'].includes(one.decidedBy) ? [] : sent)
          expect(JSON.stringify(bodies[1])).not.toContain('a word of it')
        return { headers, sent: sent.map(({ bodies: [whole], ...delivery }) => ({ ...delivery, whole })) }
      }),
    ))

  it('what is printed of them', () =>
    sameOver((history) => history.slice(0, 200).map((one) => String(verdictLine(verdict.parse(one), 'words')))))
})

describe('all that a verdict says in either schema', () => {
  const samples = [...WRITTEN_IN_ONE, ...WRITTEN_IN_ONE.map(inSchemaTwo)]
  const proposalOf = ({ revision, supersedes: _, decision: __, restored: ___, ...one }: Verdict): VerdictProposal => ({
    ...one,
    id: one.id.replace(/~r\d+$/, '~p1'),
    proposal: revision,
    beneath: one.id,
    differs: true,
  })

  test.each(samples.map((one) => [`${one.id}, ${one.decidedBy}, schema ${one.schema}`, one] as const))(
    'is read whole, from the schema and from the record: %s',
    async (_, one) => {
      expect(verdict.parse(one)).toEqual(one)
      expect(proposal.parse(proposalOf(one))).toEqual(proposalOf(one))
      const record = await recordOf([one])
      expect((await record.verdict(one.id))?.verdict).toEqual(one)
      expect((await record.subject({ tenant: one.tenant, id: one.subjectId }))?.verdicts[0]?.verdict).toEqual(one)
      await record.close()
    },
  )

  it('is valid by the published schemas, of either number', () => {
    for (const topic of ['verdicts', 'proposals'] as const) {
      const valid = new Ajv2020().compile(JSON.parse(contractFiles().get(`${topic}.schema.json`) ?? '{}') as object)
      for (const one of samples) {
        const record = topic === 'verdicts' ? one : proposalOf(one)
        expect(valid(record), JSON.stringify(valid.errors)).toBe(true)
      }
    }
  })

  it('breaks nothing of schema 1 but its number', () => {
    for (const topic of ['verdicts', 'proposals'] as const) {
      const file = join(PROJECT, 'test', 'schemas', 'released', '1', `${topic}.schema.json`)
      const [then, now] = [readFileSync(file, 'utf8'), contractFiles().get(`${topic}.schema.json`) ?? '{}']
      const schema = JSON.parse(then) as JsonSchema
      expect(breaks(schema, JSON.parse(now) as JsonSchema, 'read')).toEqual([
        'schema: the value 2 was never given before',
      ])
      const valid = new Ajv2020().compile(schema)
      for (const one of WRITTEN_IN_ONE) expect(valid(topic === 'verdicts' ? one : proposalOf(one))).toBe(true)
    }
  })

  it('is shown by the console, words of a later version as they are', async () => {
    const console = await aConsole()
    const cookie = await console.signedIn()
    const [first] = WRITTEN_IN_ONE as readonly [Verdict]
    const { schema, debated, confidence, lang, versions } = inSchemaTwo(first)
    const later = { debated: { held: false, why: 'word-of-later' }, decidedBy: 'way-of-later' }
    await console.judged({ verdict: { subjectId: 'one' } })
    await console.judged({ verdict: { subjectId: 'two', schema, debated, confidence, lang, versions } })
    await console.judged({ verdict: { subjectId: 'three', schema, confidence, lang, versions, ...later } })
    const page = async (id: string) => (await console.page(`/verdict?id=rumor~${id}~r1`, cookie)).text
    expect(await page('one')).toContain('A judge decided after')
    expect(await page('one')).not.toContain('Confidence')
    for (const shown of ['A judge decided after', 'held (control)', 'pt-BR', '0.2.0'])
      expect(await page('two')).toContain(shown)
    for (const shown of ['way-of-later', 'none (word-of-later)']) expect(await page('three')).toContain(shown)
  })

  it('is shown by gavel show', () => {
    const printed = (one: Verdict) =>
      linesOfShown({ kind: 'post', postId: one.subjectId, tenant: one.tenant }, one, NOW).join('\n')
    const [first] = WRITTEN_IN_ONE as readonly [Verdict]
    const added = '  debate: held (control); without it: non-rumor\n  unverified: torn\n  language: pt-BR\n'
    const cited = '  clauses: h2 “a word of it”\n  policy: house, version 3\n'
    const ramped = '  variant: b\n'
    const printedInTwo = [added, cited, ramped].reduce(
      (text, lines) => text.replace(lines, ''),
      printed(inSchemaTwo(first)),
    )
    expect(printedInTwo).toBe(printed(first))
    const sure = {
      ...inSchemaTwo(first),
      confidence: { value: 0.8125, how: 'word-of-later' },
      decidedBy: 'way-of-later',
    }
    expect(printed(sure)).toContain('decided by way-of-later')
    expect(printed(sure)).toContain('  confidence: 0.813 (word-of-later)\n')
  })

  it('is taken by the consumer in Python of docs/contracts.md', () => {
    const folder = ownFolder('python')
    copyFileSync(join(SCHEMAS, 'verdicts.schema.json'), join(folder, 'verdicts.schema.json'))
    const [, code = ''] =
      /^```python\n([\s\S]*?)^```$/m.exec(readFileSync(join(PROJECT, 'docs/contracts.md'), 'utf8')) ?? []
    const file = join(folder, 'take_verdicts.py')
    writeFileSync(file, code)
    const python = (args: readonly string[], input = '') =>
      spawnSync('python3', args, { input, encoding: 'utf8', env: bareEnvironment({ PYTHONUTF8: '1' }) })
    const there = python(['-c', 'import jsonschema; jsonschema.Draft202012Validator'])
    if (there.status !== 0) return tell(`SKIPPED: the consumer in Python: python3 has no jsonschema here`)
    const take = (history: readonly Verdict[]) =>
      python([file], history.map((one) => `${JSON.stringify(one)}\n`).join(''))
    const [mixed, before] = [take(BOTH), take(ONE)]
    expect([mixed.stderr, mixed.status]).toEqual(['', 0])
    expect(mixed.stdout).toBe(before.stdout)
    expect(mixed.stdout.length).toBeGreaterThan(10_000)
  })
})

test('a verdict on a subject that only a later version knows is kept, and taken for no other', () => {
  const clip = {
    ...inSchemaTwo(WRITTEN_IN_ONE[0] as Verdict),
    id: 'hate/clip~p~r1',
    subjectKind: 'clip',
  }
  const entries = entriesOf('verdicts', asMessage('verdicts', clip, 0), CONTEXT)
  expect(entries.map(({ what }) => what)).toEqual(['unread'])
  const found = publishedRevisions([])
  expect([found.take(verdict.parse(clip)), found.subjects.size]).toEqual([false, 0])
})
