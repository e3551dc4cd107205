/** A comment that is scored at once, and debated then. */
export interface DebatedComment {
  readonly text: string
  readonly language: string | undefined
}

/** Has a comment debated by the named protocols, or by those that the routes choose. */
export interface DebateStarter {
  /** Most calls of models that this may take. */
  mostCalls(tenant: string, comment: DebatedComment, protocols: readonly string[] | null): number
  /** Throws where what the tenant holds leaves no room for it. */
  checkRoom(tenant: string, comment: DebatedComment, protocols: readonly string[] | null): Promise<void>
  /** The verdicts go to the tenant's webhooks. */
  start(
    tenant: string,
    comment: DebatedComment,
    protocols: readonly string[] | null,
  ): Promise<{ readonly id: string; readonly until: string; readonly protocols: readonly string[] }>
}
