import { Counter, type Registry } from 'prom-client'
import type { Handlers } from './group.ts'

/** Most variants that a process tells apart; what others do goes under `other`. */
const MOST_VARIANTS = 20

/** What variants judge beside the live settings, and what that costs. */
export function variantMetrics(registry: Registry): Handlers {
  const registers = [registry]
  const labelNames = ['protocol', 'variant', 'way'] as const
  const judged = new Counter({
    name: 'gavel_variant_judged_total',
    help: 'Cases that a variant has judged; way: ramp, published as verdicts, or shadow.',
    labelNames,
    registers,
  })
  const usd = new Counter({
    name: 'gavel_variant_usd_total',
    help: 'What that has cost, in US dollars; in the shadow without the answers that the live cases had.',
    labelNames,
    registers,
  })
  const questions = new Counter({
    name: 'gavel_variant_questions_total',
    help: 'Questions of variants in the shadow; answered: anew, or known from the live case.',
    labelNames: ['protocol', 'variant', 'answered'],
    registers,
  })
  const waited = new Counter({
    name: 'gavel_variant_waited_seconds_total',
    help: 'How long cases of a variant in the shadow waited for slots that nothing live needs, or for a new day of its budget.',
    labelNames: ['protocol', 'variant'],
    registers,
  })
  const names = new Set<string>()
  const named = (variant: string) => {
    if (names.size < MOST_VARIANTS) names.add(variant)
    return names.has(variant) ? variant : 'other'
  }
  return {
    'verdict:published': ({ verdict: { protocol, variant, usage } }) => {
      if (variant === undefined) return
      const labels = { protocol, variant: named(variant), way: 'ramp' }
      judged.inc(labels)
      usd.inc(labels, usage.costUsd)
    },
    'shadow:judged': ({ protocol, variant, asked }) => {
      const labels = { protocol, variant: named(variant), way: 'shadow' }
      judged.inc(labels)
      usd.inc(labels, asked.costUsd)
      for (const answered of ['anew', 'known'] as const)
        questions.inc({ protocol, variant: labels.variant, answered }, asked[answered])
    },
    'shadow:waited': ({ protocol, variant, seconds }) => waited.inc({ protocol, variant: named(variant) }, seconds),
  }
}
