import type { Admin, Kafka } from 'kafkajs'
import { withTimeout } from './with-timeout.ts'

/** Longest wait for Kafka's answer about a group's positions, in ms. */
const ANSWER_MS = 5_000
const CLOSES_WITHIN_MS = 1_000

/** Asks Kafka about groups and topics again and again, on one connection that is replaced after a failure. */
export function groupAdmin(kafka: Kafka) {
  let admin: Promise<Admin> | undefined

  async function connected(): Promise<Admin> {
    const fresh = kafka.admin({ retry: { retries: 2 } })
    await fresh.connect()
    return fresh
  }

  return {
    async ask<Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
      admin ??= connected()
      const own = admin
      try {
        return await withTimeout(ANSWER_MS, own.then(question))
      } catch (error) {
        // The connections may be dead without an error: the next call opens new ones. Of those that open later nobody has any use.
        if (admin === own) admin = undefined
        void own.then((silent) => silent.disconnect()).catch(() => undefined)
        throw error
      }
    },
    async close(): Promise<void> {
      const open = admin
      admin = undefined
      // One that never opens is not waited for, nor is its failure news.
      const closed = open?.then((one) => one.disconnect())
      if (closed !== undefined) await withTimeout(CLOSES_WITHIN_MS, closed).catch(() => undefined)
    },
  }
}
