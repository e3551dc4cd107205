/** timeout(1) signals its child, and then the group that the child is in: both within this, in ms. */
const SAME_SIGNAL_MS = 100
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/**
 * Listens for requests to stop: `signal` aborts and `stopped` resolves, with the signal's name, on the first one; `end` is
 * called on the second. A hangup and the launcher's death are requests too, but never the second one: nobody insists by them.
 *
 * One Ctrl-C can arrive twice, for terminals and service managers signal the whole process group, and the launcher tells what
 * it got. So signals and the launcher's messages are counted apart, and the higher count holds.
 */
export function stopRequests(
  self: NodeJS.Process,
  clock: () => number,
  end: () => void,
): { readonly signal: AbortSignal; readonly stopped: Promise<string> } {
  const stopping = new AbortController()
  const { promise: stopped, resolve } = Promise.withResolvers<string>()
  const begin = (name: string) => {
    stopping.abort()
    resolve(name)
  }
  const counter = () => {
    let requests = 0
    return (name: Signal) => {
      begin(name)
      if (name !== 'SIGHUP' && ++requests > 1) end()
    }
  }

  const signalled = counter()
  let last = Number.NEGATIVE_INFINITY
  for (const name of SIGNALS)
    self.on(name, () => {
      if (clock() - last < SAME_SIGNAL_MS) return
      last = clock()
      signalled(name)
    })

  if (self.channel) {
    const told = counter()
    self.on('message', (message) => {
      const name = SIGNALS.find((known) => known === message)
      if (name !== undefined) told(name)
    })
    self.on('disconnect', () => begin('the end of the launcher'))
    // A command that is through ends, though its launcher still listens.
    self.channel.unref()
  }
  return { signal: stopping.signal, stopped }
}
