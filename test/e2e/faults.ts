import { expect } from 'vitest'
import { faultBench } from '../../src/kit/bench/faults.ts'
import { onServers } from '../support/on-servers.ts'
import { tell } from '../support/pipeline.ts'

/** So many subjects of each of the four protocols, before a model that fails in every way that the understudy knows. */
export function endsWithATrueBill(subjects: number): void {
  const it = onServers({})

  it(`ends ${4 * subjects} subjects of four protocols with a verdict and a true bill, though 30 % of the calls fail in every way`, async ({
    stack,
  }) => {
    const plan = { failRate: 0.3, subjects, commentsPerPost: 40, latencyMs: 20 }
    const environment = { PATH: process.env.PATH, ...stack.settings }
    const report = await faultBench(environment, plan, { say: tell, signal: new AbortController().signal })
    tell(JSON.stringify(report, null, 2))
    const { calls } = report
    expect(report.expected).toBe(4 * subjects)
    expect(report.lost).toBe(0)
    expect(report.duplicates).toBe(0)
    expect(report.silent).toBe(0)
    expect(report.decided + report.undecided).toBe(report.expected)
    // Most are decided all the same: a third of the calls is no reason to keep away from the model altogether. A benign label is
    // withheld where a turn of its debate was lost for good.
    expect(report.decided + report.withheld).toBeGreaterThan(0.8 * report.expected)
    expect(report.decided).toBeGreaterThan(0.6 * report.expected)
    expect(calls.logged).toBe(calls.journaled + calls.failed + calls.orphaned)
    expect(calls.billed).toBe(calls.journaled + calls.failed)
    expect(calls.invented).toBe(0)
    expect(calls.claimedTwice).toBe(0)
    // A job that another took over because this machine was busy leaves the calls of the first, a question and its repair;
    // nothing else does.
    expect(calls.orphaned).toBeLessThanOrEqual(2 * report.stalled)
    expect(report.tokens.billed).toBe(report.tokens.logged)
  }, 1_800_000)
}
