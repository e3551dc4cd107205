import type { Admin, Kafka } from 'kafkajs'
import { withTimeout } from './with-timeout.ts'

/** Longest wait for Kafka's answer about a group's positions, in ms. */
const ANSWER_MS = 5_000

/** Asks Kafka about groups and topics again and again, on one connection that is replaced after a failure. */
export function groupAdmin(kafka: Kafka) {
  let admin: Admin | undefined

  async function connected(): Promise<Admin> {
    if (admin === undefined) {
      const fresh = kafka.admin({ retry: { retries: 2 } })
      await fresh.connect()
      admin = fresh
    }
    return admin
  }

  return {
    async ask<Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
      try {
        return await withTimeout(ANSWER_MS, connected().then(question))
      } catch (error) {
        // The connections may be dead without an error: the next call opens new ones.
        const silent = admin
        admin = undefined
        void silent?.disconnect().catch(() => undefined)
        throw error
      }
    },
    async close(): Promise<void> {
      const open = admin
      admin = undefined
      await open?.disconnect()
    },
  }
}
