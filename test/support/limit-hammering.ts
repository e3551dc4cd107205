// One process of many that hammer the same limits: `node limit-hammering.ts JSON` (a Hammering). At its end it writes every
// call it was granted to standard output, one a line.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Ticket } from '../../src/contracts/ports/call-limits.ts'
import { redisLimits } from '../../src/store/limit/redis.ts'
import { connect } from '../../src/store/redis/connect.ts'
import type { Hammered, Hammering } from './hammer-limits.ts'
import { limitedCall } from './limited-call.ts'

const plan = JSON.parse(process.argv[2] ?? '') as Hammering
const { settings } = plan
const client = connect(plan.url, () => {}, 'retrying')
const limits = redisLimits(client, (name) => `{${plan.prefix}}:limits:${name}`, settings)
const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))
const granted: Hammered[] = []

/** One asker: asks, comes again when it is told to, makes its call, and so on. Few die in a call, few calls fail. */
async function hammer(name: string, target: Hammering['targets'][number]): Promise<void> {
  for (let n = 0; Date.now() < plan.until; n++) {
    const tokens = between(target.reserve.least, target.reserve.most)
    const call = limitedCall({ asker: `${name} ${n}`, tokens, tenant: name.slice(-1), accountKey: name })
    let reply = await limits.reserve(target.scopes, call)
    while (!reply.granted) {
      if (Date.now() + reply.waitMs > plan.until) return
      await sleep(reply.waitMs)
      reply = await limits.reserve(target.scopes, call)
    }
    await makeCall(target.name, reply.ticket)
  }
}

async function makeCall(target: string, ticket: Ticket): Promise<void> {
  const { at, tokens } = ticket
  await sleep(settings.windowMs * (0.001 + 0.014 * Math.random()))
  const lot = Math.random()
  const ended = Date.now()
  if (lot < 0.01) {
    granted.push({ target, at, tokens, ended: at + settings.leaseMs })
  } else if (lot < 0.03) {
    await limits.refund(ticket)
    granted.push({ target, at, tokens: 0, ended, refunded: true })
  } else {
    const used = between(Math.floor(tokens / 3), tokens)
    await limits.settle(ticket, used)
    granted.push({ target, at, tokens: used, ended })
  }
}

await client.ping()
await sleep(Math.max(0, plan.startAt - Date.now()))
await Promise.all(
  plan.targets.flatMap((target) =>
    Array.from({ length: plan.askers }, (_, n) => hammer(`${process.pid}/${target.name}/${n}`, target)),
  ),
)
client.disconnect()
for (const one of granted) process.stdout.write(`${JSON.stringify(one)}\n`)
