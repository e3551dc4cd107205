import { NO_THROTTLE, type Request } from './request.ts'
import { int8, int16, list, text, type Wire } from './wire.ts'

/** The kind of resource that is a broker. */
const BROKER = 4
/** A group's offsets live as long as the broker does: the longest time that there is a number for. */
const OF_A_BROKER: readonly (readonly [name: string, value: string])[] = [
  ['offsets.retention.minutes', String(2 ** 31 - 1)],
]

/** DescribeConfigs: a broker's few settings; a topic has none of its own. */
export function describeConfigs({ body }: Request): Wire {
  const asked = body.list(() => ({ type: body.int8(), name: body.text(), settings: body.listOrAll(body.text) }))
  return [
    ...NO_THROTTLE,
    ...list(asked, ({ type, name, settings }) => [
      ...int16(0),
      ...text(null),
      ...int8(type),
      ...text(name),
      ...list(
        OF_A_BROKER.filter(([setting]) => type === BROKER && (settings === null || settings.includes(setting))),
        // Neither read-only nor a default nor a secret.
        ([setting, value]) => [...text(setting), ...text(value), ...int8(0), ...int8(0), ...int8(0)],
      ),
    ]),
  ]
}
