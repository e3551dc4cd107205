import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import { type RunningCommand, runCommandLine } from './cli/command-line.ts'
import { terminal } from './cli/terminal.ts'
import { COMMANDS, startStandIn } from './commands.ts'
import { failedServiceLine, machineFault, unexpected } from './contracts/facts/error-line.ts'
import { version } from './platform/package-folder.js'
import { stopRequests } from './platform/stop-requests.ts'

const io = terminal(process.stdout, process.stderr)
const environment = process.env
// The reader closed the pipe early (`gavel verdicts | head`): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

/** The first request to stop lets the command finish its current work; the second one ends the process at once. */
const { signal, stopped, onHangup } = stopRequests(process, performance.now.bind(performance), () => process.exit(130))

/** Ends the process once standard output and error are flushed: `process.exit` drops what a slow reader has not taken. */
async function leave(code: number): Promise<never> {
  const outputs = [process.stdout, process.stderr]
  await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
  process.exit(failing === undefined ? code : 1)
}

/** Node's own report would print every property of the error, such as a model's prompt or a Redis command. */
function fail(error: unknown): Promise<never> {
  failing ??= endWith(error)
  return failing
}
/** An output that takes nothing, as on a full disk, fails again at every write: the first failure is reported. */
let failing: Promise<never> | undefined

function endWith(error: unknown): Promise<never> {
  const stack = environment.GAVEL_LOG_LEVEL === 'debug'
  const how = stack ? '' : '; GAVEL_LOG_LEVEL=debug shows the stack'
  const fault = stack ? null : machineFault(error)
  lastWords(fault === null ? `${running.name}: unexpected: ${unexpected(error, { stack })}${how}` : `gavel: ${fault}`)
  // Exits even where the reader of the output hangs.
  setTimeout(() => process.exit(1), BROKEN_ENDS_MS)
  return leave(1)
}
const BROKEN_ENDS_MS = 2_000

/** What a command ends with: a line of its log, where that goes to a collector. */
function lastWords(text: string): void {
  const writer = { process: `@${hostname()}:${process.pid}`, version: version() }
  io.say(
    running.logs && !process.stderr.isTTY ? failedServiceLine(text.replace(/^gavel: /, ''), writer, new Date()) : text,
  )
}
let running: RunningCommand = { name: 'gavel', logs: false }
process.on('uncaughtException', fail)

try {
  const code = await runCommandLine(process.argv.slice(2), {
    version: version(),
    commands: COMMANDS,
    environment,
    terminal: io,
    startStandIn,
    signal,
    stopped,
    // A terminal that is closed ends what runs in it.
    ...([0, 1, 2].some(isatty) ? {} : { onHangup }),
    writing: {
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => process.stderr.write(text),
    },
    begins: (command) => {
      running = command
    },
    lastWords,
  })
  // Clients of Kafka and of models may keep sockets open for a while; all output has been written.
  await leave(code)
} catch (error) {
  await fail(error)
}
