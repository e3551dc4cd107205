-- Notes who wrote what, each subject by when it was noted last, and counts that to its tenant. Where that holds all that it may, nothing
-- new is noted: the store takes nothing more either.
--@include kept-bytes
--@key authors            what the keys of authors begin with
--@key looked_at          authors, by when it is looked at which of their subjects are left, ms
--@arg now                ms
--@arg look_next          when that is, of a new one, ms
--@arg author_bytes       what an author takes beside their subjects
--@arg subject_bytes      what a subject takes beside its id
--@arg most               bytes that a tenant may hold; empty: no limit
--@arg written[].tenant
--@arg written[].author   hash
--@arg written[].member
local bytes, sums = {}, {}
local function account_for(tenant) return account_in(string.match(authors, '^({.-}:)') .. 'kept/', tenant) end
local function has_room(tenant)
  if most == '' then return true end
  sums[tenant] = sums[tenant] or kept_sum(account_for(tenant), now)
  return sums[tenant] + (bytes[tenant] or 0) < tonumber(most)
end
for _, one in ipairs(written) do
  local key = authors .. one.author
  local added
  if has_room(one.tenant) then added = redis.call('ZADD', key, now, one.member)
  else added = redis.call('ZADD', key, 'XX', now, one.member) end
  if added == 1 then
    local more = tonumber(subject_bytes) + #one.member
    if redis.call('ZCARD', key) == 1 then
      redis.call('ZADD', looked_at, look_next, one.tenant .. ' ' .. one.author)
      more = more + tonumber(author_bytes)
    end
    bytes[one.tenant] = (bytes[one.tenant] or 0) + more
  end
end
for tenant, more in pairs(bytes) do grow_kept(account_for(tenant), authors_part(), more) end
