import { visibleName } from './author.ts'
import { hmac } from './hmac.ts'

/** The name of an author of a tenant where no name may stand: the same for names that look the same. */
export type AuthorHash = (tenant: string, author: string) => string

/** 22 characters of a hash of 128 bits. */
const LENGTH = 22

/** Authors under one key; without it nobody can try names against what is noted of them. */
export function authorHashes(key: string): AuthorHash {
  const keyed = hmac(key)
  return (tenant, author) => keyed(`author\0${tenant}\0${visibleName(author)}`, 'base64url').slice(0, LENGTH)
}
