/** What an endpoint sent was longer than anybody reads. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
}

/**
 * Node's `fetch` for an endpoint that may be broken or hostile: a body ends with {@link TooLong} after `maxBytes`, counted
 * as unpacked, and no redirect is followed: what was asked goes where it was addressed, and nowhere else.
 */
export function boundedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    const { status, statusText, headers } = response
    const announced =
      headers.get('content-encoding') === null ? Number(headers.get('content-length') ?? Number.NaN) : Number.NaN
    // A body that has its length in front is never longer.
    if (response.body === null || announced <= maxBytes) return response
    let bytes = 0
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength
          if (bytes > maxBytes) controller.error(new TooLong(`more than ${maxBytes} bytes`))
          else controller.enqueue(chunk)
        },
      }),
    )
    return new Response(bounded, { status, statusText, headers })
  }
}
