import { type From, sessionCookie, sessionIn } from './gate.ts'
import type { Sessions } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, type Safe } from './view.ts'

interface SignInParts {
  readonly sessions: Sessions
  readonly printLink: () => void
  readonly page: (status: number, title: string, body: Safe) => Response
}

/** A link is printed at most once in so many ms. */
const PRINT_MS = 10_000

/**
 * The way in, by a link that was printed where the console runs. Opening it shows a button, and the button uses it up: what only
 * looks at addresses, as previews do, signs nobody in.
 */
export function signIn({ sessions, printLink, page }: SignInParts) {
  const { title } = TEXTS.signIn
  let printedAt = Number.NEGATIVE_INFINITY
  return (request: Request, { host }: From, address: URL, form: URLSearchParams): Response => {
    const isForm = request.method === 'POST'
    if (address.pathname === '/sign-in/link') {
      const secret = (isForm ? form : address.searchParams).get('t') ?? ''
      if (!isForm)
        return sessions.isGood(secret)
          ? page(200, title, button(secret))
          : page(410, title, explained(TEXTS.signIn.used))
      const id = sessions.open(secret)
      if (id === null) return page(410, title, explained(TEXTS.signIn.used))
      sessions.end(sessionIn(request.headers, host))
      return new Response(null, { status: 303, headers: { location: '/live', 'set-cookie': sessionCookie(host, id) } })
    }
    if (address.pathname === '/sign-in/print' && isForm) {
      const isSoon = performance.now() - printedAt < PRINT_MS
      if (!isSoon) {
        printedAt = performance.now()
        printLink()
      }
      return page(200, title, explained(TEXTS.signIn.printed))
    }
    return page(address.pathname === '/sign-in' ? 200 : 404, title, explained(TEXTS.signIn.how))
  }
}

function button(secret: string): Safe {
  return html`<h1>${TEXTS.signIn.title}</h1>
    <form method="post" action="/sign-in/link"><input type="hidden" name="t" value="${secret}"><button class="main" autofocus>${TEXTS.signIn.enter}</button></form>`
}

function explained(says: string): Safe {
  return html`<h1>${TEXTS.signIn.title}</h1><p>${says}</p>
    <form method="post" action="/sign-in/print"><button>${TEXTS.signIn.another}</button></form>`
}
