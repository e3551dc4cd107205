import type { Clock } from '../contracts/ports/clock.ts'
import type { CoverChoice } from '../contracts/ports/pictures.ts'
import { PLACE_IN_RECORD, type RecordedRow, type RecordReader } from '../contracts/ports/record.ts'
import { atOnce } from '../platform/at-once.ts'
import type { BlindReviews } from './blind-review.ts'
import { coversOf } from './covers.ts'
import { box, field, filterOf, type Lists, nameOf, options, rowData, rowsOf, rowTemplate } from './lists.ts'
import type { Page, PageAnswer } from './page.ts'
import { quarterStrips } from './quarters.ts'
import type { SeenLabels } from './seen-by.ts'
import type { Session } from './sessions.ts'
import type { RecordStream, StreamEvent } from './stream.ts'
import { TEXTS } from './texts.ts'
import { carriedId, html, link, NOTHING, type SafeMarkup } from './view.ts'

// This sends live pages what stream.ts tells them, and ends those that take nothing any more.

interface LiveParts extends Lists {
  readonly record: Pick<RecordReader, 'find' | 'arrivals' | 'histogram'>
  readonly arriving: RecordStream
  readonly blinds: BlindReviews
  /** Learns whose labels a stream has sent. */
  readonly seenLabels: Pick<SeenLabels, 'note'>
  readonly clock: Clock
  /** Most pages that are kept up to date at a time. */
  readonly streams: number
}

const MOST = 50
/** A page that takes nothing for so long has so many events wait, and is then ended: it learns how much it missed, and comes back. */
const MOST_WAITING = 200
/** Most streams of one person, in all sessions. */
const MOST_OF_ONE = 20
/** A line without meaning is sent so often, so that nobody between takes the silence for the end, in ms. */
const HEARTBEAT_MS = 15_000
/** How often the verdicts that a stream has sent are noted, in ms. */
const NOTED_MS = 10_000
/** How long a page waits before it connects again, in ms. */
const RETRY_MS = 2_000

/** Verdicts as they come; by script, or, without, by loading the page again. */
export function livePages(parts: LiveParts): Page[] {
  const { record, arriving, blinds, seenLabels, clock, kinds, disturbing, people, streams } = parts
  const eventOf = eventsOf({ kinds, disturbing })
  const stripOf = quarterStrips({ record, clock })
  /** Streams are open from their answer on. */
  const open = atOnce(streams, MOST_OF_ONE)
  return [
    {
      method: 'GET',
      path: '/live',
      right: 'see',
      showsLabels: true,
      async answer({ query, session }) {
        const filter = { ...filterOf(query, session), standing: true as const }
        // Before the rows: whatever comes, or is deleted, from here on is sent to the page when it listens.
        const { at } = await record.arrivals(null, 0)
        const [rows, strip] = await Promise.all([record.find(filter, MOST), stripOf(filter)])
        const last = rows.length === MOST ? rows.at(-1)?.cursor : undefined
        const readable = blinds.openTo(session.by, rows)
        const shown = { at, last, strip, choice: await coversOf(people, session.by) }
        return {
          title: TEXTS.live.title,
          hides: rows.filter((row) => !readable.includes(row)).map(({ verdict }) => verdict.id),
          body: await liveBody(readable, shown, query, { kinds, disturbing }),
        }
      },
    },
    {
      method: 'GET',
      path: '/live/stream',
      right: 'see',
      isCostly: true,
      withoutTurn: 'it is open for hours',
      async answer({ query, session, lastEventId, signal, told }): Promise<PageAnswer> {
        const after = lastEventId ?? query.get('after') ?? ''
        // It is repeated in the events of what comes next.
        if (after !== '' && !PLACE_IN_RECORD.test(after)) return { title: '', body: NOTHING, status: 400 }
        if (!(await told([]))) return { title: '', body: NOTHING, status: 503 }
        const left = open(session.by)
        if (left === null) return { title: '', body: NOTHING, status: 503 }
        const filter = filterOf(query, session)
        let reading: Promise<unknown> = Promise.resolve()
        return {
          stream: eventStream({
            signal,
            session,
            // It counts until the record has been read for it, also where it has gone by then: that is done for one after the other.
            left: () => void reading.then(left, left),
            noted: told,
            shown: (verdict) => seenLabels.note(session.by, [verdict]),
            listen(hear) {
              const hearOpen = (one: StreamEvent) => {
                if (!('row' in one) || !blinds.isClosed(session.by, one.row.subject)) hear(one, eventOf)
              }
              const covers = (row: RecordedRow) => disturbing.because(row) !== null
              const begun = arriving.listen({ filter, covers, hear: hearOpen }, after || null)
              reading = begun
              return begun
            },
          }),
        }
      },
    },
  ]
}

type Hear = (told: StreamEvent, eventOf: (told: StreamEvent) => string) => void

/**
 * Server-sent events of what a listener hears, until the client goes or takes nothing any more, or the session ends. Of what comes
 * in the look in which it is full, a page gets their number.
 */
function eventStream(of: {
  signal: AbortSignal
  session: Session
  /** Called once, when it is over. */
  left: () => void
  /** Notes which verdicts it has sent; false: the note can't be kept, and the stream ends. */
  noted: (verdicts: readonly string[]) => Promise<boolean>
  /** Learns at once which verdict it sends. */
  shown: (verdict: string) => void
  listen: (hear: Hear) => Promise<() => void>
}) {
  const { session, left, noted, shown, listen } = of
  const signal = AbortSignal.any([of.signal, session.ended])
  const encoder = new TextEncoder()
  let leaveNow = () => {}
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        let isOver = false
        let leave = () => {}
        const end = () => {
          if (isOver) return
          leaveNow()
          controller.close()
        }
        let unnoted: string[] = []
        const noteThose = async () => {
          const told = unnoted
          unnoted = []
          if (told.length > 0 && !(await noted(told))) end()
        }
        const isTaken = () => (controller.desiredSize ?? 0) > 0
        const write = (text: string) => controller.enqueue(encoder.encode(text))
        const beat = setInterval(() => {
          if (!session.isOpen() || !isTaken()) end()
          else write(': \n\n')
        }, HEARTBEAT_MS)
        const notes = setInterval(() => void noteThose(), NOTED_MS)
        leaveNow = () => {
          if (isOver) return
          isOver = true
          clearInterval(beat)
          clearInterval(notes)
          void noteThose()
          signal.removeEventListener('abort', end)
          leave()
          left()
        }
        let missed = 0
        let missedAt = ''
        let shownIsGone = false
        const hear: Hear = (told, eventOf) => {
          if (isOver) return
          if (!session.isOpen()) end()
          else if (missed === 0 && isTaken()) {
            // Of a cover nothing is shown.
            if (told.event === 'row') {
              unnoted.push(told.row.verdict.id)
              shown(told.row.verdict.id)
            }
            write(eventOf(told))
          } else {
            // All events of one poll are sent before anything else runs.
            if (missed === 0)
              queueMicrotask(() => {
                const at = missedAt
                if (!isOver) write(eventOf(shownIsGone ? { event: 'anew', at } : { event: 'far', at, left: missed }))
                end()
              })
            missed += told.event === 'far' ? told.left : 1
            missedAt = told.at
            shownIsGone ||= told.event === 'erase' || told.event === 'anew'
          }
        }
        signal.addEventListener('abort', end, { once: true })
        if (signal.aborted) return end()
        write(`retry: ${RETRY_MS}\n\n`)
        try {
          leave = await listen(hear)
        } catch (error) {
          leaveNow()
          throw error
        }
        if (isOver) leave()
      },
      cancel: () => leaveNow(),
    },
    { highWaterMark: MOST_WAITING },
  )
}

/**
 * Events as they are sent; a row goes as plain words, which the page's script puts where they belong, as text. What many pages
 * hear of one row is made once.
 */
function eventsOf(lists: Omit<Lists, 'people'>): (told: StreamEvent) => string {
  const rows = new WeakMap<RecordedRow, string>()
  const rowJson = (row: RecordedRow) => {
    const made = rows.get(row)
    if (made !== undefined) return made
    const json = JSON.stringify(rowData(row, lists))
    rows.set(row, json)
    return json
  }
  return (told) => {
    const data = told.event === 'row' ? rowJson(told.row) : JSON.stringify(fieldsOf(told, lists))
    return `id: ${told.at}\nevent: ${told.event}\ndata: ${data}\n\n`
  }
}

function fieldsOf(told: Exclude<StreamEvent, { event: 'row' }>, lists: Omit<Lists, 'people'>) {
  if (told.event === 'cover') {
    const { thread, hidden, uncovered } = rowData(told.row, lists)
    return { thread, hidden, uncovered }
  }
  if (told.event === 'far') return { left: told.left }
  return told.event === 'anew' ? {} : { thread: carriedId(nameOf(told.subject)) }
}

/** `at`: the place in the record that its stream goes on from; `last`: the cursor of older rows. */
async function liveBody(
  rows: readonly RecordedRow[],
  of: {
    readonly at: string
    readonly last: string | undefined
    readonly strip: SafeMarkup
    readonly choice: CoverChoice
  },
  query: URLSearchParams,
  lists: Omit<Lists, 'people'>,
): Promise<SafeMarkup> {
  const { at, last, strip, choice } = of
  const given = (name: string) => query.get(name) ?? ''
  const stream = link('/live/stream', Object.fromEntries(query))
  // Of a list that is filtered its stream tells nothing of other protocols.
  const isWhole = ['protocol', 'label', 'contested', 'opposed', 'degraded'].every((name) => given(name) === '')
  return html`<div class="over"><h1>${TEXTS.live.title}</h1>
<form class="filters" method="get" action="/live">
<label>${TEXTS.live.protocol} <select name="protocol">${options([...lists.kinds.keys()], given('protocol'))}</select></label>
${field('label', TEXTS.live.label, given('label'))}${field('tenant', TEXTS.live.tenant, given('tenant'))}
${box('opposed', TEXTS.live.opposed, query.has('opposed'))}${box('contested', TEXTS.live.contested, query.has('contested'))}${box('degraded', TEXTS.live.degraded, query.has('degraded'))}
<button>${TEXTS.apply}</button>
<button type="button" class="pause" data-pause="${TEXTS.live.pause}" data-resume="${TEXTS.live.resume}" hidden>${TEXTS.live.pause}</button></form></div>
${strip}
<p class="fresh" role="status" data-stopped="${TEXTS.live.stopped}" data-far="${TEXTS.live.far}"></p>
${rows.length === 0 ? noneMarkup(query) : NOTHING}
<ol class="rows dense" data-stream="${stream}" data-after="${at}">${await rowsOf(rows, lists, { choice, isWhole })}</ol>${rowTemplate(choice)}
${last === undefined ? NOTHING : html`<p><a href="${link('/live', { ...Object.fromEntries(query), before: last })}">${TEXTS.older}</a></p>`}`
}

function noneMarkup(query: URLSearchParams): SafeMarkup {
  const { none, noneFits, noneContested, isItRunning, everything } = TEXTS.live
  return [...query.values()].some((value) => value !== '')
    ? html`<p class="none">${noneFits} ${query.has('contested') ? noneContested : ''} <a href="/live">${everything}</a></p>`
    : html`<p class="none">${none} <a href="/health">${isItRunning}</a></p>`
}
