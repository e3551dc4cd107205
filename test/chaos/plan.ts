import { dice } from './dice.ts'

/** Everything that can be done to the service, and how. */
export const KINDS = [
  'kill',
  'stop',
  'drain',
  'redis-restart',
  'broker-restart',
  'redis-cut',
  'redis-hold',
  'redis-refuse',
  'redis-delay',
  'kafka-cut',
  'kafka-hold',
  'kafka-delay',
  'model-cut',
  'model-hold',
  'model-refuse',
  'clock',
  'full-queues',
  'repeat',
  'expiry',
  'change',
  'semantics',
  'hostile',
  'worst-texts',
  'silent-hosts',
  'take-back',
  'people',
  'appeals',
  'record',
  'loss',
  'forgotten',
  'leader-dies',
  'split',
] as const
export type Kind = (typeof KINDS)[number]

/** What every plan has; the other kinds are drawn. */
const ALWAYS: readonly Kind[] = [
  'full-queues',
  'stop',
  'kill',
  'redis-restart',
  'redis-hold',
  'expiry',
  'change',
  'semantics',
  'hostile',
  'loss',
  'forgotten',
  'worst-texts',
  'silent-hosts',
  'take-back',
  'people',
  'record',
]

/** The role of the process that keeps the record: it has no model. */
export const RECORD = 'record'
/** What befalls that process as it does others. */
const TO_ANY: readonly Kind[] = ['kill', 'drain', 'kafka-cut', 'kafka-hold', 'kafka-delay', 'clock']

export interface Fault {
  readonly kind: Kind
  /** Index of the process it befalls. */
  readonly worker: number
  /** Comes when so many messages have been produced… */
  readonly produced: number
  /** …and so many more calls have come to the model since. */
  readonly calls: number
  /** How much: ms of delay or of a clock's error, by the kind. */
  readonly amount: number
}

/** A third of the seeds each has these, with what they take: three brokers, or three servers of Redis under three sentinels. */
const IN_TURN: readonly Kind[] = ['leader-dies', 'split']
/** What is done to a Redis that is alone, or on the way to it. */
const TO_ONE_REDIS: readonly Kind[] = [
  'stop',
  'redis-restart',
  'redis-cut',
  'redis-hold',
  'redis-refuse',
  'redis-delay',
  'loss',
  'forgotten',
]

/** So many kinds of fault: those that every plan of its kind has, and others drawn by the seed. */
export function kindsOf(seed: number, faults: number): Kind[] {
  const lots = dice(seed, 'kinds')
  const own = IN_TURN[seed % 3]
  const always = [...(own === undefined ? [] : [own]), ...ALWAYS].filter(
    (kind) => own !== 'split' || !TO_ONE_REDIS.includes(kind),
  )
  const kinds: Kind[] = always.slice(0, faults)
  const others = KINDS.filter(
    (kind) => !always.includes(kind) && !IN_TURN.includes(kind) && (own !== 'split' || !TO_ONE_REDIS.includes(kind)),
  )
  while (kinds.length < faults) kinds.push(...lots.shuffled(others).slice(0, faults - kinds.length))
  return kinds
}

/**
 * The faults of a seed, in the order in which they come. They wait for counts of events, so that they meet the same work on
 * a fast machine and on a slow one.
 */
export function planOf(
  seed: number,
  kinds: readonly Kind[],
  messages: number,
  workers: readonly { readonly roles: string }[],
): Fault[] {
  const lots = dice(seed, 'plan')
  const those = (of: (roles: string) => boolean) => workers.flatMap(({ roles }, index) => (of(roles) ? [index] : []))
  const intakes = those((roles) => roles.includes('intake'))
  const records = those((roles) => roles === RECORD)
  const others = those((roles) => roles !== RECORD)
  return lots.shuffled(kinds).map((kind, index): Fault => {
    const share = (index + 0.3 + 0.6 * lots.next()) / (kinds.length + 1)
    return {
      kind,
      worker: lots.pick(
        kind === 'full-queues'
          ? intakes
          : kind === 'record'
            ? records
            : TO_ANY.includes(kind)
              ? [...others, ...records]
              : others,
      ),
      produced: Math.floor(share * messages),
      calls: lots.between(5, 60),
      amount: amountOf(kind, lots.next()),
    }
  })
}

function amountOf(kind: Kind, lot: number): number {
  if (kind === 'clock') return Math.round((lot < 0.5 ? -1 : 1) * (1 + 8 * lot) * 60_000)
  return Math.round(20 + 130 * lot)
}
