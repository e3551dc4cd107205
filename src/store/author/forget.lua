-- Forgets these subjects of an author, those that were noted anew excepted, and takes what they took from the tenant's account.
--@include kept-bytes
--@key authors            what the keys of authors begin with
--@key looked_at
--@arg tenant
--@arg author             hash
--@arg author_bytes
--@arg subject_bytes
--@arg noted[].member
--@arg noted[].at         when it was noted, ms
local key, less = authors .. author, 0
for _, one in ipairs(noted) do
  if tonumber(redis.call('ZSCORE', key, one.member) or '-1') == tonumber(one.at) then
    redis.call('ZREM', key, one.member)
    less = less + tonumber(subject_bytes) + #one.member
  end
end
if less == 0 then return end
if redis.call('ZCARD', key) == 0 then
  redis.call('ZREM', looked_at, tenant .. ' ' .. author)
  less = less + tonumber(author_bytes)
end
grow_kept(account_in(string.match(authors, '^({.-}:)') .. 'kept/', tenant), authors_part(), -less)
