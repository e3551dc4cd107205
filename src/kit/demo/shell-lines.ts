/** Lines that a POSIX shell reads these variables from, whatever is in their values. */
export function shellLines(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('')
}
