/** Among what is paused: a first lane that is closed, by its hash. */
export function laneMark(hash: string): string {
  return `lane ${hash}`
}
