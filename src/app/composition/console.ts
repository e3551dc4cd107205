import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { agreementPages } from '../../console/agreement.ts'
import { agreementPostsPage } from '../../console/agreement-posts.ts'
import { AppealsHeard } from '../../console/appeals-heard.ts'
import { auditPage } from '../../console/audit-page.ts'
import { BlindReviews } from '../../console/blind-review.ts'
import { consoleOf } from '../../console/console.ts'
import { coverPages } from '../../console/covers.ts'
import { decisionPage } from '../../console/decision-page.ts'
import { decisionsPage } from '../../console/decisions-list.ts'
import { drawsPage } from '../../console/draws-list.ts'
import { readAssets, runbooksIn, styleOf } from '../../console/files.ts'
import { healthPage, type ServiceStatus } from '../../console/health.ts'
import { DisturbingSubjects } from '../../console/lists.ts'
import { livePages } from '../../console/live.ts'
import { openIdProvider } from '../../console/openid.ts'
import { ownCases } from '../../console/own-case.ts'
import { JustDecided } from '../../console/own-decisions.ts'
import { SubjectPictures } from '../../console/pictures.ts'
import { picturePages, picturesAhead } from '../../console/post-view.ts'
import { qualityPage } from '../../console/quality.ts'
import { ratedDecisions } from '../../console/rated-decisions.ts'
import { auditedQueue, auditedRecord } from '../../console/read-audit.ts'
import { servedAs } from '../../console/request-guard.ts'
import { reviewPages } from '../../console/review.ts'
import { reviewersOf } from '../../console/reviewers.ts'
import { searchPage } from '../../console/search.ts'
import { SeenLabels, SeenPosts } from '../../console/seen-by.ts'
import { Sessions } from '../../console/sessions.ts'
import { type Way, whyLoopbackOnly } from '../../console/sign-in.ts'
import { answerPage, statementPage } from '../../console/statement-page.ts'
import { StatusHistory } from '../../console/status-history.ts'
import { storyPages } from '../../console/stories.ts'
import { storyDecisionPage } from '../../console/story-decide.ts'
import { samePage } from '../../console/story-near.ts'
import { RecordStream } from '../../console/stream.ts'
import { trialsPage } from '../../console/trials.ts'
import { markingUnseen } from '../../console/unseen-decisions.ts'
import { verdictPages } from '../../console/verdict.ts'
import { whatIfPage } from '../../console/what-if.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Audit, AuditLog } from '../../contracts/ports/audit.ts'
import type { CaseworkDesk } from '../../contracts/ports/casework.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { DecisionDesk } from '../../contracts/ports/decisions.ts'
import type { AppealHearings } from '../../contracts/ports/hearings.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import type { ReviewPictures } from '../../contracts/ports/pictures.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { ReviewQueue } from '../../contracts/ports/review.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import type { TrialDesk } from '../../contracts/ports/trials.ts'
import { serveDoor } from '../../door/server/door-server.ts'
import { imageLoader } from '../../models/images/images.ts'
import { redrawing } from '../../models/images/redraw.ts'
import { closable, requestsDrain } from '../../operations/closable.ts'
import type { Loops } from '../../operations/loop.ts'
import { addressesIn } from '../../platform/who-asks.ts'
import { sayingsForPeople } from '../../protocols/registry.ts'
import { embedderOf } from '../../shelves/embedders/make.ts'
import { lanesInUse } from './lanes.ts'
import { everyProtocol } from './protocols.ts'
import { readReasonCodes } from './reason-codes.ts'
import { answersIn, statementsIn } from './statement-texts.ts'

/** How often is looked for what has come into the record, in ms. */
const ARRIVALS_MS = 500
/** How often is looked at how the service stands, in ms. */
const HEALTH_MS = 60_000
/** How often settings and policies are read anew, in ms: people cite the clauses of those that are live. */
const SETTINGS_MS = 10_000
/** How often pictures of what people are about to look at are fetched, in ms. */
const AHEAD_MS = 10_000

/** A link by which somebody signs in. */
export interface Link {
  readonly person: string
  /** The page that it opens on; absent: Live. */
  readonly opensOn?: string
  /** Prints the address of a link, where the operator sees it. */
  readonly print: (address: string) => void
  /** Nobody but the operator sees it later: another may be printed for who asks for one. */
  readonly isUnseen: boolean
}

/** The console over a record. When closed, what was asked is answered. */
export function consolePart(
  settings: Settings,
  parts: {
    record: RecordReader
    queue: ReviewQueue
    /** What people look at beside the record. */
    pictures: ReviewPictures
    /** An image that was set aside from a post; null: nothing that has them is connected. */
    keptImage: ThreadStore['keptImage'] | null
    loadImage?: LoadImage
    /** How the service stands now. */
    readStatus: () => Promise<ServiceStatus>
    /** null: nobody decides here. */
    decide: DecisionDesk | null
    /** Keeps who saw and did what; null: this console is its owner's alone. */
    audit: Audit | null
    /** What that has kept; null: it can't be read here. */
    auditLog?: AuditLog | null
    /** What is tried beside the live settings; null: it is not known here. */
    trials?: TrialDesk | null
    /** Tells to whom posts are assigned; null: nobody is assigned here. */
    casework: CaseworkDesk | null
    /** Has the models heard on appeals; absent: they never are. */
    hearings?: AppealHearings | undefined
    /** Where people sign in by a link: the person that it signs in, and what prints its address. */
    link: Link | null
    /** The models' answers are the understudy's, as the person who started it knows. */
    isUnderstudy?: boolean
    /** The settings as they are now, where they can change. */
    reread?: (() => Settings) | undefined
    /** The service's key of fences and sampling, as far as it is known: by it a ramp says which variant judges a subject. */
    secret?: () => Promise<string>
    loops: Loops
    clock: Clock
    report: Report
  },
) {
  const { readStatus, link, audit, hearings, isUnderstudy = false, loops, clock, report } = parts
  const [record, queue] = [auditedRecord(parts.record), auditedQueue(parts.queue)]
  const { session, streams, publicUrl } = settings.console
  return closable(async (keep) => {
    const kinds = sayingsForPeople(everyProtocol(settings))
    const assets = readAssets()
    const style = styleOf(assets)
    const sessions = new Sessions(session, clock)
    const disturbing = new DisturbingSubjects(kinds, parts.record)
    const arriving = new RecordStream(record, (rows) => disturbing.look(rows))
    const [blinds, seenLabels, decided] = [new BlindReviews(clock), new SeenLabels(), new JustDecided(clock)]
    const lists = { kinds, disturbing, people: parts.pictures }
    const { claimFor: reserveFor, shares, labelAfter, reasons, pictures: kept, breakAfter } = settings.review
    const { pictures: people, keptImage, loadImage: load = imageLoader(settings.images) } = parts
    const pictures = new SubjectPictures({ store: people, load, redraw: redrawing(), keptImage, clock, keep: kept })
    const view = { record, kinds, pictures, people, seenPosts: new SeenPosts(), clock, breakAfter }
    const decide = parts.decide === null ? null : ratedDecisions(markingUnseen(parts.decide, view), clock)
    loops.start('console pictures', AHEAD_MS, picturesAhead(parts.queue, { ...view, record: parts.record }))
    let lanes = lanesInUse(settings)
    const { reread = () => settings, secret = async () => settings.fences.key } = parts
    loops.start('console settings', SETTINGS_MS, async () => {
      for (const [name, said] of sayingsForPeople(everyProtocol(reread(), await secret()))) kinds.set(name, said)
      lanes = lanesInUse(reread())
    })
    const near =
      parts.casework === null || decide === null
        ? undefined
        : { ...nearPosts(settings), casework: parts.casework, clock, key: secret }
    if (near !== undefined) keep(near)
    const stories = { record, blinds, ...lists, decides: decide !== null, near }
    const history = new StatusHistory()
    loops.start('console health', HEALTH_MS, async () => history.note(await readStatus()))
    loops.start('console arrivals', ARRIVALS_MS, () => arriving.poll())
    const isOwnCase = ownCases(queue, clock)
    const ownCase = decide === null ? null : isOwnCase
    const closing = new AbortController()
    const printLink = () => {
      link?.print(`${publicUrl || server.url}/sign-in/link?t=${sessions.link(link.person)}`)
    }
    const { fetch } = consoleOf({
      assets,
      sessions,
      people: settings.console.people,
      publicUrl,
      audit,
      seenLabels,
      clock,
      report,
      way: wayOf(settings, link?.isUnseen === true ? printLink : null, link?.opensOn),
      closing: closing.signal,
      isUnderstudy,
      pages: [
        ...livePages({ record, arriving, blinds, seenLabels, clock, ...lists, streams }),
        ...verdictPages({ record, kinds, blinds, isOwnCase: ownCase, clock, publicUrl, style, view, decided }),
        ...picturePages(view),
        ...coverPages({ people, clock }),
        searchPage({ record, blinds, ...lists }),
        statementPage({ read: statementsIn(settings, { ...record, word: parts.record.word }), blinds }),
        answerPage({ read: answersIn(settings, parts.record), blinds }),
        ...storyPages(stories),
        ...samePage(stories),
        ...(parts.auditLog == null ? [] : [auditPage({ log: parts.auditLog, clock, report })]),
        qualityPage({ queue, exposed: people, lanes: () => lanes, laneShare: settings.review.laneShare, clock }),
        drawsPage({ queue, kinds, shares: settings.review, blinds, seenLabels, clock }),
        ...agreementPages({ queue, kinds, clock }),
        agreementPostsPage({ queue, kinds, blinds, disturbing, clock }),
        decisionsPage({ queue, kinds, blinds, clock }),
        ...(parts.trials == null
          ? []
          : [
              trialsPage({ desk: parts.trials, clock, report }),
              whatIfPage({ desk: parts.trials, record, blinds, disturbing, kinds }),
            ]),
        healthPage({
          readStatus,
          figures: (now) => history.figures(now),
          runbook: runbooksIn(join(PROJECT, 'docs', 'runbooks')),
          forPeople: decide === null ? null : waitingIn(parts.queue, clock),
        }),
        ...(decide === null
          ? []
          : [
              ...decidingPages({ record, kinds, blinds, isOwnCase, decisionDesk: decide, decided, clock }),
              ...reviewPages({
                queue,
                record,
                ...lists,
                blinds,
                decisionDesk: decide,
                clock,
                reserveFor,
                shares,
                seenLabels,
                decided,
                labelAfter,
                ...ofAppeals(settings, hearings, { clock, closing: closing.signal }),
                casework: parts.casework,
                codes: readReasonCodes(reasons),
                view,
                views: people,
                reviewers: reviewersOf(settings.console.people, { sessions, queue, clock }),
              }),
            ]),
      ],
    })
    const server = await serveDoor(
      { ...servedAs(settings.console), forwarders: settings.forwarders },
      { fetch, refuse: () => ({ type: 'text/plain', body: 'This could not be read as a request.\n' }) },
      { whose: 'The console’s', portIn: 'GAVEL_CONSOLE_PORT' },
    )
    keep({
      close() {
        closing.abort()
        return server.close(requestsDrain(settings.drain))
      },
    })
    const refusal = server.isLoopback ? null : whyLoopbackOnly(settings.console)
    if (refusal !== null)
      throw new OperatorError(`console.host (${settings.console.host}) is not loopback, and ${refusal}`)
    return { port: server.port, printLink }
  })
}

/** How much waits for people, and the oldest of what was appealed against. */
function waitingIn(
  queue: Pick<ReviewQueue, 'list'>,
  clock: Clock,
): NonNullable<Parameters<typeof healthPage>[0]['forPeople']> {
  return async () => {
    const { waiting: all } = await queue.list({}, 1, clock())
    const { waiting: appealed, items } = await queue.list({ reason: 'appealed', order: 'oldest' }, 1, clock())
    return { all, appealed, oldest: items[0]?.since ?? null }
  }
}

/** Until when appeals are to be answered, and what has them heard by the models: null where the settings say never, or nothing can. */
function ofAppeals(
  { appeals: { due, debate: when } }: Settings,
  hearings: AppealHearings | undefined,
  of: { readonly clock: Clock; readonly closing: AbortSignal },
) {
  const heard = when === 'never' || hearings === undefined ? null : new AppealsHeard(hearings, { when, ...of })
  return { appealsDue: due, heard }
}

/** Where a person decides on one post, or on several of a story. */
function decidingPages(
  of: Omit<Parameters<typeof storyDecisionPage>[0], 'leftOf'> & { decisionDesk: ReturnType<typeof ratedDecisions> },
) {
  return [decisionPage(of), storyDecisionPage({ ...of, leftOf: of.decisionDesk.left })]
}

/** What finds posts that are near in meaning; its model starts when somebody asks for it. */
function nearPosts(settings: Settings) {
  const embedder = embedderOf(settings)
  return { embedder, known: new Map<string, Float32Array>(), close: () => embedder.close() }
}

function wayOf({ console: { signIn, oidc, proxy } }: Settings, print: (() => void) | null, opensOn?: string): Way {
  if (signIn === 'oidc') return { way: 'oidc', provider: openIdProvider(oidc) }
  if (signIn === 'proxy') return { way: 'proxy', ...proxy, isPeer: addressesIn(proxy.peers) }
  return { way: 'link', print, opensOn }
}
