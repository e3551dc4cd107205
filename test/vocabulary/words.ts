/** A word that Gavel no longer uses, and the one that it uses. */
export interface OldWord {
  readonly old: RegExp
  readonly now: string
  /** Files in which the old word stays, and why: a name on the wire or on disk, a setting, or a word of plain English. */
  readonly stays?: readonly { readonly file: RegExp; readonly why: string }[]
}

const LOG_EVENT = {
  file: /adapters\/log(\.test)?\.ts$|canary\.test\.ts$|^docs\/runbooks\//,
  why: 'the name of an event in the log',
}

/** Old in code, comments, log lines and documents alike. */
export const OLD_WORDS: readonly OldWord[] = [
  { old: /farewell|goodbye|\bbye\b/i, now: 'retraction, deletion log, close timeout' },
  { old: /\bletGo\b/i, now: 'disconnect' },
  { old: /\bpatiently\b/i, now: 'withRetry' },
  { old: /\bimpatient\b|\bpatient\b/i, now: 'fail-fast, retrying' },
  { old: /\bpassengers?\b|\btakeOff\b/i, now: 'waiters, start (single flight)' },
  { old: /\bbur(y|ied|ies|ial)\b|\bspade\b/i, now: 'break a stale lock' },
  {
    old: /\blineage/i,
    now: 'incarnation',
    stays: [{ file: /adapters\/redis\/keys\.ts$/, why: 'a key in Redis' }],
  },
  { old: /\bsigns? of life\b/i, now: 'heartbeat' },
  { old: /\bcircumstances\b/i, now: 'pinned context' },
  { old: /\bstrain(s|ed)?\b/i, now: 'pressure signal' },
  { old: /\bNotMade\b/i, now: 'CallDeferred' },
  { old: /\broomy\b/i, now: 'writable' },
  { old: /\btrouble:met\b/i, now: 'error', stays: [LOG_EVENT] },
  { old: /\bmutter(s|ed)?\b|\bthe tale\b/i, now: 'plain words' },
  { old: /\bbeg[aiu]ns? over\b|\bbeg[iu]nOver(?!At\b)|\bstarts? afresh\b/i, now: 'restarts' },
]

/** Old as the name of something that code declares; in prose each is a plain English word. */
export const OLD_NAMES: readonly OldWord[] = [
  {
    old: /^held$|^Held$|^held(?!Ms$|Out)[A-Z]/,
    now: 'deferred, parked, or what it is',
    stays: [
      {
        file: /ports\/report\.ts$|prometheus\/verdicts\.ts$|producers\/lane\.ts$/,
        why: 'the event publication:held in the log',
      },
    ],
  },
  { old: /^(stand|Standing)$/, now: 'replayCase, ReplayState, ShelvedItem' },
  { old: /^within$/, now: 'withTimeout, unwrap, clamp' },
  { old: /^pieces$|^Pieces$/, now: 'batch items, chunks' },
  {
    old: /^pressed$/,
    now: 'overloaded',
    stays: [{ file: /domain\/case\.ts$|engine\/(retraction|new-case|replay)\.ts$/, why: 'a field of the case record' }],
  },
  { old: /^besides$/, now: 'crossKind' },
  { old: /^(alive|land|spade|beat|stamp)$/, now: 'heartbeat, resolve, watermark, fencingToken' },
  { old: /^lots?$|^Lot$/, now: 'samplingRank' },
]
