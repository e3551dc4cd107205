import * as client from 'openid-client'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { OpenIdProvider } from '../contracts/ports/openid.ts'

/** A claim that counts only where the provider has looked at it. */
const EMAIL = 'email'

/** People sign in at an OpenID Connect provider, by the code flow with PKCE. It is asked for its addresses when somebody first does. */
export function openIdProvider(settings: {
  readonly issuer: string
  readonly clientId: string
  /** Empty: a public client. */
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** The claim that names the person. */
  readonly person: string
  /** The claim that lists their groups. */
  readonly groups: string
  /** Longest wait for an answer, in ms. */
  readonly timeout: number
}): OpenIdProvider {
  const { issuer, clientId, clientSecret, scopes, person, groups, timeout } = settings
  const server = new URL(issuer)
  const isPlain = server.protocol === 'http:'
  let known: Promise<client.Configuration> | null = null
  const provider = () => {
    known ??= client
      .discovery(
        server,
        clientId,
        undefined,
        clientSecret === '' ? client.None() : client.ClientSecretPost(clientSecret),
        {
          timeout: timeout / 1_000,
          ...(isPlain ? { execute: [client.allowInsecureRequests] } : {}),
        },
      )
      .catch((error: unknown) => {
        known = null
        throw error
      })
    return known
  }
  return {
    async begin({ state, nonce, verifier }, back) {
      const address = client.buildAuthorizationUrl(await provider(), {
        redirect_uri: back,
        scope: scopes.join(' '),
        state,
        nonce,
        code_challenge_method: 'S256',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
      })
      return address.href
    },
    async finish(address, { state, nonce, verifier }) {
      const config = await provider()
      const tokens = await client.authorizationCodeGrant(config, address, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new Error('the provider has sent no id token')
      const isWhole = entryOf(claims, person) !== undefined && entryOf(claims, groups) !== undefined
      const more =
        isWhole || config.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await client.fetchUserInfo(config, tokens.access_token, claims.sub)
      const all: Readonly<Record<string, unknown>> = { ...more, ...claims }
      const by = entryOf(all, person)
      if (typeof by !== 'string' || by === '') throw new Error(`the provider has sent no claim ${person}`)
      if (person === EMAIL && all.email_verified !== true)
        throw new Error('the provider has not verified the email by which the person would be known')
      const listed = [entryOf(all, groups) ?? []].flat()
      return { by, groups: listed.filter((one): one is string => typeof one === 'string') }
    },
  }
}
