import type { Settings } from '../../config/schema.ts'
import type { Command, Invocation } from '../../src/cli/command.ts'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'

type Io = Pick<Invocation, 'terminal' | 'signal'>

/** How `main.ts` would call a command with these words and options. */
export function invocation<Options>(
  settings: Partial<Settings>,
  args: readonly string[],
  { json = false, ...options }: Options & { readonly json?: boolean },
  io: Io,
): Invocation<Options> {
  return {
    args,
    options: options as Options,
    json,
    settings: () => settings as Settings,
    environment: {},
    startStandIn: startUnderstudy,
    ...io,
    stopped: new Promise(() => {}),
    misused(message) {
      throw new Error(message)
    },
  }
}

/** Runs a command and prints its result, which it resolves to. */
export async function perform<Options, Result>(
  command: Command<Options, Result>,
  settings: Partial<Settings>,
  args: readonly string[],
  options: Options & { readonly json?: boolean },
  io: Io,
): Promise<Result> {
  const given = invocation(settings, args, options, io)
  const result = await command.run(given)
  command.print(result, given)
  return result
}
