import { Counter, Gauge, Histogram } from 'prom-client'
import { REVIEW_REASONS } from '../../contracts/facts/decision-messages.ts'
import { FAULTS, RULED_BY, type VerdictSource } from '../../contracts/facts/verdict.ts'
import { readVerdictId, scopeOf } from '../../contracts/facts/verdict-id.ts'
import { PUBLISHED_KINDS, REFUSED_KINDS } from '../../contracts/ports/report.ts'
import { duration, type MeasuredDeployment, type MetricGroup } from './group.ts'

/** From the fastest debate to a case's deadline; the default buckets of prom-client end at 10 s. */
const LATENCY_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1800]
/** What Gavel itself adds. */
const OVERHEAD_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 600]

/** Values of `degraded` and `fault` that occur together. */
const DEGRADED = [['true', 'none'], ...FAULTS.map((fault) => ['true', fault] as const)] as const
const WHOLE = ['false', 'none'] as const

/** The series that verdicts of a protocol can have. One without a label has a reason; a retraction is degraded by nobody's fault. */
function verdictsOf({ name: protocol, labels, decides = REACHED }: MeasuredDeployment['protocols'][number]) {
  const series = (label: string, decided_by: VerdictSource, [degraded, fault]: readonly [string, string]) => ({
    protocol,
    label,
    decided_by,
    degraded,
    fault,
  })
  const given = labels.length === 0 ? ['none'] : labels
  return [
    ...given.flatMap((label) => decides.flatMap((by) => [WHOLE, ...DEGRADED].map((how) => series(label, by, how)))),
    ...DEGRADED.map((how) => series('none', 'none', how)),
    series('none', 'deleted', ['true', 'none']),
  ]
}

const REACHED = RULED_BY.filter((by) => by !== 'none' && by !== 'deleted')

const CASE_EVENTS = ['opened', 'concluded', 'fenced', 'revived'] as const

/** Cases and their verdicts, up to their acknowledged publication. */
export const verdictMetrics: MetricGroup = (registry, { protocols, objectiveSeconds }) => {
  const registers = [registry]
  const cases = new Counter({
    name: 'gavel_cases_total',
    help: 'Cases by what happened to them: opened, concluded, fenced, revived.',
    labelNames: ['protocol', 'event'],
    registers,
  })
  const verdicts = new Counter({
    name: 'gavel_verdicts_total',
    help: 'Published verdicts. degraded is true if something was left out. fault is ours (Gavel or its operator), model, evidence or none.',
    labelNames: ['protocol', 'label', 'decided_by', 'degraded', 'fault'],
    registers,
  })
  const onComments = new Counter({
    name: 'gavel_comment_verdicts_total',
    help: 'Published verdicts on comments that were judged by themselves; gavel_verdicts_total counts them, too.',
    labelNames: ['protocol', 'label'],
    registers,
  })
  const vetoes = new Counter({
    name: 'gavel_vetoes_total',
    help: 'Published verdicts on what is on a list (docs/vetoes.md), by the list; gavel_verdicts_total counts them, too.',
    labelNames: ['protocol', 'list'],
    registers,
  })
  const objective = new Counter({
    name: 'gavel_objective_verdicts_total',
    help: 'Published verdicts by whether they were published within objectives.latency.',
    labelNames: ['protocol', 'in_time'],
    registers,
  })
  const latency = new Histogram({
    name: 'gavel_verdict_latency_seconds',
    help: 'From the message or due time that opened a revision to its acknowledged publication.',
    labelNames: ['protocol'],
    buckets: LATENCY_SECONDS,
    registers,
  })
  const overhead = new Histogram({
    name: 'gavel_verdict_overhead_seconds',
    help: 'The same without the critical path of model calls and deferred time: the time spent in Gavel itself.',
    labelNames: ['protocol'],
    buckets: OVERHEAD_SECONDS,
    registers,
  })
  const rounds = new Histogram({
    name: 'gavel_debate_rounds',
    help: 'Debate rounds per verdict.',
    labelNames: ['protocol'],
    buckets: [0, 1, 2, 3, 5],
    registers,
  })
  const controls = new Counter({
    name: 'gavel_controls_total',
    help: 'Published verdicts that were debated as controls (controlShare), by whether the debate changed the label.',
    labelNames: ['protocol', 'outcome'],
    registers,
  })
  const publicationHeld = new Gauge({
    name: 'gavel_publication_held',
    help: '1 while records wait in this process because Kafka does not accept them.',
    labelNames: ['what'],
    registers,
  })

  const publicationClosed = new Gauge({
    name: 'gavel_publication_closed',
    help: '1 while a broker refuses what this process writes until a setting is changed: compression, size, acks, replicas, rights, policy, timestamps.',
    labelNames: ['what', 'setting'],
    registers,
  })

  for (const what of PUBLISHED_KINDS) publicationHeld.set({ what }, 0)
  for (const what of REFUSED_KINDS) publicationClosed.set({ what, setting: 'none' }, 0)
  for (const one of protocols) {
    const { name: protocol } = one
    latency.zero({ protocol })
    overhead.zero({ protocol })
    rounds.zero({ protocol })
    for (const outcome of ['changed', 'unchanged']) controls.inc({ protocol, outcome }, 0)
    for (const event of CASE_EVENTS) cases.inc({ protocol, event }, 0)
    for (const series of verdictsOf(one)) verdicts.inc(series, 0)
    for (const in_time of ['true', 'false']) objective.inc({ protocol, in_time }, 0)
  }

  const count = (protocol: string, event: (typeof CASE_EVENTS)[number]) => cases.inc({ protocol, event })
  return {
    'case:opened': ({ protocol }) => count(protocol, 'opened'),
    'case:concluded': ({ protocol }) => count(protocol, 'concluded'),
    'case:fenced': ({ caseId }) => count(scopeOf(caseId).protocol, 'fenced'),
    'case:revived': ({ caseId }) => count(scopeOf(caseId).protocol, 'revived'),
    'verdict:published': ({ verdict, latencySeconds, overheadSeconds }) => {
      const { protocol, label, decidedBy, degraded, faults } = verdict
      const [fault = 'none'] = faults
      verdicts.inc({
        protocol,
        label: label ?? 'none',
        decided_by: decidedBy,
        degraded: String(degraded.length > 0),
        fault,
      })
      if (readVerdictId(verdict.id)?.kind === 'comment') onComments.inc({ protocol, label: label ?? 'none' })
      if (verdict.veto !== undefined) vetoes.inc({ protocol, list: verdict.veto.list })
      // What a person decides takes the time that they take.
      if (decidedBy === 'human' || verdict.restored !== undefined) return
      objective.inc({ protocol, in_time: String(latencySeconds <= objectiveSeconds) })
      latency.observe({ protocol }, duration(latencySeconds))
      overhead.observe({ protocol }, duration(overheadSeconds))
      rounds.observe({ protocol }, verdict.rounds)
      const { debated } = verdict
      // A debate that came to nothing shows nothing.
      if (debated?.why === 'control' && debated.without !== undefined)
        controls.inc({ protocol, outcome: debated.without === label ? 'unchanged' : 'changed' })
    },
    'publication:closed': ({ what, setting, closed }) => publicationClosed.set({ what, setting }, closed ? 1 : 0),
    'publication:held': ({ what, held }) => publicationHeld.set({ what }, held ? 1 : 0),
  }
}

/** What people decide, and what machines say beneath it. */
export const decisionMetrics: MetricGroup = (registry, { protocols }) => {
  const registers = [registry]
  const decisions = new Counter({
    name: 'gavel_decisions_total',
    help: 'Decisions of people, by outcome: stands, withdrawn, late, noted, refused, unknown, deleted, duplicate.',
    labelNames: ['protocol', 'outcome'],
    registers,
  })
  const overrulings = new Counter({
    name: 'gavel_overrulings_total',
    help: 'Human verdicts whose label is another than that of the last ruling of machines.',
    labelNames: ['protocol'],
    registers,
  })
  const proposals = new Counter({
    name: 'gavel_proposals_total',
    help: 'Published rulings of machines beneath a human verdict, by whether their label is another.',
    labelNames: ['protocol', 'differs'],
    registers,
  })
  const reviews = new Counter({
    name: 'gavel_reviews_total',
    help: 'Published requests for a review, by why.',
    labelNames: ['protocol', 'why'],
    registers,
  })
  const waiting = new Gauge({
    name: 'gavel_decision_waiting_seconds',
    help: 'How long ago the oldest decision arrived that this process waits to carry out; 0 if none waits.',
    registers,
  })
  const waits = new Map<number, number>()

  for (const { name: protocol } of protocols) {
    overrulings.inc({ protocol }, 0)
    for (const outcome of ['stands', 'withdrawn', 'late']) decisions.inc({ protocol, outcome }, 0)
    for (const differs of ['true', 'false']) proposals.inc({ protocol, differs }, 0)
    for (const why of REVIEW_REASONS) reviews.inc({ protocol, why }, 0)
  }

  return {
    'proposal:published': ({ protocol, differs }) => proposals.inc({ protocol, differs: String(differs) }),
    'review:published': ({ protocol, why }) => reviews.inc({ protocol, why }),
    'decision:waits': ({ partition, seconds }) => {
      waits.set(partition, seconds)
      waiting.set(Math.max(...waits.values()))
    },
    'decision:handled': ({ protocol, outcome, overrules }) => {
      decisions.inc({ protocol, outcome })
      if (overrules) overrulings.inc({ protocol })
    },
  }
}
