-- What tenants hold, in bytes: a hash for each (kept/parts:TENANT) by part; kept/tenants, a sorted set of the tenants by their sums;
-- and kept/ends, a sorted set of the parts that expire (TENANT PART) by when, ms. A part is a thread or a question (its member), an answer, the
-- trails of an hour's questions, an hour's posts that nobody judges, an hour's links of replies and comments to what they stand under, the reach of a post that has not come, the trace contexts of a
-- subject, what became of a decision, a delivery or its lane, the sinks that have had a
-- subject's verdict, or all that is noted of who wrote what. The parts leave the account as
-- they leave Redis.
local function account_in(root, tenant)
  return { root = root, tenant = tenant, parts = root .. 'parts:' .. tenant, tenants = root .. 'tenants', ends = root .. 'ends' }
end
local function account_of(key, member)
  return account_in(string.match(key, '^({.-}:)') .. 'kept/', string.match(member, '^[^/:]*'))
end
local function answer_part(member) return 'answer ' .. member end
-- Of all that was asked in the same hour: what is known of it when question and answer are gone.
local function trails_part(now) return 'trails ' .. math.floor(tonumber(now) / 3600000) end
-- Of all posts that came in the same hour and that nobody judges: that this is so.
local function passed_part(now) return 'passed ' .. math.floor(tonumber(now) / 3600000) end
-- Of all links of replies and comments that were made in the same hour: that these stand under their post, or answer a comment.
local function links_part(now) return 'links ' .. math.floor(tonumber(now) / 3600000) end
-- How far a post reaches that has not come yet.
local function reach_part(member) return 'reach ' .. member end
-- All that is noted of who wrote what.
local function authors_part() return 'authors' end
local function delivery_part(id) return 'delivery ' .. id end
local function traces_part(member) return 'traces ' .. member end
local function sunk_part(protocol, member) return 'sunk ' .. protocol .. ' ' .. member end
local function told_part(of) return 'told ' .. of end
local function add_to_sum(account, size)
  local sum = redis.call('ZINCRBY', account.tenants, size, account.tenant)
  if size < 0 and tonumber(sum) <= 0 then redis.call('ZREM', account.tenants, account.tenant) end
end
local function endless_kept(account, part) redis.call('ZREM', account.ends, account.tenant .. ' ' .. part) end
local function forget_kept(account, part)
  local held = redis.call('HGET', account.parts, part)
  endless_kept(account, part)
  if not held then return end
  redis.call('HDEL', account.parts, part)
  add_to_sum(account, -tonumber(held))
end
-- Of more than so many parts that have expired by now, the rest is counted once more.
local function forget_ended(account, now, most)
  for _, ended in ipairs(redis.call('ZRANGEBYSCORE', account.ends, '-inf', now, 'LIMIT', 0, most)) do
    local tenant, part = string.match(ended, '^(%S+) (.*)$')
    forget_kept(account_in(account.root, tenant), part)
  end
end
local function set_kept(account, part, size)
  if size <= 0 then return forget_kept(account, part) end
  local held = tonumber(redis.call('HGET', account.parts, part) or '0')
  if size == held then return end
  redis.call('HSET', account.parts, part, size)
  add_to_sum(account, size - held)
end
-- The same of a part that should hold so much so far: a step less, as every message takes it.
local function change_kept(account, part, before, size)
  if size == before then return end
  local held = redis.call('HINCRBY', account.parts, part, size - before)
  -- Not what it should be: one of its name has expired and is still counted, or an earlier version did not count it.
  if held ~= size then
    redis.call('HSET', account.parts, part, size)
    endless_kept(account, part)
  end
  add_to_sum(account, size - before + size - held)
end
local function grow_kept(account, part, more)
  redis.call('HINCRBY', account.parts, part, more)
  add_to_sum(account, more)
end
-- A part expires in so many ms. With each, a few leave that have: nobody may ever ask for the sums.
local function end_kept(account, part, now, keep)
  if redis.call('HEXISTS', account.parts, part) == 1 then
    redis.call('ZADD', account.ends, now + keep, account.tenant .. ' ' .. part)
  end
  forget_ended(account, now, 10)
end
-- Sets the body of a delivery, in `content` under its id, or erases it. The delivery's part has the body and what else is kept of it.
local function set_content(account, content, id, body)
  local part, before = delivery_part(id), redis.call('HSTRLEN', content, id)
  if body then redis.call('HSET', content, id, body) else redis.call('HDEL', content, id) end
  local held = redis.call('HGET', account.parts, part)
  if held then set_kept(account, part, held - before + #(body or '')) end
end
-- The sum, without what has expired by now.
local function kept_sum(account, now)
  forget_ended(account, now, 5000)
  return tonumber(redis.call('ZSCORE', account.tenants, account.tenant) or '0')
end
-- Whether a part may be so large, where its tenant may hold so much; empty: there is no limit. One that does not grow always may.
local function may_hold(account, part, size, most, now)
  if most == '' then return true end
  local sum = kept_sum(account, now)
  local held = tonumber(redis.call('HGET', account.parts, part) or '0')
  return size <= held or sum - held + size <= tonumber(most)
end
