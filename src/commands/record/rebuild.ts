import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { topicsOf } from '../../../config/topics.ts'
import { topicHistory } from '../../service/adapters/kafka/bounded-reader.ts'
import { groupProgress } from '../../service/adapters/kafka/offsets.ts'
import { drawKeyOf } from '../../service/adapters/sqlite/record.ts'
import {
  projectOf,
  recordedTopics,
  recordGroup,
  recordReaderOf,
  recordStoreOf,
} from '../../service/composition/record.ts'
import { OperatorError } from '../../service/domain/errors.ts'
import type { RecordSize } from '../../service/ports/record.ts'
import { rebuild } from '../../service/record/rebuild.ts'
import type { Command } from '../command.ts'
import { readingClient } from '../reading-client.ts'
import { counted } from '../terminal.ts'

/** `gavel record rebuild`: a new file from the topics, in place of the old one once it is whole. */
export const command: Command<object, RecordSize> = {
  options: [],
  json: true,
  help: [
    'Stop the role "record" first. What the topics no longer have is lost with the old file: where it can still be read,',
    'keep a copy, or what "gavel record export" prints. See docs/record.md.',
    '',
    'Example:',
    '  $ gavel record rebuild',
  ].join('\n'),
  async run({ settings: read, terminal, signal }) {
    const settings = read()
    const { path } = settings.record
    const kafka = await readingClient(settings, terminal)
    const topics = recordedTopics(topicsOf(settings))
    const old = await oldRecord(settings)
    if (old !== null && !(await groupProgress(kafka, recordGroup(settings, old.name), [...topics.keys()])).alone)
      throw new OperatorError('The role "record" runs, and writes this file. Stop it first.')
    const fresh = `${path}.rebuilt`
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await removeFiles(fresh)
    let records = 0
    const store = await recordStoreOf(settings, { path: fresh, ...(old === null ? {} : { drawKey: old.drawKey }) })
    try {
      const history = topicHistory(kafka, { signal, say: terminal.say })
      const progress = (topic: string, more: number) => {
        records += more
        terminal.progress(`${counted(records, 'record')} read (${topic})`)
      }
      await rebuild(store, { history, topics, project: projectOf(settings), progress })
      const size = await store.size()
      await store.close()
      await removeFiles(path)
      await rename(fresh, path)
      return size
    } catch (error) {
      await store.close().catch(() => undefined)
      await removeFiles(fresh)
      if (!signal.aborted) throw error
      throw new OperatorError('Stopped before everything was read; the record is as it was.', { cause: error })
    }
  },
  print({ rows, bytes }, { json, terminal }) {
    if (json) terminal.out(JSON.stringify({ rows, bytes }))
    else
      terminal.out(
        `The record is made anew: ${counted(rows.verdicts, 'verdict')}, ${counted(rows.transcripts, 'transcript')}, ${rows.said} times that somebody said something of one, ${Math.ceil(bytes / 2 ** 20)} MiB.`,
      )
  },
}

/** What is taken over of the record that is there; null if there is none, or it can't be read. */
async function oldRecord(
  settings: Parameters<typeof recordReaderOf>[0],
): Promise<{ name: string; drawKey: string } | null> {
  if (!existsSync(settings.record.path)) return null
  try {
    const reader = await recordReaderOf(settings)
    const name = await reader.name()
    await reader.close()
    return { name, drawKey: await drawKeyOf(settings.record.path) }
  } catch (error) {
    if (error instanceof OperatorError) return null
    throw error
  }
}

async function removeFiles(path: string): Promise<void> {
  await Promise.all(['', '-wal', '-shm'].map((end) => rm(`${path}${end}`, { force: true })))
}
