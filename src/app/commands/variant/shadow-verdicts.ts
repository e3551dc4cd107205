import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import type { Terminal } from '../../../cli/terminal.ts'
import { decisionMessage } from '../../../contracts/facts/decision-messages.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import { type ShadowVerdict, shadowVerdict } from '../../../contracts/facts/shadow-verdict.ts'
import type { Range, TopicHistory } from '../../../contracts/ports/topic.ts'
import { labelsForPeople } from '../../../judging/engine/script.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { protocolsOf } from '../../composition/protocols.ts'
import { readingClient } from '../reading-client.ts'

/** What a variant has said since a time (ms since 1970), each once, the last of it. */
export async function shadowVerdictsOf(
  history: TopicHistory,
  settings: Settings,
  { variant, since }: { readonly variant: string; readonly since: number | null },
): Promise<ShadowVerdict[]> {
  const topic = topicsOf(settings).shadowVerdicts
  return shadowVerdictsIn(history, topic, await history.rangesOf(topic, since), variant)
}

/** What stands in these ranges of the topic, each once, the last of it: by every variant, unless one is named. */
export async function shadowVerdictsIn(
  history: Pick<TopicHistory, 'read'>,
  topic: string,
  ranges: ReadonlyMap<number, Range>,
  variant?: string,
): Promise<ShadowVerdict[]> {
  const found = new Map<string, ShadowVerdict>()
  await history.read(topic, ranges, (messages) => {
    for (const message of messages) {
      const read = shadowVerdict.safeParse(jsonOf(message))
      if (read.success && (variant ?? read.data.variant) === read.data.variant) found.set(read.data.id, read.data)
    }
  })
  return [...found.values()]
}

/** What a variant has said, and by subject and protocol the label that people decided on last. */
export async function shadowsBesidePeople(
  settings: Settings,
  of: { readonly variant: string; readonly since: number | null },
  { terminal, signal }: { readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<{ readonly shadows: readonly ShadowVerdict[]; labelOf(one: ShadowVerdict): string | null }> {
  const history = topicHistory(await readingClient(settings, terminal), { signal, say: terminal.say })
  const shadows = await shadowVerdictsOf(history, settings, of)
  const wanted = new Set(shadows.map(subjectOf))
  const judging = new Map(protocolsOf(settings, '').protocols.map((one) => [one.name, one]))
  const labels = new Map<string, string>()
  const topic = topicsOf(settings).decisions
  await history.read(topic, await history.rangesOf(topic, null), (messages) => {
    for (const message of messages) {
      const read = decisionMessage.safeParse(jsonOf(message))
      if (!read.success || read.data.opinion === true) continue
      const { label, kind, subjectKind = kind } = read.data
      const of = judging.get(read.data.protocol)
      const about = subjectOf({
        ...read.data,
        subjectKind: subjectKind ?? (of?.subject === 'reply' ? 'reply' : 'post'),
      })
      // One on a label that nobody may decide was refused.
      const isRefused = label !== undefined && of !== undefined && !labelsForPeople(of).includes(label)
      if (!wanted.has(about) || isRefused) continue
      if (label === undefined) labels.delete(about)
      else labels.set(about, label)
    }
  })
  return { shadows, labelOf: (one) => labels.get(subjectOf(one)) ?? null }
}

function subjectOf({
  protocol,
  tenant,
  subjectKind = 'post',
  subjectId,
}: Pick<ShadowVerdict, 'protocol' | 'tenant' | 'subjectKind' | 'subjectId'>): string {
  return JSON.stringify([protocol, tenant, subjectKind, subjectId])
}
