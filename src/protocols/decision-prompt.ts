import { readPrompts } from './prompts.ts'

/** The folder of what decision models are told, under `config/`. */
export const DECISION_FOLDER = 'prompts/decisions'

/** What a decision model is told of a question; what strangers wrote stands in a field of its own. */
export interface DecisionPrompt {
  readonly hash: string
  /** Its places filled, with our words alone. */
  instructions(values?: Readonly<Record<string, string>>): string
}

/** The one of this name. Throws as `readPrompts` does. */
export function decisionPrompt(
  files: ReadonlyMap<string, string>,
  name: string,
  places: readonly string[] = [],
): DecisionPrompt {
  const text = files.get(`${name}.md`)
  const prompts = readPrompts(new Map(text === undefined ? [] : [[name, text]]), { [name]: places })
  return {
    hash: prompts.hash,
    instructions: (values) =>
      prompts
        .get(name)
        .render(values)
        .map(({ content }) => content)
        .join('\n\n'),
  }
}
