import { groupsOf, recordedTopics, topicsOf } from '../../../../config/topics.ts'
import type { Command } from '../../../cli/command.ts'
import { counted } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { OpenAppeals, RecordSize } from '../../../contracts/ports/record.ts'
import { rebuild } from '../../../record/rebuild.ts'
import { rebuildingOf, recordStoreOf } from '../../../record/record-store.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { groupProgress } from '../../../stream/offsets.ts'
import { projectOf } from '../../composition/record.ts'
import { readingClient } from '../reading-client.ts'

/** `gavel record rebuild`: a new record from the topics, in place of the old one once it is whole. */
export const command: Command<object, RecordSize & Pick<OpenAppeals, 'wordless' | 'unjudged'>> = {
  options: [],
  json: true,
  help: [
    'Stop the role "record" first. The new record lacks all that the topics no longer have. If the old record is still readable,',
    'copy it first, or export it with "gavel record export". See docs/record.md.',
    '',
    'Example:',
    '  $ gavel record rebuild',
  ].join('\n'),
  async run({ settings: read, terminal, signal }) {
    const settings = read()
    const rebuilding = rebuildingOf(settings)
    const kafka = await readingClient(settings, terminal)
    const topics = recordedTopics(topicsOf(settings))
    const old = await rebuilding.old()
    if (old !== null && !(await groupProgress(kafka, groupsOf(settings).record(old.name), [...topics.keys()])).alone)
      throw new OperatorError('The role "record" runs, and writes this record. Stop it first.')
    await rebuilding.clear()
    let records = 0
    const { place } = rebuilding
    const store = await recordStoreOf(settings, { place, drawKey: old?.drawKey })
    try {
      const history = topicHistory(kafka, { signal, say: terminal.say })
      const progress = (topic: string, more: number) => {
        records += more
        terminal.progress(`${counted(records, 'record')} read (${topic})`)
      }
      await rebuild(store, { history, topics, project: projectOf(settings), progress })
      const size = await store.size()
      const { wordless, unjudged } = await store.openAppeals(0)
      await store.close()
      await rebuilding.putInPlace()
      return { ...size, wordless, unjudged }
    } catch (error) {
      await store.close().catch(() => undefined)
      await rebuilding.clear()
      if (!signal.aborted) throw error
      throw new OperatorError('Stopped before everything was read; the record is as it was.', { cause: error })
    }
  },
  print({ rows, bytes, wordless, unjudged }, { json, terminal }) {
    if (json) terminal.out(JSON.stringify({ rows, bytes, wordless, unjudged }))
    else
      terminal.out(
        `The record is made anew: ${counted(rows.verdicts, 'verdict')}, ${counted(rows.transcripts, 'transcript')}, ${rows.said} decisions, proposals and other notes on them, ${Math.ceil(bytes / 2 ** 20)} MiB.`,
      )
    if (unjudged > 0)
      terminal.say(`It lacks the verdicts of ${counted(unjudged, 'appeal')}: these stay open (docs/appeals.md).`)
    if (wordless > 0)
      terminal.say(
        `It lacks the words of ${counted(wordless, 'appeal')}, whose outcomes are told: gavel.appeals has them no more (appeals.keep).`,
      )
  },
}
