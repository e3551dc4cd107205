-- Reserves a call in all its scopes, or in none. Returns { 1, when it was granted (ms) }, also when it is sent twice, or
-- { 0, ms to wait, the scope that it waits for longest (from 1) }; it then has a place in that scope's line.
--@include limit-window
--@include limit-line
--@key ticket
--@key scopes[].window
--@key scopes[].in_flight
--@key scopes[].queue
--@key scopes[].queue_expiry
--@key scopes[].waiting
--@key scopes[].rest
--@key scopes[].line
--@arg id                the ticket's
--@arg asker
--@arg party             its class and tenant, see partyOf in src/contracts/ports/call-limits.ts
--@arg account           whose it is within the party
--@arg share             of its class
--@arg both              the shares of both classes as a multiple of that
--@arg tokens
--@arg width             of a bucket, ms
--@arg span              buckets in the window
--@arg lease             ms
--@arg recheck           longest wait of the first in the queue, ms
--@arg late              ms after its wait at which an asker loses its place
--@arg case_prefix       what the keys of cases begin with; empty: nothing is known of cases
--@arg scopes[].max_calls       empty is no limit; so the next two
--@arg scopes[].max_tokens
--@arg scopes[].max_in_flight
--@arg scopes[].part            of its limits, that the call takes
local known = redis.call('GET', ticket)
if known then return { 1, string.match(known, '^%S+') } end

local need, bucket_ms, buckets, lease_ms = tonumber(tokens), tonumber(width), tonumber(span), tonumber(lease)
local now = precise_now()
local bucket = math.floor(now / bucket_ms)
local first, whole = bucket - buckets, buckets * bucket_ms
local me = need .. '|' .. asker

-- How long what a limit leaves lasts at half of the limit's rate; 0 where one call of so many tokens does not fit.
local function lasts(scope, calls_left, tokens_left, wanted)
  if calls_left < 1 or tokens_left < wanted then return 0 end
  return 2 * whole * math.min(calls_left / scope.max_calls, tokens_left / scope.max_tokens)
end
-- In how many ms, 0 for now, a call has room: when it fits, and what is left lasts until more leaves the window, so that whoever
-- comes next has soon room, too. Looks until more than `most` ms are found.
local function room_in(scope, slid, calls_left, tokens_left, wanted, most)
  local wait, oldest, counts = 0, slid.oldest or 0, nil
  for at = oldest, slid.oldest and slid.newest or -1 do
    local lasting = lasts(scope, calls_left, tokens_left, wanted)
    if lasting >= whole or wait > most then return wait end
    wait = math.max(wait, (at + 1 + buckets) * bucket_ms - now - lasting)
    local nth = (at - oldest) % 50
    if nth == 0 then
      local fields = {}
      for one = at, math.min(at + 49, slid.newest) do
        fields[#fields + 1] = 'c' .. one
        fields[#fields + 1] = 't' .. one
      end
      counts = redis.call('HMGET', scope.window, unpack(fields))
    end
    calls_left, tokens_left = calls_left + (counts[2 * nth + 1] or 0), tokens_left + (counts[2 * nth + 2] or 0)
  end
  return lasts(scope, calls_left, tokens_left, wanted) > 0 and wait or math.max(wait, whole)
end

-- Parties in line by their turns, one set for each class; and the line: by party, in it by account's turn, then in order of
-- arrival. `line` is a hash: by class its turn, by party and account the number of its calls, by call (me) its member of the queue.
local class = class_of(party)
local other = class == 'rest' and 'waiting' or 'rest'
local function turn_in(member) return tonumber(string.match(member, '^[^|]+|(%d+)')) end
local function need_in(member) return tonumber(string.match(member, '^[^|]+|%d+|[^|]+|(%d+)')) end
-- Who comes has its turn after the one whose turn it is: a class, a party in it, and an account in that, after its own calls.
local function join(scope)
  local front = first_of(scope, party)
  if not front then
    local next = redis.call('ZRANGE', scope[class], 0, 0, 'WITHSCORES')
    if not next[2] then
      local others = redis.call('EXISTS', scope[other]) == 1
      redis.call('HSET', scope.line, class, others and math.max(class_turn(scope, class), class_turn(scope, other)) or 0)
      if not others then redis.call('HDEL', scope.line, other) end
    end
    -- Of those that come for the same turn the first is first, by a part of a call: a sorted set alone would order their names.
    local part, nth = tonumber(scope.part), redis.call('HINCRBY', scope.line, 'come', 1) % 1024
    redis.call('ZADD', scope[class], (next[2] and next[2] + part or 0) + part * nth / 4096, party)
  end
  local own = redis.call('HINCRBY', scope.line, party .. '|' .. account, 1) - 1
  local turn = (front and turn_in(front) or 0) + own
  -- Without the asker: a format ends a string at a NUL, which an id may hold.
  local member = string.format('%s|%012d|%017.3f|%d|%s|', party, turn, now, need, account) .. asker
  redis.call('ZADD', scope.queue, 0, member)
  redis.call('HSET', scope.line, me, member)
  return member
end
-- Whether a question of a case, CASE/RUN/KEY, waits for nobody: its case was erased, or has begun again.
local function is_gone(member)
  local case, run = string.match(member, '^[^|]+|[^|]+|[^|]+|[^|]+|[^|]*|(.*)/(%d+)/%d+%.[^/]*$')
  if not case or case_prefix == '' then return false end
  local status, latest = unpack(redis.call('HMGET', case_prefix .. case, 'status', 'run'))
  return not status or (latest or '0') ~= run
end
-- Removes askers that lost their place; returns the caller's member if it has one, the queue's length, and for whom it waits:
-- the first in line, and the first of its own class if that is another party's.
local function look_at_queue(scope)
  local length = redis.call('ZCARD', scope.queue)
  if length == 0 then return nil, 0, nil end
  local lapsed = redis.call('ZRANGEBYSCORE', scope.queue_expiry, '-inf', now, 'LIMIT', 0, 100)
  local function drop(member)
    local part = math.max(1 / scope.max_calls, need_in(member) / scope.max_tokens, 1 / scope.max_in_flight)
    give_up(scope, member, part, class_of(member) == class and share or share * (both - 1))
    length = length - 1
  end
  for _, member in ipairs(lapsed) do drop(member) end
  local member = redis.call('HGET', scope.line, me) or nil
  -- The first of those that still wait. One that has not come when it should is away: nobody waits for it.
  local function if_there(first, of)
    local one = first(scope, of)
    for _ = 1, 100 do
      if not one or one == member or not is_gone(one) then break end
      drop(one)
      one = first(scope, of)
    end
    return one and (one == member or redis.call('ZSCORE', scope.queue_expiry, one) - now >= 0.8 * late) and one or nil
  end
  local head, next = if_there(first_in_line), redis.call('ZRANGE', scope[class], 0, 0)[1]
  -- The first of its own class goes before it as well: else whoever asks most often has what the first in line leaves.
  if not next or next == party or (head and party_in(head) == next) then next = nil end
  return member, length, head, next and if_there(first_of, next)
end
-- About how many calls and tokens are ahead of a member: its party has a turn in as many calls as its class has parties in line,
-- and the other class has its share of all.
local function ahead_of(scope, member, length, head)
  local own = redis.call('ZLEXCOUNT', scope.queue, '[' .. party .. '|', '(' .. member)
  local before = own * redis.call('ZCARD', scope[class]) + redis.call('ZRANK', scope[class], party)
  if redis.call('EXISTS', scope[other]) == 1 then before = before * tonumber(both) end
  local ahead = math.min(length, before)
  if own == 0 then return ahead, head and ahead * need_in(head) or 0 end
  local some = redis.call('ZRANGEBYLEX', scope.queue, '[' .. party .. '|', '(' .. member, 'LIMIT', 0, 32)
  local sum = 0
  for _, one in ipairs(some) do sum = sum + need_in(one) end
  return ahead, sum * ahead / #some
end

local taken, standing, wait, longest = {}, {}, nil, nil
for i, scope in ipairs(scopes) do
  for _, name in ipairs({ 'max_calls', 'max_tokens', 'max_in_flight' }) do scope[name] = tonumber(scope[name]) or 2 ^ 53 end
  local slid = slide(scope.window, first, buckets, bucket)
  local calls_left, tokens_left = scope.max_calls - slid.calls, scope.max_tokens - slid.tokens
  redis.call('ZREMRANGEBYSCORE', scope.in_flight, '-inf', now)
  local in_flight = redis.call('ZCARD', scope.in_flight)
  local member, length, head, next = look_at_queue(scope)
  taken[i] = { slid = slid, in_flight = in_flight }
  -- What the first in line waits for is kept free; its place in flight for whoever of its party comes first, as one that stays
  -- empty until it comes itself is lost to all.
  local is_others = head and party_in(head) ~= party
  local full = in_flight + (is_others and 1 or 0) + (next and 1 or 0) >= scope.max_in_flight
  -- Nobody takes what the first in line could have now.
  local calls_before, tokens_before, wanted = 0, 0, need
  for _, one in pairs({ head ~= member and head or nil, next or nil }) do
    calls_before, tokens_before, wanted = calls_before + 1, tokens_before + wanted, need_in(one)
  end
  local lacks = room_in(scope, slid, calls_left - calls_before, tokens_left - tokens_before, wanted, 0) > 0
  if full or lacks then
    if member then length = length - 1 else member = join(scope) end
    local ahead, tokens_ahead = ahead_of(scope, member, length, head)
    local most = math.min(whole, recheck * (1 + ahead / 4))
    local this = most
    if lacks then
      this = room_in(scope, slid, calls_left - ahead, tokens_left - tokens_ahead, need, in_flight > 0 and most or whole)
      if in_flight > 0 then this = math.min(this, most) end
    end
    this = math.ceil(math.max(1, this))
    redis.call('ZADD', scope.queue_expiry, now + this + late, member)
    for _, key in ipairs({ scope.queue, scope.queue_expiry, scope.waiting, scope.rest, scope.line }) do
      redis.call('PEXPIRE', key, whole + late)
    end
    standing[i] = member
    if not wait or this >= wait then wait, longest = this, i end
  elseif member then
    leave(scope, member)
  end
end
if wait then
  -- No room is kept for one that waits as long elsewhere.
  for i, member in pairs(standing) do if i ~= longest then leave(scopes[i], member) end end
  return { 0, wait, longest }
end

local at = math.floor(now)
redis.call('SET', ticket, at .. ' ' .. bucket .. ' ' .. need, 'PX', whole + lease_ms)
for i, scope in ipairs(scopes) do
  local slid = taken[i].slid
  record(slid, 1, need, whole + 2 * bucket_ms)
  redis.call('ZADD', scope.in_flight, now + lease_ms, id)
  charge(scope, party, scope.part, share)
  -- A set whose last member went is a new key.
  if taken[i].in_flight == 0 or is_first_in_bucket(slid) then
    redis.call('PEXPIRE', scope.in_flight, lease_ms + 2 * bucket_ms)
  end
end
return { 1, tostring(at) }
