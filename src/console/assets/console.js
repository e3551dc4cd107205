// What a page can do beyond being read: times in the reader's zone, verdicts as they come, copying, printing; keys in the file beside.
// Whatever comes from outside is put into the page as text.

const each = (selector, work, root = document) => root.querySelectorAll(selector).forEach(work)

/** Times stand in the page in UTC. */
function localTimes(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  each(
    'time',
    (time) => {
      const at = new Date(time.dateTime)
      if (Number.isNaN(at.getTime())) return
      time.title = time.dateTime
      time.textContent = format.format(at)
    },
    root,
  )
}

function copying() {
  each('[data-copy]', (button) => {
    if (!navigator.clipboard) return
    button.hidden = false
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(new URL(button.dataset.copy, location.href).href)
      button.textContent = button.dataset.done
    })
  })
  each('[data-print]', (button) => {
    button.hidden = false
    button.addEventListener('click', () => window.print())
  })
}

/** Most rows of a page that is kept up to date. */
const MOST_ROWS = 200
/** How many rows are shown in a second at most; the others wait. */
const ROWS_A_SECOND = 20
/** Within how long a page loads itself anew, in ms: pages that are notified together do it at different times. */
const ANEW_WITHIN_MS = 5_000

function live(list) {
  const template = document.querySelector('template')
  const fresh = document.querySelector('.fresh')
  const pause = document.querySelector('.pause')
  const waiting = []
  let [source, last, isPaused, isFar] = [null, list.dataset.after, false, false]

  const row = (data) => {
    const item = template.content.firstElementChild.cloneNode(true)
    const put = (selector, text) => {
      item.querySelector(selector).textContent = text
    }
    item.dataset.id = data.id
    item.dataset.subject = data.subject
    item.querySelector('time').dateTime = data.at
    item.querySelector('a.of').href = data.href
    item.querySelector('.label').className = `label ${data.tone}`
    put('.label bdi', data.label)
    put('.protocol', data.protocol)
    put('.how', data.how)
    put('.row-of bdi', data.of)
    const [open, hidden, none] = [
      item.querySelector('p.row-words'),
      item.querySelector('details'),
      item.querySelector('.none'),
    ]
    const shown = data.words === null ? none : data.hidden === null ? open : hidden
    for (const one of [open, hidden, none]) if (one !== shown) one.remove()
    if (shown !== none) {
      const words = shown.querySelector('bdi')
      words.textContent = data.words
      words.lang = data.lang
    }
    if (shown === hidden) put('summary', data.hidden)
    localTimes(item)
    return item
  }

  const say = (text) => {
    if (fresh.textContent !== text) fresh.textContent = text
  }

  /** What is hidden of a subject is hidden in all its rows. */
  const hideAll = ({ subject, hidden }) => {
    each(
      '.row',
      (one) => {
        const open = one.dataset.subject === subject ? one.querySelector(':scope > p.row-words:not(.none)') : null
        if (open === null) return
        const closed = template.content.querySelector('details').cloneNode(true)
        closed.querySelector('summary').textContent = hidden
        closed.querySelector('p').replaceWith(open.cloneNode(true))
        open.replaceWith(closed)
      },
      list,
    )
  }

  const show = () => {
    if (isPaused) return
    document.querySelector('p.none')?.remove()
    for (const data of waiting.splice(0, Math.ceil(ROWS_A_SECOND / 4))) {
      each('.row', (old) => old.dataset.id === data.id && old.remove(), list)
      const item = row(data)
      item.classList.add('new')
      list.prepend(item)
      if (data.hidden !== null) hideAll(data)
    }
    while (list.children.length > MOST_ROWS) list.lastElementChild.remove()
  }

  const connect = () => {
    if (source !== null || document.hidden) return
    const address = new URL(list.dataset.stream, location.href)
    address.searchParams.set('after', last)
    source = new EventSource(address)
    const hear = (name, take) =>
      source.addEventListener(name, (event) => {
        last = event.lastEventId
        take(JSON.parse(event.data))
      })
    source.addEventListener('open', () => say(isFar ? fresh.dataset.far : ''))
    source.addEventListener('error', () => {
      say(fresh.dataset.stopped)
      // A server that ends a session answers with no stream: the browser does not come back by itself then.
      if (source?.readyState === EventSource.CLOSED) {
        source = null
        setTimeout(connect, 5_000)
      }
    })
    hear('row', (data) => {
      waiting.push(data)
      if (waiting.length > MOST_ROWS) waiting.shift()
    })
    hear('far', () => {
      isFar = true
      say(fresh.dataset.far)
    })
    hear('anew', () => {
      list.replaceChildren()
      waiting.length = 0
      leave()
      setTimeout(() => location.reload(), Math.random() * ANEW_WITHIN_MS)
    })
    hear('erase', ({ subject }) => {
      each('.row', (one) => one.dataset.subject === subject && one.remove(), list)
      for (let at = waiting.length - 1; at >= 0; at--) if (waiting[at].subject === subject) waiting.splice(at, 1)
    })
  }
  const leave = () => {
    source?.close()
    source = null
  }

  pause.hidden = false
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.textContent = isPaused ? pause.dataset.resume : pause.dataset.pause
    pause.setAttribute('aria-pressed', String(isPaused))
  })
  // A page in the background holds no connection: browsers allow six to a host.
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : connect()))
  window.addEventListener('pagehide', leave)
  window.addEventListener('pageshow', connect)
  setInterval(show, 250)
  connect()
}

/** How often a verdict's page asks whether something has come, in ms. */
const NEWS_MS = 5_000

/** Shows that something has come since the page was drawn; the page stays as it is, for somebody may be writing in it. */
function news(place) {
  setInterval(async () => {
    if (document.hidden || !place.hidden) return
    const answer = await fetch(place.dataset.news, { redirect: 'manual' }).catch(() => null)
    if (answer === null || answer.status !== 200) return
    place.querySelector('span').textContent = await answer.text()
    place.hidden = false
  }, NEWS_MS)
}

localTimes(document)
copying()
each('ol[data-stream]', live)
each('[data-news]', news)
