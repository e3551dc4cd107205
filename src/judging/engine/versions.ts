import type { CaseRecord } from '../../contracts/facts/case.ts'
import type { Versions } from '../../contracts/facts/verdict.ts'
import type { Protocol } from './script.ts'

/** The versions with which this process judges by the protocol. */
export function versionsOf(protocol: Protocol): Versions {
  return { script: protocol.version, prompts: protocol.promptsHash, settings: protocol.settingsHash }
}

/**
 * How the versions of a case differ from those of this process: its script is `older` or `newer`, or the script is the
 * same and prompts or settings are `different`. Undefined if all are the same.
 */
export function otherVersion(pinned: Versions, protocol: Protocol): 'older' | 'newer' | 'different' | undefined {
  if (pinned.script < protocol.version) return 'older'
  if (pinned.script > protocol.version) return 'newer'
  const same = pinned.prompts === protocol.promptsHash && pinned.settings === protocol.settingsHash
  return same ? undefined : 'different'
}

/**
 * The protocol by which this process goes on with the case: with the case's own prompts and settings where these are a variant's, or
 * were replaced here while it was open, otherwise as it is now. Undefined if it is off.
 */
export function protocolOf(
  protocols: ReadonlyMap<string, Protocol>,
  { protocol: name, versions }: Pick<CaseRecord, 'protocol' | 'versions'>,
): Protocol | undefined {
  const now = protocols.get(name)
  return now?.earlier?.(versions) ?? (now === undefined ? undefined : pinned(now, versions)) ?? now
}

/** The protocol itself or a variant of it, whichever has these versions. */
export function pinned(protocol: Protocol, versions: Versions): Protocol | undefined {
  return [protocol, ...(protocol.variants ?? [])].find((one) => otherVersion(versions, one) === undefined)
}

/** Whether nobody goes on with the case yet. */
export function isWaiting({ resumeAt = 0 }: CaseRecord, now: number): boolean {
  return resumeAt > now
}

/**
 * Whether the case is left to another process: to one with the newer script, or, for `handBackMs`, to one with the
 * case's own prompts and settings. After that it restarts under the versions of this process; a case with an older
 * script restarts at once.
 */
export function isLeftToOtherVersion(record: CaseRecord, protocol: Protocol, now: number, handBackMs: number): boolean {
  const other = otherVersion(record.versions, protocol)
  return other === 'newer' || (other === 'different' && now - pinnedAt(record) < handBackMs)
}

/**
 * Whether an ask of a case of other versions is left to another process: for ever if the case's script is newer, and
 * for `handBackMs` otherwise.
 */
export function isAskLeftToOtherVersion(
  record: CaseRecord,
  protocol: Protocol,
  now: number,
  handBackMs: number,
): boolean {
  return otherVersion(record.versions, protocol) === 'newer' || now - pinnedAt(record) < handBackMs
}

/**
 * When the case got its versions, ms since 1970. A restart counts as well: otherwise two kinds of workers, neither of
 * them newer, would restart the case in turn and pay for it each time.
 */
function pinnedAt({ openedAt, restartedAt }: CaseRecord): number {
  return restartedAt ?? openedAt
}
