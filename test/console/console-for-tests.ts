import { readReasonCodes } from '../../src/app/composition/reason-codes.ts'
import { agreementPages } from '../../src/console/agreement.ts'
import { agreementPostsPage } from '../../src/console/agreement-posts.ts'
import { AppealsHeard } from '../../src/console/appeals-heard.ts'
import { auditPage } from '../../src/console/audit-page.ts'
import { BlindReviews } from '../../src/console/blind-review.ts'
import { type Asset, consoleOf } from '../../src/console/console.ts'
import { coverPages } from '../../src/console/covers.ts'
import { decisionPage } from '../../src/console/decision-page.ts'
import { decisionsPage } from '../../src/console/decisions-list.ts'
import { drawsPage } from '../../src/console/draws-list.ts'
import { healthPage, type ServiceStatus } from '../../src/console/health.ts'
import type { ProtocolGuides } from '../../src/console/kinds.ts'
import { DisturbingSubjects } from '../../src/console/lists.ts'
import { livePages } from '../../src/console/live.ts'
import { ownCases } from '../../src/console/own-case.ts'
import { JustDecided } from '../../src/console/own-decisions.ts'
import { SubjectPictures } from '../../src/console/pictures.ts'
import { picturePages } from '../../src/console/post-view.ts'
import { qualityPage } from '../../src/console/quality.ts'
import { auditedQueue, auditedRecord } from '../../src/console/read-audit.ts'
import { reviewPages } from '../../src/console/review.ts'
import type { ReviewShares } from '../../src/console/review-shares.ts'
import { reviewersOf } from '../../src/console/reviewers.ts'
import { searchPage } from '../../src/console/search.ts'
import { SeenLabels, SeenPosts } from '../../src/console/seen-by.ts'
import { Sessions } from '../../src/console/sessions.ts'
import type { Way } from '../../src/console/sign-in.ts'
import { StatusHistory } from '../../src/console/status-history.ts'
import { storyPages } from '../../src/console/stories.ts'
import { storyDecisionPage } from '../../src/console/story-decide.ts'
import { type NearParts, samePage } from '../../src/console/story-near.ts'
import { RecordStream } from '../../src/console/stream.ts'
import { trialsPage } from '../../src/console/trials.ts'
import { markingUnseen } from '../../src/console/unseen-decisions.ts'
import { verdictPages } from '../../src/console/verdict.ts'
import { whatIfPage } from '../../src/console/what-if.ts'
import type { AuditEntry } from '../../src/contracts/facts/audit.ts'
import { PermanentError } from '../../src/contracts/facts/errors.ts'
import type { NamedGrant } from '../../src/contracts/facts/person-roles.ts'
import type { Post } from '../../src/contracts/facts/thread.ts'
import type { Turn, Verdict } from '../../src/contracts/facts/verdict.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import type { AuditLog } from '../../src/contracts/ports/audit.ts'
import type { CaseworkDesk } from '../../src/contracts/ports/casework.ts'
import type { DecisionDesk } from '../../src/contracts/ports/decisions.ts'
import type { AppealHearings } from '../../src/contracts/ports/hearings.ts'
import type { LoadImage } from '../../src/contracts/ports/images.ts'
import type { ReviewPictures } from '../../src/contracts/ports/pictures.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { LaneInUse, ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { TrialDesk } from '../../src/contracts/ports/trials.ts'
import { redrawing } from '../../src/models/images/redraw.ts'
import type { Asker } from '../../src/platform/who-asks.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { at, DAY, feed } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aVerdict } from '../support/verdicts.ts'

export const HOST = '127.0.0.1:8421'

const kinds: ProtocolGuides = new Map(
  PROTOCOLS.map(({ name, labels, reading }) => [
    name,
    {
      labels: labels === undefined ? ['suitable'] : [labels.harmful, labels.harmless],
      ...labels,
      ...(reading === undefined ? {} : { reading }),
      meanings: { fake: 'rumor', real: 'non-rumor' },
      // Of one tenant's posts.
      clausesFor: ({ tenant }: { tenant: string }) => (tenant === 'acme' ? [{ id: 'H1', title: 'Threats' }] : []),
    },
  ]),
)

export const WELL: ServiceStatus = {
  at: 0,
  away: [],
  lag: [],
  replicas: [],
  firing: [],
  stages: [],
  openCases: 0,
  due: 0,
  paused: [],
  outbox: { size: 0, oldestSeconds: 0 },
}

/** A turn of a transcript in which this was answered. */
export function aTurn(stage: string, role: string, answer: unknown, change: Partial<Turn> = {}): Turn {
  return {
    round: 0,
    stage,
    role,
    model: 'm',
    messages: [],
    answer,
    raw: null,
    calls: [],
    usage: noUsage(),
    startedAt: at(0),
    ms: 5,
    memo: false,
    ...change,
  }
}

export interface Judged {
  readonly verdict?: Partial<Verdict>
  readonly post?: {
    readonly text?: string
    readonly author?: string
    readonly lang?: string
    readonly hateSpeech?: string
    readonly media?: NonNullable<Post['media']>
    readonly clips?: NonNullable<Post['clips']>
  }
  readonly comments?: readonly {
    readonly id: string
    readonly text: string
    readonly author?: string
    readonly parentId?: string
  }[]
  readonly turns?: readonly Turn[]
}

type Asking = RequestInit & { from?: string; address?: string; countFor?: (asker: Asker) => boolean }

/** A console over a record, in memory where none is given, asked as a browser would. */
export async function aConsole({
  decide = async () => ({ of: '0@0', decided: null }),
  look: readStatus = async () => WELL,
  idle = 3_600_000,
  auditShare = 0,
  lanes = [],
  isAlone = false,
  streams = 4,
  way,
  people: granted = [],
  publicUrl = '',
  note,
  isUnderstudy = false,
  waiting = 0,
  appealed = 0,
  shares = { audit: 0, secondOpinion: 0, golden: 0 },
  labelAfter = 0,
  auditLog = null,
  trials = null,
  casework = null,
  hearing = null,
  embedder = null,
  pairKey = 'a key',
  leftOf = () => 200,
  record: given,
  loadImage = async () => {
    throw new PermanentError('image', 'not a URL')
  },
}: {
  decide?: DecisionDesk['decide']
  look?: () => Promise<ServiceStatus>
  idle?: number
  auditShare?: number
  /** First lanes in use. */
  lanes?: readonly LaneInUse[]
  isAlone?: boolean
  streams?: number
  way?: Way
  people?: readonly NamedGrant[]
  publicUrl?: string
  /** What comes of a note of who saw what; without it all are kept. */
  note?: () => Promise<void>
  isUnderstudy?: boolean
  /** Verdicts that wait for people. */
  waiting?: number
  appealed?: number
  /** Of what a person takes so much was drawn at random. */
  shares?: ReviewShares
  /** Of so many verdicts the label is shown afterwards. */
  labelAfter?: number
  casework?: CaseworkDesk | null
  /** Has the models heard on appeals. */
  hearing?: { hearings: AppealHearings; when: AppealsHeard['when'] } | null
  embedder?: NearParts['embedder'] | null
  pairKey?: string
  leftOf?: (by: string) => number
  auditLog?: AuditLog | null
  trials?: TrialDesk | null
  record?: RecordStore & { readonly review: ReviewQueue; readonly pictures: ReviewPictures }
  loadImage?: LoadImage
} = {}) {
  const record = given ?? (await recordInMemory({ auditShare, blindShare: 1 }))
  const topics = feed(record)
  const audited: AuditEntry[] = []
  const shown = auditedRecord(record)
  const never = new AbortController()
  let now = 0
  const sessions = new Sessions({ idle, longest: 43_200_000 }, () => now)
  const disturbing = new DisturbingSubjects(kinds, record)
  const arriving = new RecordStream(shown, (rows) => disturbing.look(rows))
  const lists = { kinds, disturbing, people: record.pictures }
  const blinds = new BlindReviews(() => now)
  const seenLabels = new SeenLabels()
  const decided = new JustDecided(() => now)
  const history = new StatusHistory()
  const closing = new AbortController()
  const reported: string[] = []
  const printed: string[] = []
  const asset = (name: string, type: string): Asset => ({
    name,
    type,
    bytes: new TextEncoder().encode(`/* ${name} */`),
  })
  const people = record.pictures
  const seeing = { record: shown, kinds, people, clock: () => now, breakAfter: 1_200_000 }
  const redraw = redrawing()
  const keep = { keep: DAY, most: 10 }
  const pictures = new SubjectPictures({
    store: people,
    load: loadImage,
    redraw,
    keptImage: null,
    clock: () => now,
    keep,
  })
  const view = { ...seeing, pictures, seenPosts: new SeenPosts() }
  const decisionDesk = markingUnseen({ decide }, view)
  const isOwnCase = ownCases(record.review, () => now)
  const near =
    embedder === null || casework === null
      ? undefined
      : { embedder, casework, clock: () => now, key: async () => pairKey, known: new Map() }
  const stories = { record: shown, blinds, ...lists, decides: true, near }
  const pages = [
    ...livePages({ record: shown, arriving, blinds, seenLabels, clock: () => now, ...lists, streams }),
    ...verdictPages({
      record: shown,
      kinds,
      blinds,
      isOwnCase,
      style: 'body{color:#111}',
      clock: () => now,
      publicUrl,
      view,
      decided,
    }),
    ...picturePages(view),
    ...coverPages({ people, clock: () => now }),
    searchPage({ record: shown, blinds, ...lists }),
    ...storyPages(stories),
    ...samePage(stories),
    storyDecisionPage({ record: shown, kinds, blinds, isOwnCase, decisionDesk, leftOf, decided, clock: () => now }),
    ...(auditLog === null ? [] : [auditPage({ log: auditLog, clock: () => now, report: () => {} })]),
    ...(trials === null
      ? []
      : [
          trialsPage({ desk: trials, clock: () => now, report: () => {} }),
          whatIfPage({ desk: trials, record: shown, blinds, disturbing, kinds }),
        ]),
    qualityPage({
      queue: auditedQueue(record.review),
      exposed: people,
      lanes: () => lanes,
      laneShare: 0.02,
      clock: () => now,
    }),
    drawsPage({
      queue: auditedQueue(record.review),
      kinds,
      shares: { auditShare, laneShare: 0.02, blindShare: 1 },
      blinds,
      seenLabels,
      clock: () => now,
    }),
    ...agreementPages({ queue: auditedQueue(record.review), kinds, clock: () => now }),
    agreementPostsPage({ queue: auditedQueue(record.review), kinds, blinds, disturbing, clock: () => now }),
    decisionsPage({ queue: auditedQueue(record.review), kinds, blinds, clock: () => now }),
    healthPage({
      forPeople: async () => ({ all: waiting, appealed, oldest: appealed === 0 ? null : now - 3_600_000 }),
      readStatus,
      figures: (status) => history.figures(status),
      runbook: (name) => (name === '' ? [] : [`look at ${name}`]),
    }),
    ...(isAlone
      ? []
      : reviewPages({
          queue: auditedQueue(record.review),
          record: shown,
          ...lists,
          blinds,
          decisionDesk,
          clock: () => now,
          reserveFor: 900_000,
          shares,
          seenLabels,
          decided,
          labelAfter,
          appealsDue: 7 * 86_400_000,
          heard:
            hearing === null
              ? null
              : new AppealsHeard(hearing.hearings, { when: hearing.when, clock: () => now, closing: never.signal }),
          casework,
          codes: readReasonCodes(null),
          view,
          views: people,
          reviewers: reviewersOf(granted, { sessions, queue: record.review, clock: () => now }),
        })),
    decisionPage({ record: shown, kinds, blinds, isOwnCase, decisionDesk, clock: () => now }),
  ]
  const { fetch } = consoleOf({
    pages,
    sessions,
    assets: [
      asset('console.css', 'text/css'),
      asset('lists.css', 'text/css'),
      asset('verdict.css', 'text/css'),
      asset('evidence.css', 'text/css'),
      asset('review.css', 'text/css'),
      asset('covers.css', 'text/css'),
      asset('console.js', 'text/javascript'),
      asset('keys.js', 'text/javascript'),
      asset('covers.js', 'text/javascript'),
      asset('icon.svg', 'image/svg+xml'),
    ],
    way: way ?? { way: 'link', print: () => void printed.push(sessions.link('anna')) },
    people: granted,
    publicUrl,
    isUnderstudy,
    seenLabels,
    clock: () => now,
    audit: {
      async note(entry) {
        await note?.()
        audited.push(entry)
      },
    },
    closing: closing.signal,
    report: (name, event) => void reported.push('error' in event ? `${name}: ${String(event.error)}` : name),
  })
  const ask = (path: string, init: Asking = {}) => {
    const host = init.from ?? HOST
    const request = new Request(`http://${HOST}${path}`, { redirect: 'manual', ...init })
    return fetch(request, {
      host,
      isKnownHost: host === HOST,
      address: init.address ?? '127.0.0.1',
      asker: { network: init.address ?? '127.0.0.1' },
      countFor: init.countFor ?? (() => true),
      // Headers that were sent twice are one here, with a comma.
      header: (name) => request.headers.get(name)?.split(/, (?=twice:)/) ?? [],
    })
  }
  const post = (path: string, fields: Record<string, string> | URLSearchParams, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
    })
  return {
    fetch,
    record,
    topics,
    arriving,
    sessions,
    pages,
    reported,
    printed,
    audited,
    ask,
    post,
    pass(ms: number) {
      now += ms
    },
    close: () => closing.abort(),
    /** The cookie of a person who has signed in. */
    async signedIn(by = 'anna'): Promise<string> {
      const entered = await post(`/sign-in/link?t=${sessions.link(by)}`, {})
      return entered.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    },
    async page(path: string, cookie: string) {
      const response = await ask(path, { headers: { cookie } })
      return { status: response.status, text: await response.text() }
    },
    /** Puts a verdict with its argument into the record. */
    async judged({ verdict: change = {}, post: said = {}, comments = [], turns = [] }: Judged): Promise<Verdict> {
      const verdict = aVerdict(at(10), change)
      const createdAt = Date.parse(at(0))
      const subject = {
        post: { id: verdict.subjectId, text: 'a claim', createdAt, ...said },
        comments: comments.map((one, n) => ({ createdAt: createdAt + n * 1_000, ...one })),
        leftOut: 0,
      }
      const key = verdict.postId ?? verdict.subjectId
      await topics.send('verdicts', key, verdict, 10)
      await topics.send('transcripts', key, { schema: 1, verdictId: verdict.id, subject, turns, cut: [] }, 10)
      return verdict
    },
  }
}

/** The token in the first form of a page. */
export function tokenIn(page: string): string {
  return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
}
