import { loadSettings } from '../../../config/load.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import { listedModels } from '../../models/openai/listed-models.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where Ollama, llama.cpp, vLLM and LM Studio serve models, unless they are told otherwise. */
const PORTS = [11434, 8080, 8000, 1234]

/**
 * The environment in which this model answers for every role: at the address that is set, else at that server of this machine which lists
 * it. Throws an `OperatorError` if none does.
 */
export async function withLocalModel(
  environment: Environment,
  name: string,
  signal: AbortSignal,
  ports: readonly number[] = PORTS,
): Promise<Environment> {
  const { OPENAI_BASE_URL: set, OPENAI_API_KEY: key } = environment
  const places = set ? [set] : ports.map((port) => `http://127.0.0.1:${port}/v1`)
  const apiKey = key || 'none'
  const lists = await Promise.all(
    places.map(async (baseUrl) => {
      const listed = await listedModels({ baseUrl, apiKey, headers: {}, query: {} }, signal).catch(() => [])
      return { baseUrl, names: listed.map(({ id }) => id) }
    }),
  )
  signal.throwIfAborted()
  const found = lists.find(({ names }) => names.includes(name))
  if (found === undefined) {
    const others = lists.flatMap(({ names }) => names)
    const seen =
      others.length === 0 ? 'No model is listed there' : `These are listed: ${others.slice(0, 20).join(', ')}`
    throw new OperatorError(
      printable(
        `No server lists the model ${name} (asked: ${places.join(', ')}). ${seen}. OPENAI_BASE_URL names another.`,
        1_000,
      ),
    )
  }
  const roles = Object.fromEntries(Object.keys(loadSettings({}).models.roles).map((role) => [role, [name]]))
  return {
    ...environment,
    OPENAI_BASE_URL: found.baseUrl,
    OPENAI_API_KEY: apiKey,
    GAVEL_MODELS_ROLES: JSON.stringify(roles),
  }
}
