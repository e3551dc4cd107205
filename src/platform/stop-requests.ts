/** timeout(1) signals its child and then the child's process group: two signals within this time are one request, in ms. */
const SAME_SIGNAL_MS = 100
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/** What the launcher says once npm, which started it, has ended. */
const NPM_EXITED = 'npm exited'

/** One hangup reaches a process as a signal and, through the launcher, as a message: within this time it is one, in ms. */
const SAME_HANGUP_MS = 500

/**
 * Listens for requests to stop: `signal` aborts and `stopped` resolves, with the signal's name, on the first one; `end` is
 * called on the second. A hangup, npm's or the launcher's death is a request, too, but never counts as the second one. Once
 * `onHangup` was given a listener, a hangup calls that and stops nothing.
 *
 * One Ctrl-C can arrive twice: terminals and service managers signal the whole process group, and the launcher forwards the
 * signal as a message. So signals and messages are counted separately, and the higher count is taken.
 */
export function stopRequests(
  self: NodeJS.Process,
  clock: () => number,
  end: () => void,
): {
  readonly signal: AbortSignal
  readonly stopped: Promise<string>
  onHangup(listener: () => void): void
} {
  const stopping = new AbortController()
  const { promise: stopped, resolve } = Promise.withResolvers<string>()
  const begin = (name: string) => {
    stopping.abort()
    resolve(name)
  }
  let hangup: (() => void) | null = null
  let hungUp = Number.NEGATIVE_INFINITY
  const counter = () => {
    let requests = 0
    return (name: Signal) => {
      if (name !== 'SIGHUP') {
        begin(name)
        if (++requests > 1) end()
      } else if (hangup === null) begin(name)
      else if (clock() - hungUp >= SAME_HANGUP_MS) {
        hungUp = clock()
        hangup()
      }
    }
  }

  const signalled = counter()
  // A hangup just before a stop must not hide it: each has a time of its own.
  const last = { hangup: Number.NEGATIVE_INFINITY, stop: Number.NEGATIVE_INFINITY }
  for (const name of SIGNALS)
    self.on(name, () => {
      const kind = name === 'SIGHUP' ? 'hangup' : 'stop'
      if (clock() - last[kind] < SAME_SIGNAL_MS) return
      last[kind] = clock()
      signalled(name)
    })

  if (self.channel) {
    const told = counter()
    self.on('message', (message) => {
      const name = SIGNALS.find((known) => known === message)
      if (name !== undefined) told(name)
      else if (message === NPM_EXITED) begin(NPM_EXITED)
    })
    self.on('disconnect', () => begin('launcher exited'))
    // The open channel to the launcher must not keep a finished command alive.
    self.channel.unref()
  }
  return {
    signal: stopping.signal,
    stopped,
    onHangup(listener) {
      hangup = listener
    },
  }
}
