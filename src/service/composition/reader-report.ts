import type { ErrorPlace, Report } from '../ports/report.ts'

/**
 * What a reader of a group of its own tells. The partitions that are assigned, and the loop of the Kafka consumer, are the intake's:
 * told of another group too, they would hide that nobody reads one of the intake's.
 */
export function besideIntake(report: Report, loop?: ErrorPlace): Report {
  return (name, event) => {
    if (name === 'partitions:assigned') return
    if (name !== 'loop:succeeded') report(name, event)
    else if (loop !== undefined) report('loop:succeeded', { loop })
  }
}
