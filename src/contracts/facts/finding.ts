/** The result of one check, and what to do where something is wrong. */
export interface Finding {
  readonly what: string
  readonly state: 'ok' | 'warning' | 'broken'
  readonly detail: string
  readonly todo?: string
}
