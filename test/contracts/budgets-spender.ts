// One of many that spend from one budget as fast as they can: `node budgets-spender.ts REDIS_URL PREFIX SETTINGS NUMBER`.
// It ends when the budget is spent, and says in a line of JSON what it was granted and what it spent.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import { redisBudgets } from '../../src/store/budget/redis.ts'
import { connect } from '../../src/store/redis/connect.ts'

const [, , url = '', prefix = '', settings = '', number = ''] = process.argv
const client = connect(url, () => {}, 'retrying')
const budgets = redisBudgets(client, (name) => `{${prefix}}:${name}`, JSON.parse(settings) as BudgetSettings)

let granted = 0
let spent = 0

/** One caller: asks, calls, settles, until the budget is spent. */
async function spend(seed: number): Promise<void> {
  for (let n = seed; ; n++) {
    const ticket = randomUUID()
    const tokens = 5 + ((n * 7) % 20)
    const atMost = { tokens, usd: tokens / 1e6 }
    const reserved = await budgets.reserve({
      ticket,
      caseId: `rumor~p${n}~r1`,
      tenant: `t${Math.floor(n / 3) % 3}`,
      atMost,
      leaseMs: 800,
    })
    if (!reserved.granted) {
      if (reserved.scope === 'total' && reserved.why === 'spent') return
      await sleep(2)
      continue
    }
    granted++
    await sleep(n % 3)
    // A third fail and cost nothing, a third take half, a third take all.
    const part = [0, 0.5, 1][n % 3] ?? 1
    const real = Math.floor(tokens * part)
    if ((await budgets.settle(ticket, { tokens: real, usd: real / 1e6 })) === 'settled') spent += real
  }
}

await Promise.all(Array.from({ length: 16 }, (_, at) => spend(Number(number) * 1000 + at * 17)))
process.stdout.write(`${JSON.stringify({ granted, spent })}\n`)
client.disconnect()
