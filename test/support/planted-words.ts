import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { z } from 'zod'
import type { AgreementQuery, agreementOfGroups } from '../../src/contracts/facts/agreement.ts'
import { noComments, type Verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordedTopic } from '../../src/contracts/ports/record.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { aTranscript, at } from '../contracts/record.ts'
import { aVerdict } from './verdicts.ts'

interface Line {
  readonly topic: RecordedTopic
  readonly value: unknown
  readonly ms: number
}
type Send = (topic: RecordedTopic, key: string, value: unknown, seconds: number) => Promise<void>

/** Seconds between two messages: some hundred of them fill weeks. */
export const PACE = 1_000
const LABELS = { rumor: ['rumor', 'non-rumor'], hate: ['hate', 'non-hate'] } as const
const LANGS = ['en', 'de', 'ko', undefined] as const
const REACH = [0, 1, 9, 10, 99, 100, 999, 1_000] as const
const SAW = [true, false, undefined] as const

/** Sends machines' verdicts on so many posts and what people say of them, in every way that they may come; returns what was sent. */
export async function plantWords(send: Send, posts: number, seed = 'words'): Promise<Line[]> {
  const random = seededRandom(seed)
  const of = <One>(all: readonly One[]) => all[random.below(all.length)] as One
  const lines: Line[] = []
  let now = 0
  const said = async (topic: RecordedTopic, key: string, value: object) => {
    now += PACE
    const seconds = now
    await send(topic, key, value, seconds)
    lines.push({ topic, value, ms: Date.parse(at(seconds)) })
  }
  let decisions = 0
  for (let n = 0; n < posts; n++) {
    const [protocol, tenant] = [of(['rumor', 'hate'] as const), n % 5 === 0 ? 'acme' : 'default']
    const about = { tenant, subjectId: `p${n}`, protocol }
    const labels = LABELS[protocol]
    const labelled = () => (random.below(10) === 0 ? null : of(labels))
    const judged = async (revision: number, more: Partial<Verdict> = {}) => {
      const label = labelled()
      const cited = label === 'hate' ? [{ id: 'H1' }, { id: `H${2 + random.below(3)}` }, { id: 'H1' }] : []
      const policy = { name: 'House', version: '1', hash: 'c0ffee' }
      const verdict = aVerdict(at(now + 1), {
        ...about,
        ...(cited.length === 0 ? {} : { policy, clauses: cited }),
        decidedBy: label === null ? 'none' : 'judge',
        label,
        counts: { ...noComments(), accepted: of(REACH) },
        revision,
        ...more,
      })
      await said('verdicts', about.subjectId, verdict)
      return verdict
    }
    const fed = () => {
      const saw = of(SAW)
      const own = saw === undefined ? {} : { sawLabel: saw }
      return said('feedback', about.subjectId, { ...about, label: of(labels), by: 'desk', at: at(now), ...own })
    }
    const decided = async (revision: number, unseen: boolean) => {
      const [label, saw] = [of(labels), of(SAW)]
      const message = { ...about, against: revision - 1, label, by: 'ann', why: 'w', at: at(now) }
      await said('decisions', about.subjectId, { ...message, ...(saw === undefined ? {} : { sawLabel: saw }) })
      const decision = {
        by: 'ann',
        against: null,
        of: `0@${decisions++}`,
        ...(unseen ? { unseen: true as const } : {}),
      }
      await judged(revision, { decidedBy: 'human', label, decision })
    }
    const lang = of(LANGS)
    // Feedback may come before what it is about.
    if (random.below(20) === 0) await fed()
    const first = await judged(1)
    const shown = async () =>
      said(
        'transcripts',
        about.subjectId,
        aTranscript(first.id, `post ${n}`, {}, now, lang === undefined ? {} : { lang }),
      )
    const isLate = random.below(5) === 0
    if (!isLate) await shown()
    if (random.below(10) < 6) await fed()
    if (random.below(10) === 0) await fed()
    let last = 1
    if (random.below(4) === 0) await judged(++last)
    if (random.below(3) === 0) {
      await decided(++last, random.below(8) === 0)
      if (random.below(4) === 0) await fed()
      // It is withdrawn, and the machine's verdict is back.
      if (random.below(6) === 0) await judged(++last)
    }
    if (isLate) await shown()
    if (random.below(25) === 0)
      await said('posts', about.subjectId, { id: about.subjectId, tenant, createdAt: at(now), deleted: true })
  }
  return lines
}

const counted = z.object({
  figures: z.record(z.string(), z.tuple([z.int(), z.int(), z.number().nullable(), z.number().nullable(), z.int()])),
  cells: z.record(z.string(), z.int()),
})

/** What a script that shares no code with Gavel counts of these messages. */
export function countedApart(lines: readonly Line[], query: AgreementQuery) {
  const script = join(import.meta.dirname, 'agreement-script.mjs')
  const { stdout, stderr } = spawnSync(process.execPath, [script], {
    input: JSON.stringify({ lines, ...query }),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  if (stdout === '') throw new Error(stderr)
  return counted.parse(JSON.parse(stdout))
}

const near = (value: number | null | undefined) => (value == null ? null : Number(value.toFixed(9)))

/** Both sides' figures in one form, to nine digits of an interval. */
export function sameForm(of: ReturnType<typeof agreementOfGroups> | ReturnType<typeof countedApart>) {
  const figures = Array.isArray(of.figures)
    ? (of as ReturnType<typeof agreementOfGroups>).figures.map((one): [string, unknown[]] => [
        `${one.protocol}|${one.part}|${one.value}`,
        [one.agreeing, one.of, near(one.interval?.low), near(one.interval?.high), one.undecided],
      ])
    : Object.entries((of as ReturnType<typeof countedApart>).figures).map(([name, one]): [string, unknown[]] => [
        name,
        one.map(near),
      ])
  const cells = Array.isArray(of.cells)
    ? (of as ReturnType<typeof agreementOfGroups>).cells.map((one): [string, number] => [
        `${one.protocol}|${one.people}|${one.machine}`,
        one.count,
      ])
    : Object.entries(of.cells)
  const sorted = <Value>(all: readonly (readonly [string, Value])[]) =>
    Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { figures: sorted(figures), cells: sorted(cells) }
}
