import type { BrokerRefused } from '../facts/broker-refusal.ts'
import type { RefusedKind } from './report.ts'

/** Whether what is judged can be published. */
export interface PublicationGate {
  /** Why not, in words that name the setting to change; null while it can. Known at once of this process, and of others within a second. */
  readonly closed: string | null
  /** A broker refuses these records until a setting is changed. */
  close(what: RefusedKind, refusal: BrokerRefused): void
  /** It takes them again. */
  open(what: RefusedKind): void
}

/** Where processes tell each other that publication is closed. */
export interface SharedClosure {
  /** Says so for all processes, for some seconds. */
  tell(why: string): Promise<void>
  /** This process has nothing closed any more; another may say again that it has. */
  withdraw(): Promise<void>
  /** What a process has told; null if none has lately. */
  read(): Promise<string | null>
}
