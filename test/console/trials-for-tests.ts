import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ShadowVerdict } from '../../src/contracts/facts/shadow-verdict.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import type { WhatIfFlip, WhatIfReport } from '../../src/contracts/facts/what-if-report.ts'
import type { TopicHistory } from '../../src/contracts/ports/topic.ts'

/** What a variant in the shadow says of a post that is live not hateful. */
export function aShadow(subjectId: string, label: string | null, at: string, over: Partial<ShadowVerdict> = {}) {
  return {
    schema: 1,
    id: `hate~${subjectId}~r1~v~stricter`,
    variant: 'stricter',
    of: `hate~${subjectId}~r1`,
    subjectId,
    subjectKind: 'post',
    tenant: 'default',
    protocol: 'hate',
    revision: 1,
    label,
    live: { label: 'non-hate', decidedBy: 'consensus', costUsd: 0.001, faults: [] },
    decidedBy: 'consensus',
    clauses: ['H6'],
    faults: [],
    usage: { ...noUsage(), costUsd: 0.002 },
    models: {},
    versions: { script: 7, prompts: 'p', settings: 's' },
    at,
    ...over,
  } satisfies ShadowVerdict
}

/** A topic of one partition that holds these messages. */
export function historyOf(values: readonly unknown[]): TopicHistory {
  const to = BigInt(values.length)
  return {
    rangesOf: async () => new Map([[0, { from: 0n, to }]]),
    async read(topic, ranges, take) {
      const from = Number(ranges.get(0)?.from ?? 0n)
      const messages = values.slice(from).map((value, nth) => ({
        topic,
        partition: 0,
        offset: String(from + nth),
        key: null,
        value: Buffer.from(JSON.stringify(value)),
        headers: {},
        timestamp: 0,
      }))
      await take(messages)
    },
  }
}

/** A report in a folder of its own, about posts of these tenants that would be hateful. */
export function writtenReport(folder: string, name: string, posts: readonly Partial<WhatIfFlip>[], tenants: string[]) {
  const share = { share: 0.25, interval: { low: 0.1, high: 0.5 }, cases: 8, hits: 2, effective: 8 }
  const report: WhatIfReport = {
    schema: 1,
    protocol: 'hate',
    tried: [`the policy of ${name} <b>`],
    since: '2026-03-01T00:00:00.000Z',
    until: '2026-03-02T00:00:00.000Z',
    cases: { found: 9, leftOut: { cut: 1 }, replayed: 8, unchanged: 6, notDrawn: 0 },
    usd: { all: 0.2, drawn: 0.2, bill: 0.19, perThousand: { before: 1, after: 1.5 } },
    flips: {
      all: share,
      directions: [{ from: 'non-hate', to: 'hate', ...share }],
      labels: [{ value: 'non-hate', ...share }],
      languages: [{ value: null, ...share }],
      tenants: tenants.map((value) => ({ value, ...share })),
      clauses: [{ value: 'H6', ...share }],
    },
    people: { before: { ...share, cases: 0, hits: 0 }, after: { ...share, cases: 0, hits: 0 } },
    posts: posts.map((post, nth) => ({
      verdictId: `hate~p${nth}~r1`,
      subjectId: `p${nth}`,
      tenant: 'default',
      lang: 'en',
      words: 'as the report has them',
      chance: 1,
      person: null,
      before: { label: 'non-hate', decidedBy: 'consensus', rationale: 'it is a quarrel' },
      after: {
        label: 'hate',
        decidedBy: 'consensus',
        rationale: 'it insults',
        clauses: [{ id: 'H6', quote: 'idiot' }],
      },
      ...post,
    })),
  }
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'report.json'), JSON.stringify(report))
  return report
}
