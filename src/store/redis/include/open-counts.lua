-- The number of each tenant's open cases: a hash (open/tenants) with the sum under '/'. It expires after a minute and is then
-- recounted, as it is when the sum is wrong.
local function tenant_of(id) return string.match(id, '^[^~@]*@([^~]*)~') or 'default' end
local function count_open(open, member, by)
  local counts = open .. '/tenants'
  if redis.call('EXISTS', counts) == 0 then return end
  redis.call('HINCRBY', counts, string.match(member, '^[^/:]*'), by)
  redis.call('HINCRBY', counts, '/', by)
end
local function open_counts(open, total, tenants)
  local counts = open .. '/tenants'
  if tonumber(redis.call('HGET', counts, '/') or '-1') ~= total then
    local sums = { ['/'] = total }
    for _, id in ipairs(redis.call('ZRANGE', open, 0, -1)) do
      local tenant = tenant_of(id)
      sums[tenant] = (sums[tenant] or 0) + 1
    end
    redis.call('DEL', counts)
    for tenant, sum in pairs(sums) do redis.call('HSET', counts, tenant, sum) end
    redis.call('PEXPIRE', counts, 60000)
  end
  return redis.call('HMGET', counts, unpack(tenants))
end
