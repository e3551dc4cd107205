import type { Redis } from 'ioredis'
import { z } from 'zod'
import {
  type Account,
  accountsOf,
  amountOf,
  type Balance,
  type BudgetSettings,
  type Budgets,
  booked,
  ROOM_SOON_MS,
  sharedAccount,
} from '../../contracts/ports/budgets.ts'
import { script } from '../redis/script.ts'

// The rules are in the Lua beside this file, which these methods call.

const reserve = script('budget/reserve', {
  keys: ['open', 'ticket', 'root', 'asking'],
  args: [
    'tenant',
    'id',
    'tokens',
    'nanos',
    'lease',
    'soon',
    'shared',
    'budgets[].name',
    'budgets[].period',
    'budgets[].keep',
    'budgets[].maxTokens',
    'budgets[].maxNanos',
    'budgets[].share',
  ],
})
const settle = script('budget/settle', { keys: ['open', 'ticket'], args: ['id', 'tokens', 'nanos', 'keep'] })
const balance = script('budget/balance', { keys: ['root'], args: ['name', 'period'] })

const refusedReply = z.tuple([
  z.literal('refused'),
  z.number(),
  z.number(),
  z.enum(['in-flight', 'spent', 'too-large']),
  z.number(),
])
const reservedReply = z.union([z.tuple([z.literal('granted')]), refusedReply])
const settledReply = z.enum(['settled', 'unknown'])
const balanceReply = z.array(z.coerce.number()).length(4)

/** A settled ticket is remembered this long, so that a reservation that was sent twice is not booked after it. */
const KEEP_SETTLED_MS = 60_000

/** Budgets in Redis. `under` adds this Gavel's hash tag to a name; every key expires soon after its account's period. */
export function redisBudgets(client: Redis, under: (name: string) => string, settings: BudgetSettings): Budgets {
  const [open, root, asking] = [under('budget:open'), under('budget:'), under('budget:asking')]
  const shared = settings.share < 1 && sharedAccount(settings, null) !== undefined ? settings.total.per : null
  const ticketKey = (ticket: string) => under(`budget:ticket:${ticket}`)

  async function balanceOf(account: Account | undefined): Promise<Balance | null> {
    if (account === undefined) return null
    const [tokens = 0, nanoUsd = 0, tokensOut = 0, nanoUsdOut = 0] = balanceReply.parse(
      await balance(client, { root, name: account.name, period: account.perMs ?? 0 }),
    )
    return { used: amountOf({ tokens, nanoUsd }), inFlight: amountOf({ tokens: tokensOut, nanoUsd: nanoUsdOut }) }
  }

  return {
    async reserve({ ticket, caseId, tenant, atMost, leaseMs }) {
      const accounts = accountsOf(settings, { caseId, tenant })
      if (accounts.length === 0) return { granted: true, unlimited: true }
      const { tokens, nanoUsd } = booked(atMost)
      const reply = reservedReply.parse(
        await reserve(client, {
          open,
          ticket: ticketKey(ticket),
          root,
          asking,
          tenant,
          id: ticket,
          tokens,
          nanos: nanoUsd,
          lease: leaseMs,
          soon: ROOM_SOON_MS,
          shared,
          budgets: accounts.map((account) => budgetOf(account, settings)),
        }),
      )
      if (reply[0] === 'granted') return { granted: true }
      const [, at, unit, why, wait] = reply
      return {
        granted: false,
        scope: accounts[at - 1]?.scope ?? 'total',
        unit: unit === 1 ? 'tokens' : 'usd',
        why,
        renewsInMs: wait < 0 ? null : wait,
      }
    },

    async settle(ticket, spent) {
      const { tokens, nanoUsd } = booked(spent)
      const given = { id: ticket, tokens, nanos: nanoUsd, keep: KEEP_SETTLED_MS }
      return settledReply.parse(await settle(client, { open, ticket: ticketKey(ticket), ...given }))
    },

    total: () => balanceOf(sharedAccount(settings, null)),
    tenant: (name) => balanceOf(sharedAccount(settings, name)),
  }
}

function budgetOf({ name, perMs, limit, share }: Account, { keepVerdictMs }: BudgetSettings) {
  return {
    name,
    period: perMs ?? 0,
    keep: keepVerdictMs,
    maxTokens: limit.tokens ?? null,
    maxNanos: limit.nanoUsd ?? null,
    share: share ?? null,
  }
}
