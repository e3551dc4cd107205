import { modelsInUse, modelsWithoutKey, unpricedFinding, unpricedRefusal } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Invocation } from '../../cli/command.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'

/** Runs `work` with the settings' model. If none is set, the stand-in answers, and a line reports that. */
export async function withModel<Result>(
  settings: Settings,
  { terminal, startStandIn }: Pick<Invocation, 'terminal' | 'startStandIn'>,
  work: (reachable: Settings) => Promise<Result>,
): Promise<Result> {
  const unasked = modelsWithoutKey(settings)
  if (unasked.length === 0) {
    const unpriced = unpricedFinding(settings)
    if (unpriced?.state === 'broken') throw new OperatorError(unpricedRefusal(settings) ?? '')
    if (unpriced !== null) terminal.say(`${unpriced.what}: ${unpriced.detail}.`)
    return work(settings)
  }
  if (unasked.length < modelsInUse(settings).length)
    terminal.say(
      `${unasked.join(', ')} (models.roles) belong to the default endpoint, which has no key: set OPENAI_API_KEY, or name models of another endpoint as ENDPOINT/MODEL.`,
    )
  if (startStandIn === undefined) throw new OperatorError('No model is set: set OPENAI_BASE_URL and OPENAI_API_KEY.')
  const standIn = await startStandIn()
  terminal.say(`No model is set (OPENAI_BASE_URL, OPENAI_API_KEY): ${standIn.what}.`)
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = standIn.settings
  try {
    return await work({ ...settings, openai: { ...settings.openai, baseUrl, apiKey } })
  } finally {
    await standIn.close()
  }
}
