/**
 * Of all processes one at a time reads the state that they share and exports it as metrics: the holder of a lease. What
 * the others need of it, the holder shares with them.
 */
export interface Exporter {
  /**
   * Takes the lease if nobody has it, or keeps it: null. If another process has it, the text that it has shared, which is
   * empty if there is none yet.
   */
  look(): Promise<string | null>
  /** Shares a text with the other processes until the next one, or until the lease has been over for a while. */
  share(text: string): Promise<void>
  /** Gives the lease up, so that another process need not wait for its end. */
  leave(): Promise<void>
}
