-- When threads are due: a sorted set for each tenant (due:TENANT), and one of the tenants by the earliest time in theirs
-- (due/tenants). A thread that is due at once has a score below zero, in the order in which threads became due, each with its head
-- start (src/judging/threads/head-start.ts). A tenant's score is without it: nobody has a turn before other tenants by a claim.
local function thread_of(due, member) return string.match(due, '^({.-}:)') .. 'thread:' .. member end
local function head_start(thread)
  local by_reach, by_protocol = unpack(redis.call('HMGET', thread, 'reachAhead', 'protocolAhead'))
  return tonumber(by_reach or '0') + tonumber(by_protocol or '0')
end
local function tenant_due(due, member)
  local tenant = string.match(member, '^[^/:]*')
  return due .. ':' .. tenant, tenant
end
local function update_earliest(due, tenant)
  local member, score = unpack(redis.call('ZRANGE', due .. ':' .. tenant, 0, 0, 'WITHSCORES'))
  if not member then
    redis.call('ZREM', due .. '/tenants', tenant)
    return
  end
  local at = tonumber(score)
  redis.call('ZADD', due .. '/tenants', at < 0 and at + head_start(thread_of(due, member)) or at, tenant)
end
-- After a member was added, or its time lowered: only as the first of its tenant it counts.
local function lower_earliest(due, tenant, member)
  if redis.call('ZRANK', due .. ':' .. tenant, member) == 0 then update_earliest(due, tenant) end
end
local function set_due(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZADD', of_tenant, at, member) == 1 then lower_earliest(due, tenant, member)
  else update_earliest(due, tenant) end
end
local function due_by(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  redis.call('ZADD', of_tenant, 'LT', at, member)
  lower_earliest(due, tenant, member)
end
local function due_if_not_yet(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZADD', of_tenant, 'NX', at, member) == 1 then lower_earliest(due, tenant, member) end
end
local function at_once(due, member, now) return tonumber(now) - 1e15 - head_start(thread_of(due, member)) end
-- A request for which somebody waits is due before all others: src/contracts/facts/service-class.ts says which those are.
local function waited_before() return -1.5e15 end
local function asked_at_once(due, member, now)
  if string.find(member, '^[^/:]*/asked:f') then return tonumber(now) - 2e15 end
  return at_once(due, member, now)
end
local function not_due(due, member)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZREM', of_tenant, member) == 1 then update_earliest(due, tenant) end
end
local function is_due(due, member)
  return redis.call('ZSCORE', tenant_due(due, member), member)
end
-- Gives a thread a head start; if it is due at once, it moves among those that are. Without `by_protocol` that part stays.
local function set_head_start(thread, due, member, by_reach, by_protocol)
  local before = head_start(thread)
  redis.call('HSET', thread, 'reachAhead', by_reach)
  if by_protocol then redis.call('HSET', thread, 'protocolAhead', by_protocol) end
  local at = tonumber(is_due(due, member) or '0')
  if at < 0 then set_due(due, member, at + before - head_start(thread)) end
end
