// Pages by keys alone: every key presses a button or chooses something that stands in the page.

const each = (selector, work) => document.querySelectorAll(selector).forEach(work)

/** Where a reader has switched single keys off. Ctrl+Enter stays. */
const KEYS = 'gavel-single-keys'
const hasKeys = () => localStorage.getItem(KEYS) !== 'off'

function keysSwitch() {
  each('[data-keys]', (button) => {
    const say = () => {
      button.textContent = hasKeys() ? button.dataset.keys : button.dataset.noKeys
    }
    button.hidden = false
    button.addEventListener('click', () => {
      localStorage.setItem(KEYS, hasKeys() ? 'off' : 'on')
      say()
    })
    say()
  })
  each('[data-close]', (button) => button.addEventListener('click', () => button.closest('dialog').close()))
}

/**
 * The part of a page that keys mean: a post of a list, or a protocol's part of a post. Of a post the first part that waits has it from the
 * beginning.
 */
let reached = null
const PLACES = 'section.decide, ol.rows > li.row'

function ring(place) {
  reached?.classList.remove('reached')
  reached = place
  reached?.classList.add('reached')
}

function reach(step) {
  const places = [...document.querySelectorAll(PLACES)]
  ring(places[Math.min(places.length - 1, Math.max(0, places.indexOf(reached) + step))] ?? null)
  reached?.focus()
}

/** What a key means is in the part that is reached, or in none: never in another part. */
const meant = (selector) =>
  reached?.querySelector(selector) ??
  [...document.querySelectorAll(selector)].find((one) => reached === null || one.closest(PLACES) === null)

/** How long after a page has come its label is not confirmed, in ms: a key that was pressed twice was meant for the page before. */
const CONFIRMED_AFTER_MS = 600
const began = performance.now()

/** Whether nobody has uncovered the words of the post that is decided on. */
const isCovered = () => document.querySelector('.post details.covered[data-counts]:not([data-seen])') !== null

function say(place, text) {
  if (!place) return
  place.textContent = text
  place.scrollIntoView({ block: 'nearest' })
}

/** Confirms the label, or says why not. */
function confirmLabel(event) {
  if (event.repeat || event.timeStamp - began < CONFIRMED_AFTER_MS) return
  const says = meant('[data-not-seen]')
  const button = meant('button[data-press="c"]')
  if (button) button.click()
  else say(says, isCovered() ? says?.dataset.notSeen : says?.dataset.notShown)
}

/** Whether nobody has uncovered one of its pictures that could be shown. */
const hasCoveredPicture = () =>
  document.querySelector('.post figure details.covered:not([data-seen]):has(img.seen)') !== null

/**
 * A decision on words that are still covered is not sent, whichever key or button would send it; one on a picture that is, only when it
 * is sent once more: nobody has to look.
 */
function onlySeen(event) {
  const form = event.target
  const says = form.querySelector('[data-not-seen]')
  if (says === null) return
  if (!isCovered() && (form.dataset.asked || !hasCoveredPicture())) return
  event.preventDefault()
  if (!isCovered()) form.dataset.asked = 'yes'
  say(says, isCovered() ? says.dataset.notSeen : says.dataset.notLooked)
}

const pressed = {
  j: () => reach(1),
  k: () => reach(-1),
  '?': () => document.querySelector('dialog.help')?.showModal(),
  w: () => meant('.decide textarea')?.focus(),
  c: confirmLabel,
}

/** Whether somebody decides here, or has just done so: elsewhere `u` undoes nothing by chance, and leads to what it would undo. */
const isDeciding = () => location.pathname.startsWith('/review') || new URLSearchParams(location.search).has('done')

/** Keys of a page: numbers choose labels, letters reasons, w leads to one's words, Ctrl+Enter sends. Off while somebody writes; Escape ends that. */
function keys() {
  document.addEventListener('keydown', (event) => {
    const isWriting = event.target.matches?.('input:not([type=radio], [type=checkbox]), textarea, select')
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat)
      (event.target.form ?? reached?.querySelector('form[action="/review/decide"]'))?.requestSubmit()
    if (event.key === 'Escape' && isWriting) event.target.blur()
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !hasKeys()) return
    if (Object.hasOwn(pressed, event.key)) {
      event.preventDefault()
      pressed[event.key](event)
      return
    }
    if (event.key === 'u' && !isDeciding() && document.querySelector('button[data-press="u"]')) {
      event.preventDefault()
      location.assign('/review/mine')
      return
    }
    const button = meant(`button[data-press="${CSS.escape(event.key)}"]`)
    const choice = meant(`.decide input[data-key="${CSS.escape(event.key)}"]`)
    if (button && !event.repeat) button.click()
    else if (choice) {
      event.preventDefault()
      choice.checked = true
      choice.focus()
    }
  })
  document.addEventListener('submit', onlySeen)
  // Who clicks into another part means that one.
  document.addEventListener('focusin', ({ target }) => {
    const place = target.closest('section.judged.decide')
    if (place !== null) ring(place)
  })
  document.addEventListener(
    'toggle',
    ({ target }) => {
      if (!target.open || target.dataset.seen) return
      target.dataset.seen = 'yes'
      // A copy counts once its words were seen; who unticks it then means that.
      const copy = target.matches('[data-counts]') && target.closest('.copies li')?.querySelector('[name=copy]')
      if (copy) copy.checked = true
    },
    true,
  )
  // What was refused is mended first.
  const refused = document.querySelector('section[data-refused]')
  ring(refused ?? document.querySelector('section.judged.decide'))
  refused?.focus()
}

keys()
keysSwitch()
