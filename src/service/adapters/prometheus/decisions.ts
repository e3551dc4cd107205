import { Counter, Gauge } from 'prom-client'
import type { MetricGroup } from './group.ts'

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
    for (const why of ['differs', 'edited', 'refused', 'disputed']) reviews.inc({ protocol, why }, 0)
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
