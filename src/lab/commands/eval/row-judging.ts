import type { Settings } from '../../../../config/schema.ts'
import { type FileJudging, judgeFileSubjects } from '../../../app/commands/judging/file-judging.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { inOneStep } from '../../../contracts/facts/overload.ts'
import { transcript, type Verdict } from '../../../contracts/facts/verdict.ts'
import { UNVERIFIED } from '../../../contracts/facts/verdict-fields.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { BadLine, FileMessage } from '../../../data-files/file-message.ts'
import { type Format, fileMessages } from '../../../data-files/formats.ts'
import { LaterImages } from '../../../data-files/own-images.ts'
import type { OwnReading } from '../../../data-files/own-rows.ts'
import type { ConfidenceBasis, ProtocolKind } from '../../../protocols/kind.ts'
import { onePrompt } from '../../../protocols/one-prompt.ts'
import { argumentOf } from '../../../shelves/curator/feedback.ts'
import { debateOutcomeOf } from '../../evaluation/before-debate.ts'
import type { GoldItem } from '../../evaluation/gold-item.ts'
import { type ItemOutcome, outcomeOf, unjudged } from '../../evaluation/outcomes.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import type { JudgedCase } from './learning-row.ts'

/** Items of a labelled file that are to be judged. */
export interface ItemsToJudge {
  readonly file: string
  readonly format: Format
  readonly items: readonly GoldItem[]
  readonly reading?: OwnReading
}

/** What a row's judging has brought. */
export interface JudgedRow {
  /** Of every item, in the items' order; an item without a verdict has no label, and a reason. */
  readonly outcomes: readonly ItemOutcome[]
  /** What could not be read or judged, in words. */
  readonly refused: readonly string[]
  /** Comments of these items in the file. */
  readonly comments: number
  /** Of a row that learns: what was argued of each item that has a label. */
  readonly cases: readonly JudgedCase[]
  /** The models that answered, as their endpoints name them. */
  readonly models: readonly string[]
}

export interface RowJudgingIo {
  readonly signal: AbortSignal
  /** Called after each verdict, with it and its transcript as they would be on their topics. */
  judged(id: string, json: { readonly verdict: string; readonly transcript: string }): void
  /** An error that did not end the run, in words. */
  failed(why: string): void
}

/** One time to judge a row's items: by which kind of protocol, and by which model. */
export interface RowJudging {
  readonly kind: ProtocolKind
  readonly row: RowPlan
  readonly model: Model
  /** How many chains of thought self-consistency draws. */
  readonly draws: number
  readonly data: ItemsToJudge
  /** Whether cases may be shown near-duplicates of their own text. */
  readonly keepNearDuplicates: boolean
  /** In place of the settings' library. */
  readonly library?: Library
  /** Keeps what cases are shown of the library. */
  readonly shown: NonNullable<FileJudging['shown']>
}

/** Cases of an evaluation wait for their turn, however long it takes. */
const NO_DEADLINE_MS = 30 * 86_400_000
/** Fences and samples are the same on every machine, so that a recording is good everywhere. */
const SECRET = 'gavel evaluation'

/**
 * Judges a row's items through the engine and the gateway of the service, in this process. No question about an item is
 * answered from the memo: which answer an item gets must not depend on which item came before it. Throws an `OperatorError` where the file can't be read or
 * the settings switch the protocol off.
 */
export async function judgeRow(settings: Settings, judging: RowJudging, io: RowJudgingIo): Promise<JudgedRow> {
  const { kind, row, model, data, keepNearDuplicates, shown } = judging
  const gold = new Map(data.items.map((item) => [item.id, item]))
  const outcomes = new Map<string, ItemOutcome>()
  const refused: string[] = []
  const models = new Set<string>()
  const cases: JudgedCase[] = []
  const later = new LaterImages()
  let comments = 0
  async function* messages(bad: (line: BadLine) => void): AsyncGenerator<FileMessage> {
    const wanted: FileMessage[] = []
    const read = { isShown: (key: string) => gold.has(key), later }
    for await (const message of fileMessages(data.file, data.format, bad, data.reading, read))
      if (message.type !== 'feedback' && gold.has(message.key)) wanted.push(message)
    comments = wanted.filter(({ type }) => type === 'comment').length
    yield* earliest(wanted, row.firstComments)
  }
  const file = {
    protocol: kind.name,
    file: data.file,
    format: data.format,
    messages,
    images: later,
    model,
    keepNearDuplicates,
    secret: SECRET,
    shown,
    kinds: [kindOf(judging)],
    finalAge: row.finalAge ?? Number.POSITIVE_INFINITY,
    library: judging.library,
  }
  await judgeFileSubjects(settingsOf(settings, kind, row), file, {
    signal: io.signal,
    judged(verdict, json) {
      const item = gold.get(verdict.subjectId)
      if (item === undefined) throw new Error(`a verdict on ${verdict.subjectId}, which nobody asked for`)
      const argument = transcript.parse(JSON.parse(json.transcript))
      const beside = outcomeDetails(kind, row, verdict)
      const voices = row.how.by === 'protocol' ? (kind.voices?.(argument.turns) ?? {}) : {}
      const debated = row.how.by === 'protocol' ? debateOutcomeOf(verdict, argument, kind.name) : null
      outcomes.set(item.id, outcomeOf(item, verdict, argument, { ...beside, voices, debated }))
      for (const named of Object.entries(verdict.models)) if (named[0] !== 'library') models.add(named[1])
      const argued = row.learns === true && item.label !== null ? argumentOf(argument) : null
      if (argued !== null && item.label !== null)
        cases.push({ id: item.id, argument: argued, verdict: verdict.label, truth: item.label })
      io.judged(item.id, json)
    },
    refused: (why) => refused.push(why),
    corrected: () => {},
    unrouted: () => {},
    failed: io.failed,
  })
  return {
    outcomes: data.items.map((item) => outcomes.get(item.id) ?? unjudged(item)),
    refused,
    comments,
    // In the items' order: verdicts come as they are decided.
    cases: data.items.flatMap(({ id }) => cases.find((one) => one.id === id) ?? []),
    models: [...models].sort(),
  }
}

function kindOf({ kind, row: { how }, draws, data }: RowJudging): ProtocolKind {
  // Offered where people say so too: else a baseline would withhold what it is there to answer.
  const offered = data.items.some(({ label }) => label === UNVERIFIED) ? {} : { without: UNVERIFIED }
  if (how.by === 'one-prompt') return onePrompt(kind, { ask: how.ask, ...offered })
  if (how.by === 'self-consistency') return onePrompt(kind, { ask: 'self-consistency', draws, ...offered })
  return kind
}

/** The parts of a verdict beside its label: how sure it is, and how its voters voted. */
function outcomeDetails(
  kind: ProtocolKind,
  { how }: RowPlan,
  verdict: ConfidenceBasis & Pick<Verdict, 'confidence'>,
): Parameters<typeof outcomeOf>[3] {
  if (how.by === 'self-consistency') return { confidence: verdict.scores.agreement ?? null, votes: null }
  if (how.by !== 'protocol') return { confidence: null, votes: null }
  const { confidence: stated } = verdict
  const confidence = stated === undefined ? (kind.confidence?.(verdict) ?? null) : stated.value
  return { confidence, votes: kind.votes?.(verdict) ?? null }
}

/** The settings under which a row is judged. */
function settingsOf(settings: Settings, { name }: ProtocolKind, { how, models = {} }: RowPlan): Settings {
  const own = entryOf(settings.protocols, name)
  if (own === undefined) throw new OperatorError(`No protocol is called ${name}.`)
  const switches = how.by === 'protocol' ? how.switches : {}
  const roles = Object.fromEntries(Object.entries(models).map(([role, model]) => [`${name}.${role}`, [model]]))
  return {
    ...settings,
    protocols: { ...settings.protocols, [name]: { ...own, ...switches, enabled: true } },
    models: { ...settings.models, roles: { ...settings.models.roles, ...roles } },
    memo: { ...settings.memo, enabled: false },
    cases: {
      ...settings.cases,
      deadline: NO_DEADLINE_MS,
      overload: inOneStep(settings.cases.overload, null),
      overloadedAtDue: undefined,
      transcriptBytes: Number.MAX_SAFE_INTEGER,
    },
  }
}

/** The messages without each thread's comments after the first `most`, by time and then id. */
function earliest(messages: readonly FileMessage[], most = Number.POSITIVE_INFINITY): readonly FileMessage[] {
  if (!Number.isFinite(most)) return messages
  const threads = Map.groupBy(
    messages.filter(({ type }) => type === 'comment'),
    ({ key }) => key,
  )
  const kept = new Set(
    [...threads.values()].flatMap((comments) =>
      comments
        .toSorted((one, other) => timeOf(one) - timeOf(other) || (idOf(one) < idOf(other) ? -1 : 1))
        .slice(0, most),
    ),
  )
  return messages.filter((message) => message.type !== 'comment' || kept.has(message))
}

function timeOf({ createdAt }: FileMessage): number {
  return createdAt ?? Number.POSITIVE_INFINITY
}

function idOf({ value }: FileMessage): string {
  return String(value.id)
}
