import { Option } from 'commander'
import { modelsInUse, modelsWithoutKey } from '../../config/models.ts'
import type { Settings } from '../../config/schema.ts'
import { DEFAULT_ROLES, ROLES, type Role, startApp } from '../service/composition/service.ts'
import { OperatorError } from '../service/domain/errors.ts'
import { dependenciesAnswer } from '../service/operations/dependencies.ts'
import type { Command } from './command.ts'
import { listOf } from './options.ts'

/** Time beyond the drain after which a stop is forced, in ms. */
const FORCE_AFTER_MS = 1_000

interface Options {
  readonly roles: readonly Role[]
  readonly waitForDependencies?: true
}

/** `gavel run`: the service, until the signal; resolves when everything is closed. */
export const command: Command<Options, void> = {
  options: [
    new Option('--roles <roles>', `comma-separated: ${ROLES.join(', ')}`)
      .argParser(listOf(ROLES, 'roles'))
      .default([...DEFAULT_ROLES]),
    new Option('--wait-for-dependencies', 'wait until Redis and Kafka answer, instead of ending with an error'),
  ],
  json: false,
  help: 'Example:\n  $ KAFKA_BROKERS=localhost:9092 REDIS_URL=redis://localhost OPENAI_API_KEY=… gavel run',
  async run({ options: { roles, waitForDependencies }, settings: read, stopped }) {
    await runService(read(), roles, { waits: waitForDependencies === true, stopped })
  },
  print() {},
}

/** The service in these roles, until it is told to stop; resolves when everything is closed. */
export async function runService(
  settings: Settings,
  roles: readonly Role[],
  { waits, stopped }: { waits: boolean; stopped: Promise<unknown> },
): Promise<void> {
  const unasked = roles.includes('judge') ? modelsWithoutKey(settings) : []
  if (unasked.length > 0 && unasked.length < modelsInUse(settings).length)
    throw new OperatorError(
      `${unasked.join(', ')} (models.roles) belong to the default endpoint, which has no key. Set OPENAI_API_KEY, or name models of another endpoint as ENDPOINT/MODEL.`,
    )
  if (unasked.length > 0)
    throw new OperatorError(
      'No model is set. Set OPENAI_BASE_URL and OPENAI_API_KEY (any text, where the server asks for none), or start the understudy with "gavel stack".',
    )
  if (waits && !(await dependenciesAnswer(settings, roles, stopped))) return
  const app = await startApp(settings, roles)
  await stopped
  const force = setTimeout(() => process.exit(1), settings.drain + FORCE_AFTER_MS)
  await app.stop()
  clearTimeout(force)
}
