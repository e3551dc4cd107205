import { setTimeout as sleep } from 'node:timers/promises'
import { findOnPath, runCommand } from './command.ts'
import { type SayLine, UnavailableError } from './local-server.ts'

/** A program that Debian and Ubuntu have, and what to tell people where it can't be had. */
interface Program {
  /** For a person. */
  readonly what: string
  /** Its names on the PATH, the best first. */
  readonly names: readonly string[]
  readonly packageName: string
  /** The service that installing the package may start. */
  readonly service: string
  /** Where nothing else helps: one way to get it a line. */
  readonly ways: readonly string[]
}

/**
 * The full path of a program: from the PATH, or installed with apt-get where that is allowed and can work (as root on
 * Debian, Ubuntu and their kin), which is said. Fails with UnavailableError, which lists the ways to get it.
 */
export async function findOrInstall(
  program: Program,
  { aptAllowed }: { readonly aptAllowed: boolean },
  say: SayLine,
): Promise<string> {
  const present = await findOnPath(...program.names)
  if (present) return present
  let cause: unknown
  if (aptAllowed && process.getuid?.() === 0 && (await findOnPath('apt-get'))) {
    cause = await installWithApt(program, say).catch((error: unknown) => error)
    const installed = await findOnPath(...program.names)
    if (installed) return installed
  }
  const failure = cause === undefined ? '' : ` (${String(cause)})`
  const ways = program.ways.map((way) => `- ${way}`)
  throw new UnavailableError([`No ${program.what} here${failure}. Any of these will do:`, ...ways].join('\n'), {
    cause,
  })
}

/** Installs the package, and stops the service that came with it: nobody asked for that one. */
async function installWithApt({ packageName, service }: Program, say: SayLine): Promise<void> {
  say(`${packageName} is not installed: running apt-get update && apt-get install -y ${packageName}`)
  await update()
  await aptGet('install', '-y', '--no-install-recommends', packageName)
  await stopService(service, say)
}

async function update(): Promise<void> {
  // apt waits for dpkg's lock if asked to, but not for the one of its package lists.
  const deadline = Date.now() + 120_000
  for (;;) {
    try {
      await aptGet('update')
      return
    } catch (error) {
      const busy = error instanceof Error && error.message.includes('Could not get lock')
      if (!busy || Date.now() > deadline) throw error
      await sleep(2000)
    }
  }
}

async function aptGet(...args: readonly string[]): Promise<void> {
  const quiet = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=120']
  await runCommand('env', [...quiet, ...args], 600_000)
}

async function stopService(service: string, say: SayLine): Promise<void> {
  const script =
    'if [ -d /run/systemd/system ]; then systemctl disable --now "$1"; ' +
    'elif command -v service; then service "$1" stop; fi'
  try {
    await runCommand('/bin/sh', ['-c', script, 'stop', service], 60_000)
  } catch (error) {
    say(`The service ${service} that came with the package could not be stopped: ${String(error)}`)
  }
}
