import { type HeapProfiler, type Profiler, Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'
import { elementsTouched } from './counted.ts'

// By chance, and with optimized code, which allocates less, two runs of the same work would differ.
for (const flag of ['--sampling-heap-profiler-suppress-randomness', '--no-opt', '--no-maglev']) setFlagsFromString(flag)
const session = new Session()
session.connect()
ask('Profiler.enable')
// From here on: functions that were compiled before have no counters of their own. So this file is imported first.
ask('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** So many bytes that are allocated count as one: an element of a list, or a field of an object. */
const BYTES = 16
/** Whose work is counted: Gavel's, and its libraries'. */
const COUNTED = /\/(?:src|consumers|producers|config|node_modules)\/(?!.*(?:vitest|vite|tinypool)\b)/

/**
 * The work of `run` until it is done, as far as it can be counted, on lists and objects of any length: blocks of code that are
 * entered, elements that are copied, moved or looked at one by one, and bytes that are allocated, which is what it takes to copy
 * an object. No time is measured. What happens beside it in this process counts, too.
 */
export async function workOf(run: () => Promise<unknown>): Promise<number> {
  ask('Profiler.takePreciseCoverage')
  ask('HeapProfiler.startSampling', {
    samplingInterval: 512,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  const touched = await elementsTouched(run)
  const { profile } = ask('HeapProfiler.stopSampling') as HeapProfiler.StopSamplingReturnType
  const { result } = ask('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType
  const blocks = result
    .filter(({ url }) => COUNTED.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
  const bytes = bytesOf(profile.head)
  return touched + blocks.reduce((sum, count) => sum + count, 0) + bytes / BYTES
}

function ask(method: string, parameters: object = {}): unknown {
  let answered: unknown
  let refused: Error | null = null
  // In the same thread it answers before it returns.
  session.post(method, parameters, (error, result) => {
    refused = error
    answered = result
  })
  if (refused !== null) throw refused
  return answered
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize)
}
