/** Among what is paused: a first lane that is closed, by its hash. */
export function laneMark(hash: string): string {
  return `lane ${hash}`
}

/** A language that nobody names (BCP 47). */
const UNKNOWN = 'und'

/** The language of a lane's group. Regions and scripts are too many groups for few labels. */
export function laneLanguage(tag: string | undefined): string {
  return tag?.toLowerCase().split(/[-_]/, 1)[0] || UNKNOWN
}
