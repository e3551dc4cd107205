import { loadSettings } from '../../config/load.ts'
import { consolePart } from '../../src/app/composition/console.ts'
import { namedLoops } from '../../src/operations/loop.ts'
import { feed } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { WELL } from './console-for-tests.ts'

type ConsoleParts = Parameters<typeof consolePart>[1]
type Topics = ReturnType<typeof feed>
type Served = Awaited<ReturnType<typeof recordInMemory>>

/** A console as `gavel console` serves it, over a record in memory; nobody decides there, unless `parts` says how. */
export async function servedConsole(
  parts: (of: { record: Served; topics: Topics }) => Partial<ConsoleParts> = () => ({}),
  env: Readonly<Record<string, string>> = {},
) {
  const record = await recordInMemory({ blindShare: Number(env.GAVEL_REVIEW_BLIND_SHARE ?? 0) })
  const topics = feed(record)
  const loops = namedLoops(() => {})
  const links: string[] = []
  const part = await consolePart(loadSettings({ GAVEL_CONSOLE_PORT: '0', ...env }), {
    record,
    queue: record.review,
    pictures: record.pictures,
    keptImage: null,
    loops,
    clock: Date.now,
    report: () => {},
    readStatus: async () => WELL,
    audit: null,
    casework: null,
    link: { person: 'anna', print: (address) => void links.push(address), isUnseen: true },
    decide: { decide: async () => ({ of: '0@0', decided: null }) },
    ...parts({ record, topics }),
  })
  return {
    record,
    topics,
    port: part.port,
    own: `http://127.0.0.1:${part.port}`,
    /** Another one at each call: it signs in once. */
    nextLink() {
      part.printLink()
      return links.at(-1) ?? ''
    },
    async close() {
      await loops.close()
      await part.close()
    },
  }
}
