import { TOPIC_CONTRACTS } from './messages.ts'

/**
 * The messages that a document shows, by topic: in its blocks of `jsonc` what follows a comment that begins with the topic's name,
 * as in `// gavel.posts`, up to the next comment of this kind.
 */
export function examplesIn(document: string): ReadonlyMap<string, readonly unknown[]> {
  const examples = new Map<string, unknown[]>()
  for (const [, block = ''] of document.matchAll(/^```jsonc\n([\s\S]*?)^```$/gm)) {
    let topic: string | undefined
    let json = ''
    for (const line of block.split('\n')) {
      const [comment, named = ''] = /^\/\/ (?:gavel\.([a-z-]+))?/.exec(line) ?? []
      if (comment !== undefined) {
        if (named !== '') topic = topicNamed(named)
        continue
      }
      json += line
      if (topic === undefined || !json.trimEnd().endsWith('}')) continue
      const example = parsed(json)
      if (example === undefined) continue
      examples.set(topic, [...(examples.get(topic) ?? []), example])
      json = ''
    }
    if (topic !== undefined && json.trim() !== '') throw new Error(`an example of ${topic} is no JSON: ${json}`)
  }
  return examples
}

function topicNamed(name: string): string {
  if (!TOPIC_CONTRACTS.some(({ topic }) => topic === name)) throw new Error(`there is no topic ${name}`)
  return name
}

/** Undefined while an object goes on in the next line. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
