import { once } from 'node:events'
import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'
import { relayGeneration } from '../../src/contracts/facts/relay-address.ts'
import { POSTS } from './frame.ts'
import { MOST_FRAME_BYTES, openRelay, RelayEnded, type RelayStream } from './relay.ts'

const DICTIONARY = '/xrpc/network.bsky.jetstream.getZstdDictionary'
/** Largest dictionary that is read, in bytes, and how long it may take, in ms. */
const [MOST_DICTIONARY_BYTES, DICTIONARY_MS] = [2 ** 20, 10_000]
/** What a dictionary of Zstandard begins with; its id follows. */
const DICTIONARY_MAGIC = 0xec30a437

/** Opens streams of posts, with the accounts' own events; of these accounts alone, if any are named. */
export function streamsOf(ask: {
  readonly dids: readonly string[]
  readonly compress: boolean
  readonly ca?: Buffer | undefined
}) {
  return async (url: string, cursor: number | null): Promise<RelayStream> => {
    const isNewer = relayGeneration(url) === 'v2'
    const dictionary = isNewer && ask.compress ? await dictionaryOf(url, ask.ca) : undefined
    const address = new URL(url)
    const query = address.searchParams
    if (isNewer) for (const kind of ['commit', 'account']) query.append('kinds', kind)
    query.append(isNewer ? 'collections' : 'wantedCollections', POSTS)
    for (const did of ask.dids) query.append(isNewer ? 'dids' : 'wantedDids', did)
    query.append('maxMessageSizeBytes', String(MOST_FRAME_BYTES))
    if (dictionary !== undefined) query.append('zstdDictionary', String(dictionary.readUInt32LE(4)))
    if (cursor !== null) query.append('cursor', String(cursor))
    return openRelay(address.href, { ca: ask.ca, dictionary })
  }
}

/** The dictionary by which a relay compresses now. Rejects with a `RelayEnded` if it gives none. */
async function dictionaryOf(url: string, ca: Buffer | undefined): Promise<Buffer> {
  const address = new URL(DICTIONARY, url)
  const isPlain = address.protocol === 'ws:'
  address.protocol = isPlain ? 'http:' : 'https:'
  try {
    const signal = AbortSignal.timeout(DICTIONARY_MS)
    const request = isPlain
      ? getPlain(address, { signal })
      : getSecure(address, { signal, ...(ca === undefined ? {} : { ca }) })
    const [response] = await once(request, 'response')
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of response) {
      parts.push(part)
      bytes += part.length
      if (bytes > MOST_DICTIONARY_BYTES) throw new Error('it is too large')
    }
    const dictionary = Buffer.concat(parts)
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`)
    if (dictionary.length < 8 || dictionary.readUInt32LE(0) !== DICTIONARY_MAGIC) throw new Error('it is none')
    return dictionary
  } catch (error) {
    throw new RelayEnded(`its dictionary can’t be had: ${error instanceof Error ? error.message : String(error)}`)
  }
}
