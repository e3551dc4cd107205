import type { RecordedRow, RecordReader } from '../ports/record.ts'
import { filterOf } from './filter.ts'
import type { Answer, Page } from './page.ts'
import { box, field, type Lists, options, rowData, rowsOf, rowTemplate } from './rows.ts'
import type { Arriving, Told } from './stream.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type Safe } from './view.ts'

interface LiveParts extends Lists {
  readonly record: Pick<RecordReader, 'find'>
  readonly arriving: Arriving
  /** Most pages that are kept up to date at a time. */
  readonly streams: number
}

const MOST = 50
/** A page that takes nothing for so long has so many events wait, and is then ended: it comes back, and goes on where it was. */
const MOST_WAITING = 200
/** A line without meaning is sent so often, so that nobody between takes the silence for the end, in ms. */
const HEARTBEAT_MS = 15_000
/** How long a page waits before it connects again, in ms. */
const RETRY_MS = 2_000

/** Verdicts as they come; by script, or, without, by loading the page again. */
export function livePages({ record, arriving, kinds, disturbing, streams }: LiveParts): Page[] {
  return [
    {
      method: 'GET',
      path: '/live',
      async answer({ query, session }) {
        const filter = { ...filterOf(query, session), standing: true as const }
        const rows = await record.find(filter, MOST)
        return { title: TEXTS.live.title, body: liveBody(rows, query, { kinds, disturbing }) }
      },
    },
    {
      method: 'GET',
      path: '/live/stream',
      async answer({ query, session, lastEventId, signal }): Promise<Answer> {
        if (arriving.listening >= streams) return { title: '', body: NOTHING, status: 503 }
        const filter = filterOf(query, session)
        const after = lastEventId ?? query.get('after')
        return {
          stream: eventStream(signal, (hear) =>
            arriving.listen({ filter, hear: (told) => hear(eventOf(told, { kinds, disturbing })) }, after || null),
          ),
        }
      },
    },
  ]
}

/** Server-sent events of what a listener hears, until the client goes or takes nothing any more. */
function eventStream(signal: AbortSignal, listen: (hear: (event: string) => void) => Promise<() => void>) {
  const encoder = new TextEncoder()
  let [end, leaveNow] = [() => {}, () => {}]
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        let isOver = false
        const send = (text: string) => {
          if (isOver) return
          if ((controller.desiredSize ?? 0) <= 0) end()
          else controller.enqueue(encoder.encode(text))
        }
        const beat = setInterval(() => send(': \n\n'), HEARTBEAT_MS)
        let leave = () => {}
        leaveNow = () => {
          isOver = true
          clearInterval(beat)
          leave()
        }
        end = () => {
          if (isOver) return
          leaveNow()
          controller.close()
        }
        signal.addEventListener('abort', () => end(), { once: true })
        send(`retry: ${RETRY_MS}\n\n`)
        leave = await listen(send)
        if (isOver) leave()
      },
      cancel: () => leaveNow(),
    },
    { highWaterMark: MOST_WAITING },
  )
}

/** A row goes as plain words, which the page's script puts where they belong, as text. */
function eventOf(told: Told, lists: Lists): string {
  if (told.event === 'row') lists.disturbing.see([told.row])
  const data =
    told.event === 'row'
      ? rowData(told.row, lists)
      : told.event === 'far'
        ? { left: told.left }
        : { tenant: told.subject.tenant, subject: told.subject.id }
  return `id: ${told.at}\nevent: ${told.event}\ndata: ${JSON.stringify(data)}\n\n`
}

function liveBody(rows: readonly RecordedRow[], query: URLSearchParams, lists: Lists): Safe {
  const given = (name: string) => query.get(name) ?? ''
  const last = rows.length === MOST ? rows.at(-1)?.cursor : undefined
  const stream = link('/live/stream', Object.fromEntries(query))
  return html`<h1>${TEXTS.live.title}</h1>
<form class="filters" method="get" action="/live">
<label>${TEXTS.live.protocol} <select name="protocol">${options([...lists.kinds.keys()], given('protocol'))}</select></label>
${field('label', TEXTS.live.label, given('label'))}${field('tenant', TEXTS.live.tenant, given('tenant'))}
${box('contested', TEXTS.live.contested, query.has('contested'))}${box('degraded', TEXTS.live.degraded, query.has('degraded'))}
<button>${TEXTS.show}</button>
<button type="button" class="pause" data-pause="${TEXTS.live.pause}" data-resume="${TEXTS.live.resume}" hidden>${TEXTS.live.pause}</button></form>
<p class="fresh" role="status" data-stopped="${TEXTS.live.stopped}" data-far="${TEXTS.live.far}"></p>
${rows.length === 0 ? html`<p class="none">${TEXTS.live.none}</p>` : NOTHING}
<ol class="rows" data-stream="${stream}">${rowsOf(rows, lists)}</ol>${rowTemplate()}
${last === undefined ? NOTHING : html`<p><a href="${link('/live', { ...Object.fromEntries(query), before: last })}">${TEXTS.older}</a></p>`}`
}
