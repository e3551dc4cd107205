--@include decided
-- A thread that returns after it was forgotten continues its revision numbers: none is given twice. A recovery restores the
-- numbers before it reads the messages again: then nothing was forgotten that will not be read.
local function is_forgotten(thread, revisions, decided)
  local decides = false
  each_decided(decided, 'rev', function(protocol)
    decides = decides or redis.call('HEXISTS', thread, 'rev:' .. protocol) == 0
      and redis.call('HEXISTS', decided, 'ahead:' .. protocol) == 0
  end)
  if decides then return true end
  for _, protocol in ipairs(redis.call('HKEYS', revisions)) do
    if redis.call('HEXISTS', thread, 'rev:' .. protocol) == 0 then return true end
  end
  return false
end
local function restore_numbers(thread, revisions, decided)
  local known = redis.call('HGETALL', revisions)
  for i = 1, #known, 2 do
    local protocol = known[i]
    if redis.call('HSETNX', thread, 'rev:' .. protocol, known[i + 1]) == 1 then
      redis.call('HSET', thread, 'seen:' .. protocol, -1, 'final:' .. protocol, 1)
    end
  end
  each_decided(decided, 'rev', function(protocol, number)
    local there = redis.call('HGET', thread, 'rev:' .. protocol)
    if not there or tonumber(there) < tonumber(number) then
      redis.call('HSET', thread, 'rev:' .. protocol, number, 'last:' .. protocol, number)
    end
    if redis.call('HDEL', decided, 'ahead:' .. protocol) == 1 then redis.call('HSET', thread, 'seen:' .. protocol, -1)
    elseif not there then redis.call('HSET', thread, 'seen:' .. protocol, -1, 'final:' .. protocol, 1) end
  end)
  each_decided(decided, 'proposal', function(protocol, number)
    local there = redis.call('HGET', thread, 'rev:' .. protocol)
    if there and tonumber(there) < tonumber(number) then redis.call('HSET', thread, 'rev:' .. protocol, number) end
  end)
end
-- If it can't be known whether a post had revisions, because they would have been forgotten by now, numbers start from the time
-- in seconds: it only rises, and faster than a thread can have revisions. Nil if it is known.
local function base_of(incarnation, at, now, keep)
  local forgotten = now - keep
  if at >= forgotten then return end
  local id, lost, since = unpack(redis.call('HMGET', incarnation, 'id', 'lost', 'since'))
  if (id or lost == 'recovering') and tonumber(since or '0') < forgotten then
    return math.floor(now / 1000)
  end
end
