import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'

/** The concepts that had most names on their way from the settings to the verdict, by what a setting or message calls them. */
export const CONCEPTS: Readonly<Record<string, { readonly has: readonly string[]; readonly had: readonly string[] }>> =
  {
    'threads.maxComments': { has: ['maxComments', 'cap'], had: ['keptComments'] },
    'threads.maxPerAuthor': { has: ['maxPerAuthor', 'overAuthor'], had: ['crowd'] },
    'checkpoints.finalAge': { has: ['finalAge'], had: [] },
    'cases.overload': { has: ['overload', 'overloaded', 'step'], had: ['pressedAtDue', 'pressedRounds'] },
    'cases.deadline': { has: ['deadline'], had: ['caseDeadlineMs'] },
    'threads.keepAfterFinal': { has: ['keepAfterFinal'], had: ['keepThread'] },
    'threads.keepTombstone': { has: ['keepTombstone'], had: ['keepRevisions', 'keepOwners'] },
    'queues.lock': { has: ['lock'], had: ['lockMs'] },
    'kind: asked': { has: ['asked', 'request'], had: ['requestsFor', 'eraseRequest', 'keepRequests'] },
    incarnation: { has: ['incarnation'], had: ['lineage'] },
  }

/** The words of the service's code, Lua's in the form of TypeScript's: `max_per_author` is `maxPerAuthor`. */
export function wordsOfService(): ReadonlySet<string> {
  const folders = ['src', 'consumers', 'producers', 'config']
  const files = folders.flatMap((folder) =>
    readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(PROJECT, folder, name),
    ),
  )
  const texts = files
    .filter((file) => /\.(?:ts|lua|yaml)$/.test(file) && !/\/src\/(?:lab|kit)\//.test(file))
    .map((file) => readFileSync(file, 'utf8'))
  return new Set(texts.flatMap((text) => (text.match(/[A-Za-z_]\w*/g) ?? []).map(inCamels)))
}

function inCamels(word: string): string {
  return word.replaceAll(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
