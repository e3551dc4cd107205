// `node --import preload.ts …`: what the suite's service processes load first. Their wall clock can be moved: at SIGUSR2 it is
// wrong, from then on, by as many ms as the file says that CHAOS_CLOCK names; timers go on as they are, as they do when a real
// clock jumps. Names of hosts are asked of the name server that CHAOS_NAMES names. And they end with the suite, however that ends.

import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'

const file = process.env.CHAOS_CLOCK
const nameServer = process.env.CHAOS_NAMES
delete process.env.CHAOS_CLOCK
delete process.env.CHAOS_NAMES
const RealDate = Date
let offset = 0

class MovedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + offset)
    else super(...(given as [number]))
  }
  static override now(): number {
    return RealDate.now() + offset
  }
}

if (nameServer !== undefined) {
  // It can't be told while a question is on its way.
  const told = new WeakSet<Resolver>()
  for (const name of ['resolve4', 'resolve6'] as const) {
    const own = Resolver.prototype[name]
    Resolver.prototype[name] = function (this: Resolver, ...given: unknown[]) {
      if (!told.has(this)) this.setServers([nameServer])
      told.add(this)
      return (own as (...all: unknown[]) => never).apply(this, given)
    } as typeof own
  }
}

if (file !== undefined) {
  globalThis.Date = MovedDate as DateConstructor
  process.on('SIGUSR2', () => {
    offset = Number(readFileSync(file, 'utf8'))
  })
  const suite = process.ppid
  setInterval(() => {
    if (process.ppid !== suite) process.kill(process.pid, 'SIGKILL')
  }, 1_000).unref()
}
