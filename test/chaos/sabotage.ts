import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'

interface Cut {
  readonly file: string
  /** Must stand there exactly once. */
  readonly text: string
  readonly instead: string
}

/** Each breaks one invariant in a copy of the project. */
export const SABOTAGE: Readonly<Record<string, readonly Cut[]>> = {
  /** A batch's offset is committed before its messages are in the thread store. */
  'commit-early': [
    {
      file: 'consumers/group-consumer.ts',
      text: '    await before\n    const working: Promise<unknown>[] = []\n',
      instead: `    await before
    const { topic, partition, next } = batch
    this.#handled.set(partitionKey(batch), { topic, partition, offset: next })
    await this.#commit()
    const working: Promise<unknown>[] = []
`,
    },
  ],
  /** A case is concluded without asking whether it is still this worker's to conclude. */
  'no-epoch': [
    {
      file: 'src/store/case/conclude.lua',
      text: "if status ~= 'open' or latest ~= epoch then return 0 end",
      instead: '',
    },
  ],
  /** An answer is called stored, and is not. */
  'no-journal': [
    {
      file: 'src/store/case/answer.lua',
      text: "local stored = redis.call('HSETNX', journal, key, entry) == 1",
      instead: 'local stored = true',
    },
  ],
  /** A new consumer that joins the group does not learn that intake is paused. */
  'no-repause': [
    {
      file: 'consumers/group-reader.ts',
      text: 'failing.delete(partition)\n        applyPause()\n',
      instead: 'failing.delete(partition)\n',
    },
  ],
  /** A post that comes again after its thread was forgotten counts its revisions from one. */
  'forget-revisions': [
    {
      file: 'src/store/thread/put-post.lua',
      text: '    restore_numbers(thread, revisions, decided)\n',
      instead: '',
    },
  ],
  /** Cases of a protocol that is off are ended at once, though others may have it on a moment later. */
  'give-up-early': [
    {
      file: 'src/judging/engine/unattended.ts',
      text: 'deadline + settings.handBack < clock() && ',
      instead: '',
    },
  ],
  /** Offsets that hold no record count as unread. */
  'count-marks': [
    {
      file: 'src/stream/record.ts',
      text: '    if (batchSize > 0) return\n',
      instead: '    if (batchSize >= 0) return\n',
    },
  ],
  /** Of a comment that waits for its post and has no room, nothing is kept. */
  'lose-orphans': [
    {
      file: 'src/store/thread/put-comments.lua',
      text: ' else keep_origin(id, change.origin) end\n',
      instead: ' end\n',
    },
    {
      file: 'src/store/thread/put-comments.lua',
      text: 'if origin then keep_origin(id, origin) else set_origin(id) end',
      instead: 'set_origin(id)',
    },
  ],
  /** A case ends with a verdict whatever a person has decided. */
  'overrule-people': [
    {
      file: 'src/store/case/conclude.lua',
      text: 'local is_beneath = top and (human or (last and number and tonumber(number) < tonumber(last)))',
      instead: 'local is_beneath = false',
    },
  ],
  /** A decision is carried out as often as it is read. */
  'decide-again': [
    {
      file: 'src/store/thread/decide.lua',
      text: 'if before and cjson.decode(before).same == same then',
      instead: 'if false then',
    },
  ],
  /** The record does not hear of deleted comments. */
  'keep-comments': [
    {
      file: 'src/record/sqlite/tables.ts',
      text: '    this.#erasures.commentsGone(fresh.map(({ entry }) => entry))\n',
      instead: '',
    },
  ],
  /** A recovery does not put back what people decided. */
  'forget-decisions': [
    {
      file: 'src/recovery/recover.ts',
      text: '    await restoreDecisions(run, decided)\n',
      instead: '',
    },
  ],
  /** A recovery brings no revisions back. */
  'forget-published': [
    {
      file: 'src/store/recovery/restore-revisions.lua',
      text: 'local is_behind = known < revision',
      instead: 'local is_behind = false',
    },
  ],
}

/** Copies the project's sources, so that what is edited during a run does not mix with what runs; then breaks the copy. */
export function copyProject(to: string, sabotage: string | undefined): void {
  for (const part of ['src', 'config', 'consumers', 'producers', 'package.json'])
    cpSync(join(PROJECT, part), join(to, part), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(to, 'node_modules'))
  for (const { file, text, instead } of sabotage === undefined ? [] : (SABOTAGE[sabotage] ?? [])) {
    const path = join(to, file)
    const source = readFileSync(path, 'utf8')
    const found = source.split(text).length - 1
    if (found !== 1)
      throw new Error(`sabotage ${sabotage}: its text stands ${found} times in ${file}, not once:\n${text}`)
    writeFileSync(
      path,
      source.replace(text, () => instead),
    )
  }
}
