import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { counted, printableJson } from '../../../cli/terminal.ts'
import type { Medium, Post } from '../../../contracts/facts/thread.ts'
import type { RecordReader, SubjectRecord } from '../../../contracts/ports/record.ts'
import { heardBy } from '../../../record/heard.ts'
import { judgementsOf } from '../../../record/judgements.ts'
import { recordReaderOf } from '../../../record/record-store.ts'

interface Options {
  readonly transcripts?: true
  readonly gold?: true
  readonly protocol?: string
}

/** `gavel record export`: the record as JSON Lines, a subject a line; resolves to how many there were. */
export const command: Command<Options, number> = {
  options: [
    new Option('--transcripts', 'include each verdict’s transcript').conflicts('gold'),
    new Option('--gold', 'only people’s decisions, as a labelled file for "gavel eval --data"'),
    new Option('--protocol <name>', 'with --gold: the protocol').argParser(protocolName),
  ],
  json: false,
  help: 'Each line is a subject’s current state; deleted subjects are left out. See docs/record.md.\n\nExamples:\n  $ gavel record export > record.jsonl\n  $ gavel record export --gold --protocol rumor > decided.jsonl',
  async run({ options: { transcripts = false, gold = false, protocol }, settings: read, terminal, signal, misused }) {
    if (gold !== (protocol !== undefined)) misused('--gold and --protocol go together.')
    const record = await recordReaderOf(read())
    let subjects = 0
    try {
      for await (const one of record.export(gold ? 'decided' : undefined)) {
        if (signal.aborted) break
        if (protocol !== undefined) {
          const lines = await goldLines(record, one, protocol)
          for (const line of lines) terminal.out(printableJson(JSON.stringify(line)))
          subjects += Math.min(1, lines.length)
          continue
        }
        const verdicts = await Promise.all(
          one.verdicts.map(async ({ sent: _, ...recorded }) => {
            if (!transcripts) return recorded
            const json = await record.transcript(recorded.verdict.id)
            return { ...recorded, transcript: json === null ? null : (JSON.parse(json) as unknown) }
          }),
        )
        terminal.out(printableJson(JSON.stringify({ ...one, verdicts })))
        subjects++
      }
      return subjects
    } finally {
      await record.close()
    }
  },
  print(subjects, { signal, terminal }) {
    if (signal.aborted) terminal.say(`Stopped after ${counted(subjects, 'subject')}: the rest is not there.`)
    else if (subjects === 0) terminal.say('There is nothing in the record.')
  },
}

/**
 * A subject with people's current verdict of this protocol as its label, as lines that `gavel eval --data` reads: the post as the
 * machine saw it, then its comments. Nothing where people have not decided, or its words are not in the record.
 */
async function goldLines(record: RecordReader, of: SubjectRecord, protocol: string): Promise<object[]> {
  const judgement = judgementsOf(of).find((one) => one.protocol === protocol)
  const human = of.verdicts.find((one) => one.standing && one.verdict.protocol === protocol)?.verdict
  if (judgement === undefined || human === undefined) return []
  const heard = await heardBy(record, human)
  if (heard === null) return []
  const { tenant, postId } = of.subject
  const { text, author, createdAt, reach } = heard.post
  const { label, opinions, lang, audited } = judgement
  const chance = audited ? await record.auditChance(of.subject, protocol) : null
  const post = {
    type: 'post',
    id: postId,
    tenant,
    text,
    author,
    lang: lang ?? undefined,
    createdAt: isoOf(createdAt),
    media: mediaIn(heard.post),
    reach,
    label,
    labels: [label, ...opinions.map((one) => one.label)],
    slices: { drawn: audited ? 'audit' : 'chosen', ...(wasSettledByLane(of, protocol) ? { settled: 'lane' } : {}) },
    ...(chance === null ? {} : { chance }),
  }
  const comments = heard.comments.map((one) => ({
    type: 'comment',
    id: one.id,
    postId,
    tenant,
    parentId: one.parentId,
    author: one.author,
    text: one.text,
    createdAt: isoOf(one.createdAt),
  }))
  return [post, ...comments]
}

/** Whether a first lane settled the last ruling of machines, on which people decided. */
function wasSettledByLane({ verdicts }: SubjectRecord, protocol: string): boolean {
  const machines = verdicts.flatMap(({ verdict }) =>
    verdict.protocol === protocol && verdict.decidedBy !== 'human' ? [verdict] : [],
  )
  return machines.toSorted((one, other) => other.revision - one.revision)[0]?.decidedBy === 'lane'
}

/** A post's media, as a message has them. */
function mediaIn({ media, clips = [] }: Post): object[] | undefined {
  if (media === undefined && clips.length === 0) return undefined
  const imagesOf = (images: readonly Medium[] = []) =>
    images.flatMap(({ kind, url, alt, sha256, pdq }) =>
      url === undefined && alt === undefined ? [] : [{ kind, url, alt, sha256, pdq }],
    )
  return [
    ...imagesOf(media),
    ...clips.map(({ cut: _, frames, ...one }) => ({ ...one, frames: frames && imagesOf(frames) })),
  ]
}

const isoOf = (ms: number) => new Date(ms).toISOString()
