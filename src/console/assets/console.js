// What a page can do beyond being read: times in the reader's zone, verdicts as they come, copying, printing; keys in the file beside.
// Whatever comes from outside is put into the page as text.

const each = (selector, work, root = document) => root.querySelectorAll(selector).forEach(work)

/** Times stand in the page in UTC. */
function localTimes(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  const ofToday = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
  // Where the order is the point, with seconds and the zone.
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
  const today = new Date().toDateString()
  each(
    'time',
    (time) => {
      const at = new Date(time.dateTime)
      if (Number.isNaN(at.getTime())) return
      time.title = time.dateTime
      const isShort = at.toDateString() === today && time.closest('.dense, .strip') !== null
      const isExact = time.closest('.exact, .timeline') !== null
      time.textContent = (isExact ? exact : isShort ? ofToday : format).format(at)
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
      // What stands beside it stays where it is: a second click there means this button.
      button.style.minWidth = `${button.offsetWidth}px`
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

/** The pictures of a post in a list, each as the sample is. */
function showPictures(item, { titles, at }, sample) {
  if (titles.length === 0 || item.querySelector('.thumbs') !== null) return
  const thumbs = sample.cloneNode(true)
  const one = thumbs.firstElementChild
  const all = titles.map((title, nth) => {
    const own = one.cloneNode(true)
    const addressed = (image) => {
      image.src = at + image.getAttribute('src').replace('&n=0', `&n=${nth}`)
    }
    each('img', addressed, own)
    own.querySelector('.seen').alt = title
    const name = own.querySelector('summary > span:last-child')
    if (name !== null) name.textContent = title
    return own
  })
  thumbs.replaceChildren(...all)
  item.querySelector('.row-of').before(thumbs)
}

function live(list) {
  const template = document.querySelector('template')
  const fresh = document.querySelector('.fresh')
  const pause = document.querySelector('.pause')
  const waiting = []
  let [source, last, isPaused, isFar] = [null, list.dataset.after, false, false]

  const part = (selector, root = template.content) => root.querySelector(selector)

  const verdict = (data) => {
    const found = part('.found').cloneNode(true)
    found.dataset.id = data.id
    found.dataset.protocol = data.protocol
    const address = part('a.of', found)
    address.href = data.href
    address.title = data.decided
    part('.label', found).className = `label ${data.tone}`
    part('.label bdi', found).textContent = data.label
    for (const name of ['protocol', 'how', 'decided']) part(`.${name}`, found).textContent = data[name]
    if (data.opposed === '') part('.opposed', found).remove()
    else part('.opposed time', found).dateTime = data.opposed
    return found
  }

  /** A post with its words; without its verdicts. */
  const post = (data) => {
    const item = part('.row').cloneNode(true)
    item.dataset.thread = data.thread
    item.dataset.subject = data.subject
    part('.verdicts', item).replaceChildren()
    part('.row-of bdi', item).textContent = data.of
    for (const one of item.querySelectorAll(':scope > p.row-words:not(.none), :scope > details, .thumbs')) one.remove()
    return item
  }

  const speak = (item, data) => {
    if (data.words === null) return
    part(':scope > .none', item)?.replaceWith(part('p.row-words').cloneNode(true))
    const words = part('.row-words bdi', item)
    words.textContent = data.words
    words.lang = data.lang
  }

  /** What one verdict of a post hides is hidden, whatever others say. */
  const hide = (item, { hidden: why, uncovered }) => {
    const open = part(':scope > p.row-words:not(.none)', item)
    if (why === null || open === null) return
    const closed = part('details').cloneNode(true)
    part('summary span', closed).textContent = why
    closed.dataset.counts = uncovered
    open.replaceWith(closed)
    part('p', closed).replaceWith(open)
  }

  const shownOf = ({ thread }) => [...list.children].find((one) => one.dataset.thread === thread)

  const say = (text) => {
    if (fresh.textContent !== text) fresh.textContent = text
  }

  const show = () => {
    if (isPaused) return
    document.querySelector('main > p.none')?.remove()
    for (const data of waiting.splice(0, Math.ceil(ROWS_A_SECOND / 4))) {
      const item = shownOf(data) ?? post(data)
      speak(item, data)
      hide(item, data)
      showPictures(item, data.pictures, part('.thumbs'))
      each('.found', (old) => old.dataset.protocol === data.protocol && old.remove(), item)
      part('.verdicts', item).prepend(verdict(data))
      part('time', item).dateTime = data.at
      item.classList.add('new')
      list.prepend(item)
      localTimes(item)
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
    hear('cover', (data) => {
      for (const one of waiting) if (one.thread === data.thread) one.hidden ??= data.hidden
      const item = shownOf(data)
      if (item) hide(item, data)
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
    hear('erase', ({ thread }) => {
      each('.row', (one) => one.dataset.thread === thread && one.remove(), list)
      for (let at = waiting.length - 1; at >= 0; at--) if (waiting[at].thread === thread) waiting.splice(at, 1)
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
