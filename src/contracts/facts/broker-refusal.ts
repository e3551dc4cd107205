import { OperatorError } from './errors.ts'

/** What must be mended before a broker takes records again. A closed list: these are values of a metric's label. */
export const REFUSED_SETTINGS = ['compression', 'size', 'acks', 'replicas', 'rights', 'policy', 'timestamps'] as const
export type RefusedSetting = (typeof REFUSED_SETTINGS)[number]

/** A broker takes no record of these topics, however often it is sent, until somebody has changed a setting. */
export class BrokerRefused extends OperatorError {
  readonly setting: RefusedSetting
  readonly topics: readonly string[]
  /** `message` has the broker's name of the error, the setting, and what to make of it. */
  constructor(setting: RefusedSetting, topics: readonly string[], message: string, options?: ErrorOptions) {
    super(message, options)
    this.setting = setting
    this.topics = topics
  }
}
