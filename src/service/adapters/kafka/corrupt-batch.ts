import { randomUUID } from 'node:crypto'

/**
 * Header on the placeholders for the records of a batch that could not be decompressed; its value says why. No sender
 * can predict its name, so nobody can forge it.
 */
export const CORRUPT_BATCH = `gavel-corrupt-batch-${randomUUID()}`
