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

/** What j and k have reached: a post of a list, or a protocol's part of a post. Keys mean what is in it before all else. */
let reached = null

function reach(step) {
  const places = [...document.querySelectorAll('section.decide, ol.rows > li.row')]
  const at = places.indexOf(reached)
  reached?.classList.remove('reached')
  reached = places[Math.min(places.length - 1, Math.max(0, at + step))] ?? null
  reached?.classList.add('reached')
  reached?.focus()
}

const nearest = (selector) => reached?.querySelector(selector) ?? document.querySelector(selector)

/** Chooses a label or a reason. A reason against the label that is shown means its opposite; who overrules goes on in their own words. */
function choose(input) {
  input.checked = true
  const labels = [...input.form.querySelectorAll('input[name=label]')]
  const shown = labels.find((one) => one.dataset.shown !== undefined)
  const isAgainst = input.name === 'code' && input.dataset.confirms === undefined
  const opposite = labels.find((one) => one.dataset.opposite !== undefined)
  if (isAgainst && opposite !== undefined && !labels.some((one) => one.checked)) opposite.checked = true
  const isOverruled = shown !== undefined && !shown.checked && labels.some((one) => one.checked)
  if (isOverruled) input.form.elements.why.focus()
  else input.focus()
}

const pressed = {
  j: () => reach(1),
  k: () => reach(-1),
  '?': () => document.querySelector('dialog.help')?.showModal(),
  w: () => nearest('.decide textarea')?.focus(),
}

/** Keys of a page: numbers choose labels, letters reasons, w leads to one's words, Ctrl+Enter sends. Off while somebody writes; Escape ends that. */
function keys() {
  document.addEventListener('keydown', (event) => {
    const isWriting = event.target.matches?.('input:not([type=radio]), textarea, select')
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit()
    if (event.key === 'Escape' && isWriting) event.target.blur()
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !hasKeys()) return
    const button = nearest(`button[data-press="${CSS.escape(event.key)}"]`)
    const choice = nearest(`.decide input[data-key="${CSS.escape(event.key)}"]`)
    if (button !== null) button.click()
    else if (choice !== null) {
      event.preventDefault()
      choose(choice)
    } else if (Object.hasOwn(pressed, event.key)) {
      event.preventDefault()
      pressed[event.key]()
    }
  })
}

keys()
keysSwitch()
