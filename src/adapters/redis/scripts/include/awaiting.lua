-- Whether a case of the thread is open, or the thread is parked for a paused protocol (the field `held:`).
local function is_awaiting(thread)
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if string.match(field, '^open:') or string.match(field, '^held:') then return true end
  end
  return false
end
