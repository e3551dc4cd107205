// Covers: one is open at a time, and the post's own words beside it. A key uncovers the next, and, for who chose that, the pointer what is under it. Of a picture that has
// been fetched meanwhile it says how it stands.

const each = (selector, work, root = document) => root.querySelectorAll(selector).forEach(work)

/** Where a reader has switched single keys off. */
const hasKeys = () => localStorage.getItem('gavel-single-keys') !== 'off'

function uncoverNext() {
  const all = [...document.querySelectorAll('details.covered')]
  const next = all[all.findLastIndex((one) => one.open) + 1]
  if (next === undefined) {
    for (const one of all) one.open = false
    return
  }
  // Of those of one name the browser closes the others.
  next.open = true
  next.querySelector('summary').focus()
}

document.addEventListener('keydown', (event) => {
  const isWriting = event.target.matches?.('input:not([type=radio], [type=checkbox]), textarea, select')
  if (event.key !== 'o' || isWriting || event.ctrlKey || event.metaKey || event.altKey || !hasKeys()) return
  event.preventDefault()
  uncoverNext()
})

// Whatever a page has by then: rows of a list come later.
for (const [name, open] of Object.entries({ pointerenter: true, pointerleave: false }))
  document.addEventListener(
    name,
    ({ target }) => {
      if (target.matches?.('[data-hover] details.covered')) target.open = open
    },
    true,
  )

// Words that may harm count once they are uncovered; pictures when they are loaded.
document.addEventListener(
  'toggle',
  ({ target }) => {
    if (target.open && target.matches('details[data-counts]')) void fetch(target.dataset.counts, { redirect: 'manual' })
  },
  true,
)

// A picture of a list that can't be shown goes, and its place says so.
document.addEventListener(
  'error',
  ({ target }) => {
    const thumb = target.closest?.('.thumbs > *')
    if (!thumb) return
    const says = document.createElement('span')
    says.className = 'faint'
    says.textContent = thumb.parentElement.dataset.away
    thumb.replaceWith(says)
  },
  true,
)

each('figure[data-news-of]', (figure) => {
  const state = figure.querySelector('.state')
  const say = async () => {
    if (state.textContent !== '') return
    const answer = await fetch(figure.dataset.newsOf, { redirect: 'manual' }).catch(() => null)
    if (answer?.status !== 200) return
    const text = await answer.text()
    state.textContent = text
    state.classList.toggle('bad', !JSON.parse(figure.dataset.well).includes(text))
  }
  const fail = (event) => {
    ;(event.target.closest('details') ?? event.target).remove()
    void say()
  }
  each(
    'img',
    (image) => {
      image.addEventListener('load', say)
      image.addEventListener('error', fail)
      // It may have come before this script.
      if (image.complete && image.getAttribute('loading') !== 'lazy')
        void (image.naturalWidth === 0 ? fail({ target: image }) : say())
    },
    figure,
  )
})
