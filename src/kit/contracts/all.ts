import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { asyncApi } from './async-api.ts'
import { examplesIn } from './examples.ts'
import { DIALECT, type JsonSchema } from './json-schema.ts'
import { schemaOfLine, schemaOfTopic, TOPIC_CONTRACTS } from './messages.ts'
import { schemaOfSettings } from './settings.ts'

/** The folder that holds them. */
export const SCHEMAS = join(PROJECT, 'config', 'schemas')

/** The documents whose examples stand in the schemas. */
const DOCUMENTS = ['docs/messages.md', 'docs/verdicts.md', 'docs/contracts.md']

/** Every contract by its file's name: a schema of each topic, of lines of files and of the settings, and the topics in AsyncAPI. */
export function contractFiles(): ReadonlyMap<string, string> {
  const text = (path: string) => readFileSync(join(PROJECT, path), 'utf8')
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(text('package.json')))
  const examples = examplesIn(DOCUMENTS.map(text).join('\n'))
  const files = new Map<string, object>()
  for (const contract of TOPIC_CONTRACTS) {
    const shown = examples.get(contract.topic)
    files.set(`${contract.topic}.schema.json`, document({ ...schemaOfTopic(contract), examples: shown }))
  }
  files.set('line.schema.json', document(schemaOfLine()))
  files.set('settings.schema.json', document(schemaOfSettings(text('config/gavel.yaml'))))
  files.set(
    'asyncapi.json',
    asyncApi(version, loadSettings({}), ({ topic }, { required }) => {
      // Of a topic's several messages one may be the deletion; of the others each needs a field that the rest have not.
      const isDeletion = (one: object) => (one as { deleted?: boolean }).deleted === true
      const deletes = required?.includes('deleted') === true
      const isOfForm = (one: object) =>
        isDeletion(one) === deletes && (required ?? []).every((name) => Object.hasOwn(one, name))
      return (examples.get(topic) ?? []).filter((one) => isOfForm(one as object))
    }),
  )
  return new Map([...files].map(([name, json]) => [name, `${JSON.stringify(json, null, 2)}\n`]))
}

function document(schema: JsonSchema): object {
  return { $schema: DIALECT, ...schema }
}
