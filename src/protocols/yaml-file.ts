import { parseDocument } from 'yaml'

/** A YAML file's content; undefined where it has none that can be read: then `fault` gets the reason. */
export function readYaml(source: string, fault: (why: string) => void): unknown {
  const document = parseDocument(source)
  for (const error of document.errors) fault(`is not YAML: ${error.message.split('\n', 1)[0]}`)
  if (document.errors.length > 0) return undefined
  try {
    const content: unknown = document.toJS()
    if (content === null) fault('is empty')
    return content ?? undefined
  } catch (error) {
    fault(`is not YAML: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}
