import { fork } from 'node:child_process'
import { join } from 'node:path'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { nodeFlags } from '../../platform/node-flags.js'

/** Starts one of the bench's own scripts as a process; resolves to it and to its first message. Throws an OperatorError if it exits. */
export async function startProcess(name: string, args: readonly string[], signal: AbortSignal) {
  const file = join(import.meta.dirname, `${name}${import.meta.filename.slice(-3)}`)
  const child = fork(file, args, { execArgv: nodeFlags() })
  const said = await new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new OperatorError(`The bench's ${name} ended with ${code}.`)))
    signal.addEventListener('abort', () => reject(STOPPED), { once: true })
  })
  return { child, said }
}

export const STOPPED = new OperatorError('Stopped before the end.')
