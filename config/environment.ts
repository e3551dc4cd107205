import { readFileSync } from 'node:fs'

/** An address as Kubernetes and Docker links write it into the variables of a service's port. */
const ADDRESS = /^(tcp|udp|sctp):\/\//i
const KUBERNETES = [
  /^GAVEL(_[A-Z0-9_]+)?_SERVICE_HOST$/,
  /^GAVEL(_[A-Z0-9_]+)?_SERVICE_PORT(_[A-Z0-9_]+)?$/,
  /^GAVEL(_[A-Z0-9_]+)?_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/,
]
const PORT = /^GAVEL(_[A-Z0-9_]+)?_PORT$/

/**
 * Whether Kubernetes sets this variable in every pod beside a service whose name begins with `gavel`: `GAVEL_SERVICE_HOST`,
 * `GAVEL_PORT_9464_TCP_ADDR`, or `GAVEL_HTTP_PORT=tcp://10.0.0.1:80`, which otherwise is a setting.
 */
export function isOfKubernetes(variable: string, value: string): boolean {
  return KUBERNETES.some((pattern) => pattern.test(variable)) || (PORT.test(variable) && ADDRESS.test(value))
}

/**
 * The variables that are not empty, those of settings with what stands in a file in place of what the file is called: `OPENAI_API_KEY_FILE=/run/key` is
 * `OPENAI_API_KEY` with the file's text, without the line end behind it. `isSetting` knows the names. A file that can't be read,
 * and a setting that is given both ways, are told to `fault`.
 */
export function withFiles(
  environment: Readonly<Record<string, string | undefined>>,
  isSetting: (variable: string) => boolean,
  fault: (why: string) => void,
): ReadonlyMap<string, string> {
  const given = new Map(Object.entries(environment).flatMap(([variable, value]) => (value ? [[variable, value]] : [])))
  const read = new Map(given)
  for (const [variable, file] of given) {
    const setting = variable.replace(/_FILE$/, '')
    if (setting === variable || isSetting(variable) || !isSetting(setting)) continue
    read.delete(variable)
    if (given.has(setting)) fault(`${setting} and ${variable} are both set: leave one out`)
    else {
      const text = textOf(file, (code) => fault(`${variable}: ${file} cannot be read (${code})`))
      if (text !== undefined && text !== '') read.set(setting, text)
    }
  }
  return read
}

/** What stands in a file that holds a secret, without the line end behind it. */
export function textOf(file: string, failed: (code: string) => void): string | undefined {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    failed(error instanceof Error && 'code' in error ? String(error.code) : 'unknown')
    return undefined
  }
}
