import { Option } from 'commander'
import { z } from 'zod'
import type { Command } from '../../cli/command.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'

interface Options {
  readonly ready?: true
}

/** What `/health/live` and `/health/ready` answer. */
const answer = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) })
type Answer = z.infer<typeof answer>

/** A probe that waits longer is killed by those who run it: Docker's default is 30 s, Kubernetes' 1 s. */
const TIMEOUT_MS = 3_000
/** An address that stands for all of a machine's is asked for by the one of loopback. */
const OF_ALL = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** `gavel health`: asks the service that runs under these settings on this machine how it is. */
export const command: Command<Options, Answer> = {
  options: [new Option('--ready', 'check readiness instead of liveness')],
  json: true,
  help: 'For containers without curl. The exit code is 0 if all is well, otherwise 1.\n\nExample:\n  $ gavel health --ready',
  async run({ options: { ready }, settings, signal }) {
    const { host, port } = settings().http
    if (port === 0)
      throw new OperatorError('http.port is 0: the service took a free port, which only its log names. Set http.port.')
    const name = OF_ALL.get(host) ?? host
    const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}/health/${ready ? 'ready' : 'live'}`
    const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    try {
      const response = await fetch(url, { signal: within, redirect: 'error' })
      return answer.parse(await response.json())
    } catch (error) {
      const { code } = (error as { cause?: { code?: string } }).cause ?? {}
      const why = code ?? (within.aborted ? `no answer within ${TIMEOUT_MS / 1_000} s` : 'no answer that Gavel gives')
      throw new OperatorError(`${url}: ${why}. Does "gavel run" run here, under these settings?`, { cause: error })
    }
  },
  print({ status, checks }, { json, terminal }) {
    if (json) terminal.out(JSON.stringify({ status, checks }))
    else for (const [name, state] of Object.entries(checks)) terminal.out(`${name}: ${state}`)
    if (status !== 'ok') throw new OperatorError(`The service is ${status}.`)
  },
}
