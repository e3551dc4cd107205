-- Notes who wrote what, each subject by when it was noted last, and counts that to its tenant.
--@include kept-bytes
--@key authors            what the keys of authors begin with
--@key looked_at          authors, by when it is looked at which of their subjects are left, ms
--@arg now                ms
--@arg look_next          when that is, of a new one, ms
--@arg author_bytes       what an author takes beside their subjects
--@arg subject_bytes      what a subject takes beside its id
--@arg written[].tenant
--@arg written[].author   hash
--@arg written[].member
local bytes = {}
for _, one in ipairs(written) do
  local key = authors .. one.author
  if redis.call('ZADD', key, now, one.member) == 1 then
    local more = tonumber(subject_bytes) + #one.member
    if redis.call('ZCARD', key) == 1 then
      redis.call('ZADD', looked_at, look_next, one.tenant .. ' ' .. one.author)
      more = more + tonumber(author_bytes)
    end
    bytes[one.tenant] = (bytes[one.tenant] or 0) + more
  end
end
for tenant, more in pairs(bytes) do grow_kept(account_in(string.match(authors, '^({.-}:)') .. 'kept/', tenant), authors_part(), more) end
