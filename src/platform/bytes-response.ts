/** A response whose bytes are at hand: the server writes them as they are, where it would read a stream to its end. */
export class BytesResponse extends Response {
  readonly content: Uint8Array<ArrayBuffer>

  constructor(content: Uint8Array<ArrayBuffer>, init: ResponseInit) {
    super(content, init)
    this.content = content
  }
}
