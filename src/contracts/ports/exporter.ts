/**
 * One process at a time, the holder of a lease, reads the state that all share, and exports it as metrics. What
 * the others need of it, the holder shares with them.
 */
export interface Exporter {
  /**
   * Takes the lease if nobody has it, or renews it: null. If another process has it, the text that it has shared, which is
   * empty if there is none yet.
   */
  poll(): Promise<string | null>
  /** Shares a text with the other processes until the next one, or until the lease has been over for a while. */
  share(text: string): Promise<void>
  /** Gives the lease up, so that another process need not wait for its end. */
  leave(): Promise<void>
}
