import { Gauge } from 'prom-client'
import type { MetricGroup } from './group.ts'

/** How first lanes stand, and what people say of what they settled. */
export const laneMetrics: MetricGroup = (registry, { protocols }) => {
  const registers = [registry]
  const lanes = new Gauge({
    name: 'gavel_lane_state',
    help: '1 for how a first lane stands, by its hash: open, void (it holds for other prompts, policies or models), closed (people found it wrong too often), or closed-in-part (those of some tenants did, and it settles nothing of theirs). Shared.',
    labelNames: ['protocol', 'lane', 'state'],
    registers,
  })
  const laneWrong = new Gauge({
    name: 'gavel_lane_wrong_ratio',
    help: 'The share of what a first lane settled that people found wrong, of what was drawn at random; bound: share, or low and high of its 95 % interval. In the process that keeps the record.',
    labelNames: ['protocol', 'lane', 'bound'],
    registers,
  })
  const laneLost = new Gauge({
    name: 'gavel_lane_lost_draws',
    help: 'Verdicts of a first lane that were drawn for people, and edited, judged anew or erased before anybody had looked: they count neither as right nor as wrong. In the process that keeps the record.',
    labelNames: ['protocol', 'lane'],
    registers,
  })
  const laneWaiting = new Gauge({
    name: 'gavel_lane_waiting_seconds',
    help: 'How long the first drawn verdict of a first lane has waited for somebody to look: what comes after it of its tenant does not count until then; 0: none waits. In the process that keeps the record.',
    labelNames: ['protocol', 'lane'],
    registers,
  })
  const laneEvidence = new Gauge({
    name: 'gavel_lane_evidence',
    help: 'The e-value against the promise of a first lane: from 1/delta on (20 at a delta of 5 %) it closes itself. In the process that keeps the record.',
    labelNames: ['protocol', 'lane'],
    registers,
  })
  return {
    'state:exported': ({ here }) => {
      if (!here) lanes.reset()
    },
    'lane:watched': ({ states }) => {
      lanes.reset()
      for (const { name: protocol } of protocols)
        if (states.every((one) => one.protocol !== protocol)) lanes.set({ protocol, lane: 'none', state: 'open' }, 0)
      for (const { protocol, lane, state } of states) lanes.set({ protocol, lane, state }, 1)
    },
    'lane:audited': ({ audits, now }) => {
      for (const gauge of [laneWrong, laneLost, laneWaiting, laneEvidence]) gauge.reset()
      for (const { protocol, lane, share, interval, evidence, lost, nextSince } of audits) {
        laneEvidence.set({ protocol, lane }, evidence)
        laneLost.set({ protocol, lane }, lost)
        laneWaiting.set({ protocol, lane }, nextSince === null ? 0 : Math.max(0, now - nextSince) / 1000)
        if (share === null) continue
        for (const [bound, value] of Object.entries({ share, ...interval }))
          laneWrong.set({ protocol, lane, bound }, value)
      }
    },
  }
}
