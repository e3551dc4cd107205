import { Counter, Gauge } from 'prom-client'
import { APPEAL_OUTCOMES } from '../../contracts/facts/appeal-messages.ts'
import type { MetricGroup } from './group.ts'

/** Appeals that wait for people, and what became of others. */
export const appealMetrics: MetricGroup = (registry) => {
  const ended = new Counter({
    name: 'gavel_appeals_total',
    help: 'Appeals that have their outcome, by what it is.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const [open, overdue, oldest] = [
    ['gavel_appeals_open', 'Appeals that wait for an answer.'],
    ['gavel_appeals_overdue', 'Of these, those that wait for longer than appeals.due.'],
    ['gavel_appeals_oldest_seconds', 'For how long the oldest of them has waited; 0 if none waits.'],
  ].map(([name = '', help = '']) => new Gauge({ name, help, registers: [registry] }))
  for (const outcome of APPEAL_OUTCOMES) ended.inc({ outcome }, 0)
  return {
    'appeals:counted': ({ appeals, now }) => {
      open?.set(appeals.open)
      overdue?.set(appeals.overdue)
      oldest?.set(appeals.oldest === null ? 0 : Math.max(0, (now - appeals.oldest) / 1000))
    },
    'appeals:ended': ({ outcomes }) => {
      for (const { outcome } of outcomes) ended.inc({ outcome })
    },
  }
}
