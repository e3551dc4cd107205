/** What advice begins with that comes before all other. */
export const FIRST = 'Do this first'

/** A line of advice that can be copied as it stands: a setting, a command. */
export function pasted(line: string): string {
  return `    ${line}`
}

/** Whether advice has a setting that can be pasted into a settings file. */
export function hasSetting(todo: string): boolean {
  return /^ {4}[a-z]+\.[\w.]+: \{/m.test(todo)
}

/** Whether a line of advice is one that can be copied. */
export function isPasted(line: string): boolean {
  return line.startsWith('    ')
}

/** Advice for roles that need another model. */
export function anotherModelFor(roles: readonly string[]): string {
  const chains = roles.map((role) => `"${role}": ["ENDPOINT/MODEL"]`)
  return `Name another model for ${roles.length === 1 ? 'this role' : 'these roles'}:\n${pasted(`models.roles: { ${chains.join(', ')} }`)}`
}
