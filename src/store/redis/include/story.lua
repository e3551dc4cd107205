-- A story: the posts of a tenant that say the same. Its hash, story:TENANT:ID, counts them by when their threads expire, ms, rounded up;
-- under 0 those that do not yet. Behind that time and a space: posts, reach (of all together), and label PROTOCOL LABEL (how many have it
-- by their last verdicts). current PROTOCOL is what a person decided of it last, JSON, and asked PROTOCOL the hash of the member of which
-- people were asked to look at it. A thread's hash has its story, storyEnd (if not 0) and told:PROTOCOL, the label that is counted.
-- Beside it, story:TENANT:ID:twins has, by their draws, threads of it of which others of it may be shown comments.
-- src/judging/threads/story.ts has the same rules.
local function story_key(thread, id)
  local root, tenant = string.match(thread, '^({.-}:)thread:([^/:]*)')
  return root .. 'story:' .. tenant .. ':' .. id
end
-- How many people a post has reached, by its head start for that.
local function reached_by(ahead) return math.floor(2 ^ (tonumber(ahead or '0') / 3600000) - 0.5) end
-- A story with threads that stay lasts 400 days from its last verdict: also a version that counts no stories may end its last thread.
local function keep_story(key) redis.call('PEXPIRE', key, '34560000000') end
-- A post that is new to a story.
local function join_story(key, ahead)
  if redis.call('HINCRBY', key, '0 posts', 1) == 1 then keep_story(key) end
  local reach = reached_by(ahead)
  if reach > 0 then redis.call('HINCRBY', key, '0 reach', string.format('%.0f', reach)) end
end
-- What counts of a story now; what expired is left out of it.
local function read_story(key, now)
  local story, fields, passed = { posts = 0, reach = 0, labels = {}, live = 0, last = 0 }, redis.call('HGETALL', key), {}
  for i = 1, #fields, 2 do
    local ends, name = string.match(fields[i], '^(%d+) (.+)$')
    local count = tonumber(fields[i + 1])
    if not ends then story[fields[i]] = fields[i + 1]
    elseif ends ~= '0' and tonumber(ends) <= tonumber(now) then passed[#passed + 1] = fields[i]
    elseif name == 'posts' or name == 'reach' then
      story[name] = story[name] + count
      if name == 'posts' and ends == '0' then story.live = count
      elseif name == 'posts' and count > 0 then story.last = math.max(story.last, tonumber(ends)) end
    else
      name = string.match(name, '^label (.+)$')
      story.labels[name] = (story.labels[name] or 0) + count
    end
  end
  if #passed > 0 then redis.call('HDEL', key, unpack(passed)) end
  return story
end
-- Adds to a story, or takes away, what a thread is in it.
local function change_story(key, thread, ends, sign, ahead)
  local left = redis.call('HINCRBY', key, ends .. ' posts', sign)
  local reach = reached_by(ahead)
  if reach > 0 then redis.call('HINCRBY', key, ends .. ' reach', string.format('%.0f', sign * reach)) end
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    local protocol = string.match(field, '^told:(.+)$')
    if protocol then
      redis.call('HINCRBY', key, ends .. ' label ' .. protocol .. ' ' .. redis.call('HGET', thread, field), sign)
    end
  end
  return left
end
-- A story without threads that stay ends with the last of those that expire.
local function settle_story(key, now)
  local story = read_story(key, now)
  if story.posts <= 0 then redis.call('UNLINK', key)
  elseif story.live <= 0 then redis.call('PEXPIRE', key, string.format('%.0f', story.last - now)) end
end
-- Forgets what this member alone brought into it.
local function forget_in_story(key, member)
  redis.call('ZREM', key .. ':twins', member)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local kind = string.match(field, '^(%l+) ')
    local value = kind and redis.call('HGET', key, field)
    if kind == 'current' and cjson.decode(value).member == member then redis.call('HDEL', key, field)
    elseif kind == 'asked' and value == redis.sha1hex(member) then redis.call('HDEL', key, field) end
  end
end
-- The thread belongs to its story no more. Before any of its fields change.
local function leave_story(thread, member, now)
  local id, ends, ahead = unpack(redis.call('HMGET', thread, 'story', 'storyEnd', 'reachAhead'))
  if not id then return end
  local key = story_key(thread, id)
  forget_in_story(key, member)
  if change_story(key, thread, ends or '0', -1, ahead) <= 0 then settle_story(key, now) end
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if field == 'story' or field == 'storyEnd' or string.match(field, '^told:') then redis.call('HDEL', thread, field) end
  end
end
-- Its post has reached more people. Before its head start changes.
local function reach_story(thread, ahead)
  local id, ends, before = unpack(redis.call('HMGET', thread, 'story', 'storyEnd', 'reachAhead'))
  local more = id and reached_by(ahead) - reached_by(before) or 0
  if more ~= 0 then redis.call('HINCRBY', story_key(thread, id), (ends or '0') .. ' reach', string.format('%.0f', more)) end
end
-- The thread expires in so many ms; nil: it stays.
local function end_story(thread, now, keep)
  local id, before, ahead = unpack(redis.call('HMGET', thread, 'story', 'storyEnd', 'reachAhead'))
  if not id then return end
  local ends = '0'
  if keep then
    -- Few times for all of its threads, so that it stays small.
    local step = math.max(60000, math.floor(tonumber(keep) / 8))
    ends = string.format('%.0f', math.ceil((tonumber(now) + tonumber(keep)) / step) * step)
  end
  before = before or '0'
  if ends == before then return end
  local key = story_key(thread, id)
  if change_story(key, thread, ends, 1, ahead) == 1 and ends == '0' then keep_story(key) end
  if ends == '0' then redis.call('HDEL', thread, 'storyEnd') else redis.call('HSET', thread, 'storyEnd', ends) end
  if change_story(key, thread, before, -1, ahead) <= 0 or keep then settle_story(key, now) end
end
-- Notes a verdict's label; `by`: machine, person, withdrawal or proposal. Returns the verdict, JSON, with what it says of its story,
-- why people are asked to look at it, if they are, and the label that a person decided on.
local function tell_story(thread, member, told)
  local from, protocol, label = '{"schema":2,"story":null,', told.protocol, told.label
  local id, ends, before = unpack(redis.call('HMGET', thread, 'story', 'storyEnd', 'told:' .. protocol))
  local key = id and story_key(thread, id)
  if id and told.by ~= 'proposal' and told.verdict ~= '' and (before or '') ~= label then
    local field = (ends or '0') .. ' label ' .. protocol .. ' '
    if before then redis.call('HINCRBY', key, field .. before, -1) end
    if label == '' then redis.call('HDEL', thread, 'told:' .. protocol)
    else
      redis.call('HINCRBY', key, field .. label, 1)
      redis.call('HSET', thread, 'told:' .. protocol, label)
    end
  end
  if id and told.by == 'person' and label ~= '' then
    redis.call('HSET', key, 'current ' .. protocol, cjson.encode({ label = label, verdictId = told.id, member = member }))
  elseif id and told.by == 'withdrawal' then
    local current = redis.call('HGET', key, 'current ' .. protocol)
    if current and cjson.decode(current).member == member then redis.call('HDEL', key, 'current ' .. protocol) end
  end
  if string.sub(told.verdict, 1, #from) ~= from then return told.verdict end
  local rest = string.sub(told.verdict, #from + 1)
  if not id then return '{"schema":2,' .. rest end
  local story, labels, sides = read_story(key, told.now), {}, 0
  for name, count in pairs(story.labels) do
    local own = string.sub(name, 1, #protocol + 1) == protocol .. ' ' and string.sub(name, #protocol + 2)
    if own and count > 0 then
      labels[#labels + 1] = cjson.encode(own) .. ':' .. string.format('%.0f', count)
      for _, one in ipairs(told.opposed) do if one == own then sides = sides + 1 end end
    end
  end
  if story.live > 0 then keep_story(key) end
  table.sort(labels)
  local current = story['current ' .. protocol]
  current = current and cjson.decode(current)
  local said = '{"id":' .. cjson.encode(id) .. ',"members":' .. string.format('%.0f', story.posts) .. ',"reach":' ..
    string.format('%.0f', story.reach) .. ',"labels":{' .. table.concat(labels, ',') .. '}' .. (current and
    ',"current":{"label":' .. cjson.encode(current.label) .. ',"verdictId":' .. cjson.encode(current.verdictId) .. '}' or '') .. '}'
  local verdict = '{"schema":2,"story":' .. string.gsub(said, '\\/', '/') .. ',' .. rest
  if told.by ~= 'machine' then return verdict end
  if current then
    if current.label == label then return verdict end
    return verdict, 'story-decided', current.label
  end
  if label == '' then return verdict end
  if sides < 2 then redis.call('HDEL', key, 'asked ' .. protocol)
  elseif redis.call('HSETNX', key, 'asked ' .. protocol, redis.sha1hex(member)) == 1 then return verdict, 'story-differs', '' end
  return verdict
end
