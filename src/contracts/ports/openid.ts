/** Binds an answer of a provider to the browser that asked for it: unguessable, made anew for each. */
export interface SignInChecks {
  readonly state: string
  readonly nonce: string
  /** The secret of PKCE. */
  readonly verifier: string
}

/** A person as a provider identifies them. */
export interface ProvidedPerson {
  readonly by: string
  readonly groups: readonly string[]
}

/** An OpenID Connect provider, at which people sign in. */
export interface OpenIdProvider {
  /** Where a browser is sent to sign in; the provider sends it back to `back`. Rejects if the provider does not answer. */
  begin(checks: SignInChecks, back: string): Promise<string>
  /** Who came back to this address. Rejects if the provider names nobody, or answers the question of another browser. */
  finish(address: URL, checks: SignInChecks): Promise<ProvidedPerson>
}
