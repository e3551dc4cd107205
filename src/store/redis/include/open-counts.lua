-- The number of each tenant's open cases: a hash (open/tenants) with the sum under '/'. Requests for which somebody waits are
-- counted apart, under 'TENANT/waiting', and their sum under '/waiting' as well. It expires after a minute and is then
-- recounted, as it is when the sum is wrong.
local function tenant_of(id) return string.match(id, '^[^~@]*@([^~]*)~') or 'default' end
local function place_of(id)
  return tenant_of(id) .. (string.find(id, '^[^~@]*/asked@?[^~]*~f') and '/waiting' or '')
end
local function count_open_at(open, place, by)
  local counts = open .. '/tenants'
  if redis.call('EXISTS', counts) == 0 then return end
  redis.call('HINCRBY', counts, place, by)
  redis.call('HINCRBY', counts, '/', by)
  if string.find(place, '/', 1, true) then redis.call('HINCRBY', counts, '/waiting', by) end
end
local function count_open(open, member, by)
  count_open_at(open, string.match(member, '^[^/:]*') .. (string.find(member, '^[^/:]*/asked:f') and '/waiting' or ''), by)
end
local function open_counts(open, total, places)
  local counts = open .. '/tenants'
  if tonumber(redis.call('HGET', counts, '/') or '-1') ~= total then
    local sums = { ['/'] = total }
    for _, id in ipairs(redis.call('ZRANGE', open, 0, -1)) do
      local place = place_of(id)
      sums[place] = (sums[place] or 0) + 1
      if string.find(place, '/', 1, true) then sums['/waiting'] = (sums['/waiting'] or 0) + 1 end
    end
    redis.call('DEL', counts)
    for place, sum in pairs(sums) do redis.call('HSET', counts, place, sum) end
    redis.call('PEXPIRE', counts, 60000)
  end
  return redis.call('HMGET', counts, unpack(places))
end
