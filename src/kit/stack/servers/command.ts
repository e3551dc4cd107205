import { execFile } from 'node:child_process'

/**
 * Runs a command to its end and gives what it wrote, standard output and standard error together.
 * Fails with the last lines of that when it ends in an error or is still running after `withinMs`.
 */
export async function runCommand(command: string, args: readonly string[], withinMs: number): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(command, args, { timeout: withinMs, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`
      if (!error) return resolve(output)
      const reason = error.killed ? `was not done after ${withinMs / 1000} s` : `failed (${error.code ?? error.signal})`
      reject(new Error(`${[command, ...args].join(' ')} ${reason}: ${lastLines(output) || error.message}`))
    })
  })
}

/** The full path of the first of these programs that the PATH has, or undefined. */
export async function findOnPath(...names: readonly string[]): Promise<string | undefined> {
  const script = 'for name; do command -v "$name" && exit; done; exit 0'
  const found = await runCommand('/bin/sh', ['-c', script, 'find', ...names], 10_000)
  return found.trim() || undefined
}

/** The end of a program's output, short enough for an error message. */
export function lastLines(output: string, count = 15): string {
  return output.trim().split('\n').slice(-count).join('\n').slice(-3000)
}
